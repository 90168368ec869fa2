"""PandoraLoss in a training loop: backward passes, reductions, compilation, mixed precision, what it refuses."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from refusals import refused

from pandora_regret.core.inputs import InputTypeError

torch = pytest.importorskip("torch", reason="torch is not installed")

from pandora_regret.integrations.torch import PandoraLoss, linear_pandora_loss, pandora_loss  # noqa: E402

KINDS = ["class numbers", "soft targets", "smoothed"]
every_kind = pytest.mark.parametrize("kind", KINDS)


def batch(n_rows=6, n_classes=5, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n_rows, n_classes, generator=generator, dtype=torch.float64).to(dtype)
    return logits, torch.randint(0, n_classes, (n_rows,), generator=generator)


def case(kind, dtype=torch.float32):
    logits, target = batch(dtype=dtype)
    if kind == "soft targets":
        target = batch(seed=1, dtype=dtype)[0].softmax(dim=1)
    return logits.requires_grad_(), target, {"label_smoothing": 0.1 if kind == "smoothed" else 0.0}


@every_kind
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_second_backward_through_a_kept_graph_gives_the_same_gradient(kind, reduction, dtype):
    logits, target, options = case(kind, dtype)
    loss = pandora_loss(logits, target, reduction=reduction, **options)
    weights = torch.linspace(0, 1, 6) if reduction == "none" else torch.tensor(0.5)
    first, second = (torch.autograd.grad(loss, logits, weights, retain_graph=True)[0].clone() for _ in range(2))
    torch.testing.assert_close(first, second)
    assert first.abs().max() > 0
    (third,) = torch.autograd.grad(loss, logits, weights)
    assert torch.equal(third, second)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, logits, weights)


@pytest.mark.parametrize("needed", [True, False])
def test_no_gradient_is_computed_unless_it_will_be_needed(needed, monkeypatch):
    from pandora_regret.integrations.torch import loss as fused

    asked, honest = [], fused.reduced_loss

    def watched(*args, want_grad):
        asked.append(want_grad)
        return honest(*args, want_grad=want_grad)

    monkeypatch.setattr(fused, "reduced_loss", watched)
    logits, target, _ = case("class numbers")
    with torch.set_grad_enabled(needed):
        pandora_loss(logits, target)
    with torch.inference_mode():
        pandora_loss(logits, target)
    assert asked == [needed, False]


def test_a_second_derivative_is_refused_in_a_sentence():
    logits, target, _ = case("class numbers")
    for loss in (pandora_loss(logits, target), linear_pandora_loss(logits, torch.eye(5), target)):
        with pytest.raises(RuntimeError, match="no second derivative"):
            torch.autograd.grad(loss, logits, create_graph=True)


def test_reductions_and_ignored_rows():
    logits, target = batch(dtype=torch.float64)
    logits[1] = np.nan  # an ignored row may hold anything
    target[1] = target[4] = 3
    logits.requires_grad_()
    kept = [0, 2, 3, 5]
    for smoothing in (0.0, 0.1):
        options = {"ignore_index": 3, "label_smoothing": smoothing}
        target[kept] = torch.tensor([0, 1, 2, 4])
        rows = pandora_loss(logits, target, reduction="none", **options)
        assert (rows[[1, 4]] == 0).all()
        assert (rows[kept] > 0).all()
        assert pandora_loss(logits, target, reduction="sum", **options).item() == pytest.approx(rows.sum().item())
        loss = pandora_loss(logits, target, **options)
        assert loss.item() == pytest.approx(rows[kept].mean().item(), rel=1e-14)
        (grad,) = torch.autograd.grad(loss, logits)
        assert (grad[[1, 4]] == 0).all()
        alone = logits.detach()[kept].requires_grad_()
        (want,) = torch.autograd.grad(pandora_loss(alone, target[kept], label_smoothing=smoothing), alone)
        torch.testing.assert_close(grad[kept], want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_nothing_to_average_is_nan_as_in_cross_entropy(dtype):
    logits = torch.zeros(3, 4, dtype=dtype, requires_grad=True)
    loss = pandora_loss(logits, torch.full((3,), -100))
    loss.backward()
    assert loss.isnan()
    assert (logits.grad == 0).all()
    empty, none = torch.zeros(0, 4, dtype=dtype, requires_grad=True), torch.zeros(0, dtype=torch.int64)
    for target in (none, torch.zeros(0, 4)):
        assert pandora_loss(empty, target).isnan()
        assert pandora_loss(empty, target, reduction="sum").item() == 0
        rows = pandora_loss(empty, target, reduction="none")
        assert rows.shape == (0,)
        assert torch.autograd.grad(rows.sum(), empty)[0].shape == (0, 4)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_loss_scale_reaches_float16_gradients_before_they_underflow(reduction):
    logits, target = batch(64, 2000, dtype=torch.float16)
    leaf = logits.requires_grad_()
    rows = pandora_loss(leaf, target, reduction=reduction)
    (scaled,) = torch.autograd.grad(rows.mean() * 2.0**16, leaf)
    exact = logits.detach().float().requires_grad_()
    (want,) = torch.autograd.grad(pandora_loss(exact, target), exact)
    assert (want.half() == 0).any()
    torch.testing.assert_close(scaled.float() / 2**16, want, rtol=2e-3, atol=1e-12)


def test_module_is_its_functional_twin_and_survives_copies():
    logits, target = batch()
    options = {
        "alpha": 0.37,
        "costs": [1, 2, 3, 4, 5e4],
        "reduction": "sum",
        "label_smoothing": 0.1,
        "ignore_index": 2,
    }
    module, want = PandoraLoss(**options), pandora_loss(logits, target, **options)
    for twin in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module)), module.half()):
        assert torch.equal(twin(logits, target), want)
    assert not module.state_dict()
    assert "alpha=0.37" in repr(module)
    for name, other in (("alpha", 1.0), ("costs", None), ("reduction", "mean"), ("label_smoothing", 0.0)):
        assert not torch.equal(pandora_loss(logits, target, **options | {name: other}), want)


BAD = {
    "a target too large": ({"target": [0, 5]}, {"argument": "target", "row": 1, "value": 5}),
    "a negative target": ({"target": [-1, 0]}, {"argument": "target", "row": 0, "value": -1}),
    "a target of one row": ({"target": [1]}, {"argument": "target", "value": (1,)}),
    "soft targets of other shape": ({"target": [[0.5, 0.5]] * 2}, {"argument": "target", "value": (2, 2)}),
    "a boolean target": (
        {"target": [True, False]},
        {"kind": InputTypeError, "argument": "target", "value": torch.bool},
    ),
    "whole logits": (
        {"logits": torch.zeros(2, 5, dtype=int)},
        {"kind": InputTypeError, "argument": "logits", "value": torch.int64},
    ),
    "one class": ({"logits": torch.zeros(2, 1)}, {"argument": "logits", "value": (2, 1)}),
    "no dimension": ({"logits": torch.tensor(1.0)}, {"argument": "logits", "value": ()}),
    "a negative alpha": ({"alpha": -1}, {"argument": "alpha", "value": -1}),
    "an unknown reduction": ({"reduction": "average"}, {"argument": "reduction", "value": "average"}),
    "smoothing beyond 1": ({"label_smoothing": 1.5}, {"argument": "label_smoothing", "value": 1.5}),
    "a zero cost": ({"costs": [1, 2, 0, 1, 1]}, {"argument": "costs", "column": 2, "value": 0}),
    "a cost too large": ({"costs": [1, 2, 1e40, 1, 1]}, {"argument": "costs", "says": "float32"}),
    "too few costs": ({"costs": [1, 2]}, {"argument": "costs", "value": (2,)}),
    "costs of every row": ({"costs": [[1] * 5] * 2}, {"argument": "costs", "value": (2, 5)}),
    "learnt costs": ({"costs": torch.ones(5, requires_grad=True)}, {"argument": "costs", "says": "gradient"}),
}


@pytest.mark.parametrize(("change", "fields"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_said(change, fields):
    options = {"logits": torch.zeros(2, 5), "target": [0, 1]} | change
    logits, target = options.pop("logits"), torch.tensor(options.pop("target"))
    with refused(**fields):
        pandora_loss(logits, target, **options)


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("missing", "then"), [("torch", "pandora_loss"), ("torchmetrics", "PandoraRegret")])
def test_a_missing_library_is_one_line(missing, then):
    run = python(
        f"import sys; sys.modules[{missing!r}] = None\n"
        "try:\n"
        f"    from pandora_regret.integrations.torch import {then}\n"
        "except ImportError as error:\n"
        "    print(error)"
    )
    assert run.stdout.count("\n") == 1
    assert "pip install 'pandora-regret[torch]'" in run.stdout
