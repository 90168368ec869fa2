"""The compiled sweeps over every truth compute what the plain ones do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pandora_regret.inputs import read_probabilities
from pandora_regret.kernels import every_truth

pytest.importorskip("numba")


@given(
    seed=st.integers(0, 1000),
    alpha=st.sampled_from([0.05, 0.3, 1.0, 2.5, 30.0]),
    logits=st.booleans(),
    special=st.sampled_from(["plain", "zeros", "ties", "tiny"]),
    costs=st.sampled_from([None, "classes", "rows"]),
)
def test_compiled_sweeps_are_the_plain_ones(seed, alpha, logits, special, costs):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(7, 0.3), 9)
    if special == "zeros":
        table[::2, 3] = 0.0
    if special == "ties":
        table[1::2] = np.round(table[1::2], 1) + 0.01
    if special == "tiny":
        table[::3, 2] = 1e-200
    table /= table.sum(axis=1, keepdims=True)
    prices = {None: None, "classes": rng.uniform(1, 400, 7), "rows": rng.uniform(1, 400, (9, 7))}[costs]
    with np.errstate(divide="ignore"):
        values = np.log(table) + 3 if logits else table
    block = next(read_probabilities(values, logits=logits).with_costs(prices).blocks())
    plain, compiled = every_truth._sweeps(block, alpha), every_truth._compiled_sweeps(block, alpha)
    sound = ~np.isnan(compiled).any(axis=1)
    assert sound.all() or special in ("zeros", "tiny")
    assert_allclose(compiled[sound], plain[sound], rtol=1e-11)


def test_rows_that_the_compiled_sweeps_leave_are_swept_plainly():
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(300), 600)
    table[::5, 7] = 0.0
    table /= table.sum(axis=1, keepdims=True)
    block = next(read_probabilities(table).blocks())
    assert np.isnan(every_truth._compiled_sweeps(block, 1.0)[::5]).all()
    assert_allclose(every_truth.losses_for_every_truth(block, 1.0), every_truth._sweeps(block, 1.0), rtol=1e-12)
