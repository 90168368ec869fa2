"""The compiled loops against the reference, and what becomes of the rows they do not vouch for."""

import os
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import refused

from pandora_regret import Beta, expected_search_cost, pair_costs, pandora_regret, search_entropy
from pandora_regret.core.inputs import read_forecast
from pandora_regret.core.kernels import engine, reference
from pandora_regret.core.kernels.reference import BROKEN_AT_RANDOM, BROKEN_BY_INDEX
from pandora_regret.core.scores import search_tally

numba = pytest.importorskip("numba", reason="numba is not installed: the reference does all the work")

from pandora_regret.core.kernels import compiled  # noqa: E402

ALPHAS = [0.0, 1e-6, 0.37, 1.0, 3.0, 50.0, np.inf]
DTYPES = {np.float16: 1e-12, np.float32: 1e-12, np.float64: 1e-12}  # computed in float64 whatever comes in
LAYOUTS = {
    "contiguous": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "backwards": lambda table: np.ascontiguousarray(table[::-1])[::-1],
    "columns backwards": lambda table: np.ascontiguousarray(table[:, ::-1])[:, ::-1],
    "every other column": lambda table: np.repeat(table, 2, axis=1)[:, ::2],
    "other byte order": lambda table: table.astype(table.dtype.newbyteorder("S")),
}


@pytest.fixture(autouse=True, scope="module")
def _compiled():
    """Everything is worth compiling here."""
    before, engine.WORTH_COMPILING = engine.WORTH_COMPILING, 0
    yield
    engine.WORTH_COMPILING = before


def joined(parts):
    return np.concatenate([values for _, values in parts])


def by_blocks(forecast, function, *arguments):
    return np.concatenate([function(block, *arguments) for block in forecast.blocks()])


@st.composite
def forecasts(draw, logits=None):
    """Tables with ties, zeros, impossible classes, extremes, any layout and precision, with and without costs."""
    logits = draw(st.booleans()) if logits is None else logits
    n = draw(st.one_of(st.integers(1, 6), st.integers(250, 300)))  # lanes of few classes hold up to 256 rows
    k = draw(st.sampled_from([2, 3, 8, 70]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    coarse = rng.integers(0, 4, (n, k)).astype(float)  # few values: ties and zeros
    coarse[np.arange(n), rng.integers(0, k, n)] += 1
    table = draw(st.sampled_from([coarse, rng.exponential(size=(n, k)), rng.exponential(size=(n, k)) ** 40]))
    dtype = draw(st.sampled_from(list(DTYPES)))
    if logits:
        spread = draw(st.sampled_from([1.0, 30.0, 1e4]))
        values = np.clip(spread * rng.standard_normal((n, k)), -1e4, 1e4).round(draw(st.integers(-1, 3)))
        values[(rng.random((n, k)) < 0.1) & (np.arange(k) != rng.integers(0, k))] = -np.inf
        values[:, 0] = np.where(np.isinf(values).all(axis=1), 0.0, values[:, 0])
    else:
        values = table / table.sum(axis=1, keepdims=True)
        values = values if dtype is np.float64 else values.round(3 if dtype is np.float16 else 6)
        values[np.arange(n), values.argmax(axis=1)] += 1 - values.sum(axis=1)  # which stays positive
    values = LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))](values.astype(dtype))
    weights = draw(st.sampled_from([None, rng.random(n) + 0.1]))
    forecast = read_forecast(rng.integers(0, k, n), values, sample_weight=weights, logits=logits)
    costs = [None, rng.integers(1, 4, k).astype(float), rng.lognormal(0, 2, (n, k))]
    return forecast.with_costs(draw(st.sampled_from(costs)))


@given(forecasts(), st.sampled_from(ALPHAS))
def test_total_losses_are_the_reference(forecast, alpha):
    result = joined(engine.total_losses(forecast, alpha))
    assert_allclose(result, by_blocks(forecast, reference.total_losses, alpha), rtol=1e-12, atol=1e-290)


