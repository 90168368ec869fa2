"""Comparisons: the public functions' own numbers, for any valid input, in JSON and back."""

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from asked import compare_with
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import refused
from scipy.special import stdtrit
from simulated_models import simulated

from pandora_regret import (
    Beta,
    Comparison,
    ComparisonOptions,
    Empirical,
    Fixed,
    Gamma,
    LogNormal,
    compare,
    excess_search_burden,
    expected_search_cost,
    pair_costs,
    pandora_regret,
    search_entropy,
    search_order,
)
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.core.scores import search_tally
from pandora_regret.inference.joint import effective_number

LABELS = ["melanoma", "nevus", "keratosis"]
PRICES = {"nevus": 120.0, "melanoma": 380.0, "keratosis": 90.0}
ROWS = 150


@pytest.fixture(scope="module")
def data():
    truth, models = simulated(ROWS)
    return truth, models, np.random.default_rng(1).uniform(0.1, 3.0, ROWS)


PRICED = {
    "typical costs": {"costs": [380.0, 120.0, 90.0]},
    "costs and gamma": {"costs": [3.0, 1.0, 2.0], "prior": Gamma(2.0)},
    "fixed": {"costs": [3.0, 1.0, 2.0], "prior": Fixed()},
    "empirical": {"prior": Empirical(np.random.default_rng(0).uniform(1, 9, (20, 3)))},
    "costs per row": {"costs": np.random.default_rng(2).uniform(1, 5, (ROWS, 3)), "prior": LogNormal(0.5)},
}


@pytest.mark.parametrize("given", PRICED.values(), ids=PRICED)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("logits", [False, True])
def test_every_score_is_the_public_functions_own(data, given, weighted, logits):
    truth, models, weights = data
    options = {"sample_weight": weights if weighted else None, "logits": logits}
    if logits:
        models = {name: np.log(table) + 7 for name, table in models.items()}
    for model in compare_with(truth, models, **given, **options).models:
        table, value = models[model.name], lambda key, of=model: of.scores[key].value
        tally = search_tally(truth, table, **given, **options)
        assert value("expected_cost") == pytest.approx(tally.mean, rel=1e-12)
        assert value("expected_cost") == pytest.approx(expected_search_cost(truth, table, **given, **options))
        assert value("realised_cost") == pytest.approx(tally.realised.mean, rel=1e-12)
        assert value("pandora_regret") == pytest.approx(pandora_regret(truth, table, **options), rel=1e-12)
        burden = excess_search_burden(truth, table, **options)
        assert value("excess_burden") == pytest.approx(burden, rel=1e-12)
        assert model.predicted_cost.value == pytest.approx(search_entropy(table, **given, **options), rel=1e-12)
        assert_allclose(model.pair_costs, pair_costs(truth, table, **given, **options), rtol=1e-12)
        assert model.unavoidable + np.sum(model.pair_costs) == pytest.approx(model.cost, rel=1e-12)
        shares = weights / weights.sum() if weighted else np.full(ROWS, 1 / ROWS)
        margin = stdtrit(effective_number(shares) - 1, 0.975) * tally.standard_error
        score = model.scores["expected_cost"]
        assert min(tally.mean - score.low, score.high - tally.mean) == pytest.approx(margin, rel=1e-9)


@pytest.mark.parametrize(("prior", "unit"), [(None, None), (Gamma(2.0), None), (Fixed(), "tests")])
def test_without_prices_costs_are_those_of_equal_prices(data, prior, unit):
    truth, models, _ = data
    found, priced = (compare(truth, models, prior=prior, costs=costs) for costs in (None, np.ones(3)))
    assert found.costs.currency == unit
    assert priced.costs.currency == ""
    assert [model.cost for model in found.models] == [model.cost for model in priced.models]
    assert len(found.scenarios) == 1
    for model in found.models:
        assert model.scores["realised_cost"].value == model.scores["tests"].value
    assert f" {unit or 'typical test prices'} per case" in found.headline[0]


