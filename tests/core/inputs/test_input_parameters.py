"""Costs, weights, priors and choices at the door: every mistake is told by the fields of its error."""

import numpy as np
import polars as pl
import pytest
from refusals import refused

from pandora_regret import (
    Beta,
    Empirical,
    Gamma,
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

P = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
Y = np.array([0, 2, 1])
UNIT = [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("costs", "row", "column", "value"),
    [
        ([1, 0, 1], None, 1, 0.0),
        ([1, 1, -2.5], None, 2, -2.5),
        ([1, np.inf, 1], None, 1, np.inf),
        ([1, 1e-200, 1], None, 1, 1e-200),
        (np.where(np.arange(9) == 5, -1.0, 1.0).reshape(3, 3), 1, 2, -1.0),
        ([1, 2], None, None, (2,)),
        (np.ones((2, 3)), None, None, (2, 3)),
        ([], None, None, (0,)),
    ],
)
def test_costs_that_cannot_be_paid(costs, row, column, value):
    for score in (expected_search_cost, pair_costs, search_cost):
        with refused(argument="costs", row=row, column=column, value=value):
            score(Y, P, costs=costs)
    for score in (beta_score, expected_search_cost):
        with refused(argument="max_costs", row=row, column=column, value=value):
            score(Y, P, max_costs=costs)


def test_costs_or_the_largest_ones_but_not_both():
    for score in (expected_search_cost, pair_costs, search_tally, simulate_search):
        with refused(argument="max_costs", says="both costs"):
            score(Y, P, max_costs=UNIT, costs=UNIT)


@pytest.mark.parametrize(
    ("weights", "row", "value", "says"),
    [
        ([1, -0.5, 1], 1, -0.5, "from 1e-50"),
        ([1, 1, np.nan], 2, np.nan, "is nan"),
        ([0, 1, 5e-324], 2, 5e-324, "4.94066e-324"),
        ([0, 0, 0], None, None, "zero everywhere"),
        ([1, 1], None, (2,), "shape (3,)"),
        ([[1], [1], [1]], None, (3, 1), "shape (3,)"),
        (pl.Series([1, 1, None]), 2, np.nan, "is nan"),
    ],
)
def test_weights_that_weigh_nothing(weights, row, value, says):
    with refused(argument="sample_weight", row=row, value=value, says=says):
        pandora_regret(Y, P, sample_weight=weights)


@pytest.mark.parametrize(
    "make", [lambda a: pandora_regret(Y, P, alpha=a), lambda a: beta_score(Y, P, alpha=a), Beta]
)
def test_alpha_outside_its_range(make):
    with refused(argument="alpha", value=-0.5, says="[0, inf]"):
        make(-0.5)
    with refused(argument="alpha", value=np.nan):
        make(np.nan)
    for wrong in ("1", "one", None, [1.0], np.array([1.0]), 1j, True):
        with refused(InputTypeError, argument="alpha", value=wrong):
            make(wrong)


def test_a_cost_in_money_needs_a_prior_with_a_mean():
    for score in (expected_search_cost, pair_costs, search_tally, simulate_search):
        with refused(argument="prior", says="mean cost 0"):
            score(Y, P, prior=Beta(0.0))
        with refused(argument="prior", says="mean cost inf"):
            score(Y, P, prior=LogNormal(60.0))


@pytest.mark.parametrize("prior", ["Uniform", 1.0, Beta, Uniform])
def test_a_prior_is_a_prior(prior):
    with refused(InputTypeError, argument="prior", value=prior):
        expected_search_cost(Y, P, prior=prior)


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (lambda: Gamma(-1), {"argument": "shape", "value": -1.0}),
        (lambda: Gamma(np.inf), {"argument": "shape", "value": np.inf}),
        (lambda: LogNormal(0), {"argument": "sigma", "column": None, "value": 0.0}),
        (lambda: LogNormal([1, -1]), {"argument": "sigma", "column": 1, "value": -1.0}),
        (lambda: LogNormal([]), {"argument": "sigma", "value": (0,), "says": "empty"}),
        (lambda: LogNormal([[1, 2]]), {"argument": "sigma", "says": "shape (1, 2)"}),
        (lambda: LogNormal(1, correlation=1), {"argument": "correlation", "value": 1.0}),
        (lambda: Empirical([1.0, 2.0]), {"argument": "samples", "value": (2,)}),
        (lambda: Empirical(np.ones((0, 3))), {"argument": "samples", "value": (0, 3)}),
        (lambda: Empirical([[1.0]]), {"argument": "samples", "value": (1, 1)}),
        (
            lambda: Empirical([[1.0, 2.0], [0.0, 1.0]]),
            {"argument": "samples", "row": 1, "column": 0, "value": 0.0},
        ),
    ],
)
def test_prior_parameters_out_of_range(make, fields):
    with refused(**fields):
        make()