@given(forecasts(), st.sampled_from([BROKEN_AT_RANDOM, BROKEN_BY_INDEX]))
def test_realised_costs_are_the_reference_ties_included(forecast, ties):
    result = joined(engine.realised_costs(forecast, ties))
    assert_allclose(result, by_blocks(forecast, reference.realised_costs, ties), rtol=1e-14)


@given(forecasts(), st.sampled_from(ALPHAS))
def test_sums_along_the_search_are_the_reference_to_the_last_bit(forecast, alpha):
    for block in forecast.blocks():
        expected = reference.losses_for_every_truth(block, alpha)
        got = reference.losses_for_every_truth(block, alpha, compiled.sums_along_search)
        np.testing.assert_array_equal(got, expected)


def test_entropies_of_many_classes_are_summed_by_the_compiled_loop(monkeypatch):
    table = np.random.default_rng(0).dirichlet(np.ones(engine.WIDE), 40)
    by_loop = search_entropy(table, per_instance=True)
    monkeypatch.setattr(compiled, "sums_along_search", lambda *arguments: np.full(table.shape, np.nan))
    with refused(argument="y_proba", row=0):
        search_entropy(table, per_instance=True)
    monkeypatch.setattr(engine, "WORTH_COMPILING", table.size + 1)
    np.testing.assert_array_equal(by_loop, search_entropy(table, per_instance=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loops_leave_doubtful_rows_to_the_reference(dtype):
    values = np.full((700, 3), 1 / 3, dtype)
    values[5] = [0, 0.5, 0.5]
    values[600] = [1e-36, 0.5, 0.5]  # far from the edge
    forecast = read_forecast(np.zeros(700, np.int64), values)
    assert list(engine._compiled_totals(forecast, 1.0)[1]) == [5]
    logits = np.zeros((700, 3), dtype)
    logits[699, 0] = -np.inf
    forecast = read_forecast(np.zeros(700, np.int64), logits, logits=True)
    assert list(engine._compiled_totals(forecast, 1.0)[1]) == [699]


def test_threads_keep_their_pair_sums_apart(monkeypatch):
    """A thread is interrupted between making its table and filling it."""
    monkeypatch.setattr(engine, "CHUNK_ELEMENTS", 1000)
    rng = np.random.default_rng(6)
    forecast = read_forecast(rng.integers(0, 4, 20_000), rng.dirichlet(np.ones(4), 20_000))
    [(_, _, _, expected)] = engine.wasted_pairs(forecast, Beta(1.0))
    zeros = np.zeros
    monkeypatch.setattr(engine.np, "zeros", lambda *shape: (zeros(*shape), time.sleep(0.001))[0])
    [(_, _, _, result)] = engine.wasted_pairs(forecast, Beta(1.0))
    assert (result == expected).all()


@given(forecasts(), st.sampled_from([1e-6, 0.37, 1.0, 3.0, np.inf]))
def test_pair_losses_are_the_reference(forecast, alpha):
    prior = Beta(alpha)
    [(rows, totals, _, pairs)] = engine.wasted_pairs(forecast, prior)
    expected = np.zeros((forecast.n_classes, forecast.n_classes))
    for block in forecast.blocks():
        classes, sums = reference.sums_by_truth(block, reference.mean_waste(block, prior))
        expected[classes] += sums
    assert_allclose(pairs, expected, rtol=1e-12, atol=1e-290)
    assert_allclose(totals, by_blocks(rows, reference.mean_waste, prior).sum(axis=1), rtol=1e-12, atol=1e-290)


@pytest.mark.slow
@given(forecasts(), st.integers(0, 2**32 - 1))
def test_simulated_totals_are_the_reference(forecast, seed):
    unit_costs = np.random.default_rng(seed).random((5, forecast.n_classes)) + 0.01
    expected = np.zeros(5)
    for block in forecast.blocks():
        expected += reference.simulated_costs(block, unit_costs) @ block.each_weight
    assert_allclose(engine.simulated_totals(forecast, unit_costs), expected, rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 1000, 70_000])
def test_many_rows_are_cut_and_put_together_again(rows, monkeypatch):
    monkeypatch.setattr(engine, "ROWS_AT_ONCE", 20_000)
    monkeypatch.setattr(engine, "CHUNK_ELEMENTS", 1000)
    rng = np.random.default_rng(rows)
    forecast = read_forecast(rng.integers(0, 5, rows), rng.dirichlet(np.ones(5), rows))
    parts = list(engine.total_losses(forecast, 0.37))
    assert sum(len(part) for part, _ in parts) == rows
    assert_allclose(joined(parts), by_blocks(forecast, reference.total_losses, 0.37), rtol=1e-12)


def test_a_hundred_thousand_classes():
    rng = np.random.default_rng(0)
    forecast = read_forecast([7, 99_999], rng.dirichlet(np.ones(100_000), 2))
    for alpha in ALPHAS:
        result = joined(engine.total_losses(forecast, alpha))
        assert_allclose(result, by_blocks(forecast, reference.total_losses, alpha), rtol=1e-12)


@pytest.mark.parametrize(
    ("row", "logits", "value", "says"),
    [
        ([0.5, np.nan, 0.5], False, np.nan, "contains"),
        ([0.7, -0.1, 0.4], False, -0.1, "negative"),
        ([0.5, 0.3, 0.1], False, 0.9, "sums to"),
        ([np.inf, 0.0, 0.0], False, np.inf, "contains"),
        ([0.5, np.nan, 0.5], True, np.nan, "largest logit"),
        ([0.5, 1.0, np.inf], True, np.inf, "largest logit"),
        ([-np.inf] * 3, True, -np.inf, "largest logit"),
    ],
)
@pytest.mark.parametrize("truth", [0, 1, 2])
def test_what_is_wrong_is_explained_with_its_row(row, logits, value, says, truth):
    table = np.full((300_000, 3), 1 / 3)
    table[250_000] = row
    with refused(argument="y_proba", row=250_000, value=value, says=says):
        pandora_regret(np.full(300_000, truth), table, logits=logits)


@pytest.mark.parametrize("score", [pandora_regret, expected_search_cost, pair_costs, search_tally])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scoring_makes_no_copy_of_the_forecasts(dtype, score):
    rng = np.random.default_rng(2)
    table = rng.dirichlet(np.ones(50), 60_000).astype(dtype)
    truth = rng.integers(0, 50, 60_000)
    score(truth, table)  # compiled and imported on first use
    tracemalloc.start()
    score(truth, table)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 0.3 * table.nbytes


def test_vector_exp_and_log_are_exact_to_1e_15():
    @numba.njit
    def parts(x):
        s, m = compiled.exp_parts(x)
        return s + s * m, s * m + (s - 1)

    log = numba.njit(lambda x: compiled.log_normal(x))
    rng = np.random.default_rng(3)
    for x in -np.concatenate([rng.uniform(0, 708, 20_000), 10.0 ** rng.uniform(-18, 2, 20_000), [0.0]]):
        exp, expm1 = parts(x)
        assert abs(exp - np.exp(x)) <= 1e-15 * np.exp(x)
        assert abs(expm1 - np.expm1(x)) <= 1e-15 * abs(np.expm1(x))
    for x in np.concatenate([10.0 ** rng.uniform(-307, 300, 20_000), rng.uniform(0.5, 2, 20_000), [1.0]]):
        assert abs(log(x) - np.log(x)) <= 1e-15 * abs(np.log(x))


FORKING = """
import multiprocessing
import numpy as np
from pandora_regret import pandora_regret

rng = np.random.default_rng(4)
truth, table = rng.integers(0, 9, 100_000), rng.dirichlet(np.ones(9), 100_000)
expected = pandora_regret(truth, table)  # the parent's threads are up
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.apply_async(pandora_regret, (truth, table)).get(timeout=60) == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_scores_too():
    """In an interpreter of its own, since other libraries' threads here do not survive a fork."""
    subprocess.run([sys.executable, "-c", FORKING], check=True, timeout=120)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_rows_of_many_classes_are_read_where_they_lie(layout):
    table, truth = np.random.default_rng(0).dirichlet(np.ones(100), 50), np.arange(50)
    forecast = read_forecast(truth, layout(table), np.arange(100))
    assert all(len(engine._compiled_totals(part, 1.0)[1]) == 0 for part in engine._parts(forecast))
