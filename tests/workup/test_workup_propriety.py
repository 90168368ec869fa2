"""Every work-up gives a proper score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from workups import names, random_workup

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


@pytest.mark.parametrize("prior", [Uniform(), Exponential(), LogNormal(0.8)], ids=repr)
def test_a_hierarchy_is_strictly_proper_where_its_searches_are(prior):
    workup = Workup(
        ["a", "b", "c", "d"],
        hierarchy={"ab": {"cost": 2.0, "a": 1.0, "b": 3.0}, "cd": {"cost": 1.0, "c": 1.0, "d": 1.0}},
    )
    q = np.array([0.4, 0.1, 0.2, 0.3])

    def score(logits):
        p = np.exp(logits - logits.max())
        return expected_score(q, p / p.sum(), workup, prior=prior)

    for start in (np.zeros(4), np.array([2.0, -1.0, 0.0, 1.0])):
        found = minimize(
            score, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13, "maxiter": 4000}
        )
        p = np.exp(found.x - found.x.max())
        assert p / p.sum() == pytest.approx(q, abs=2e-3)


def test_a_panel_beside_definitive_tests_keeps_the_score_strict():
    """Costs that may come near zero make every order of definitive tests worth while, whatever the panel costs."""
    classes = names(3)
    steps = {f"test {k}": {"cost": 1, "confirms": name} for k, name in enumerate(classes)}
    panel = {"cost": 1, "positive_for": classes[:2], "sensitivity": 1, "specificity": 1}
    workup = Workup(classes, steps | {"panel": panel})
    assert workup.method == "graph"
    q = np.array([0.5, 0.3, 0.2])
    angles = np.linspace(0, 2 * np.pi, 13)[:, None]
    around = np.cos(angles) * np.array([1, -1, 0]) / 2**0.5 + np.sin(angles) * np.array([1, 1, -2]) / 6**0.5
    p = np.vstack([q, q + 0.1 * around])
    honest, *others = workup_cost(np.tile(q, (14, 1)), p, workup, prior=Uniform(), draws=4096, per_instance=True)
    assert min(others) > honest + 1e-4


def test_draws_are_shared_and_the_same_every_time():
    rng = np.random.default_rng(0)
    workup = random_workup(rng, n_classes=4, n_steps=3)
    p, y = rng.dirichlet(np.ones(4), 10), rng.integers(4, size=10)
    together = workup_cost(y, p, workup, prior=Gamma(2.0), draws=32, per_instance=True)
    alone = [workup_cost(y[i : i + 1], p[i : i + 1], workup, prior=Gamma(2.0), draws=32) for i in range(10)]
    assert together == pytest.approx(alone, rel=1e-13)


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
        share, share_slope, draw = known.share, known.share_slope, known.draw

    tree = {"ab": {"cost": 2.0, "a": 2.5, "b": 1.0}, "c": 1.5}
    workup, p = Workup(list("abc"), hierarchy=tree), [[0.3, 0.3, 0.4]]
    expected = workup_cost(["b"], p, workup, prior=OnesOwn.known)
    assert workup_cost(["b"], p, workup, prior=OnesOwn()) == pytest.approx(expected, rel=1e-12)
