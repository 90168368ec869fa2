"""Agreement of metrics with search costs: tau against scipy, the bootstrap against duplicated rows and models."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused
from scipy.stats import kendalltau
from scipy.stats import t as student

from pandora_regret import Gamma, InputError, Uniform, search_cost
from pandora_regret.core.kernels import engine
from pandora_regret.metrics import METRICS, Metric
from pandora_regret.study import Agreement, agreement
from pandora_regret.study import ranking_agreement as module
from pandora_regret.study.conditions import CONDITIONS, Condition
from pandora_regret.study.ranking_agreement import draw_counts, replicate_taus

COSTS = [100.0, 40.0, 10.0]
KEYS = ["pandora_regret", "log_loss", "accuracy", "auroc", "macro_f1"]
QUICK = {"costs": COSTS, "conditions": ["clinical"], "metrics": KEYS, "replicates": 0}


def zoo(n_models=9, n_rows=60, seed=0):
    """True classes, and models of rising skill and varying confidence."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_rows)
    skill, heat = np.linspace(0, 2, n_models)[:, None, None], rng.lognormal(0, 0.5, (n_models, 1, 1))
    odds = np.exp(heat * (skill * np.eye(3)[truth] + rng.normal(size=(n_models, n_rows, 3))))
    return truth, odds / odds.sum(axis=2, keepdims=True)


def cost_of(truth, proba, costs=COSTS, **given):
    return [search_cost(truth, table, costs, **given) for table in proba]


def tau_of(x, y):
    """What scipy says, 0 where it cannot say anything."""
    tau = kendalltau(x, y).statistic if len(x) > 1 else np.nan
    return 0.0 if np.isnan(tau) else tau


def test_the_point_is_tau_of_the_metric_with_the_mean_search_cost():
    truth, proba = zoo()
    result = agreement(truth, proba, **QUICK)
    values = [[METRICS[key](truth, table) for table in proba] for key in KEYS]
    expected = np.abs([kendalltau(value, cost_of(truth, proba)).statistic for value in values])
    assert_allclose(result.tau[0], expected, atol=1e-12)
    assert_allclose(result.gap[0], expected - expected[0], atol=1e-12)


@pytest.mark.parametrize("prior", [{"prior": Uniform(), "typical": "drawn"}, {"prior": Gamma(2.0)}])
def test_readings_of_drawn_costs(prior):
    truth, proba = zoo()
    value = [METRICS["pandora_regret"](truth, table) for table in proba]
    for reading in ("mean_of_taus", "mean_of_costs", "per_instance"):
        condition = Condition("drawn", draws=5, reading=reading, **prior)
        result = agreement(truth, proba, costs=COSTS, conditions=[condition], metrics=["accuracy"], replicates=0)
        draws = condition.cost_draws(np.array(COSTS), (0, 1, 2), 42, len(truth))
        assert draws.shape == ((5, 60, 3) if reading == "per_instance" else (5, 3))
        by_draw = np.array([cost_of(truth, proba, drawn) for drawn in draws])
        mean = by_draw.mean(axis=0)
        ranked = by_draw if reading == "mean_of_taus" else [mean]
        expected = np.mean([kendalltau(value, costs).statistic for costs in ranked])
        assert_allclose(result.tau[0, 0], abs(expected), atol=1e-12)
        assert result.to_dict()["conditions"][0]["reading"] == reading


def resampled_taus(truth, proba, number, resample, seed, keys):
    """|tau| of one replicate, with its rows and models duplicated."""

    def drawn(n_items, what):
        others = {"instances": "models", "models": "instances"}[what]
        counts = draw_counts(range(number, number + 1), n_items, what, seed)[0].astype(int)
        return np.repeat(np.arange(n_items), 1 if resample == others else counts)

    rows, zoo_of = drawn(len(truth), "instances"), drawn(len(proba), "models")
    truth, proba = truth[rows], proba[zoo_of][:, rows]
    costs = np.round(cost_of(truth, proba), 9)  # ties are ties, however sums were rounded
    values = [np.round([METRICS[key](truth, table) for table in proba], 12) for key in keys]
    return [abs(tau_of(value, costs)) for value in values]


