"""Costs, weights, priors and choices at the door: every mistake gets its own sentence."""

import numpy as np
import polars as pl
import pytest

from pandora_regret import (
    Beta,
    Empirical,
    Gamma,
    InputError,
    LogNormal,
    Uniform,
    beta_score,
    expected_search_cost,
    pair_costs,
    pandora_regret,
    search_cost,
    simulate_search,
)
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.core.scores import search_tally
from pandora_regret.monitor import Monitor

P = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
Y = np.array([0, 2, 1])
UNIT = [1.0, 1.0, 1.0]

IN_RANGE = r"it must be a positive number from 1e-50 to 1e\+50"


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1, 0, 1], f"costs of class 1 is 0: {IN_RANGE}"),
        ([1, 1, -2.5], rf"costs of class 2 is -2\.5: {IN_RANGE}"),
        ([1, np.inf, 1], f"costs of class 1 is inf: {IN_RANGE}"),
        ([1, 1e-200, 1], f"costs of class 1 is 1e-200: {IN_RANGE}"),
        (np.where(np.arange(9) == 5, -1.0, 1.0).reshape(3, 3), f"costs row 1, class 2, is -1: {IN_RANGE}"),
        ([1, 2], r"costs has shape \(2,\): pass one cost per class, shape \(3,\), or .* shape \(3, 3\)"),
        (np.ones((2, 3)), r"costs has shape \(2, 3\): pass"),
        ([], r"costs has shape \(0,\): pass"),
    ],
)
def test_costs_that_cannot_be_paid(costs, message):
    for score in (expected_search_cost, pair_costs, search_cost):
        with pytest.raises(InputError, match=message):
            score(Y, P, costs=costs)
    for score in (beta_score, expected_search_cost):
        with pytest.raises(InputError, match=f"max_{message}"):
            score(Y, P, max_costs=costs)


def test_a_keyword_of_an_earlier_release_is_refused_with_its_new_name():
    new_name = "typical_costs of {} is called costs now: pass costs, what a test typically costs"
    for score in (expected_search_cost, pair_costs, search_tally, simulate_search):
        with pytest.raises(InputTypeError, match=new_name.format(score.__name__)):
            score(Y, P, typical_costs=UNIT)
    with pytest.raises(InputTypeError, match=new_name.format("Monitor")):
        Monitor(typical_costs=UNIT)
    with pytest.raises(InputTypeError, match="costs of beta_score is called max_costs now"):
        beta_score(Y, P, costs=UNIT)


def test_costs_or_the_largest_ones_but_not_both():
    for score in (expected_search_cost, pair_costs, search_tally, simulate_search):
        with pytest.raises(InputError, match="both costs and max_costs are given: "):
            score(Y, P, max_costs=UNIT, costs=UNIT)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -0.5, 1], r"sample_weight row 1 is -0\.5: it must be 0, or a positive number from 1e-50"),
        ([1, 1, np.nan], "sample_weight row 2 is nan: it must be"),
        ([0, 1, 5e-324], "sample_weight row 2 is 4.94066e-324: it must be 0, or"),
        ([0, 0, 0], "sample_weight is zero everywhere: give at least one instance a positive weight"),
        ([1, 1], r"sample_weight has shape \(2,\): pass one weight per instance"),
        ([[1], [1], [1]], r"sample_weight has shape \(3, 1\): .* shape \(3,\)"),
        (pl.Series([1, 1, None]), "sample_weight row 2 is nan"),
    ],
)
def test_weights_that_weigh_nothing(weights, message):
    with pytest.raises(InputError, match=message):
        pandora_regret(Y, P, sample_weight=weights)


@pytest.mark.parametrize(
    "make", [lambda a: pandora_regret(Y, P, alpha=a), lambda a: beta_score(Y, P, alpha=a), Beta]
)
def test_alpha_outside_its_range(make):
    with pytest.raises(InputError, match=r"alpha is -0\.5: it must lie in \[0, inf\]"):
        make(-0.5)
    with pytest.raises(InputError, match="alpha is NaN: pass a number"):
        make(np.nan)
    for wrong in ("1", "one", None, [1.0], np.array([1.0]), 1j, True):
        with pytest.raises(InputTypeError, match=r"alpha must be a single number, got .*(1|one|None|True)"):
            make(wrong)


def test_a_cost_in_money_needs_a_prior_with_a_mean():
    for score in (expected_search_cost, pair_costs, search_tally, simulate_search):
        with pytest.raises(
            InputError, match=r"prior Beta\(alpha=0\.0\) has mean cost 0.*pandora_regret\(\.\.\., alpha=0\)"
        ):
            score(Y, P, prior=Beta(0.0))
        with pytest.raises(InputError, match=r"prior LogNormal\(sigma=60.* has mean cost inf: .* finite"):
            score(Y, P, prior=LogNormal(60.0))


@pytest.mark.parametrize("prior", ["Uniform", 1.0, Beta, Uniform])
def test_a_prior_is_a_prior(prior):
    with pytest.raises(
        InputTypeError, match=r"prior must be a prior such as Uniform\(\) .* got .*(Uniform|1\.0|Beta)"
    ):
        expected_search_cost(Y, P, prior=prior)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gamma(-1), "shape is -1: it must be a positive finite number"),
        (lambda: Gamma(np.inf), "shape is inf: it must be a positive finite"),
        (lambda: LogNormal(0), "sigma is 0: it must be a positive number"),
        (lambda: LogNormal([1, -1]), "sigma of class 1 is -1: it must be a positive number"),
        (lambda: LogNormal([]), "sigma is empty"),
        (lambda: LogNormal([[1, 2]]), r"sigma has names or shape \(1, 2\): pass one number, or"),
        (lambda: LogNormal(1, correlation=1), r"correlation is 1: it must lie in \[0, 1\)"),
        (lambda: Empirical([1.0, 2.0]), r"samples has shape \(2,\): pass observed cost vectors"),
        (lambda: Empirical(np.ones((0, 3))), r"samples has shape \(0, 3\): .* at least one sample"),
        (lambda: Empirical([[1.0]]), r"samples has shape \(1, 1\): .* two classes"),
        (lambda: Empirical([[1.0, 2.0], [0.0, 1.0]]), "samples row 1, class 0, is 0: it must be a positive"),
    ],
)
def test_prior_parameters_out_of_range(make, message):
    with pytest.raises(InputError, match=message):
        make()
