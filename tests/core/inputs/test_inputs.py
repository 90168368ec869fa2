"""Forecasts at the door: what is refused, by which fields, and what is scored exactly as it was given."""

import numpy as np
import pytest
from refusals import refused

from pandora_regret import (
    beta_score,
    excess_search_burden,
    expected_search_cost,
    pair_costs,
    pandora_regret,
    search_cost,
    search_divergence,
    search_entropy,
    search_order,
    simulate_search,
)
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.core.scores import search_tally

P = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
Y = np.array([0, 2, 1])
UNIT = [1.0, 1.0, 1.0]

OF_LABELLED = {
    "pandora_regret": pandora_regret,
    "beta_score": beta_score,
    "excess_search_burden": excess_search_burden,
    "expected_search_cost": expected_search_cost,
    "pair_costs": pair_costs,
    "search_tally": search_tally,
    "simulate_search": simulate_search,
    "search_cost": lambda y, p, **options: search_cost(y, p, UNIT, **options),
}
OF_FORECASTS = {
    "search_entropy": search_entropy,
    "search_order": lambda p, **options: search_order(p, UNIT, **options),
    "search_divergence": lambda p, **options: search_divergence(P, p, **options),
    **{name: lambda p, score=score, **options: score(Y, p, **options) for name, score in OF_LABELLED.items()},
}

every_labelled = pytest.mark.parametrize("score", OF_LABELLED.values(), ids=OF_LABELLED)
every_score = pytest.mark.parametrize("score", OF_FORECASTS.values(), ids=OF_FORECASTS)


def with_row(row, at=1):
    changed = P.copy()
    changed[at] = row
    return changed


# --- y_proba -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y_proba", "shape", "says"),
    [
        (P[:, 1], (3,), "np.column_stack([1 - y_proba, y_proba])"),
        (P[None], (1, 3, 3), "2-D"),
        (np.ones((3, 1)), (3, 1), "np.column_stack"),
        (np.ones((0, 3)), (0, 3), "2-D"),
        ([[]], (1, 0), "2-D"),
        ([[0.5, 0.5], [0.2, 0.3, 0.5]], None, "rectangular"),
    ],
)
def test_a_table_that_is_no_table(y_proba, shape, says):
    with refused(argument="y_proba", row=None, value=shape, says=says):
        pandora_regret(Y, y_proba)


@pytest.mark.parametrize(
    ("row", "value", "says"),
    [
        ([0.2, np.nan, 0.8], np.nan, "contains nan"),
        ([0.2, np.inf, 0.8], np.inf, "contains inf"),
        ([-0.2, 0.7, 0.5], -0.2, "logits=True"),
        ([-1e-12, 0.5, 0.5], -1e-12, "negative"),
        ([1.2, 0.0, 0.0], 1.2, "logits=True"),
        ([1e308, 1e308, 0.0], 1e308, "more than 1"),
        ([0.2, 0.3, 0.4], 0.9, "within 0.00035: normalise"),
        ([0.2, 0.3, 0.51], 1.01, "normalise=True"),
        ([0.0, 0.0, 0.0], 0.0, "sums to 0"),
        ([20.0, 30.0, 50.0], 100.0, "percentages"),
    ],
)
def test_a_row_that_is_no_probability_vector(row, value, says):
    with refused(argument="y_proba", row=1, value=value, says=says):
        pandora_regret(Y, with_row(row))


def test_a_tensor_that_will_not_become_an_array():
    class Tensor:
        def __array__(self, *args, **options):
            raise RuntimeError("call detach() first")

    with refused(argument="y_proba", says="(call detach() first)"):
        pandora_regret(Y, Tensor())


def test_the_first_bad_row_is_named_wherever_it_stands():
    many = np.tile([0.5, 0.5], (200_000, 1))
    many[[150_001, 199_999]] = [0.5, 0.4]
    with refused(argument="y_proba", row=150_001, value=0.9):
        pandora_regret(np.zeros(len(many), int), many)