@pytest.mark.parametrize("resample", ["instances", "models", "both"])
def test_intervals_reach_as_far_as_replicates_of_duplicated_rows_and_models_lie_around_the_estimate(resample):
    truth, proba = zoo()
    result = agreement(truth, proba, **{**QUICK, "replicates": 19}, resample=resample, level=0.8, seed=3)
    taus = np.array([resampled_taus(truth, proba, r, resample, 3, KEYS) for r in range(1, 20)])
    bills, pairs = np.round(cost_of(truth, proba), 9), len(proba) * (len(proba) - 1)
    whole = [np.round([METRICS[key](truth, table) for table in proba], 12) for key in KEYS]
    tied = [((v[:, None] == v) & (bills[:, None] != bills)).sum() / pairs for v in whole]
    tied = np.zeros(len(KEYS)) if resample == "models" else np.array(tied)
    assert resample == "models" or tied.max() > 0
    in_either = np.where(np.arange(len(KEYS)) == 0, 0, tied + tied[0])
    for name, values, further in (("tau", taus, tied), ("gap", taus - taus[:, :1], in_either)):
        estimate, low, high = (getattr(result, f"{name}{end}")[0] for end in ("", "_low", "_high"))
        bias, spread = values.mean(axis=0) - estimate, values.std(axis=0)
        reach = student.ppf(0.9, len(proba) - 1) * np.sqrt(spread**2 + 3 * bias**2) + further
        least = 0 if name == "tau" else result.tau_low[0] - result.tau_high[0, 0]
        most = 1 if name == "tau" else result.tau_high[0] - result.tau_low[0, 0]
        assert_allclose(low, np.maximum(estimate - reach, least), atol=1e-12)
        assert_allclose(high, np.minimum(estimate + reach, most), atol=1e-12)


def test_intervals_of_models_that_other_cases_rank_otherwise_are_not_to_be_trusted():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    alike = rng.dirichlet(np.ones(3), (8, 60))
    for proba, is_settled in ((alike, False), (zoo(n_rows=600)[1], True)):
        cases = truth if len(truth) == proba.shape[1] else zoo(n_rows=600)[0]
        result = agreement(cases, proba, **{**QUICK, "replicates": 30})
        [condition] = result.conditions
        assert (condition.stability > 0.7) == is_settled
        assert [cell.tau.is_trusted for cell in condition.metrics] == [is_settled] * len(KEYS)
        assert [cell.gap.warning is None for cell in condition.metrics] == [is_settled] * len(KEYS)
    assert agreement(truth, alike, **QUICK).conditions[0].stability is None


def assert_same(one, other):
    figures = ("tau", "gap", "extra_cost", "extra_cost_gap")
    names = [f"{name}{end}" for name in figures for end in ("", "_low", "_high")]
    for name in (*names, "constant", "reversed"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12, err_msg=name)


def test_how_the_work_is_cut_changes_nothing(monkeypatch):
    truth, proba = zoo(n_models=7, n_rows=40)
    asked = {"costs": COSTS, "conditions": list(CONDITIONS), "replicates": 11, "resample": "both"}
    whole = agreement(truth, proba, **asked)
    monkeypatch.setattr(module, "TABLE_BYTES", 8 * 7 * 100 * 3)  # three replicates at a time
    monkeypatch.setattr(module, "BATCH_ELEMENTS", 40 * 3 * 2)  # two models at a time
    monkeypatch.setattr(engine, "WORTH_COMPILING", 0)
    assert_same(agreement(truth, proba, **asked), whole)


@given(st.permutations(range(6)))
def test_the_order_of_models_changes_nothing(order):
    truth, proba = zoo(n_models=6, n_rows=30)
    names = [f"model {number}" for number in range(6)]
    asked = {**QUICK, "conditions": ["random_temperature"], "replicates": 5, "resample": "both"}
    result = agreement(truth, proba, models=names, **asked)
    shuffled = agreement(truth, proba[order], models=[names[at] for at in order], **asked)
    assert_same(shuffled, result)
    assert shuffled.picked == result.picked


def cost_itself(truth, proba):
    return search_cost(truth, proba, COSTS, per_instance=True)


ITSELF = Metric("cost", "The cost itself", "lower", rows=cost_itself)
CONSTANT = Metric("constant", "Constant", "higher", rows=lambda truth, proba: np.ones(len(truth)))


