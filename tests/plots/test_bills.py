import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from pandora_regret import search_cost
from pandora_regret.plots.single_case import plot_bills, plot_search_trace
from pandora_regret.workup import plan_search

FORECASTS = {
    "spread": {"appendicitis": 0.4, "gastritis": 0.3, "gallstones": 0.3},
    "rival": {"appendicitis": 0.4, "gastritis": 0.5, "gallstones": 0.1},
}
COSTS = {"appendicitis": 200.0, "gastritis": 150.0, "gallstones": 100.0}


def test_each_bar_is_as_long_as_the_bill():
    axes = plot_bills(FORECASTS, "appendicitis", COSTS, currency="USD", ax=Figure().subplots())
    for row, forecast in enumerate(FORECASTS.values()):
        ours = [bar for bar in axes.patches if round(bar.get_y() + bar.get_height() / 2) == row]
        paid = search_cost(["appendicitis"], [list(forecast.values())], list(COSTS.values()), labels=list(COSTS))
        assert max(bar.get_x() + bar.get_width() for bar in ours) == pytest.approx(paid)
        assert f"${paid:.0f}" in [text.get_text() for text in axes.texts]


def test_the_staircase_rises_by_what_each_test_may_find():
    figure = Figure()
    axes = plot_search_trace(plan_search({"$5 to $10": 0.25, "b": 0.75}, [30.0, 10.0]), figure.subplots(), "USD")
    assert axes.lines[0].get_xydata().tolist() == [[0.0, 0.0], [10.0, 75.0], [40.0, 100.0]]
    assert [text.get_text() for text in axes.texts] == ["b", "$5 to $10"]
    assert "$17.50" in axes.get_legend().get_texts()[0].get_text()
    figure.canvas.draw()  # a name is no formula
