"""Intervals of tau and the regret of choosing, against known populations; benchmarks/ has more samples."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from study_coverage import regrets_of_choosing, tau_coverage


@pytest.mark.parametrize("resample", ["instances", "models", "both"])
def test_intervals_of_tau_cover_the_population_and_contain_their_estimates(resample):
    covered, contained = tau_coverage(resample, 40, spread=0.3, replicates=60)
    assert contained.all()
    assert covered.mean() >= 0.92 - 2 * np.sqrt(0.92 * 0.08 / 40)


def test_the_regret_of_choosing_is_what_choosing_costs_in_the_long_run():
    said, true = regrets_of_choosing(60, replicates=30)
    np.testing.assert_allclose(said, true, rtol=0.25)