@pytest.mark.parametrize("resample", ["instances", "models", "both"])
def test_the_cost_itself_agrees_perfectly_and_a_constant_not_at_all(resample):
    truth, proba = zoo()
    asked = {**QUICK, "metrics": [ITSELF, CONSTANT], "replicates": 40, "resample": resample}
    result = agreement(truth, proba, **asked)
    _, cost, constant = range(3)
    assert_allclose([result.tau[0, cost], result.tau_low[0, cost], result.tau_high[0, cost]], 1, rtol=1e-12)
    assert result.gap_low[0, cost] >= -1e-12
    assert_allclose([result.extra_cost[0, cost], result.extra_cost_high[0, cost]], 0, atol=1e-12)
    assert [result.tau[0, constant], result.tau_high[0, constant]] == [0, 0]
    assert_array_equal(result.constant, [[False, False, True]])
    assert len(result.picked[0][constant]) == len(proba)


def test_models_of_equal_means_tie_however_their_sums_are_rounded():
    truth, proba = zoo(n_models=4, n_rows=99)
    rng = np.random.default_rng(0)
    shuffled = np.stack([proba[2][rng.permutation(99)] for _ in range(4)])
    mean = Metric("m", "M", "lower", rows=lambda truth, table: np.log(table).sum(axis=1))
    result = agreement(truth, shuffled, **{**QUICK, "metrics": [mean]})
    assert result.constant[0, 1]
    assert not result.constant[0, 0]


def test_one_outlier_does_not_flatten_the_others():
    truth, proba = zoo(n_models=12, n_rows=200)
    huge = Metric("huge", "Huge", "lower", rows=_loss_that_may_be_huge)
    proba = np.concatenate([proba, np.full((1, 200, 3), [1.0, 0.0, 0.0])])
    result = agreement(truth, proba, **{**QUICK, "metrics": [huge]})
    values = [np.mean(huge.rows(truth, table)) for table in proba]
    assert max(values) > 2.0**40 * sorted(values)[-2]
    assert_allclose(result.tau[0, 1], kendalltau(values, cost_of(truth, proba)).statistic)


def _loss_that_may_be_huge(truth, table):
    return (1 - table[np.arange(len(truth)), truth]) * np.where(table[:, 0] == 1, 1e14, 1.0)


def test_what_metrics_pick_by_hand():
    truth = np.array([0, 0, 1, 1])
    costs = {"a": 10.0, "b": 1.0}
    sure = np.array([[0.99, 0.01], [0.99, 0.01], [0.1, 0.9], [0.1, 0.9]])  # tests the truth first: 10, 10, 1, 1
    late = np.array([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9], [0.1, 0.9]])  # tests b first: 11, 11, 1, 1
    table = np.stack([late, sure])
    asked = {
        "models": ["late", "sure"], "classes": ["a", "b"], "costs": costs,
        "conditions": ["clinical"], "metrics": ["pandora_regret", "accuracy", PREFERS_LATE],
    }  # fmt: skip
    result = agreement(truth, table, **asked, replicates=0)
    assert result.picked[0] == (("sure",), ("late", "sure"), ("late",))
    assert np.isnan([result.extra_cost, result.extra_cost_gap_low, result.tau_low]).all()
    of_all_cases = agreement(truth, table, **asked, replicates=500, resample="models")
    # a replicate draws one of the two models twice in half of all cases, and leaves no choice
    assert_allclose(of_all_cases.extra_cost, [[0, 0.25 * 0.5, 0.5 * 0.5]], atol=0.03)


PREFERS_LATE = Metric("late", "Late", "lower", rows=lambda truth, proba: proba.max(axis=1))


def honest_extra_cost(truth, proba, groups, number):
    """Picked by accuracy and by bills on the resample, paid on what it left out."""
    drawn = draw_counts(range(number, number + 1), groups.max() + 1, "instances", 2)[0][groups]
    accuracies = [METRICS["accuracy"](truth, table, sample_weight=drawn) for table in proba]
    bills = np.array([search_cost(truth, table, COSTS, per_instance=True) for table in proba])
    past = bills @ drawn / drawn.sum()
    later = bills[:, drawn == 0].mean(axis=1)
    by_accuracy = later[np.isclose(accuracies, max(accuracies), rtol=1e-12)].mean()
    return by_accuracy - later[np.isclose(past, past.min(), rtol=1e-12)].mean()


