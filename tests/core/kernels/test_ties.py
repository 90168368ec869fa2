"""Ties of p / c against exact rational arithmetic: forecasts and prices with few digits, every way to a cost."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import pandora_regret as pr
from pandora_regret.core import array_api
from pandora_regret.core.imperfect import Tests, expected_expenditure
from pandora_regret.core.inputs import read_forecast
from pandora_regret.core.kernels import engine, reference

DTYPES = [np.float64, np.float32]


@st.composite
def searches(draw, zeros=True):
    """Probabilities and prices of at most three digits, as fractions; many prices are in proportion.

    Quotients that differ, differ by 1e-5 at least, which single precision tells apart.
    """
    whole = draw(st.sampled_from([10, 20, 100]))
    n_classes = draw(st.integers(2, 5))
    cuts = sorted(draw(st.lists(st.integers(0, whole), min_size=n_classes - 1, max_size=n_classes - 1)))
    parts = [b - a for a, b in pairwise([0, *cuts, whole])]
    if not zeros:
        parts = [part + 1 for part in parts]
        whole += n_classes
    factor, unit = draw(st.integers(1, 9)), draw(st.sampled_from([1, 10, 100]))
    prices = [part * factor if part and draw(st.booleans()) else draw(st.integers(1, 999)) for part in parts]
    return [Fraction(part, whole) for part in parts], [Fraction(price, unit) for price in prices]


def floats(fractions):
    return np.array([float(number) for number in fractions])


def merits(p, costs):
    """p / c; below all that, impossible classes, cheapest first."""
    return [chance / cost if chance else -cost for chance, cost in zip(p, costs, strict=True)]


def exact_costs(p, costs, lower=Fraction(1, 2), higher=Fraction(1, 2)):
    """What the search pays for each class that might be the truth; of a tie, a share by class number."""
    q, bills = merits(p, costs), []
    for i, ours in enumerate(q):
        shares = [(theirs > ours) + (theirs == ours) * (lower if j < i else higher) for j, theirs in enumerate(q)]
        shares[i] = 1
        bills.append(float(sum(share * cost for share, cost in zip(shares, costs, strict=True))))
    return bills


def table_of(p, dtype, logits):
    values = floats(p)
    with np.errstate(divide="ignore"):
        values = (np.log(values) if logits else values).astype(dtype)
    return np.arange(len(p)), np.tile(values, (len(p), 1))


def by_fixed_prior(truth, table, costs, logits):
    return pr.expected_search_cost(
        truth, table, prior=pr.Fixed(), max_costs=costs, logits=logits, per_instance=True
    )


def by_observed_unit_costs(truth, table, costs, logits):
    """Base costs times observed ones: the first of two factors moves the odds."""
    base = np.array([0.3, 7.0, 1.1, 0.07, 13.0])[: len(costs)]
    prior = pr.Empirical((costs / base)[None])
    return pr.expected_search_cost(truth, table, prior=prior, max_costs=base, logits=logits, per_instance=True)


def by_known_costs(truth, table, costs, logits):
    return pr.search_cost(truth, table, costs, ties="average", logits=logits, per_instance=True)


def by_pairs(truth, table, costs, logits):
    spent = pr.pair_costs(truth, table, prior=pr.Fixed(), max_costs=costs, logits=logits, per_instance=True)
    return costs + spent.sum(axis=1)


def by_simulation(truth, table, costs, logits):
    prior = pr.Empirical(costs[None])
    rows = [(truth[n : n + 1], table[n : n + 1]) for n in range(len(truth))]
    return [pr.simulate_search(*row, prior=prior, draws=2, seed=0, logits=logits).mean for row in rows]


def by_array_api(truth, table, costs, logits):
    return array_api.expected_search_cost(
        truth, table, prior=pr.Fixed(), costs=costs, logits=logits, per_instance=True
    )


def by_divergence(truth, table, costs, logits):
    """What a sure truth pays, by the kernel that does every truth at once."""
    sure = np.eye(len(truth))
    excess = pr.search_divergence(sure, table, prior=pr.Fixed(), max_costs=costs, logits=logits, per_instance=True)
    return costs + excess


WAYS = [
    by_fixed_prior,
    by_observed_unit_costs,
    by_known_costs,
    by_pairs,
    by_simulation,
    by_array_api,
    by_divergence,
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
every_engine = pytest.mark.parametrize("engine_name", ["reference", "compiled"])


@pytest.fixture
def chosen_engine(engine_name, monkeypatch):
    """Have NumPy or the compiled loops do all the work, however little it is."""
    if engine_name == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(engine, "WORTH_COMPILING", 0 if engine_name == "compiled" else 1 << 62)


@pytest.mark.slow
@every_way
@every_engine
@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.usefixtures("chosen_engine")
@settings(max_examples=40)
@given(search=searches(), dtype=st.sampled_from(DTYPES))
def test_a_tie_is_worth_one_half_as_in_exact_arithmetic(way, logits, search, dtype):
    truth, table = table_of(search[0], dtype, logits)
    # A relative tolerance far below what a tie decided wrongly would cost.
    assert_allclose(way(truth, table, floats(search[1]), logits), exact_costs(*search), rtol=1e-5)


@every_engine
@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.usefixtures("chosen_engine")
@given(search=searches(), dtype=st.sampled_from(DTYPES))
def test_ties_by_index_are_those_of_exact_arithmetic(logits, search, dtype):
    p, costs = search
    truth, table = table_of(p, dtype, logits)
    exact = exact_costs(p, costs, lower=1, higher=0)
    by_index = pr.search_cost(truth, table, floats(costs), logits=logits, per_instance=True)
    assert_allclose(by_index, exact, rtol=1e-12)
    options = {"search": "single_pass", "logits": logits, "per_instance": True}
    assert_allclose(expected_expenditure(truth, table, Tests(cost=floats(costs)), **options), exact, rtol=1e-12)


@pytest.mark.parametrize("logits", [False, True])
@given(search=searches(), dtype=st.sampled_from(DTYPES))
def test_orders_are_those_of_exact_arithmetic(logits, search, dtype):
    p, costs = search
    q = merits(p, costs)
    exact = sorted(range(len(q)), key=lambda k: (-q[k], k))
    _, table = table_of(p, dtype, logits)
    assert pr.search_order(table[0], floats(costs), logits=logits).tolist() == exact
    plan = pr.plan_search(table[0], floats(costs), logits=logits)
    assert [step.test for step in plan.steps] == exact


@given(search=searches(), samples=st.lists(st.integers(1, 9), min_size=5, max_size=30))
def test_samples_of_costs_tie_one_by_one_as_in_exact_arithmetic(search, samples):
    p, costs = search
    k = len(p)
    vectors = [costs] + [[Fraction(s, 10) for s in samples[n : n + k]] for n in range(0, len(samples) - k + 1, k)]
    exact = np.mean([exact_costs(p, vector) for vector in vectors], axis=0)
    truth, table = table_of(p, np.float64, logits=False)
    prior = pr.Empirical([floats(vector) for vector in vectors])
    assert_allclose(pr.expected_search_cost(truth, table, prior=prior, per_instance=True), exact, rtol=1e-12)


@pytest.mark.parametrize("soft", [False, True])
@given(search=searches(), dtype=st.sampled_from(DTYPES))
def test_the_training_loss_of_ranks_ties_as_exact_arithmetic_does(soft, search, dtype):
    torch = pytest.importorskip("torch")
    from pandora_regret.integrations.torch import pandora_loss

    p, costs = search
    truth, table = table_of(p, dtype, logits=True)
    target = torch.eye(len(p), dtype=torch.float64) if soft else torch.from_numpy(truth)
    loss = pandora_loss(torch.from_numpy(table), target, alpha=np.inf, costs=floats(costs), reduction="none")
    bills = floats(costs) + loss.double().numpy() * 3 * (len(p) - 1) / 2
    assert_allclose(bills, exact_costs(p, costs), rtol=1e-5)


@settings(max_examples=15)
@given(search=searches())
def test_the_triton_kernel_ties_as_exact_arithmetic_does(search):
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    from pandora_regret.core.kernels import gpu

    device = "cuda" if torch.cuda.is_available() else "cpu"
    p, costs = search
    truth, table = table_of(p, np.float32, logits=True)
    logits, target = torch.from_numpy(table).to(device), torch.from_numpy(truth).to(device)
    rows = gpu.LogitRows(logits, target, np.inf, torch.from_numpy(floats(costs)).float().to(device), -100)
    losses, _ = gpu.reduced_loss(rows, "none", want_grad=False)
    bills = floats(costs) + losses.double().cpu().numpy() * 3 * (len(p) - 1) / 2
    assert_allclose(bills, exact_costs(p, costs), rtol=1e-5)


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("chosen_engine")
def test_a_stream_ties_as_exact_arithmetic_does(dtype, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from pandora_regret.files import open_predictions
    from pandora_regret.stream import score_stream

    rng = np.random.default_rng(0)
    parts, truth = rng.multinomial(20, np.ones(4) / 4, 500), rng.integers(0, 4, 500)
    costs = [Fraction(1, 10), Fraction(3, 10), Fraction(3, 5), Fraction(7, 10)]
    columns = {name: (parts[:, k] / 20).astype(dtype) for k, name in enumerate("abcd")}
    pq.write_table(pa.table({"y_true": np.array(list("abcd"))[truth], **columns}), tmp_path / "model.parquet")
    [predictions] = open_predictions(tmp_path / "model.parquet")
    scores = score_stream(predictions, prior=pr.Fixed(), costs=floats(costs)).best.scores
    bills = []
    for row, i in zip(parts, truth, strict=True):
        p = [Fraction(int(n), 20) for n in row]
        bills.append(exact_costs(p, costs)[i])
    assert scores["expected_cost"].value == pytest.approx(np.mean(bills), rel=1e-12)
    assert scores["realised_cost"].value == pytest.approx(np.mean(bills), rel=1e-12)  # averaged over ties, too


def test_quotients_further_apart_than_rounding_do_not_tie():
    for dtype, apart in ((np.float64, 2e-15), (np.float32, 1e-6)):
        table = np.array([[0.4, 0.4 * (1 + apart), 0.2]], dtype=dtype)
        assert pr.search_cost([0], table, np.ones(3)) == 2
        assert pr.search_cost([0], table[:, [1, 0, 2]], np.ones(3)) == 1
        assert pr.search_order(table[0], np.ones(3)).tolist() == [1, 0, 2]


def test_a_run_of_ties_reaches_no_further_than_its_first_class():
    """Each class ties with the next one; so do not the first and the last, which keep their order."""
    step = 0.6 * reference.TIE
    values = 0.25 * np.array([1.0, 1 + step, 1 + 2 * step, 1 + 3 * step])
    assert pr.search_order(values, np.ones(4)).tolist() == [2, 3, 0, 1]
    forecast = read_forecast([0] * 1, values[None])
    [block] = forecast.blocks()
    assert reference.rank(block).tied.tolist() == [[True, False, True]]


@given(search=searches(zeros=False))
def test_entropies_of_known_costs_tie_as_exact_arithmetic_does(search):
    p, costs = search
    entropy = pr.search_entropy(floats(p)[None], prior=pr.Fixed(), max_costs=floats(costs))
    assert entropy == pytest.approx(float(np.dot(floats(p), exact_costs(p, costs))), rel=1e-12)
