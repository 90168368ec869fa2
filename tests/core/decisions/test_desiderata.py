"""The desiderata of the paper, searched for violations, and the violations checked by hand."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused
from sklearn import metrics as sk

from pandora_regret import (
    Beta,
    Exponential,
    InputError,
    excess_search_burden,
    expected_search_cost,
    pandora_regret,
)
from pandora_regret.core.decisions import ClassCounts, desiderata, ranking_cost
from pandora_regret.core.decisions.checks import _agreement_with
from pandora_regret.core.inputs import InputTypeError


def of_truth(y, p):
    return p[np.arange(len(y)), y]


def log_loss(y, p):
    return -np.log(of_truth(y, p)).mean()


def brier(y, p):
    return ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean()


def accuracy(y, p):
    return (p.argmax(axis=1) == y).mean()


def macro_f1(y, p):
    return ClassCounts.of(y, p).all_class_f1


def mean_rank(y, p):
    return ranking_cost(y, p, lambda place: place)


def reciprocal_rank(y, p):
    return ranking_cost(y, p, lambda place: 1 - 1 / place)


def beyond_top_3(y, p):
    return ranking_cost(y, p, lambda place: place > 3)


HIGHER_IS_BETTER = {accuracy, macro_f1}
#                 aligned, proper, strictly, order sensitive
VERDICTS = {
    pandora_regret: (True, True, True, True),
    log_loss: (False, True, True, False),
    brier: (False, True, True, False),
    accuracy: (False, True, False, False),
    macro_f1: (False, False, False, False),
    mean_rank: (False, True, False, True),
    reciprocal_rank: (False, True, False, True),
    beyond_top_3: (False, True, False, False),
}


def check(metric, **options):
    return desiderata(metric, greater_is_better=metric in HIGHER_IS_BETTER, **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("metric", VERDICTS)
def test_verdicts_of_the_paper(metric, seed):
    """Sections sec:desiderata and 'Standard Metrics as Decision Models', and Table tab:top1_desiderata."""
    assert tuple(map(bool, check(metric, seed=seed))) == VERDICTS[metric]


@pytest.mark.parametrize("metric", [log_loss, brier, accuracy, macro_f1])
def test_the_example_of_misalignment_is_one(metric):
    violation = check(metric).decision_alignment.violation
    y, a, b = violation.y_true, violation.forecasts["A"], violation.forecasts["B"]
    assert expected_search_cost(y, a) > 1.01 * expected_search_cost(y, b)
    sign = 1 if metric in HIGHER_IS_BETTER else -1
    assert sign * metric(y, a) > sign * metric(y, b)
    assert violation.scores == {"A": metric(y, a), "B": metric(y, b)}


def test_the_example_of_macro_f1s_impropriety_is_one():
    result = check(macro_f1)
    violation = result.propriety.violation
    assert result.strict_propriety.violation is violation  # a forecast that beats the truth, not one that ties
    y, honest, other = violation.y_true, violation.forecasts["honest"], violation.forecasts["other"]
    for row in np.unique(honest, axis=0):
        labels = y[(honest == row).all(axis=1)]
        assert_allclose(np.bincount(labels) / len(labels), row)
    assert macro_f1(y, other) > macro_f1(y, honest)
    assert log_loss(y, other) > log_loss(y, honest)


def places(violation, name):
    """Of the truth in each row of a forecast, from 0."""
    p = violation.forecasts[name]
    return (p > of_truth(violation.y_true, p)[:, None]).sum(axis=1)


@pytest.mark.parametrize("metric", [log_loss, brier, accuracy, macro_f1])
def test_the_example_of_order_blindness_demotes_the_truth_and_keeps_its_probability(metric):
    violation = check(metric).order_sensitivity.violation
    y = violation.y_true
    assert sorted(places(violation, "demoted") - places(violation, "before")) == [0, 0, 0, 1]
    assert_array_equal(of_truth(y, violation.forecasts["demoted"]), of_truth(y, violation.forecasts["before"]))
    for table in violation.forecasts.values():
        assert_allclose(table.sum(axis=1), 1.0)
    assert pandora_regret(y, violation.forecasts["demoted"]) > pandora_regret(y, violation.forecasts["before"])


def test_whatever_rises_with_search_cost_is_aligned():
    assert all(desiderata(excess_search_burden, trials=100))
    squared = desiderata(lambda y, p: expected_search_cost(y, p) ** 2, trials=100)
    assert squared.decision_alignment
    assert desiderata(
        lambda y, p: -expected_search_cost(y, p), greater_is_better=True, trials=100
    ).order_sensitivity


def test_alignment_is_with_the_costs_one_has():
    exponential = partial(expected_search_cost, prior=Exponential())
    assert not desiderata(exponential, trials=100).decision_alignment
    assert desiderata(exponential, prior=Exponential(), trials=100).decision_alignment


def test_a_constant_is_proper_and_nothing_else():
    result = desiderata(lambda y, p: 0.0, trials=50)
    assert tuple(map(bool, result)) == (False, True, False, False)
    assert result.decision_alignment.violation.why.startswith("A and B")


def test_metrics_of_scikit_learn_are_taken_as_they_are():
    ours, theirs = check(log_loss, trials=50), desiderata(sk.log_loss, trials=50)
    assert [bool(verdict) for verdict in theirs] == [bool(verdict) for verdict in ours]
    example, same_example = ours.decision_alignment.violation, theirs.decision_alignment.violation
    assert_array_equal(example.forecasts["A"], same_example.forecasts["A"])
    auc = partial(sk.roc_auc_score, multi_class="ovr")
    assert tuple(map(bool, desiderata(auc, greater_is_better=True, trials=50))) == (False, True, False, False)


def test_a_metric_may_write_into_its_arguments():
    def careless(y, p):
        score = pandora_regret(y, p)
        y[:], p[:] = 0, 0.0
        return score

    assert all(desiderata(careless, trials=50))


def test_what_is_no_metric_is_refused():
    with refused(InputTypeError, argument="metric", value=3):
        desiderata(3)
    with refused(InputTypeError, says="metric returned"):
        desiderata(lambda y, p: p)
    with refused(says="NaN"):
        desiderata(lambda y, p: np.nan)
    with pytest.raises(InputError, match=r"n_classes is 3: .*least 4"):
        desiderata(log_loss, n_classes=3)
    with pytest.raises(InputError, match="n_classes is 11"):
        desiderata(log_loss, n_classes=11)


def test_alignment_is_counted_by_costs_of_several_priors():
    ours = desiderata(pandora_regret, trials=60)
    shares = {alignment.prior: alignment.share for alignment in ours.by_prior}
    worst = {alignment.prior: alignment.worst for alignment in ours.by_prior}
    assert list(shares) == ["uniform", "exponential", "gamma:2", "lognormal:0.5", "lognormal:1"]
    assert shares["uniform"] == 1  # its own measure on another scale
    assert worst["uniform"] == pytest.approx(1)
    assert all(0.9 < share < 1 for prior, share in shares.items() if prior != "uniform")
    pairwise = desiderata(partial(expected_search_cost, prior=Exponential()), prior=Beta(3.0), trials=60)
    assert [alignment.prior for alignment in pairwise.by_prior][:2] == ["Beta(alpha=3.0)", "uniform"]
    assert {a.prior: a.share for a in pairwise.by_prior}["exponential"] == 1


def test_alignment_by_hand():
    y, rng = np.arange(4), np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(4), 4) for _ in range(6)]
    costs = np.array([expected_search_cost(y, table, prior=Exponential()) for table in tables])
    preferred = np.triu(np.ones((6, 6), bool), 1)  # the earlier one
    pairs = [(a, b) for a in range(6) for b in range(6) if costs[a] * 1.01 < costs[b]]
    found = _agreement_with("exponential", Exponential(), tables, preferred)
    assert found.pairs == len(pairs)
    assert found.share == pytest.approx(np.mean([a < b for a, b in pairs]))
    assert found.worst == pytest.approx(max(costs[a] / costs[b] for a in range(6) for b in range(a + 1, 6)))
