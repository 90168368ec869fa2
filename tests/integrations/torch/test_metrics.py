"""The torchmetrics metrics against the package's own scores: streams, weights, processes, devices, collections."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from pandora_regret import Beta, Gamma, Uniform, beta_score, expected_search_cost, pandora_regret
from pandora_regret.core.inputs import InputTypeError

torch = pytest.importorskip("torch", reason="torch is not installed")
torchmetrics = pytest.importorskip("torchmetrics", reason="torchmetrics is not installed")

from pandora_regret.integrations.torch import (  # noqa: E402
    ExpectedSearchCost,
    PandoraRegret,
)

K = 4
COSTS = [1.0, 2.0, 0.5, 3.0]
ALPHAS = [0.0, 1e-6, 0.37, 1.0, 3.0, 50.0, np.inf]


def batch(n_rows=40, seed=0, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(0, 2, (n_rows, K))).to(dtype)
    weights = torch.from_numpy(rng.exponential(1, n_rows) * (rng.random(n_rows) > 0.1))
    return logits, torch.from_numpy(rng.integers(0, K, n_rows)), weights


def fed(metric, preds, target, weights=None):
    for rows in torch.arange(len(target)).split(7):
        metric.update(preds[rows], target[rows], None if weights is None else weights[rows])
    return metric


@given(
    st.sampled_from(ALPHAS),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([torch.float64, torch.float32, torch.float16, torch.bfloat16]),
    st.integers(0, 2**32),
)
def test_a_stream_scores_as_the_whole(alpha, logits, priced, weighted, dtype, seed):
    values, target, weights = batch(seed=seed, dtype=dtype)
    preds = values if logits else values.double().softmax(dim=1).to(dtype)
    costs, weights = COSTS if priced else None, weights if weighted else None
    table = preds.double().numpy()
    options = {"alpha": alpha, "max_costs": costs, "logits": logits, "per_instance": True}
    if not logits:  # half precision is read as it is, not renormalised
        table, options["logits"] = np.log(table), True
    rows = beta_score(target.numpy(), table, **options) / (3 * (K - 1))
    want = np.average(rows, weights=None if weights is None else weights.numpy())
    metric = fed(PandoraRegret(K, alpha=alpha, costs=costs, logits=logits), preds, target, weights)
    assert metric.compute().dtype == torch.float64
    assert metric.compute().item() == pytest.approx(want, rel=1e-11)


@pytest.mark.parametrize("prior", [None, Uniform(), Beta(0.37), Beta(np.inf)], ids=str)
@pytest.mark.parametrize("kind", [None, "costs"])
def test_expected_search_cost_is_the_function_of_that_name(prior, kind):
    logits, target, weights = batch()
    options = {"prior": prior} | ({kind: COSTS} if kind else {})
    for is_logits, preds in ((True, logits), (False, logits.softmax(dim=1))):
        metric = fed(ExpectedSearchCost(K, logits=is_logits, **options), preds, target, weights)
        want = expected_search_cost(
            target.numpy(), preds.numpy(), sample_weight=weights.numpy(), logits=is_logits, **options
        )
        assert metric.compute().item() == pytest.approx(want, rel=1e-12)


TWO_PROCESSES = """
import torchvision_operators
import sys, torch, torch.distributed as dist
from pandora_regret.integrations.torch import ExpectedSearchCost, PandoraRegret
rank, store, data = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
logits, target, weights = torch.load(data)
mine = slice(0, 11) if rank == 0 else slice(11, None)  # unequal shares
for metric in (PandoraRegret(4, alpha=0.37, logits=True), ExpectedSearchCost(4, costs=[1, 2, 3, 4], logits=True)):
    metric.update(logits[mine], target[mine], weights[mine])
    print(repr(metric.compute().item()))
