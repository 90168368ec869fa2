"""Every work-up gives a proper score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workups import random_workup

from pandora_regret import (
    Beta,
    Empirical,
    Exponential,
    Gamma,
    LogNormal,
    Prior,
    Uniform,
    expected_search_cost,
)
from pandora_regret.workup import Workup, workup_cost, workup_entropy

seeds = st.integers(0, 10**6)


def expected_score(q, p, workup, **options):
    """Of the forecast p if classes have the probabilities q: votes are truths on average."""
    return float(workup_cost([q], [p], workup, **options))


@pytest.mark.parametrize(
    "prior", [None, Uniform(), Beta(0.5), Exponential(), Gamma(2.0), LogNormal(0.7, correlation=0.4)], ids=repr
)
@given(seed=seeds)
def test_any_workup_is_proper(prior, seed):
    """At its costs, and on average over draws of them."""
    rng, how = np.random.default_rng(seed), {"prior": prior, "draws": 7}
    most = 6 if prior is None else 4
    workup = random_workup(rng, n_classes=int(rng.integers(2, most)), n_steps=int(rng.integers(1, most)))
    q, *others = rng.dirichlet(np.ones(len(workup.classes)), 5)
    honest = expected_score(q, q, workup, **how)
    assert honest == pytest.approx(workup_entropy([q], workup, **how), rel=1e-11, abs=1e-12)
    for p in (*others, np.eye(len(q))[0], (q + others[0]) / 2):
        assert expected_score(q, p, workup, **how) >= honest * (1 - 1e-11) - 1e-12


PANEL = {"cost": 1, "positive_for": ["0", "1"], "sensitivity": 1, "specificity": 1}
BESIDE = Workup(list("012"), {name: {"cost": 1, "confirms": name} for name in "012"} | {"panel": PANEL})
NESTED = Workup(
    list("0123"),
    hierarchy={"ab": {"cost": 2.0, "0": 1.0, "1": 3.0}, "cd": {"cost": 1.0, "2": 1.0, "3": 1.0}},
)


@pytest.mark.parametrize(
    ("workup", "method", "prior"),
    [
        (NESTED, "hierarchy", Uniform()),
        (NESTED, "hierarchy", Exponential()),
        (NESTED, "hierarchy", LogNormal(0.8)),
        (BESIDE, "graph", Uniform()),
    ],
)
def test_costs_that_may_come_near_zero_keep_the_score_strict(workup, method, prior):
    """Then every order of definitive tests is worth while, whatever a panel or a group costs."""
    assert workup.method == method
    q, away = np.array([0.4, 0.15, 0.2, 0.25]), np.random.default_rng(0).normal(size=(30, 4))
    q, away = q[: len(workup.classes)] / q[: len(workup.classes)].sum(), away[:, : len(workup.classes)]
    away -= away.mean(axis=1, keepdims=True)
    p = np.vstack([q, q + 0.08 * away / np.linalg.norm(away, axis=1, keepdims=True)])
    paid = workup_cost(np.tile(q, (31, 1)), p, workup, prior=prior, draws=4096, per_instance=True)
    assert min(paid[1:]) > paid[0] + 1e-4


def test_priors_of_single_steps_reach_every_level_of_a_hierarchy():
    """Observed costs one by one; log-normal ones of different spread against those of the steps of each level."""
    tree = {"ab": {"cost": 2.0, "a": 2.5, "b": 1.0}, "c": 1.5}
    workup, p = Workup(list("abc"), hierarchy=tree), [[0.3, 0.3, 0.4]]
    samples = np.random.default_rng(0).uniform(1, 4, (20, 4))
    paid = workup_cost(["b"], p, workup, prior=Empirical(samples))
    one_by_one = []
    for group, a, b, c in workup.costs * samples / samples.mean(axis=0):
        drawn = {"ab": {"cost": group, "a": a, "b": b}, "c": c}
        one_by_one.append(workup_cost(["b"], p, Workup(list("abc"), hierarchy=drawn)))
    assert paid == pytest.approx(np.mean(one_by_one))
    spread = [0.1, 0.5, 1.0, 0.3]
    top = expected_search_cost([0], [[0.6, 0.4]], prior=LogNormal([0.1, 0.3]), costs=[2.0, 1.5])
    below = expected_search_cost([1], [[0.5, 0.5]], prior=LogNormal([0.5, 1.0]), costs=[2.5, 1.0])
    assert workup_cost(["b"], p, workup, prior=LogNormal(spread)) == pytest.approx(top + below)


def test_a_prior_of_ones_own_that_tells_steps_apart_reaches_every_level_too():
    class OnesOwn(Prior):
        """As the log-normal prior, in no class that the package knows."""

        n_classes, strictly_proper = 4, True
        known = LogNormal([0.1, 0.5, 1.0, 0.3])
        mean = known.mean
        share, draw = known.share, known.draw

    tree = {"ab": {"cost": 2.0, "a": 2.5, "b": 1.0}, "c": 1.5}
    workup, p = Workup(list("abc"), hierarchy=tree), [[0.3, 0.3, 0.4]]
    expected = workup_cost(["b"], p, workup, prior=OnesOwn.known)
    assert workup_cost(["b"], p, workup, prior=OnesOwn()) == pytest.approx(expected, rel=1e-12)
