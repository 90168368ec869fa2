import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from pandora_regret import InputError, search_cost
from pandora_regret.plots.single_case import plot_bills

FORECASTS = {
    "spread": {"appendicitis": 0.4, "gastritis": 0.3, "gallstones": 0.3},
    "rival": {"appendicitis": 0.4, "gastritis": 0.5, "gallstones": 0.1},
}
COSTS = {"appendicitis": 200.0, "gastritis": 150.0, "gallstones": 100.0}


def test_each_bar_is_as_long_as_the_bill():
    axes = plot_bills(FORECASTS, "appendicitis", COSTS, currency="USD", ax=Figure().subplots())
    ends = dict.fromkeys(FORECASTS, 0.0)
    for bar in axes.patches:
        name = list(FORECASTS)[round(bar.get_y() + bar.get_height() / 2)]
        ends[name] = max(ends[name], bar.get_x() + bar.get_width())
    for name, forecast in FORECASTS.items():
        paid = search_cost(["appendicitis"], [list(forecast.values())], list(COSTS.values()), labels=list(COSTS))
        assert ends[name] == pytest.approx(paid)
        assert f"${paid:.0f}" in [text.get_text() for text in axes.texts]


def test_nothing_is_tested_after_the_truth():
    axes = plot_bills(FORECASTS, "gallstones", COSTS, ax=Figure().subplots())
    for name in ("spread", "rival"):
        row = [text.get_text() for text in axes.texts if text.get_position()[1] == list(FORECASTS).index(name)]
        assert row.index("gallstones") == len([word for word in row if word in COSTS]) - 1


def test_a_truth_that_no_forecast_knows():
    with pytest.raises(InputError, match="truth is 'flu', which forecast 'spread' does not know"):
        plot_bills(FORECASTS, "flu", COSTS, ax=Figure().subplots())


def test_names_are_written_as_they_are_and_shortened_to_their_piece():
    prices = {"$5 to $10": 100.0, "a very long name of a disease": 10.0, "x": 0.1}
    axes = plot_bills({"$a and $b": dict.fromkeys(prices, 1 / 3)}, "$5 to $10", prices, ax=Figure().subplots())
    written = [text.get_text() for text in axes.texts]
    assert "$5 to $10" in written
    assert "x" not in written  # no room
    assert any("…" in word for word in written)
    words = [*axes.texts, *axes.get_yticklabels(), axes.xaxis.label]
    assert not any(word.get_parse_math() for word in words)


@pytest.mark.parametrize("width", [3.3, 6.8])
def test_no_name_reaches_beyond_its_piece(width):
    prices = {"the first long name": 10.0, "another long name": 20.0, "yet another long name": 70.0}
    figure = Figure(figsize=(width, 2), layout="constrained")
    plot_bills({"even": dict.fromkeys(prices, 1 / 3)}, "yet another long name", prices, ax=figure.subplots())
    figure.draw_without_rendering()
    [axes] = figure.axes
    bars = [bar.get_window_extent() for bar in axes.patches]
    for name in axes.texts[:-1]:
        shown = name.get_clip_box()
        assert name.get_clip_on()
        assert any(bar.x0 - 0.01 <= shown.x0 and shown.x1 <= bar.x1 + 0.01 for bar in bars)
    assert "…" in axes.texts[0].get_text()
