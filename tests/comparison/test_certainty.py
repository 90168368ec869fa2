"""How sure comparisons are: intervals that hold what they promise, pairs, clusters, and rows in any order."""

from dataclasses import replace

import numpy as np
import pytest
from asked import compare_with
from scipy import stats
from simulated_models import simulated, softmax

from pandora_regret import ComparisonOptions, compare, expected_search_cost
from pandora_regret.comparison.charge import Pricing
from pandora_regret.comparison.figures import figures_on
from pandora_regret.comparison.measure import CostPrediction, measure
from pandora_regret.comparison.parts import IntervalMethod
from pandora_regret.comparison.request import CaseColumns, read_models, read_request
from pandora_regret.comparison.sample import read_sample
from pandora_regret.inference.joint import Figure
from pandora_regret.metrics import METRICS, comparison_metrics

ROWS = 150


@pytest.fixture(scope="module")
def data():
    truth, models = simulated(ROWS)
    return truth, models, np.random.default_rng(1).uniform(0.1, 3.0, ROWS)


@pytest.mark.parametrize("bootstrap", [0, 100])
def test_rows_without_weight_are_as_if_they_were_not_there(data, bootstrap):
    truth, models, weights = data
    kept, names = np.arange(ROWS) % 3 > 0, np.arange(ROWS)
    zeroed = compare(
        truth, models, sample_weight=weights * kept, ids=names, options=ComparisonOptions(bootstrap=bootstrap)
    )
    dropped = compare(
        truth[kept],
        {name: table[kept] for name, table in models.items()},
        sample_weight=weights[kept],
        ids=names[kept],
        options=ComparisonOptions(bootstrap=bootstrap),
    )
    assert zeroed == dropped


@pytest.mark.parametrize("bootstrap", [0, 100])
@pytest.mark.parametrize("clustered", [False, True])
def test_rows_that_bring_their_ids_may_come_in_any_order(data, bootstrap, clustered):
    truth, models, weights = data
    asked = {"y_true": truth, "ids": np.arange(ROWS).astype(str), "sample_weight": weights}
    asked |= {"groups": np.arange(ROWS) // 4} if clustered else {}
    results = []
    for order in (np.arange(ROWS), np.random.default_rng(4).permutation(ROWS)):
        rows = {name: values[order] for name, values in asked.items()}
        tables = {name: table[order] for name, table in models.items()}
        results.append(compare_with(models=tables, bootstrap=bootstrap, costs=[380.0, 120.0, 90.0], **rows))
    assert results[0] == results[1]


def measured(truth, models):
    """One large sample, measured once."""
    forecasts = read_models(truth, models)
    request = read_request(forecasts, Pricing(), None, CaseColumns(), "1%", ComparisonOptions(recalibrate=None))
    return next(iter(forecasts.values())), measure(request)


def in_sets(whole, models, size, groups=None, replicates=0):
    """The figures of its rows in sets, each a sample of its own."""
    method = IntervalMethod(0.95, "", replicates, 0)
    for start in range(0, len(whole), size):
        rows = slice(start, start + size)
        sample = read_sample(whole.rows(rows), None, None if groups is None else groups[rows])
        yield figures_on([cut(model, rows) for model in models], sample, comparison_metrics(), 3, method)


def cut(model, rows):
    predicted = CostPrediction(
        model.predicted.mean[rows], model.predicted.variance[rows], model.predicted.least[rows]
    )
    by_key = {key: values[rows] for key, values in model.rows.items()}
    return replace(model, rows=by_key, named=model.named[rows], predicted=predicted)


def figures_and_gap(models):
    """All figures of the first model, and its expected cost less that of the second."""
    first, second = models
    return [*first.by_key.values(), first.cost - second.cost]


def covered(whole, models, size, replicates, groups=None):
    """How often each estimate's interval holds what all sets together say."""
    [everyone] = in_sets(whole, models, len(whole))
    target, hits = figures_and_gap(everyone), []
    for known in in_sets(whole, models, size, groups, replicates):
        limits = [figure.limits(0.95) for figure in figures_and_gap(known)]
        hits.append([low <= wanted.value <= high for (low, high), wanted in zip(limits, target, strict=True)])
    return np.mean(hits, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [0, 400], ids=["analytic", "bootstrap"])
def test_intervals_hold_the_truth_as_often_as_they_say(replicates):
    shares = covered(*measured(*simulated(200 * 100, seed=7)), 100, replicates)
    assert shares.min() >= 0.90
    assert shares.max() <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [0, 400], ids=["analytic", "bootstrap"])