@pytest.mark.parametrize("dtype", [int, bool, object, str, complex])
def test_forecasts_are_floating_point(dtype):
    given = P.round().astype(dtype)
    with refused(InputTypeError, argument="y_proba", says=f"dtype {given.dtype}: "):
        pandora_regret(Y, given)


@every_score
def test_every_function_checks_its_forecasts(score):
    with refused(argument="y_proba", row=2, value=0.95, says="sums to"):
        score(with_row([0.25, 0.3, 0.4], at=2))


# --- logits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", [1, "yes", None, np.array([True])])
@every_score
def test_logits_is_said_with_a_bool(score, flag):
    with refused(InputTypeError, argument="logits", value=flag):
        score(P, logits=flag)


@pytest.mark.parametrize(
    ("row", "largest"),
    [
        ([0.0, np.nan, 1.0], np.nan),
        ([0.0, np.inf, 1.0], np.inf),
        ([-np.inf] * 3, -np.inf),
    ],
)
def test_logits_need_a_finite_largest(row, largest):
    with refused(argument="y_proba", row=1, value=largest, says="largest logit"):
        pandora_regret(Y, with_row(row), logits=True)


# --- every function, every argument ------------------------------------------------------------------------------


@every_labelled
def test_every_function_checks_its_labels(score):
    with refused(argument="y_true", row=2, value=7, says="column numbers"):
        score([0, 2, 7], P)


@every_labelled
def test_every_function_checks_its_weights(score):
    with refused(argument="sample_weight", row=2, value=-1.0):
        score(Y, P, sample_weight=[1, 1, -1])


@pytest.mark.parametrize("name", ["y_true", "y_proba", "sample_weight", "costs"])
def test_a_mask_is_never_ignored(name):
    arguments = {"y_true": Y, "y_proba": P, "sample_weight": np.ones(3), "costs": np.ones(3)}
    arguments[name] = np.ma.array(arguments[name], mask=arguments[name] == arguments[name].max())
    with refused(InputTypeError, argument=name, says="masked"):
        expected_search_cost(**arguments)


@every_labelled
def test_arguments_are_left_as_they_were(score):
    arguments = {"y_true": Y.copy(), "y_proba": P.copy(), "sample_weight": np.array([1.0, 0.0, 2.0])}
    before = {name: array.copy() for name, array in arguments.items()}
    for array in arguments.values():
        array.flags.writeable = False
    score(arguments["y_true"], arguments["y_proba"], sample_weight=arguments["sample_weight"])
    for name, array in arguments.items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


# --- what is scored, and how exactly -----------------------------------------------------------------------------

EXACT = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [0.0, 0.5, 0.5]])  # exact in every float type


def test_bfloat16_is_a_float_type():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert pandora_regret(Y, EXACT.astype(ml_dtypes.bfloat16)) == pandora_regret(Y, EXACT)
    assert pandora_regret([0], np.array([[0.1, 0.2, 0.7]], ml_dtypes.bfloat16)) > 0  # sums to 1.0013


@pytest.mark.parametrize(
    ("dtype", "inside", "outside", "within"),
    [
        (np.float64, 3.45e-4, 3.46e-4, "0.00035"),
        (np.float32, 3.45e-4, 3.46e-4, "0.00035"),
        (np.float16, 20 * 2.0**-11, 21 * 2.0**-11, "0.01"),
        (np.longdouble, 3.45e-4, 3.46e-4, "0.00035"),
    ],
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_row_may_be_off_by_rounding(dtype, inside, outside, within, sign):
    good, bad = (np.array([[0.5, 0.5], [0.5 + sign * off, 0.5]], dtype) for off in (inside, outside))
    assert np.isfinite(pandora_regret([0, 0], good))
    with refused(argument="y_proba", row=1, value=bad[1].astype(float).sum(), says=f"within {within}:"):
        pandora_regret([0, 0], bad)
