"""PandoraLoss against the NumPy reference, and its gradient against finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandora_regret import beta_score
from pandora_regret.core.priors.beta import beta_loss_slope

torch = pytest.importorskip("torch", reason="torch is not installed")

from pandora_regret.integrations.torch import pandora_loss, tensors  # noqa: E402

ALPHAS = [0.0, 1e-6, 0.37, 1.0, 3.0, 50.0, np.inf]
every_alpha = pytest.mark.parametrize("alpha", ALPHAS)

# dtype: relative error of a loss, of a gradient entry, and what a gradient entry may be off beside the largest one
TOLERANCE = {
    torch.float64: (1e-12, 1e-11, 1e-14),
    torch.float32: (5e-5, 1e-4, 1e-6),
    torch.bfloat16: (5e-5, 2e-2, 1e-6),
    torch.float16: (5e-5, 5e-3, 1e-6),
}


def reference(logits, target, alpha, costs=None):
    """Losses (N,) and gradients (N, K) of rows, in NumPy, one truth each."""
    z, target, rows = logits.detach().double().numpy(), target.numpy(), np.arange(len(target))
    n_classes = z.shape[1]
    unit = np.ones(n_classes) if costs is None else np.asarray(costs)
    losses = beta_score(target, z, alpha=alpha, max_costs=costs, logits=True, per_instance=True)
    ours = z[rows, target][:, None]
    with np.errstate(invalid="ignore"):
        gap = np.where(ours == z, 0.0, ours - z) + np.log(unit) - np.log(unit[target])[:, None]
    push = -unit * beta_loss_slope(gap, alpha)
    push[rows, target] = 0.0
    push[rows, target] = -push.sum(axis=1)
    push[np.isneginf(z)] = 0.0
    return losses / (3 * (n_classes - 1)), push / (3 * (n_classes - 1))


def every_truth(logits, alpha, costs=None):
    """The loss of every class, were it the truth, (N, K): O(K^2) per row."""
    classes = [torch.full((len(logits),), i) for i in range(logits.shape[1])]
    return np.stack([reference(logits, truth, alpha, costs)[0] for truth in classes], axis=1)


def batch(n_rows=6, n_classes=5, dtype=torch.float64, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(0, spread, (n_rows, n_classes))).to(dtype)
    return logits, torch.from_numpy(rng.integers(0, n_classes, n_rows))


def soft_batch(n_rows=6, n_classes=5, seed=1):
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(n_classes), n_rows))


def grad_of(loss_of, logits):
    leaf = logits.detach().clone().requires_grad_()
    loss_of(leaf).backward()
    return leaf.grad


LAYOUTS = {
    "contiguous": lambda x: x,
    "columns first": lambda x: x.T.contiguous().T,
    "every other column": lambda x: x.repeat_interleave(2, dim=1)[:, ::2],
    "rows apart": lambda x: torch.cat([x, x], dim=1)[:, : x.shape[1]],
    "one row for all": lambda x: x[:1].expand_as(x),
}


@st.composite
def cases(draw):
    n_rows, n_classes = draw(st.integers(1, 7)), draw(st.sampled_from([2, 3, 10, 33]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(list(TOLERANCE)))
    spread = draw(st.sampled_from([0.0, 0.01, 1.0, 5.0, 100.0, 1e4]))
    logits = torch.from_numpy(np.clip(rng.normal(0, spread, (n_rows, n_classes)), -1e4, 1e4))
    if draw(st.booleans()):
        logits = logits.round()  # exact ties
    if draw(st.booleans()):
        logits[torch.from_numpy(rng.random(logits.shape) < 0.3)] = -np.inf
        logits[:, 0] = 0.5
    costs = rng.lognormal(0, 1, n_classes).astype(np.float32).astype(float) if draw(st.booleans()) else None
    layout = draw(st.sampled_from(list(LAYOUTS)))
    return LAYOUTS[layout](logits.to(dtype)), torch.from_numpy(rng.integers(0, n_classes, n_rows)), costs


@settings(max_examples=300)
@given(cases(), st.sampled_from(ALPHAS))
def test_loss_and_gradient_are_those_of_the_reference(case, alpha):
    logits, target, costs = case
    if alpha == np.inf and costs is not None:
        costs = np.exp2(np.round(np.log2(costs)))  # an order that rounding cannot change
    losses, grads = reference(logits, target, alpha, costs)
    leaf = logits.requires_grad_()
    got = pandora_loss(leaf, target, alpha=alpha, costs=costs, reduction="none")
    (grad,) = torch.autograd.grad(got.sum(), leaf)
    of_loss, of_entry, of_largest = TOLERANCE[logits.dtype]
    assert got.dtype == (torch.float64 if logits.dtype == torch.float64 else torch.float32)
    assert grad.dtype == logits.dtype
    np.testing.assert_allclose(got.detach().double(), losses, rtol=of_loss, atol=1e-37)
    size = np.abs(grads).max(axis=1, keepdims=True, initial=1e-30)
    excess = np.abs(grad.double().numpy() - grads) - of_entry * np.abs(grads) - of_largest * size
    assert (excess <= 6e-8 * (logits.dtype == torch.float16)).all()  # what float16 cannot hold


def test_shapes_are_those_of_cross_entropy():
    logits, target = batch(24)
    rows = pandora_loss(logits, target, reduction="none")
    image, labels = logits.reshape(2, 3, 4, 5).permute(0, 3, 1, 2), target.reshape(2, 3, 4)
    assert torch.equal(pandora_loss(image, labels, reduction="none"), rows.reshape(2, 3, 4))
    assert pandora_loss(image, labels).item() == pytest.approx(rows.mean().item(), rel=1e-14)
    assert torch.equal(pandora_loss(logits[3], target[3], reduction="none"), rows[3])
    one_hot = torch.nn.functional.one_hot(labels, 5).permute(0, 3, 1, 2).double()
    torch.testing.assert_close(pandora_loss(image, one_hot, reduction="none"), rows.reshape(2, 3, 4))
    torch.testing.assert_close(
        grad_of(lambda z: pandora_loss(z, labels), image).permute(0, 2, 3, 1).reshape(24, 5),
        grad_of(lambda z: pandora_loss(z, target), logits),
    )


def test_many_rows_are_handled_in_blocks(monkeypatch):
    logits, target = batch(50)
    whole = grad_of(lambda z: pandora_loss(z, target), logits)
    monkeypatch.setattr(tensors, "CPU_BLOCK", 35)
    assert torch.equal(grad_of(lambda z: pandora_loss(z, target), logits), whole)


@every_alpha
@pytest.mark.parametrize("n_classes", [2, 3, 8, 17])
@pytest.mark.parametrize("priced", [False, True])
def test_soft_targets_are_the_mean_over_truths(alpha, n_classes, priced):
    logits, _ = batch(8, n_classes, seed=3)
    logits[0] = 1.0
    logits[1] = logits[1].round()
    logits[2, 0] = logits[3, : n_classes - 1] = -np.inf
    logits[4:] *= 1e3
    truth = soft_batch(8, n_classes)
    truth[2] = torch.nn.functional.one_hot(torch.tensor(1), n_classes)
    costs = np.exp2(np.random.default_rng(4).integers(-3, 4, n_classes)) if priced else None
    losses, weights = every_truth(logits, alpha, costs), truth.numpy()
    want = np.multiply(weights, losses, where=weights > 0, out=np.zeros_like(losses)).sum(axis=1)
    smooth = ((0.9 * weights + 0.1 / n_classes) * losses).sum(axis=1)
    options = {"alpha": alpha, "costs": costs, "reduction": "none"}
    np.testing.assert_allclose(pandora_loss(logits, truth, **options), want, rtol=1e-11)
    np.testing.assert_allclose(pandora_loss(logits, truth, label_smoothing=0.1, **options), smooth, rtol=1e-11)
    single = pandora_loss(logits.float(), truth.float(), **options)
    np.testing.assert_allclose(single, want, rtol=1e-3 if alpha == 50 else 5e-5)


def test_gradient_of_impossible_classes_is_zero_and_all_is_finite():
    logits = torch.tensor([[0.0, -np.inf, 1.0], [-np.inf, -np.inf, 1.0], [-np.inf, 2.0, 1.0]], dtype=torch.float32)
    target = torch.tensor([0, 0, 0])
    for alpha in ALPHAS:
        grad = grad_of(lambda z, a=alpha: pandora_loss(z, target, alpha=a, label_smoothing=0.1), logits)
        assert grad.isfinite().all()
        assert (grad[logits == -np.inf] == 0).all()
    assert pandora_loss(logits, target, alpha=0.0, reduction="none").isinf().tolist() == [False, True, True]