def test_clustered_intervals_hold_the_truth_where_plain_ones_do_not(replicates):
    truth, models = simulated(100 * 50, seed=8)
    whole, models = measured(truth.repeat(4), {name: table.repeat(4, axis=0) for name, table in models.items()})
    groups = np.arange(len(whole)) // 4
    assert covered(whole, models, 200, replicates, groups).min() >= 0.90
    assert covered(whole, models, 200, replicates).max() < 0.85


def test_p_values_of_equal_models_are_uniform_and_of_unequal_ones_are_not():
    for noise, uniform in (((0.6, 0.6000001), True), ((0.3, 0.9), False)):
        sets = in_sets(*measured(*simulated(150 * 80, seed=9, noise=noise)), 80)
        p_values = [figures_and_gap(known)[-1].p_value(1.0) for known in sets]
        assert (stats.kstest(p_values, "uniform").pvalue > 0.01) == uniform


def test_the_gradient_of_macro_f1_is_its_derivative():
    macro_f1, counts = METRICS["macro_f1"], np.random.default_rng(0).uniform(1.0, 9.0, (3, 4))
    slope = macro_f1.gradient(*counts)
    assert (slope * counts).sum() == pytest.approx(0, abs=1e-14)
    for place in np.ndindex(counts.shape):
        step = np.zeros_like(counts)
        step[place] = 1e-5
        change = macro_f1.counts(*(counts + step)) - macro_f1.counts(*(counts - step))
        assert change / 2e-5 == pytest.approx(slope[place], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("bootstrap", [0, 100])
def test_models_that_are_the_same_differ_by_nothing(data, bootstrap):
    truth, models, _ = data
    table = models["noise 0.4"]
    other = np.log(table)
    twins = compare(
        truth, {"one": table, "two": softmax(other)}, options=ComparisonOptions(bootstrap=bootstrap)
    )  # the same up to rounding
    gap = twins.differences[0]
    assert (gap.difference, gap.low, gap.high, gap.p_value, gap.p_holm, gap.savings_per_1000) == (0, 0, 0, 1, 1, 0)
    assert [model.probability_best for model in twins.models] == pytest.approx([0.5, 0.5])
    assert [model.rank for model in twins.models] == [1, 1]
    assert set(twins.ranks["expected_cost"]) == {1.5}


def test_differences_are_paired_all_pairs_are_there_and_the_cheaper_comes_first():
    truth, models = simulated(400, noise=(0.9, 0.2, 0.5))
    found = compare(truth, models, costs=[380.0, 120.0, 90.0])
    costs = [model.cost for model in found.models]
    assert costs == sorted(costs)
    assert [model.rank for model in found.models] == [1, 2, 3]
    names = [model.name for model in found.models]
    assert [(gap.model, gap.against) for gap in found.differences] == [
        (names[0], names[1]), (names[0], names[2]), (names[1], names[2])
    ]  # fmt: skip
    first, second = (
        expected_search_cost(truth, models[name], costs=[380.0, 120.0, 90.0], per_instance=True)
        for name in names[:2]
    )
    gap, paired = found.differences[0], Figure.of_mean(first - second, np.ones(400))
    assert gap.p_value == pytest.approx(paired.p_value(1.0), rel=1e-9)
    assert (gap.low, gap.high) == pytest.approx(paired.limits(0.95), rel=1e-9)
    assert gap.savings_per_1000 == pytest.approx(-1000 * gap.difference)
    assert sum(model.probability_best for model in found.models) == pytest.approx(1)


def test_a_calibrated_model_pays_what_it_predicts_and_an_overconfident_one_pays_more():
    truth, models = simulated(4000, noise=(0.0,))
    calibrated = models["noise 0.0"]
    sharpened = softmax(4 * np.log(calibrated))
    found = {model.name: model for model in compare(truth, {"calm": calibrated, "sharp": sharpened}).models}
    inside = [part.low <= part.predicted <= part.high for part in found["calm"].calibration]
    assert np.mean(inside) >= 0.8
    assert all(part.low > part.predicted for part in found["sharp"].calibration[2:])


@pytest.mark.parametrize("options", [{}, {"bootstrap": 60}, {"groups": ["one"] * 3}], ids=str)
def test_a_single_case_or_cluster_has_no_intervals(options):
    n = 3 if "groups" in options else 1
    tables = {"a": np.tile([0.5, 0.3, 0.2], (n, 1)), "b": np.tile([0.2, 0.3, 0.5], (n, 1))}
    found = compare_with([0] * n, tables, **options)
    for model in found.models:
        assert {(score.low, score.high) for score in model.scores.values()} == {(None, None)}
        assert model.probability_best is None
    gap = found.differences[0]
    assert (gap.low, gap.high, gap.p_value, gap.p_holm) == (None,) * 4
    assert gap.difference < 0
