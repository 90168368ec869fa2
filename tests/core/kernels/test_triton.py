"""The Triton kernels against the reference: interpreted where there is no GPU, for real where there is one."""

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # where conftest.py has triton interpret its kernels

gpu = importlib.import_module("pandora_regret.core.kernels.gpu")
beta = importlib.import_module("pandora_regret.core.priors.beta")

# Interpreted kernels are NumPy code, which warns where a GPU saturates; what counts is the result.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

ALPHAS = [0.0, 1e-6, 0.05, 0.37, 1.0, 3.0, 50.0, np.inf]
TOLERANCES = {torch.float32: 2e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}  # of the gradient in its own dtype
SHAPES = [(5, 2), (33, 7), (130, 16), (3, 1000), (1, 1024), (2, 4097), (3, 5000)]  # tiles, then long rows


def expected(logits, target, alpha, costs, scale):
    """Losses and gradients in float64, by the definition; rows without a truth have neither."""
    share = 1 / (3 * (logits.shape[1] - 1))
    values = logits.double().cpu().numpy()
    price = np.ones(values.shape[1]) if costs is None else costs.double().cpu().numpy()
    losses, grads = np.zeros(len(values)), np.zeros_like(values)
    for n, truth in enumerate(target.tolist()):
        if not 0 <= truth < values.shape[1]:
            continue
        with np.errstate(invalid="ignore"):
            gap = np.where(values[n] == values[n, truth], 0.0, values[n, truth] - values[n])
        gap = gap + np.log(price / price[truth])
        rival = np.arange(values.shape[1]) != truth
        losses[n] = (price * beta.beta_loss(gap, alpha))[rival].sum()
        grads[n] = np.where(rival, -price * beta.beta_loss_slope(gap, alpha), 0.0) * scale
        grads[n, truth] = -grads[n].sum()
        grads[n, np.isneginf(values[n])] = 0.0
    return share * losses, share * grads


def make(shape, dtype, seed=0, spread=2.0):
    generator = torch.Generator().manual_seed(seed)
    logits = (spread * torch.randn(shape, generator=generator)).to(dtype).to(DEVICE)
    return logits, torch.randint(0, shape[1], shape[:1], generator=generator).to(DEVICE)


def run(logits, target, alpha, costs=None, scale=None, want_grad=True, reduction="none"):
    """Losses, and their gradient: made with them, or, where there is a scale, by itself."""
    rows = gpu.LogitRows(logits, target, alpha, costs, -100)
    losses, grad = gpu.reduced_loss(rows, reduction, want_grad=want_grad and scale is None)
    if scale is None:
        return losses, grad
    return losses, gpu.row_gradients(rows, torch.tensor(scale, dtype=torch.float32, device=logits.device))


def check(logits, target, alpha, costs=None, scale=None):
    losses, grad = run(logits, target, alpha, costs, scale)
    wanted_losses, wanted_grad = expected(logits, target, alpha, costs, 1.0 if scale is None else scale)
    np.testing.assert_allclose(losses.cpu().numpy(), wanted_losses, rtol=5e-6, atol=1e-30)
    tolerance = TOLERANCES[logits.dtype] + (1e-7 * alpha if np.isfinite(alpha) else 0)
    largest = np.abs(wanted_grad).max(axis=1, keepdims=True) + 1e-30
    assert (np.abs(grad.double().cpu().numpy() - wanted_grad) <= tolerance * largest).all()
    assert grad.dtype == logits.dtype
    assert losses.dtype == torch.float32


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loss_and_gradient_of_every_shape_and_alpha(shape, alpha):
    check(*make(shape, torch.float32), alpha)


@pytest.mark.parametrize("dtype", list(TOLERANCES), ids=str)
@pytest.mark.parametrize("shape", [(7, 33), (2, 5000)], ids=str)
def test_every_precision(shape, dtype):
    for alpha in (0.0, 1.0):
        check(*make(shape, dtype), alpha, scale=0.25)


@pytest.mark.parametrize("shape", [(6, 10), (3, 4500)], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 0.37, 1.0, np.inf])
def test_costs_and_rows_that_are_ignored(shape, alpha):
    costs = torch.rand(shape[1], generator=torch.Generator().manual_seed(1)).add(0.2).to(DEVICE)
    logits, target = make(shape, torch.float32)
    target[0] = -100
    check(logits, target, alpha, costs=costs)