@pytest.mark.parametrize("groups", [None, np.repeat([3, 1, 4, 2, 0, 9, 8, 7, 5, 6], 3)])
def test_extra_costs_are_paid_on_what_the_resample_left_out_groups_as_a_whole(groups):
    truth, proba = zoo(n_models=5, n_rows=30)
    asked = {**QUICK, "metrics": ["accuracy"], "replicates": 30, "seed": 2}
    result = agreement(truth, proba, groups=groups, **asked)
    rows = np.arange(30) if groups is None else groups
    extra = np.array([honest_extra_cost(truth, proba, rows, number) for number in range(1, 31)])
    assert_allclose(result.extra_cost[0, 1], extra.mean(), atol=1e-10)
    reach = student.ppf(0.975, 4) * extra.std()
    assert_allclose(result.extra_cost_low[0, 1], extra.mean() - reach, atol=1e-10)
    assert_allclose(result.extra_cost_high[0, 1], extra.mean() + reach, atol=1e-10)
    assert result.to_dict()["data"]["groups"] == (None if groups is None else 10)
    with refused(argument="groups", value=(29,)):
        agreement(truth, proba, groups=rows[1:], **asked)


def test_the_gap_of_extra_costs_is_paired():
    truth, proba = zoo(n_models=6, n_rows=80)
    asked = {**QUICK, "metrics": ["pandora_regret", "accuracy", "log_loss"], "replicates": 60, "resample": "both"}
    result = agreement(truth, proba, **asked)
    assert_allclose(result.extra_cost_gap, result.extra_cost - result.extra_cost[:, :1], atol=1e-12)
    assert_array_equal([result.extra_cost_gap_low[0, 0], result.extra_cost_gap_high[0, 0]], 0)
    paired = result.extra_cost_gap_high - result.extra_cost_gap_low
    apart = (result.extra_cost_high - result.extra_cost_low) + (result.extra_cost_high - result.extra_cost_low)[
        :, :1
    ]
    assert (paired[:, 1:] < apart[:, 1:]).all()


def test_infinite_bills_leave_the_extra_cost_undefined_or_infinite():
    truth = np.repeat([0, 1], 20)
    fair = np.where(truth[:, None] == np.arange(2), 0.6, 0.4)
    sure = np.where(truth[:, None] == np.arange(2), 0.9, 0.1)
    never = np.array([[1.0, 0.0]] * 40)  # excludes half of the truths, and is told apart by confidence
    confident = Metric("confident", "Confident", "higher", rows=lambda truth, proba: proba.max(axis=1))
    asked = {"costs": [1.0, 1.0], "conditions": ["imperfect_tests"], "metrics": ["log_loss", confident]}
    result = agreement(truth, np.stack([fair, sure, never]), **asked, replicates=10)
    assert_array_equal(result.extra_cost[0], [0, 0, np.inf])
    assert result.to_dict()["conditions"][0]["metrics"][2]["extra_cost_gap"]["value"] == "inf"
    assert np.isnan(result.extra_cost_low[0, 2])
    same = agreement(truth, np.stack([never, never]), **asked, replicates=10)
    assert np.isnan(same.extra_cost).all()


def test_prevalence_weights_metrics_and_costs_alike():
    truth, proba = zoo()
    truth = np.where(truth == 2, 1, truth)
    prevalence = [np.mean(truth == 0) * 2, np.mean(truth == 1), 1.0]  # class 0 twice as often as it is
    twice = np.repeat(np.arange(len(truth)), np.where(truth == 0, 2, 1))
    shifted = agreement(truth, proba, **{**QUICK, "conditions": [Condition("shift", prevalence=prevalence)]})
    duplicated = agreement(truth[twice], proba[:, twice], **QUICK)
    assert_allclose(shifted.tau, duplicated.tau, atol=1e-12)