@pytest.mark.parametrize("costs", [None, [3.0, 1.0, 2.0], [1.0, 4.0, 4.0]])
def test_the_number_of_tests_is_the_mean_place_of_the_truth_in_the_search_orders_of_all_orders_of_columns(costs):
    rng = np.random.default_rng(5)
    truth, table = rng.integers(0, 3, 300), rng.integers(0, 4, (300, 3)) + 1e-300  # many ties
    table /= table.sum(axis=1, keepdims=True)
    prices = np.ones(3) if costs is None else np.array(costs)
    places = []
    for columns in map(list, permutations(range(3))):
        order = np.array(columns)[search_order(table[:, columns], prices[columns])]
        places.append(1 + np.argmax(order == truth[:, None], axis=1))
    found = compare(truth, {"a": table}, costs=costs, prior=Fixed()).best
    assert found.scores["tests"].value == pytest.approx(np.mean(places), rel=1e-12)


def test_other_costs_are_scored_too(data):
    truth, models, _ = data
    dear = {"melanoma": 900.0, "nevus": 1.0, "keratosis": 1.0}
    found = compare(np.take(LABELS, truth), models, labels=LABELS, costs=PRICES, scenarios={"dear": dear})
    assert [scenario.name for scenario in found.scenarios[::2]] == ["stated costs", "dear"]
    assert found.scenarios[1].typical == pytest.approx((590 / 3,) * 3)
    for model in found.models:
        table = models[model.name]
        costs = [expected_search_cost(truth, table, costs=each.typical) for each in found.scenarios]
        assert model.scenarios == pytest.approx(costs, rel=1e-12)
    rows = np.tile([3.0, 1.0, 2.0], (ROWS, 1))
    own = compare(truth, models, costs=rows, scenarios={"dear": {"1": 7.0}})
    assert own.scenarios[-1].typical is None
    assert own.best.scenarios[-1] == pytest.approx(
        expected_search_cost(truth, models[own.best.name], costs=[3.0, 7.0, 2.0])
    )


def test_infinite_log_loss_is_null_with_a_note_and_ranks_last():
    truth, possible = [0, 1, 1], np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])
    impossible = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for bootstrap in (0, 60):
        found = compare(
            truth, {"bold": impossible, "meek": possible}, options=ComparisonOptions(bootstrap=bootstrap)
        )
        bold = next(model for model in found.models if model.name == "bold")
        score = bold.scores["log_loss"]
        assert (score.value, score.low, score.high) == (None, None, None)
        assert score.warning.startswith("infinite: 1 of 3")
        assert found.ranks["log_loss"][found.models.index(bold)] == 2
        [note] = found.notes
        assert note.startswith("bold: ")
        assert score.warning in note
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


HALF = np.full((2, 2), 0.5)
MISTAKES = {  # what was given, beside one model unless it is about these, and where the error says the mistake is
    "no mapping": ({"models": [HALF]}, {"kind": InputTypeError, "argument": "models"}),
    "no models": ({"models": {}}, {"argument": "models"}),
    "names alike": ({"models": {1: HALF, "1": HALF}}, {"argument": "models", "value": ["1", "1"]}),
    "a row off 1": (
        {"models": {"a": HALF, "b": HALF * 2}},
        {"argument": "y_proba", "row": 0, "value": 2.0, "contexts": ("model 'b'",)},
    ),
    "too few rows": (
        {"models": {"a": HALF, "b": HALF[:1]}},
        {"argument": "y_true", "value": 2, "contexts": ("model 'b'",)},
    ),
    "text for forecasts": (
        {"models": {"a": [["x", "y"]] * 2}},
        {"kind": InputTypeError, "argument": "y_proba", "contexts": ("model 'a'",)},
    ),
    "other classes": (
        {"models": {"a": HALF, "b": np.full((2, 4), 0.25)}},
        {"argument": "models", "value": 4, "place": "model 'b'"},
    ),
    "frames and arrays": (
        {"models": {"a": HALF, "b": pd.DataFrame(HALF)}},
        {"argument": "models", "says": "frames"},
    ),
    "an id twice": ({"ids": ["x", "x"]}, {"argument": "ids", "row": 1, "value": "x"}),
    "groups of other rows": ({"groups": [1, 2, 3]}, {"argument": "groups", "value": (3,)}),
    "few replicates": ({"bootstrap": 10}, {"argument": "bootstrap", "value": 10}),
    "a negative price": (
        {"scenarios": {"dear": [1.0, -1.0]}},
        {"argument": "scenario 'dear'", "column": "1", "value": -1.0},
    ),
    "no such class": ({"scenarios": {"dear": {"2": 1.0}}}, {"place": "scenario 'dear'", "value": "2"}),
    "a price of 0": (
        {"scenarios": {"dear": {0: 0.0}}},
        {"argument": "scenario 'dear'", "column": "0", "value": 0.0},
    ),
    "a scenario that there is": (
        {"scenarios": {"all tests cost the same": [1, 1]}},
        {"argument": "scenarios", "value": "all tests cost the same"},
    ),
    "no scenarios": ({"scenarios": 3}, {"kind": InputTypeError, "argument": "scenarios", "value": 3}),
    "a currency of no text": ({"currency": 3}, {"kind": InputTypeError, "argument": "currency", "value": 3}),
}


