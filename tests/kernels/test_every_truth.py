"""Compiled passes, one for each class as the truth, compute what the sweeps of the reference do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pandora_regret.inputs import read_probabilities
from pandora_regret.kernels import reference

pytest.importorskip("numba")
from pandora_regret.kernels import compiled


@given(
    seed=st.integers(0, 1000),
    alpha=st.sampled_from([0.05, 0.3, 1.0, 2.5, 30.0]),
    logits=st.booleans(),
    special=st.sampled_from(["plain", "zeros", "ties", "tiny"]),
    costs=st.sampled_from([None, "classes", "rows"]),
)
def test_compiled_passes_agree_with_the_sweeps(seed, alpha, logits, special, costs):
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
    plain = reference.losses_for_every_truth(block, alpha)
    assert_allclose(compiled.losses_for_every_truth(block, alpha), plain, rtol=1e-11)
