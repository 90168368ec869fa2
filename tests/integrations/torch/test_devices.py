"""PandoraLoss by the Triton kernels and by plain PyTorch: the same results; interpreted where there is no GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from pandora_regret.integrations.torch import loss, pandora_loss  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INF = float("inf")

# Interpreted kernels are NumPy code, which warns where a GPU saturates; what counts is the result.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture
def by_kernels(monkeypatch):
    """A function that runs its argument on the Triton kernels, and one that runs it on plain PyTorch."""
    from pandora_regret.core.kernels import gpu

    def run(kernels, loss_of):
        with monkeypatch.context() as patch:
            patch.setattr(loss, "kernels_for", lambda tensor: kernels if tensor.dtype != torch.float64 else None)
            return loss_of()

    return lambda loss_of: (run(gpu, loss_of), run(None, loss_of))


def loss_and_grad(logits, target, weights=None, **options):
    leaf = logits.to(DEVICE).requires_grad_()
    loss = pandora_loss(leaf, target.to(DEVICE), **options)
    weights = torch.tensor(0.75, device=DEVICE) if weights is None else weights.to(DEVICE)
    (grad,) = torch.autograd.grad(loss, leaf, weights.to(loss.dtype))
    return loss.detach().cpu(), grad.cpu()


def batch(n_rows=9, n_classes=7, dtype=torch.float32):
    generator = torch.Generator().manual_seed(n_classes)
    logits = 3 * torch.randn(n_rows, n_classes, generator=generator)
    target = torch.randint(0, n_classes, (n_rows,), generator=generator)
    return logits.to(dtype), target


ALPHAS = [0.0, 1e-30, 1e-6, 0.37, 1.0, 50.0, 1e30, INF]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("priced", [False, True])
def test_both_ways_agree(by_kernels, alpha, dtype, priced):
    logits, target = batch(dtype=dtype)
    target[4] = -100
    logits[1] = 0.0
    logits[2, 3], logits[3, :2], target[2] = -INF, -INF, 4
    target[3] = 5
    logits[5, 2], logits[6, 1:], target[5:7] = -INF, -INF, 2  # an impossible truth, and only one class that is not
    costs = [1, 2, 4, 8, 1, 2, 4] if priced else None
    for reduction, weights in (("mean", None), ("none", torch.linspace(0, 2, 9))):
        options = {"alpha": alpha, "costs": costs, "reduction": reduction}
        triton, plain = by_kernels(lambda o=options, w=weights: loss_and_grad(logits, target, w, **o))
        torch.testing.assert_close(triton[0], plain[0], rtol=3e-5, atol=1e-30, equal_nan=True)
        rounding = 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(triton[1], plain[1], rtol=max(rounding, 1e-4), atol=1e-7)


@pytest.mark.parametrize("n_classes", [7, 4500])
def test_nan_is_not_swallowed_but_in_ignored_rows(by_kernels, n_classes):
    logits, target = batch(3, n_classes)
    logits[0], logits[1, 5], target[0], target[1] = np.nan, np.nan, -100, 2
    rows = {"weights": torch.ones(3), "reduction": "none"}
    for losses, grad in by_kernels(lambda: loss_and_grad(logits, target, **rows)):
        assert losses.isnan().tolist() == [False, True, False]
        assert (grad[0] == 0).all()
        assert grad[1].isnan().any()


def test_double_precision_and_spread_truths_never_reach_the_kernels(by_kernels):
    logits, target = batch()
    soft = logits.softmax(dim=1)
    for table, truth, smoothing in ((logits.double(), target, 0.0), (logits, target, 0.1), (logits, soft, 0.0)):
        options = {"label_smoothing": smoothing}
        triton, plain = by_kernels(lambda z=table, y=truth, o=options: loss_and_grad(z, y, **o))
        torch.testing.assert_close(triton, plain)


@pytest.mark.skipif(DEVICE == "cpu", reason="no GPU")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_a_step_never_waits_for_the_device():
    logits, target = batch(64, 1000)
    leaf, target = logits.to(DEVICE).requires_grad_(), target.to(DEVICE)
    pandora_loss(leaf, target, costs=torch.ones(1000, device=DEVICE)).backward()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for options in (
            {},
            {"reduction": "none"},
            {"label_smoothing": 0.1},
            {"costs": torch.ones(1000, device=DEVICE)},
        ):
            pandora_loss(leaf, target, **options).sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert np.isfinite(leaf.grad.sum().item())
