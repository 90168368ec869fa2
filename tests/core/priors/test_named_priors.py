"""Priors that know their classes are matched to forecasts by name, like costs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused

from pandora_regret import Empirical, InputError, LogNormal, expected_search_cost, load_costs

RNG = np.random.default_rng(0)
SAMPLES = RNG.lognormal(0, 1, (20, 3)) * [1.0, 5.0, 25.0]
TABLE, TRUTH = RNG.dirichlet(np.ones(3), 30), RNG.choice(["a", "b", "c"], 30)
BY_POSITION = expected_search_cost(TRUTH, TABLE, prior=Empirical(SAMPLES), labels=["a", "b", "c"])


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda data: pl.DataFrame(data)], ids=["pandas", "polars"])
def test_columns_of_a_frame_are_classes(frame):
    columns = dict(zip("abc", SAMPLES.T, strict=True))
    shuffled = frame({name: columns[name] for name in "cab"})
    found = expected_search_cost(TRUTH, TABLE, prior=Empirical(shuffled), labels=["a", "b", "c"])
    assert found == pytest.approx(BY_POSITION, rel=1e-14)


def test_other_names_and_other_counts_are_refused():
    with refused(argument="prior", value=["c"], place="the labels of prior"):
        expected_search_cost(
            TRUTH, TABLE, prior=Empirical(SAMPLES, labels=["a", "b", "d"]), labels=["a", "b", "c"]
        )
    with refused(argument="labels"):
        Empirical([[1.0, 2.0, -3.0]], labels=["a", "b"])
    with pytest.raises(InputError, match="sigma has names"):
        LogNormal(pd.Series([1.0, 2.0], index=["b", "a"]))


def test_costs_of_pathways_know_their_classes():
    pathways = load_costs("octmnist")
    prior = pathways.empirical(200, seed=0, trials=20)
    forecast, names = [[0.1, 0.2, 0.3, 0.4]], list(pathways.classes)
    expected = expected_search_cost([names[0]], forecast, prior=prior, labels=names)
    backwards = expected_search_cost([names[0]], [forecast[0][::-1]], prior=prior, labels=names[::-1])
    assert backwards == pytest.approx(expected, rel=1e-12)