@pytest.mark.parametrize(("given", "fields"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(given, fields):
    with refused(**fields):
        compare_with([0, 1], **{"models": {"a": HALF}} | given)


@st.composite
def comparisons(draw):
    """Anything valid: few rows, zeros, ties, impossible classes, weights, groups, costs, priors."""
    n, k, m = draw(st.integers(1, 7)), draw(st.integers(2, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = draw(st.booleans())
    tables = {}
    for at in range(m):
        counts = rng.integers(0, 3, (n, k)) + np.eye(k)[rng.integers(0, k, n)]
        with np.errstate(divide="ignore"):
            tables[f"m{at}"] = np.log(counts) if logits else counts / counts.sum(axis=1, keepdims=True)
    options = {
        "logits": logits,
        "bootstrap": draw(st.sampled_from([0, 40])),
        "costs": draw(st.sampled_from([None, rng.uniform(1, 9, k), rng.uniform(1, 9, (n, k))])),
        "prior": draw(st.sampled_from([None, Beta(0.3), Fixed(), LogNormal(0.5)])),
        "sample_weight": draw(st.sampled_from([None, np.append(rng.integers(0, 2, n - 1), 1.5)])),
        "groups": draw(st.sampled_from([None, rng.integers(0, 3, n)])),
        "currency": draw(st.sampled_from([None, "EUR"])),
    }
    return rng.integers(0, k, n), tables, options


@settings(max_examples=40)
@given(comparisons())
def test_whatever_is_valid_is_compared(given):
    truth, tables, options = given
    found = compare_with(truth, tables, **options)
    plain = json.loads(json.dumps(found.to_dict() | {"added later": 1}, allow_nan=False))
    assert Comparison.from_dict(plain) == found
    assert len(found.differences) == len(tables) * (len(tables) - 1) // 2
    for model in found.models:
        assert model.cost == pytest.approx(model.unavoidable + np.sum(model.pair_costs))
        named = [pair.cost for pair in found.largest_pairs if pair.model == model.name]
        assert named == sorted(np.ravel(model.pair_costs), reverse=True)[: len(named)]
        for key in ("pandora_regret", "expected_cost", "realised_cost", "tests", "accuracy"):
            parts = sum(part.weight * getattr(part, key) for part in model.by_class if part.weight)
            assert parts / found.data.rows == pytest.approx(model.scores[key].value, rel=1e-12)
        for score in (*model.scores.values(), model.predicted_cost):
            assert score.low is None or options["bootstrap"] or score.low <= score.value <= score.high
    chances = [model.probability_best for model in found.models]
    assert None in chances or sum(chances) == pytest.approx(1)
    for key, ranks in found.ranks.items():
        assert sum(ranks) == pytest.approx(len(tables) * (len(tables) + 1) / 2), key
    for gap in found.differences:
        assert gap.difference <= 0
        assert gap.p_value is None or 0 <= gap.p_value <= gap.p_holm <= 1


def test_a_cost_is_split_into_terms_that_add_up_where_it_is_asked_for(data):
    truth, models, _ = data
    found = compare(truth, models, costs=[90.0, 60.0, 30.0], options=ComparisonOptions(decompose=True))
    for model in found.models:
        terms = {name: term.value for name, term in model.decomposition.items()}
        total = terms["uncertainty"] + terms["miscalibration"] - terms["discrimination"]
        assert total == pytest.approx(model.cost)
    assert Comparison.from_dict(found.to_dict()) == found
