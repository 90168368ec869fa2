"""The order of columns changes nothing, however many tests tie: a tie is worth the mean of both orders.

Two metrics are left out, which are about one named class: among equals the first column is named, as by NumPy's
argmax and in scikit-learn. In studies so are those about the rank of a class, or about the order of classes.
"""

import numpy as np
import pytest
from asked import compare_with
from hypothesis import given, settings
from hypothesis import strategies as st

from pandora_regret.core.priors import Exponential, Fixed, Uniform
from pandora_regret.core.scores import search_tally
from pandora_regret.files import Layout, open_predictions
from pandora_regret.stream import score_stream
from pandora_regret.study import agreement
from pandora_regret.study.conditions import search_bills

OF_A_NAMED_CLASS = {"accuracy", "macro_f1"}
PRIORS = [Uniform(), Fixed(), Exponential()]


@st.composite
def tied_models(draw, n_models=2):
    """Forecasts in quarters at prices in whole numbers, so that most rows have ties; an order of the columns."""
    n_classes = draw(st.integers(3, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    truth = rng.integers(n_classes, size=30)
    tables = rng.multinomial(4, np.full(n_classes, 1 / n_classes), size=(n_models, 30)) / 4
    prices = rng.integers(1, 4, n_classes).astype(float)
    return truth, tables, prices, rng.permutation(n_classes)


def close(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def numbers_of(result):
    """All that a comparison says in numbers of its models, by model, and by class or test."""
    found = {}
    for model in result.models:
        for key, score in model.scores.items():
            if key not in OF_A_NAMED_CLASS:
                found[model.name, key] = (score.value, score.low, score.high)
        found[model.name, "predicted"] = (model.predicted_cost.value, model.predicted_cost.low)
        found[model.name, "recalibrated"] = (model.recalibrated.cost.value,)
        found[model.name, "scenarios"] = model.scenarios
        found[model.name, "chance"] = (model.probability_best, model.rank)
        for number, part in enumerate(model.calibration):
            found[model.name, "bin", number] = (part.predicted, part.observed, part.low, part.high, part.weight)
        for in_class in model.by_class:
            scores = (in_class.expected_cost, in_class.realised_cost, in_class.tests, in_class.pandora_regret)
            found[model.name, in_class.label] = scores
    for gap in result.differences:
        found[gap.model, gap.against] = (gap.difference, gap.low, gap.high, gap.realised.value, gap.realised.low)
    for test in result.break_even:
        crossings = [test.below, test.above]
        found["break-even", test.test] = tuple(None if side is None else side.price for side in crossings)
    for part in result.by:
        for group in part.groups:
            for model in group.models:
                found[part.column, group.name, model.name] = (model.cost.value, model.cost.low, model.p_holm)
    verdict = result.verdict
    found["verdict"] = (verdict.stake, verdict.cases_needed, verdict.margin)
    return found


@settings(max_examples=25)
@given(tied_models(), st.sampled_from(PRIORS))
def test_a_comparison_is_that_of_any_order_of_columns(case, prior):
    truth, tables, prices, order = case
    names = np.array(["a", "b", "c", "d", "e"][: len(prices)])
    options = {"prior": prior, "by": {"part": truth % 2}, "smallest_group": 3}

    def compared(columns):
        models = {"one": tables[0][:, columns], "two": tables[1][:, columns]}
        return compare_with(names[truth], models, labels=names[columns].tolist(), costs=prices[columns], **options)

    first, second = compared(np.arange(len(prices))), compared(order)
    assert (first.verdict.kind, first.verdict.level) == (second.verdict.kind, second.verdict.level)
    expected = numbers_of(first)
    found = numbers_of(second)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        precision = (
            {"rel": 1e-7} if key[0] == "break-even" else {"rel": 1e-12, "abs": 1e-12}
        )  # a search for a price
        for ours, theirs in zip(found[key], values, strict=True):
            assert (ours is None) == (theirs is None), key
            assert ours is None or ours == pytest.approx(theirs, **precision), key


@given(tied_models())
def test_sums_of_a_search_are_those_of_any_order_of_columns(case):
    truth, [table, _], prices, order = case
    first = search_tally(truth, table, costs=prices)
    second = search_tally(np.argsort(order)[truth], table[:, order], costs=prices[order])
    assert second.mean == close(first.mean)
    assert second.realised.mean == close(first.realised.mean)
    assert second.pair_costs == close(first.pair_costs[np.ix_(order, order)])


@given(tied_models())
def test_costs_in_a_study_are_those_of_any_order_of_columns(case):
    truth, [table, _], prices, order = case
    costs = np.stack([prices, prices[::-1], np.ones(len(prices))])
    first = search_bills(truth, table, costs)
    assert search_bills(np.argsort(order)[truth], table[:, order], costs[:, order]) == close(first)


@settings(max_examples=15)
@given(tied_models(n_models=4))
def test_agreement_in_a_study_is_that_of_any_order_of_columns(case):
    """Forecasts in tenths, whose sums are rounded otherwise in another order."""
    truth, tables, prices, order = case
    tenths = 0.2 * tables + 0.1 * np.roll(tables, 1, axis=1) + 0.7 / len(prices)
    names = np.array(["a", "b", "c", "d", "e"][: len(prices)])
    keys = ["pandora_regret", "log_loss", "brier", "auroc"]

    def studied(columns):
        in_order = np.argsort(columns)[truth]
        options = {"classes": names[columns].tolist(), "costs": prices[columns], "metrics": keys}
        return agreement(
            in_order, tenths[:, :, columns], conditions=["clinical"], resample="both", replicates=20, **options
        )

    first = studied(np.arange(len(prices)))
    second = studied(order)
    for kind in ("tau", "tau_low", "tau_high", "gap", "extra_cost"):
        assert getattr(second, kind) == close(getattr(first, kind)), kind


@settings(max_examples=15)
@given(tied_models(), st.sampled_from(PRIORS[:2]))
def test_a_stream_is_that_of_any_order_of_columns(tmp_path_factory, case, prior):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    truth, [table, _], prices, order = case
    names = np.array(["a", "b", "c", "d", "e"][: len(prices)])

    def scored(columns):
        path = tmp_path_factory.mktemp("stream") / "model.parquet"
        values = {f"p_{names[k]}": table[:, k] for k in columns}
        charged = {f"cost_{names[k]}": np.full(len(truth), prices[k]) for k in columns}
        pq.write_table(pa.table({"y_true": names[truth], **values, **charged}), path)
        [predictions] = open_predictions(path, Layout(proba_prefix="p_", cost_prefix="cost_"))
        return score_stream(predictions, prior=prior).best.scores

    expected = scored(range(len(prices)))
    found = scored(order)
    for key in expected.keys() - OF_A_NAMED_CLASS:
        ends = (expected[key].value, expected[key].low, expected[key].high)
        for ours, theirs in zip((found[key].value, found[key].low, found[key].high), ends, strict=True):
            assert ours == theirs or ours == close(theirs), key
