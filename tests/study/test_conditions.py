"""The study's conditions: what temperatures, costs, tests and prevalence do, and what they leave alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused

from pandora_regret import Gamma, InputError, search_cost
from pandora_regret.core.imperfect import Tests, expected_expenditure
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.core.kernels import engine
from pandora_regret.study import agreement
from pandora_regret.study.conditions import (
    CONDITIONS,
    Condition,
    read_condition,
    read_conditions,
    search_bills,
    tempered,
    tempered_distractors,
)

COSTS = np.array([383.77, 75.15, 240.82, 75.15])
CLASSES = ("melanoma", "nevus", "carcinoma", "benign")

temperatures = st.floats(-6, 6).map(np.exp)


@st.composite
def tables(draw, n_classes=None):
    """True classes and forecasts with ties, zeros, certainties and extremes."""
    n, k = draw(st.integers(1, 8)), n_classes or draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    odds = draw(st.sampled_from([rng.integers(0, 3, (n, k)).astype(float), rng.exponential(size=(n, k)) ** 9]))
    odds[np.arange(n), rng.integers(0, k, n)] += 1e-3
    odds = np.where(rng.random((n, 1)) < 0.2, np.eye(k)[rng.integers(0, k, n)], odds)  # some are certain
    return rng.integers(0, k, n), odds / odds.sum(axis=1, keepdims=True)


@given(tables(), temperatures, temperatures)
def test_a_temperature_keeps_order_zeros_and_the_sum_and_two_multiply(table, temperature, other):
    _, proba = table
    warm = tempered(proba, temperature)
    assert_allclose(warm.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(warm[proba == 0], 0)
    higher = proba[:, :, None] > proba[:, None, :]
    assert (warm[:, :, None] >= warm[:, None, :])[higher].all()
    assert_allclose(tempered(proba, 1.0), proba, rtol=1e-12, atol=1e-15)
    one, two = 1 + temperature, 1 + other
    assert_allclose(tempered(tempered(proba, one), two), tempered(proba, one * two), rtol=1e-9, atol=1e-15)


@given(tables(), temperatures)
def test_distractors_share_what_the_truth_leaves_whatever_their_temperature(table, temperature):
    truth, proba = table
    rows = np.arange(len(truth))
    warm = tempered_distractors(truth, proba, temperature)
    assert_array_equal(warm[rows, truth], proba[rows, truth])
    assert_allclose(warm.sum(axis=1), 1, rtol=1e-12)
    assert warm.min() >= 0
    unchanged = warm if proba.shape[1] == 2 else tempered_distractors(truth, proba, 1.0)
    assert_allclose(unchanged, proba, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["all", "distractors"])
def test_a_temperature_is_a_model_s_or_an_instance_s_and_depends_on_nothing_else(kind):
    rng = np.random.default_rng(1)
    truth, proba = rng.integers(0, 4, 5), rng.dirichlet(np.ones(4), (3, 5))
    models = ["a", "b", "c"]
    per_model, per_instance = (Condition("t", temperature=kind, per=per) for per in ("model", "instance"))
    one, many = per_model.changed(truth, proba, models, 7), per_instance.changed(truth, proba, models, 7)
    assert_allclose(many[:, 0], one[:, 0])  # an instance's first is the model's own
    assert (many[:, 1:] != one[:, 1:]).any(axis=2).all()
    for condition, whole in ((per_model, one), (per_instance, many)):
        assert_array_equal(condition.changed(truth, proba[1:2], ["b"], 7), whole[1:2])
        assert_allclose(whole.sum(axis=2), 1)


def test_a_floor_raises_what_forecasts_exclude_in_metrics_and_bills_alike():
    truth = np.array([0, 1, 2, 0])
    proba = np.array([[[0.5, 0.5, 0.0]] * 4, [[0.2, 0.3, 0.5]] * 4])
    raised = Condition("floor", floor=0.1).changed(truth, proba, ["a", "b"], 7)
    assert_allclose(raised[0, 0], np.array([0.5, 0.5, 0.1]) / 1.1)
    assert_array_equal(raised[1], proba[1])
    warm = Condition("both", temperature="all", floor=0.1)
    assert (warm.changed(truth, proba, ["a", "b"], 7) >= 0.1 / 1.3).all()
    tests = {"search": "adaptive", "sensitivity": 0.8}
    conditions = [Condition("missed", **tests), Condition("floored", floor=0.01, **tests)]
    metrics = ["log_loss", "clipped_log_loss_0.02"]
    found = agreement(truth, proba, costs=np.ones(3), conditions=conditions, metrics=metrics, replicates=0)
    floored = Condition("floored", floor=0.01).changed(truth, proba, ["a", "b"], 42)
    same = agreement(truth, floored, costs=np.ones(3), conditions=conditions[:1], metrics=metrics, replicates=0)
    assert_allclose(found.tau[1], same.tau[0])
    assert found.picked[1] == same.picked[0]
    for floor in (-0.1, 0.5):
        with pytest.raises(InputError) as error:
            Condition("floor", floor=floor)
        assert (error.value.argument, error.value.value) == ("floor", floor)


@given(tables(), st.randoms(use_true_random=False))
def test_bills_do_not_depend_on_the_order_of_columns(table, random):
    truth, proba = table
    k = proba.shape[1]
    costs = np.array([[1.0] * k, [1.0 + column % 2 for column in range(k)]])
    order = list(range(k))
    random.shuffle(order)
    moved = np.argsort(order)[truth]
    assert_allclose(search_bills(moved, proba[:, order], costs[:, order]), search_bills(truth, proba, costs))


def test_the_papers_costs():
    clinical, drawn = CONDITIONS["clinical"], CONDITIONS["well_specified"]
    assert_array_equal(clinical.cost_draws(COSTS, CLASSES, 42), [COSTS])
    costs = drawn.cost_draws(None, CLASSES, 42)
    assert costs.shape == (100, 4)
    assert 0 < costs.min() < 0.05
    assert 0.95 < costs.max() <= 1
    assert_array_equal(costs, drawn.cost_draws(COSTS, CLASSES, 42))
    assert (costs != drawn.cost_draws(None, CLASSES, 43)).all()
    assert_array_equal(drawn.typical_costs(None, CLASSES), [0.5] * 4)
    assert {drawn.unit, clinical.unit} == {"draws", "money"}


def test_drawn_costs_scatter_around_the_clinical_ones():
    for prior in (Gamma(2.0), CONDITIONS["noisy_costs"].prior):
        condition = Condition("noise", prior=prior, draws=20_000)
        costs = condition.cost_draws(COSTS, CLASSES, 1)
        assert_allclose(costs.mean(axis=0), COSTS, rtol=0.03)
        assert_array_equal(condition.typical_costs(COSTS, CLASSES), COSTS)


@given(tables(n_classes=4), st.integers(0, 99))
def test_bills_are_search_costs(table, seed):
    truth, proba = table
    rng = np.random.default_rng(seed)
    costs = np.concatenate([rng.integers(1, 4, (2, 4)).astype(float), rng.lognormal(0, 9, (2, 4))])
    expected = [search_cost(truth, proba, drawn, ties="average", per_instance=True) for drawn in costs]
    for worth_compiling in (0, np.inf):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "WORTH_COMPILING", worth_compiling)
            assert_allclose(search_bills(truth, proba, costs), expected, rtol=1e-12)


def test_imperfect_tests_are_billed_by_their_search(monkeypatch):
    rng = np.random.default_rng(0)
    truth, proba = rng.integers(0, 4, 30), rng.dirichlet(np.ones(4), 30)
    quality = {"sensitivity": dict(zip(CLASSES, [0.9, 0.7, 0.8, 1.0], strict=True)), "false_positive_rate": 0.1}
    condition = Condition("tests", search="restarts", confirmatory_cost=50.0, **quality)
    tests = Tests(COSTS, [0.9, 0.7, 0.8, 1.0], 0.1, 50.0)
    expected = expected_expenditure(truth, proba, tests, search="restarts", per_instance=True)
    assert_allclose(condition.bills(truth, proba, COSTS[None], CLASSES), expected[None])
    monkeypatch.setattr(engine, "WORTH_COMPILING", 0)
    assert_allclose(condition.bills(truth, proba, COSTS[None], CLASSES), expected[None])
    assert_allclose(condition.typical_costs(COSTS, CLASSES), tests.effective_cost)


def test_prevalence_weights_classes_as_asked():
    truth = np.array([0, 0, 0, 1, 1, 3])
    equal = CONDITIONS["equal_prevalence"].weights(truth, CLASSES)
    assert_allclose(np.bincount(truth, equal), [2, 2, 0, 2])
    asked = {"nevus": 1.0, "melanoma": 2.0, "benign": 3.0, "carcinoma": 9.0}
    weights = Condition("shift", prevalence=asked).weights(truth, CLASSES)
    assert_allclose(np.bincount(truth, weights), [2, 1, 0, 3])
    assert_array_equal(Condition("none").weights(truth, CLASSES), np.ones(6))


def test_a_named_generator_gives_the_uniform_numbers_that_numpy_gives():
    for name, rng in (("legacy:42", np.random.RandomState(42)), ("default:42", np.random.default_rng(42))):
        condition = read_condition({"name": "well_specified", "draws": 2, "generator": name})
        assert_array_equal(condition.cost_draws(None, CLASSES, seed=1), rng.uniform(size=(2, 4)))


@pytest.mark.parametrize(
    ("wrong", "argument", "value"),
    [
        ("clinicl", "condition", "clinicl"),
        ({"name": "mine", "sigma": -1.0}, "sigma", -1.0),
        ({"name": "mine", "draws": 0}, "draws", 0),
        ({"name": "mine", "workup": "octmnist", "search": "adaptive"}, "workup", "octmnist"),
        ({"name": "mine", "sensitivity": 0.9}, "sensitivity", 0.9),
        ({"name": "mine", "reading": "mean_of_costs"}, "reading", "mean_of_costs"),
        ({"name": "mine", "generator": "legacy:42"}, "generator", "legacy:42"),
        ({"name": "well_specified", "reading": "medians"}, "reading", "medians"),
        ({"name": "well_specified", "generator": "legacy"}, "generator", "legacy"),
        ({"name": "well_specified", "generator": "legacy:4294967296"}, "generator", "legacy:4294967296"),
        ({"name": "imperfect_tests", "prior": "uniform", "reading": "per_instance"}, "reading", "per_instance"),
    ],
)
def test_a_condition_that_makes_no_sense_is_explained(wrong, argument, value):
    with refused(argument=argument, value=value):
        read_condition(wrong)


def test_a_key_that_is_mistyped_is_refused_with_the_nearest():
    with refused(says="mean 'sigma'"):
        read_condition({"name": "mine", "sigmma": 1})


def test_what_is_no_condition_is_explained():
    with refused(InputTypeError, argument="condition", value=7):
        read_condition(7)
    for wrong, value in ((["clinical", "clinical"], "clinical"), ([], None)):
        with refused(argument="conditions", value=value):
            read_conditions(wrong)
    with refused(argument="costs", place="condition 'clinical'"):
        CONDITIONS["clinical"].cost_draws(None, CLASSES, 0)
    for wrong, message in (([1.0, 2.0], "prevalence"), ([1.0, 0.0, 1.0, 1.0], "'nevus' is 0")):
        with pytest.raises(InputError, match=message):
            Condition("p", prevalence=wrong).weights(np.array([0]), CLASSES)


def test_a_work_up_is_billed_as_a_whole(tmp_path):
    from pandora_regret.workup import Workup, workup_cost

    rng = np.random.default_rng(4)
    truth, proba = rng.integers(4, size=30), rng.dirichlet(np.ones(4), 30)
    path = tmp_path / "oct.toml"
    path.write_text(
        """classes = ["CNV", "DME", "drusen", "normal"]
        [steps]
        exam = { cost = 149.64, tells_apart = ["normal"] }
        photo = { cost = 40, requires = "exam", tells_apart = ["drusen"] }
        angiography = { cost = 99, requires = "photo", tells_apart = ["CNV", "DME"] }
        """,
        encoding="utf-8",
    )
    for name, workup in (("octmnist", Workup.from_pathways("octmnist")), (str(path), Workup.load(path))):
        condition = Condition("shared_steps", workup=name)
        expected = workup_cost(truth, proba, workup, per_instance=True)
        costs = condition.cost_draws(None, workup.classes, 0)
        assert condition.bills(truth, proba, costs, workup.classes) == pytest.approx(expected[None])


def test_each_data_set_can_have_its_own_work_up():
    condition = Condition("shared", workup={"Derm": "dermamnist", "OCT": "octmnist"})
    assert condition.of_data("OCT").workup == "octmnist"
    assert Condition("plain").of_data("OCT") == Condition("plain")
    with refused(argument="workup", value="digits", says="it has Derm, OCT"):
        condition.of_data("digits")
    with refused(argument="workup", place="condition 'shared'"):
        condition.bills(np.array([0]), np.array([[0.5, 0.5]]), np.ones((1, 2)), (0, 1))


def test_a_table_may_name_its_prior():
    table = {"name": "gamma_by_case", "prior": "gamma:2", "reading": "per_instance", "draws": 10}
    assert read_condition(table) == Condition("gamma_by_case", prior=Gamma(2.0), reading="per_instance", draws=10)
    assert read_condition({"name": "noisy_costs", "prior": "gamma:2"}).prior == Gamma(2.0)


def test_a_word_for_prevalence_is_equal_or_refused():
    assert Condition("balanced", prevalence="equal").weights(np.array([0, 0, 1]), CLASSES).tolist() == [
        0.75,
        0.75,
        1.5,
    ]
    with pytest.raises(InputError) as error:
        Condition("other", prevalence="even")
    assert (error.value.argument, error.value.value) == ("prevalence", "even")
