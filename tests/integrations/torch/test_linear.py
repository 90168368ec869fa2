"""The loss of a linear layer, against PandoraLoss of its logits in double precision."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from pandora_regret import InputError  # noqa: E402
from pandora_regret.integrations.torch import (  # noqa: E402
    LinearPandoraLoss,
    linear,
    linear_pandora_loss,
    pandora_loss,
)

ALPHAS = [0.0, 1e-6, 0.37, 1.0, 3.0, 50.0]
K, D = 300, 6  # classes in three tiles, see `small_tiles`


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(linear, "TILE_BYTES", 1)


def layer(dtype=torch.float64, n_rows=9, seed=0):
    generator = torch.Generator().manual_seed(seed)
    tensors = (torch.randn(*shape, generator=generator).to(dtype) for shape in ((n_rows, D), (K, D), (K,)))
    target = torch.randint(0, K, (n_rows,), generator=generator)
    return *(tensor.requires_grad_() for tensor in tensors), target


def gradients_of(loss, *leaves):
    return [grad.double().numpy() for grad in torch.autograd.grad(loss, leaves)]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("costs", [None, np.linspace(1, 9, K)], ids=["plain", "priced"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_loss_and_gradients_are_those_of_the_logits(alpha, costs, reduction):
    features, weight, bias, target = layer()
    target[3] = -100
    rows = torch.linspace(0.5, 2.0, len(target), dtype=torch.float64)
    of_rows = rows * pandora_loss(features @ weight.T + bias, target, alpha=alpha, costs=costs, reduction="none")
    factor = torch.linspace(1, 3, len(target), dtype=torch.float64) if reduction == "none" else torch.tensor(1.5)
    expected = {"mean": of_rows.sum() / rows[target >= 0].sum(), "sum": of_rows.sum(), "none": of_rows}[reduction]
    options = {"alpha": alpha, "costs": costs, "reduction": reduction}
    loss = linear_pandora_loss(features, weight, target, bias, sample_weight=rows, **options)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-14)
    leaves = features, weight, bias
    wanted = gradients_of((factor * expected).sum(), *leaves)
    for got, grad in zip(gradients_of((factor * loss).sum(), *leaves), wanted, strict=True):
        np.testing.assert_allclose(got, grad, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_alpha_that_cannot_be_told_from_0_is_taken_for_it(dtype):
    features, weight, bias, target = layer(dtype)
    least, none = (linear_pandora_loss(features, weight, target, bias, alpha=alpha) for alpha in (1e-50, 0.0))
    assert least.item() == none.item()
    assert torch.equal(torch.autograd.grad(least, weight)[0], torch.autograd.grad(none, weight)[0])


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.02), (torch.float16, 0.01)]
)
def test_gradients_in_every_precision_are_near_those_of_double(dtype, tolerance):
    features, weight, bias, target = layer(dtype, n_rows=64)
    leaves = features, weight, bias
    doubles = [leaf.detach().double().requires_grad_() for leaf in leaves]
    wanted = gradients_of(pandora_loss(doubles[0] @ doubles[1].T + doubles[2], target, reduction="sum"), *doubles)
    loss = LinearPandoraLoss(reduction="sum")(features, weight, target, bias)
    assert loss.dtype == torch.float32
    for got, grad in zip(gradients_of(loss, *leaves), wanted, strict=True):
        assert np.linalg.norm(got - grad) <= tolerance * np.linalg.norm(grad)


def test_a_second_backward_a_frozen_weight_and_no_gradient_at_all():
    features, weight, bias, target = layer()
    loss = linear_pandora_loss(features, weight, target, bias)
    first = torch.autograd.grad(2 * loss, weight, retain_graph=True)[0]
    torch.testing.assert_close(torch.autograd.grad(2 * loss, weight)[0], first)
    frozen = linear_pandora_loss(features, weight.detach(), target)
    plain = pandora_loss(features @ weight.detach().T, target)
    torch.testing.assert_close(torch.autograd.grad(frozen, features), torch.autograd.grad(plain, features))
    with torch.no_grad():
        assert not linear_pandora_loss(features, weight, target, bias).requires_grad


def test_tokens_of_sequences_an_impossible_class_and_autocast():
    features, weight, bias, target = layer(torch.float32, n_rows=8)
    bias = bias.detach()
    bias[target[0]] = bias[1] = -torch.inf
    loss = linear_pandora_loss(features.view(2, 4, D), weight, target.view(2, 4), bias, reduction="none")
    torch.testing.assert_close(loss.view(-1), pandora_loss(features @ weight.T + bias, target, reduction="none"))
    assert torch.autograd.grad(loss.sum(), weight)[0].isfinite().all()
    with torch.autocast("cpu", torch.bfloat16):
        coarse = linear_pandora_loss(features, weight, target)
    (grad,) = torch.autograd.grad(coarse, weight)
    assert grad.dtype == torch.float32
    torch.testing.assert_close(coarse, linear_pandora_loss(features, weight, target), rtol=0.02, atol=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of interpreted kernels, which are NumPy code
@pytest.mark.parametrize("alpha", ALPHAS[:-1])
@pytest.mark.parametrize("priced", [False, True])
def test_the_kernel_does_what_plain_torch_does(alpha, priced):
    gpu = pytest.importorskip(
        "pandora_regret.core.kernels.gpu", reason="triton is not installed", exc_type=ImportError
    )
    device, generator = "cuda" if torch.cuda.is_available() else "cpu", torch.Generator().manual_seed(1)
    logits, ours, slopes = (torch.randn(*s, generator=generator).to(device) for s in ((5, 2500), (5,), (5,)))
    own = torch.tensor([3, -7, 2499, 9000, 0], device=device)
    prices = (
        (torch.linspace(1, 9, 2500, device=device), torch.linspace(2, 3, 5, device=device)) if priced else None
    )
    results = []
    for add in (gpu.add_tile, linear._add_tile):
        tile, losses, pulls = logits.clone(), torch.ones(5, device=device), torch.zeros(5, device=device)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(linear, "kernels_for", lambda _: None)
            add(tile, ours, own, prices, alpha, slopes, losses, pulls)
        results.append((tile, losses, pulls))
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-6)


def test_what_does_not_fit_is_said():
    features, weight, _, target = layer()
    for arguments, options, words in [
        ((features, weight, target[:4]), {}, "target has shape"),
        ((features, weight, target + K), {}, "target row"),
        ((features, weight, target), {"alpha": np.inf}, "alpha is inf: "),
        ((features, weight, target), {"alpha": 1e39}, "alpha is 1e"),
        ((features, weight, target), {"sample_weight": torch.ones(3)}, "sample_weight has shape"),
    ]:
        with pytest.raises(InputError, match=words):
            linear_pandora_loss(*arguments, **options)
