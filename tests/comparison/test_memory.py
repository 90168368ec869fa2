"""What a comparison takes, as its docstring says: numbers per instance and model, no second set of forecasts."""

import tracemalloc

import numpy as np
import pytest

from pandora_regret import compare

ROWS = 3000
CLASSES = 120


@pytest.fixture(scope="module")
def inputs():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CLASSES, ROWS)
    models = {}
    for number in range(4):
        signal = rng.gamma(0.3, size=(ROWS, CLASSES)) + np.eye(CLASSES)[truth]
        models[f"model {number}"] = signal / signal.sum(axis=1, keepdims=True)
    return truth, models, rng.uniform(5.0, 100.0, CLASSES)


def numbers_per_row(truth, models, costs, **options):
    """The most that was held at one time, in numbers of 8 bytes per row."""
    tracemalloc.start()
    try:
        compare(truth, models, costs=costs, **options)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak / 8 / ROWS


def test_memory_grows_by_numbers_per_model_not_by_forecasts(inputs):
    truth, models, costs = inputs
    first = dict(list(models.items())[:1])
    numbers_per_row(truth, first, costs)  # what is loaded, or computed once and kept
    alone = numbers_per_row(truth, first, costs)
    together = numbers_per_row(truth, models, costs)
    assert CLASSES < alone <= 40 + 8 * CLASSES
    assert (together - alone) / (
        len(models) - 1
    ) < CLASSES / 2  # a copy of each model's forecasts would be CLASSES


def test_memory_does_not_grow_with_the_groups_of_a_breakdown():
    rng = np.random.default_rng(1)
    rows = 20_000
    truth = rng.integers(0, 4, rows)
    models = {name: rng.dirichlet(np.ones(4), rows) for name in ("a", "b", "c")}
    costs = [5.0, 20.0, 60.0, 90.0]
    numbers_per_row(truth, models, costs)
    without = numbers_per_row(truth, models, costs)
    by = {"site:each": np.arange(rows) % 45, "ward:each": np.arange(rows) % 31}
    with_groups = numbers_per_row(truth, models, costs, by=by)
    assert with_groups < 1.1 * without
