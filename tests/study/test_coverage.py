"""Intervals of tau, and what choosing costs, against known populations; benchmarks/ has more samples."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from study_coverage import POPULATIONS, extra_costs, tau_coverage


@pytest.mark.parametrize("resample", ["instances", "models", "both"])
def test_intervals_of_tau_cover_the_population_and_contain_their_estimates(resample):
    covered, contained, trusted = tau_coverage(resample, 40, spread=0.3, replicates=60)
    assert contained.all()
    assert covered.mean() >= 0.92 - 2 * np.sqrt(0.92 * 0.08 / 40)
    assert trusted.mean() > 0.9


def test_intervals_reach_a_tau_of_one_that_no_sample_shows():
    """Models that differ in skill alone: in the long run every metric ranks them as their bills do."""
    covered, _, _ = tau_coverage("instances", 40, spread=0.5, habits=0.0, n_models=12, n_rows=300, replicates=60)
    assert covered.mean() >= 0.92 - 2 * np.sqrt(0.92 * 0.08 / 40)


@pytest.mark.parametrize("population", ["two classes, models alike", "five classes, 12 models, 300 cases"])
def test_what_choosing_costs_more_than_choosing_by_bills_is_what_it_costs_in_the_long_run(population):
    said, true, error, _, _ = extra_costs(40, replicates=30, resample="both", **POPULATIONS[population])
    assert (abs(said - true) <= 3 * error).all()
