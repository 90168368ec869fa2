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
