"""The formulas on NumPy, PyTorch, JAX and strict array-API arrays: same numbers, own library, right gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import pandora_regret as pr
from pandora_regret.core import array_api
from pandora_regret.core.inputs import InputTypeError

pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")

ALPHAS = [0.0, 1e-6, 0.37, 1.0, 3.0, 50.0, np.inf]
COSTS = np.array([1.0, 2.0, 0.5, 3.0])
LIBRARIES = ["numpy", "torch", "jax", "array_api_strict"]


def load(name):
    """Turn NumPy arrays into those of a library."""
    library = pytest.importorskip("jax.numpy" if name == "jax" else name, reason=f"{name} is not installed")
    if name == "jax":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    return library.asarray


every_library = pytest.mark.parametrize("library", LIBRARIES)


def forecasts(seed=0, n_rows=30, n_classes=4, zeros=True):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n_rows, n_classes))
    logits[0] = 1.0
    if zeros:
        logits[rng.random(logits.shape) < 0.2] = -np.inf
        logits[:, 1] = 0.5
    proba = np.exp(logits)
    return rng.integers(0, n_classes, n_rows), logits, proba / proba.sum(axis=1, keepdims=True)


@pytest.mark.slow
@every_library
@settings(max_examples=60)
@given(
    alpha=st.sampled_from(ALPHAS),
    logits=st.booleans(),
    voted=st.booleans(),
    costs=st.sampled_from(["none", "per class", "per row"]),
    n_classes=st.integers(2, 9),
    seed=st.integers(0, 2**32),
)
def test_every_library_gives_the_numbers_of_the_package(library, alpha, logits, voted, costs, n_classes, seed):
    asarray, rng = load(library), np.random.default_rng(seed)
    truth, values, proba = forecasts(seed, n_classes=n_classes)
    table = values if logits else proba
    if voted:
        truth = rng.integers(0, 3, table.shape) + np.eye(n_classes)[truth]
    rows_of_costs = np.exp2(rng.integers(-3, 4, table.shape))
    costs = {"none": None, "per class": rows_of_costs[0], "per row": rows_of_costs}[costs]
    options = {"max_costs": costs, "logits": logits}
    got = array_api.beta_score(asarray(truth), asarray(table), alpha=alpha, per_instance=True, **options)
    assert type(got) is type(asarray(table))
    expected = pr.beta_score(truth, table, alpha=alpha, per_instance=True, **options)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-10 if voted else 1e-12)
    if alpha > 0:
        options = {"costs": costs, "logits": logits}
        got = array_api.expected_search_cost(asarray(truth), asarray(table), prior=pr.Beta(alpha), **options)
        expected = pr.expected_search_cost(truth, table, prior=pr.Beta(alpha), **options)
        assert float(got) == pytest.approx(expected, rel=1e-10)


@every_library
def test_means_are_weighted_scalars_of_the_library(library):
    asarray = load(library)
    truth, _, proba = forecasts(zeros=False)
    weights = np.random.default_rng(1).exponential(1, len(truth))
    for name, options in (
        ("pandora_regret", {"alpha": 0.37}),
        ("beta_score", {"max_costs": COSTS}),
        ("expected_search_cost", {}),
        ("expected_search_cost", {"prior": pr.Beta(3.0), "costs": COSTS}),
    ):
        score, reference = getattr(array_api, name), getattr(pr, name)
        got = score(asarray(truth), asarray(proba), sample_weight=asarray(weights), **options)
        assert got.shape == ()
        assert float(got) == pytest.approx(reference(truth, proba, sample_weight=weights, **options), rel=1e-13)


@every_library
def test_precision_is_the_callers_and_half_is_computed_in_single(library):
    asarray = load(library)
    truth, logits, _ = forecasts(zeros=False)
    precisions = ["float64", "float32"] + (["float16"] if library != "array_api_strict" else [])
    for name in precisions:
        rounded = logits.astype(name)
        got = array_api.pandora_regret(asarray(truth), asarray(rounded), logits=True)
        assert str(got.dtype).endswith("float64" if name == "float64" else "float32")
        want = pr.pandora_regret(truth, rounded.astype(float), logits=True)
        assert float(got) == pytest.approx(want, rel=1e-12 if name == "float64" else 1e-5)


@every_library
def test_ties_are_exact_where_ranks_are_all_that_counts(library):
    asarray = load(library)
    truth, proba = np.array([0, 1]), np.array([[0.2, 0.4, 0.4], [0.2, 0.4, 0.4]])
    for scale in (1.0, 1e-7, 3e9):
        costs = scale * np.array([1.0, 2.0, 4.0])
        got = array_api.beta_score(
            asarray(truth), asarray(proba), alpha=np.inf, max_costs=costs, per_instance=True
        )
        np.testing.assert_allclose(np.asarray(got) / scale, [2.0, 1.0], rtol=1e-12)


def torch_gradient(score, values):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    leaf = torch.tensor(values, requires_grad=True)
    score(torch.asarray, leaf).backward()
    return leaf.grad.numpy()


def jax_gradient(score, values):
    asarray, jax = load("jax"), pytest.importorskip("jax", reason="jax is not installed")
    eager, compiled = jax.grad(lambda x: score(asarray, x)), jax.jit(jax.grad(lambda x: score(asarray, x)))
    np.testing.assert_allclose(compiled(asarray(values)), eager(asarray(values)), rtol=1e-9, atol=1e-15)
    return np.asarray(eager(asarray(values)))


GRADIENTS = {"torch": torch_gradient, "jax": jax_gradient}
both_gradients = pytest.mark.parametrize("gradient_of", GRADIENTS.values(), ids=GRADIENTS.keys())


@pytest.mark.slow
@both_gradients
@pytest.mark.parametrize("alpha", ALPHAS[:-1])
@pytest.mark.parametrize("logits", [False, True])
def test_gradients_agree_with_finite_differences(gradient_of, alpha, logits):
    truth, values, proba = forecasts(n_rows=6, zeros=False)
    values[0] += np.arange(4) * 1e-3  # a kink of the second order only, yet nothing for central differences
    proba = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    table = values if logits else proba
    options = {"alpha": alpha, "max_costs": COSTS, "logits": logits}
    gradient = gradient_of(lambda asarray, x: array_api.beta_score(asarray(truth), x, **options), table)
    step, differences = 1e-7, np.empty_like(table)
    for at in np.ndindex(table.shape):
        shift = np.zeros_like(table)
        shift[at] = step
        up, down = (array_api.beta_score(truth, table + sign * shift, **options) for sign in (1, -1))
        differences[at] = (up - down) / (2 * step)
    np.testing.assert_allclose(gradient, differences, rtol=2e-5 * (1 + alpha), atol=1e-6 * np.abs(gradient).max())


@pytest.mark.slow
@both_gradients
@pytest.mark.parametrize("alpha", ALPHAS[:-1])
def test_a_tie_has_the_gradient_of_the_papers_profile(gradient_of, alpha):
    for values, logits in (([[0.0, 0.0]], True), ([[0.5, 0.5]], False)):
        gradient = gradient_of(
            lambda asarray, x, said=logits: array_api.beta_score(
                asarray(np.array([0])), x, alpha=alpha, logits=said
            ),
            np.array(values),
        )
        unit = 1.0 if logits else 2.0  # d ln p / d p
        assert gradient[0].tolist() == pytest.approx([-(alpha + 1) * unit, (alpha + 1) * unit], rel=1e-12)


@pytest.mark.slow
@both_gradients
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("logits", [False, True])
def test_impossible_rivals_leave_gradients_finite(gradient_of, alpha, logits):
    truth, values, proba = forecasts()
    truth[:] = 1
    for costs in (None, COSTS):
        options = {"alpha": alpha, "logits": logits, "max_costs": costs}
        gradient = gradient_of(
            lambda asarray, x, o=options: array_api.beta_score(asarray(truth), x, **o), values if logits else proba
        )
        assert np.isfinite(gradient).all()
        assert (gradient[values == -np.inf] == 0).all()
        assert (np.abs(gradient).max() > 0) == (alpha < np.inf)


def test_the_gradient_of_logits_is_that_of_the_fused_loss_and_can_be_differentiated_again():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from pandora_regret.integrations.torch import pandora_loss

    truth, logits, _ = forecasts()
    truth[logits[np.arange(len(truth)), truth] == -np.inf] = 1
    leaf, truth = torch.tensor(logits, requires_grad=True), torch.asarray(truth)
    (fused,) = torch.autograd.grad(pandora_loss(leaf, truth, alpha=0.37), leaf)
    (plain,) = torch.autograd.grad(array_api.pandora_regret(truth, leaf, alpha=0.37, logits=True), leaf)
    torch.testing.assert_close(fused, plain, rtol=1e-12, atol=1e-16)
    smooth = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert torch.autograd.gradgradcheck(
        lambda x: array_api.pandora_regret(truth[:3], x, alpha=0.37, logits=True), smooth
    )


def test_the_device_is_the_callers():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    truth, _, proba = forecasts()
    truth, proba = torch.asarray(truth, device="meta"), torch.asarray(proba, device="meta")
    got = array_api.expected_search_cost(truth, proba, costs=COSTS, sample_weight=np.ones(30))
    assert (got.device.type, got.shape) == ("meta", ())


@every_library
def test_shapes_and_kinds_are_checked(library):
    asarray = load(library)
    truth, _, proba = forecasts()
    good = asarray(truth), asarray(proba)
    with pytest.raises(pr.InputError, match=r"shape \(29,\).* shape \(30, 4\)"):
        array_api.pandora_regret(asarray(truth[:29]), good[1])
    with pytest.raises(pr.InputError, match=r"shape \(30, 1\)"):
        array_api.pandora_regret(good[0], asarray(proba[:, :1]))
    with pytest.raises(InputTypeError, match="y_proba has dtype"):
        array_api.pandora_regret(good[0], asarray(np.ones((30, 4), dtype=np.int64)))
    with refused(argument="costs", says="shape (2,): "):
        array_api.beta_score(*good, max_costs=[1.0, 2.0])
    with refused(argument="sample_weight", value=(2,)):
        array_api.pandora_regret(*good, sample_weight=asarray(np.ones(2)))
    with refused(argument="alpha", value=-1.0):
        array_api.pandora_regret(*good, alpha=-1.0)
    with pytest.raises(InputTypeError, match=r"^prior .* got Exponential"):
        array_api.expected_search_cost(*good, prior=pr.Exponential())
