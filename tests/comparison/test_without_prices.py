"""Where nobody priced a test, costs are in typical test prices, and the number of tests stands beside them."""

import pytest
from asked import compare_with
from simulated_models import simulated

from pandora_regret.core.priors import Fixed


@pytest.fixture(scope="module")
def models():
    return simulated(600, k=4, noise=(0.4, 0.9))


def test_costs_are_not_called_tests(models):
    result = compare_with(*models)
    best = result.best
    made = best.scores["tests"].value
    assert best.cost < made  # prices vary, and cheap tests are made first
    text = " ".join(result.verdict.sentences)
    assert f"costs {best.cost:.3g} typical test prices per case" in text
    assert f"{best.name} makes {made:.3g} tests per case" in text
    table = result.overview()
    assert table.header[:3] == ["Model", "Cost per case", "Tests"]
    assert f"{made:.2f}" in table.to_text()


def test_fixed_prices_count_tests(models):
    result = compare_with(*models, prior=Fixed())
    assert result.costs.currency == "tests"
    assert result.best.cost == pytest.approx(result.best.scores["tests"].value)
    assert "typical" not in " ".join(result.verdict.sentences)


def test_prices_without_a_unit_are_neither(models):
    result = compare_with(*models, costs=[3.0, 1.0, 2.0, 4.0])
    assert result.costs.currency == ""
    assert "Tests" not in result.overview().header