@pytest.mark.parametrize("alpha", [1e-6, 0.37, 1.0, 3.0, np.inf])
def test_extremes(alpha):
    infinity = float("inf")
    rows = [
        [1e4, -1e4, 0.0, 1e4],
        [-1e4, 1e4, 1e4, -1e4],
        [0.0, 0.0, 0.0, 0.0],
        [-infinity, 1.0, -infinity, 0.0],
        [1.0, -infinity, -infinity, 0.0],
    ]
    for truth in range(4):
        target = torch.full((len(rows),), truth, device=DEVICE)
        check(torch.tensor(rows, device=DEVICE), target, alpha)


@pytest.mark.parametrize("shape", [(6, 10), (3, 4500)], ids=str)
def test_every_row_has_its_own_weight_wherever_it_lies(shape):
    logits, target = make(shape, torch.float32)
    target[0] = -100
    weights = torch.rand(2 * shape[0], generator=torch.Generator().manual_seed(2)).to(DEVICE)[::2]
    weights[0] = np.inf  # as from a mean of nothing
    grad = gpu.row_gradients(gpu.LogitRows(logits, target, 1.0, None, -100), weights).cpu().numpy()
    wanted = expected(logits, target, 1.0, None, 1.0)[1]
    wanted[1:] *= weights[1:, None].cpu().numpy()
    np.testing.assert_allclose(grad, wanted, rtol=1e-4, atol=1e-9)


def test_every_element_of_the_gradient_is_written(monkeypatch):
    poisoned = []

    def poison(shape, **options):
        poisoned.append(torch.full(shape if isinstance(shape, tuple) else tuple(shape), float("nan"), **options))
        return poisoned[-1]

    for shape in [(5, 37), (3, 4800)]:
        logits, target = make(shape, torch.float32)
        with monkeypatch.context() as patch:
            patch.setattr(gpu.torch, "empty", lambda *size, **options: poison(_as_shape(size), **options))
            losses, grad = run(logits, target, 1.0)
        assert poisoned
        assert torch.isfinite(losses).all()
        assert torch.isfinite(grad).all()


def _as_shape(size):
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size


@pytest.mark.parametrize("factor", [1.0, 0.125])
@pytest.mark.parametrize("small", [0, 1 << 24])
def test_scaling_in_place(factor, small, monkeypatch):
    monkeypatch.setattr(gpu, "SMALL_GRADIENT", small)
    grad = torch.arange(5000, dtype=torch.float32, device=DEVICE)
    scaled = gpu.scale_(grad, torch.tensor(factor, device=DEVICE))
    assert scaled is grad
    assert torch.equal(grad, torch.arange(5000, dtype=torch.float32, device=DEVICE) * factor)


@pytest.mark.slow
@pytest.mark.parametrize("counted_inside", [0, 1024])
@pytest.mark.parametrize("shape", [(300, 12), (5, 4500), (1200, 3)], ids=str)
def test_sums_and_means_are_those_of_the_rows(shape, counted_inside, monkeypatch):
    monkeypatch.setattr(gpu, "COUNTED_INSIDE", counted_inside)
    logits, target = make(shape, torch.float32)
    target[1] = -100
    rows, grad = run(logits, target, 1.0)
    total, same_grad = run(logits, target, 1.0, reduction="sum")
    mean, mean_grad = run(logits, target, 1.0, reduction="mean")
    np.testing.assert_allclose(total.item(), rows.sum().item(), rtol=1e-6)
    assert torch.equal(grad, same_grad)
    np.testing.assert_allclose(mean.item(), rows.sum().item() / (shape[0] - 1), rtol=1e-6)
    np.testing.assert_allclose(mean_grad.cpu(), grad.cpu() / (shape[0] - 1), rtol=1e-5, atol=1e-9)
    assert torch.equal(run(logits, target, 1.0, reduction="mean")[0], mean)
    target[0] = shape[1]
    assert torch.isnan(run(logits, target, 1.0, reduction="sum")[0])
    loss, grad = run(logits, torch.full_like(target, -100), 1.0, reduction="mean")
    assert torch.isnan(loss)
    assert (grad == 0).all()