dist.destroy_process_group()
"""


def test_two_processes_give_the_score_of_all_rows(tmp_path):
    logits, target, weights = batch(50)
    torch.save((logits, target, weights), tmp_path / "data.pt")
    command = [sys.executable, "-c", TWO_PROCESSES]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), tmp_path / "store", tmp_path / "data.pt"],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "helpers")},
        )
        for rank in range(2)
    ]
    first, second = (process.communicate(timeout=120)[0].split() for process in ranks)
    assert first == second
    options = {"logits": True, "sample_weight": weights.numpy()}
    want = [
        pandora_regret(target.numpy(), logits.numpy(), alpha=0.37, **options),
        expected_search_cost(target.numpy(), logits.numpy(), costs=[1, 2, 3, 4], **options),
    ]
    assert [float(value) for value in first] == pytest.approx(want, rel=1e-13)


def test_a_collection_keeps_metrics_apart_that_agree_on_the_first_batch():
    logits, target, _ = batch()
    metrics = {f"score{at}": PandoraRegret(K, alpha=alpha, logits=True) for at, alpha in enumerate(ALPHAS)}
    metrics |= {"plain": PandoraRegret(K, logits=True), "cost": ExpectedSearchCost(K, logits=True)}
    collection = torchmetrics.MetricCollection(metrics)
    collection.update(torch.zeros(10, K), target[:10])  # equal forecasts: the same score at every alpha
    collection.update(logits, target)
    result = collection.compute()
    for at, alpha in enumerate(ALPHAS):
        want = pandora_regret(
            target[[*range(10), *range(40)]].numpy(),
            np.concatenate([np.zeros((10, K)), logits.numpy()]),
            alpha=alpha,
            logits=True,
        )
        assert result[f"score{at}"].item() == pytest.approx(want, rel=1e-12)
    assert result["cost"].item() == pytest.approx((1 + (K - 1) * result["plain"].item()) / 2, rel=1e-12)


def test_copies_and_saved_states_go_on_where_they_should():
    logits, target, weights = batch()
    metric = PandoraRegret(K, alpha=0.37, costs=COSTS, logits=True)
    metric.persistent(True)
    fed(metric, logits, target, weights)
    want = metric.compute().item()
    other = PandoraRegret(K, alpha=0.37, costs=COSTS, logits=True)
    other.load_state_dict(metric.state_dict())
    for twin in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), metric.clone(), other):
        twin._update_count = 1  # a loaded state has seen rows
        assert twin.compute().item() == want
    with pytest.raises(RuntimeError, match="another score"):
        PandoraRegret(K, alpha=0.5, logits=True).load_state_dict(metric.state_dict())


@pytest.mark.parametrize("first", [True, False])
def test_inference_mode_may_come_and_go(first):
    logits, target, _ = batch()
    metric = PandoraRegret(K, logits=True)
    for inference in (first, not first):
        with torch.inference_mode(inference):
            metric.update(logits, target)
    with torch.inference_mode():
        metric.reset()
    metric.update(logits, target)
    assert metric.compute().item() == pytest.approx(pandora_regret(target.numpy(), logits.numpy(), logits=True))


UNIFORM = [[0.25] * 4] * 2
BAD = {
    "a class too many": ([[0.2] * 5] * 2, [0, 1], None, {"argument": "preds", "value": 5}),
    "a target out of range": (UNIFORM, [0, 4], None, {"argument": "target", "row": 1, "value": 4}),
    "soft targets": (UNIFORM, UNIFORM, None, {"kind": InputTypeError, "argument": "target"}),
    "a row off 1": ([[0.25] * 4, [0.375] * 4], [0, 1], None, {"argument": "preds", "row": 1, "value": 1.5}),
    "logits unsaid": (
        [[0.25] * 4, [-1.0, 2.0, 0.0, 0.0]],
        [0, 1],
        None,
        {"argument": "preds", "row": 1, "value": -1.0, "says": "logits=True"},
    ),
    "nan": ([[0.25] * 4, [np.nan] * 4], [0, 1], None, {"argument": "preds", "row": 1, "value": np.nan}),
    "weights of another shape": (UNIFORM, [0, 1], [1.0], {"argument": "sample_weight", "value": (1,)}),
    "a negative weight": (UNIFORM, [0, 1], [1.0, -1.0], {"argument": "sample_weight", "row": 1, "value": -1.0}),
}


@pytest.mark.parametrize(("preds", "target", "weights", "fields"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_said(preds, target, weights, fields):
    weights = None if weights is None else torch.tensor(weights)
    with refused(**fields):
        PandoraRegret(4).update(torch.tensor(preds), torch.tensor(target), weights)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"prior": Gamma(2.0)}, {"kind": InputTypeError, "argument": "prior"}),
        ({"prior": Beta(0.0)}, {"argument": "prior"}),
        ({"costs": [1.0, 2.0]}, {"argument": "costs", "value": (2,)}),
        ({"num_classes": 1}, {"argument": "num_classes", "value": 1}),
    ],
    ids=str,
)
def test_metrics_that_make_no_sense_are_refused(options, fields):
    with refused(**fields):
        ExpectedSearchCost(**{"num_classes": 4} | options)