def test_findings_survive_a_file():
    truth, proba = zoo()
    never = Metric("never", "Never", "lower", rows=lambda truth, proba: np.full(len(truth), np.inf))
    result = agreement(truth, proba, **{**QUICK, "metrics": [*KEYS, never], "replicates": 7})
    written = json.dumps(result.to_dict(), allow_nan=False)
    read = Agreement.from_dict(json.loads(written))
    assert read == result
    assert np.isnan(Agreement.from_dict(agreement(truth, proba, **QUICK).to_dict()).tau_low).all()
    with pytest.raises(InputError, match="'pandora-agreement/1'"):
        Agreement.from_dict({"schema": "pandora-agreement/9"})


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"costs": None}, {"argument": "costs", "place": "condition 'clinical'"}),
        ({"costs": [1.0, 2.0, -1.0]}, {"argument": "costs", "column": 2, "value": -1.0}),
        ({"models": ["a", "b"]}, {"argument": "models", "value": 2}),
        ({"models": ["a"] * 9}, {"argument": "models", "value": "a"}),
        ({"replicates": -1}, {"argument": "replicates", "value": -1}),
        ({"resample": "rows"}, {"argument": "resample", "value": "rows"}),
        ({"level": 95}, {"argument": "level", "value": 95}),
    ],
)
def test_what_makes_no_sense_is_explained(change, fields):
    with refused(**fields):
        agreement(*zoo(), **{**QUICK, **change})


def test_forecasts_are_checked_at_the_door():
    truth, proba = zoo()
    broken = proba.copy()
    broken[3, 5] = 0.5
    with pytest.raises(InputError, match=r"row 5 sums to 1\.5"):
        agreement(truth, broken, **QUICK)
    for wrong in (proba[0], proba[:1], proba.astype(int)):
        with refused(argument="forecasts", value=wrong.shape):
            agreement(truth, wrong, **QUICK)


def test_infinite_log_losses_tie_for_the_last_place():
    truth, first = np.array([0, 1, 0, 1]), np.array([0.8, 0.6, 1.0, 0.0])
    table = np.stack([[[p, 1 - p], [1 - max(p, 0.6), max(p, 0.6)]] * 2 for p in first])
    table[2:, 1] = table[2:, 3] = [1.0, 0.0]
    asked = {**QUICK, "costs": [1.0, 1.0], "metrics": ["log_loss"], "replicates": 20}
    result = agreement(truth, table, **asked)
    losses = [METRICS["log_loss"](truth, model) for model in table]
    assert losses[2] == losses[3] == np.inf
    expected = kendalltau([0, 1, 2, 2], cost_of(truth, table, [1.0, 1.0])).statistic
    assert_allclose(result.tau[0, 1], expected)
    assert np.isfinite(result.tau_low).all()


rankings = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, np.inf, -np.inf]), min_size=6, max_size=6)


@given(
    st.lists(rankings, min_size=1, max_size=3),
    st.lists(rankings, min_size=1, max_size=3),
    st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any),
    st.booleans(),
)
def test_tau_is_scipys_averaged_over_draws_and_a_model_drawn_twice_is_two_models(x, y, counts, compiled):
    metrics, costs, again = np.array(x), np.array(y), np.repeat(np.arange(6), counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "WORTH_COMPILING", 0 if compiled else np.inf)
        taus = replicate_taus(metrics[:, :, None], costs.T[:, None, :], np.array([counts], dtype=float))
    expected = [np.mean([tau_of(metric[again], cost[again]) for cost in costs]) for metric in metrics]
    assert_allclose(taus, [expected], atol=1e-12)


@pytest.mark.parametrize(
    ("resample", "n_models", "warns"), [("models", 7, True), ("models", 8, False), ("both", 7, False)]
)
def test_a_handful_of_models_says_too_little_about_others(resample, n_models, warns):
    """Of five, 78 % of intervals of 95 % held in simulations."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 300)
    skill = np.linspace(0.2, 3, n_models)[:, None, None]
    odds = np.exp(skill * np.eye(3)[truth] + rng.normal(size=(n_models, 300, 3)))
    proba = odds / odds.sum(axis=2, keepdims=True)
    options = {"conditions": ["clinical"], "metrics": ["accuracy"], "costs": COSTS, "replicates": 40}
    result = agreement(truth, proba, **options, resample=resample)
    assert [(cell.tau.warning is not None) for cell in result.conditions[0].metrics] == [warns, warns]
