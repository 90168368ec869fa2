"""The loss under torch.compile, torch.func and torch.library's own checks."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from functorch.compile import make_boxed_func, min_cut_rematerialization_partition  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402

from pandora_regret import InputError  # noqa: E402
from pandora_regret.integrations.torch import PandoraLoss, loss, pandora_loss  # noqa: E402

# Dynamo makes an instance of every autograd function that it traces, against autograd's own advice.
pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ONE = torch.tensor(1.0, dtype=torch.float64)
KINDS = {
    "class numbers": {},
    "costs": {"costs": [1, 2, 3, 4, 5]},
    "smoothed": {"label_smoothing": 0.1},
    "soft targets": {"soft": True},
    "rows": {"reduction": "none"},
    "sum, another class ignored": {"reduction": "sum", "ignore_index": 2},
    "half precision": {"dtype": torch.float16},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())


@pytest.fixture(autouse=True)
def forget_graphs():
    """Dynamo gives up on a function that it compiles too often, and every test has its own criteria."""
    torch._dynamo.reset()


def case(options):
    options = dict(options)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 5, generator=generator).to(options.pop("dtype", torch.float32))
    target = torch.tensor([0, 4, 2, -100, 1, 3])
    if options.get("ignore_index"):
        target[3] = 2
    if options.pop("soft", False):
        target = torch.randn(6, 5, generator=generator).softmax(dim=1)
    return logits.to(DEVICE), target.to(DEVICE), PandoraLoss(**options)


def grad_of(loss_of, logits):
    leaf = logits.detach().clone().requires_grad_()
    loss = loss_of(leaf)
    (grad,) = torch.autograd.grad(loss.sum(), leaf)
    return loss.detach(), grad


@every_kind
def test_a_whole_graph_compiles_and_agrees(options):
    logits, target, criterion = case(options)
    compiled = torch.compile(criterion, fullgraph=True, backend="aot_eager")
    want = grad_of(lambda z: criterion(z, target), logits)
    torch.testing.assert_close(grad_of(lambda z: compiled(z, target), logits), want)


def odd_case(dtype, priced):
    """Impossible classes and truths, ties, an ignored row that holds NaN."""
    generator = torch.Generator().manual_seed(3)
    logits = (3 * torch.randn(7, 5, generator=generator)).to(dtype)
    logits[0, 2] = logits[1, 1] = logits[2, 0] = logits[2, 1] = logits[4] = -torch.inf
    logits[4, 3] = 1.0
    logits[3] = torch.nan
    logits[5] = 2.0
    target = torch.tensor([0, 1, 0, -100, 3, 2, 4])
    costs = [2.0, 1.0, 3.0, 0.5, 1.0] if priced else None
    return logits.to(DEVICE), target.to(DEVICE), costs


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("priced", [False, True])
def test_a_graph_agrees_for_odd_logits_at_every_alpha(dtype, priced):
    logits, target, costs = odd_case(dtype, priced)
    criterion = PandoraLoss(costs=costs, reduction="none")
    compiled = torch.compile(criterion, fullgraph=True, backend="eager")
    exact = dtype == torch.float64
    for alpha in (0.0, 1e-50, 1e-6, 0.05, 0.37, 1.0, 3.0, 50.0, 1e39, np.inf):
        criterion.alpha = alpha
        losses, gradient = grad_of(lambda values: criterion(values, target), logits)
        losses_of_graph, gradient_of_graph = grad_of(lambda values: compiled(values, target), logits)
        assert losses_of_graph[3] == 0
        near = {"rtol": 1e-12, "atol": 1e-15} if exact else {"rtol": 2e-5, "atol": 1e-6}
        torch.testing.assert_close(losses_of_graph, losses, **near)
        if dtype == torch.bfloat16:
            near = {"rtol": 0.01, "atol": 1e-6}
        torch.testing.assert_close(gradient_of_graph, gradient, **near)


def test_a_graph_gives_nan_for_a_target_that_is_no_class():
    logits, target, criterion = case({"reduction": "none"})
    target[0] = 5
    compiled = torch.compile(criterion, fullgraph=True, backend="eager")
    losses, gradient = grad_of(lambda values: compiled(values, target), logits)
    assert losses.isnan().tolist() == [True] + [False] * 5
    assert (gradient[0] == 0).all()


def test_a_graph_of_one_truth_each_has_plain_operations_only():
    """An operator of our own costs the host longer than a compiled cross-entropy takes."""
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    logits, target, criterion = case({"costs": [1, 2, 3, 4, 5]})
    torch.compile(criterion, fullgraph=True, backend=keep)(logits, target)
    names = {str(node.target) for graph in graphs for node in graph.graph.nodes}
    assert names
    assert not any("pandora_regret" in name for name in names)


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_costs_of_the_function_go_through_every_transform(kind):
    logits, target, _ = case({})
    costs = kind([1.0, 2.0, 3.0, 4.0, 5.0])

    def loss_of(values):
        return pandora_loss(values, target, costs=costs)

    want = grad_of(loss_of, logits)
    torch.testing.assert_close(torch.func.grad(loss_of)(logits), want[1])
    torch.testing.assert_close(torch.vmap(loss_of)(logits[None])[0], want[0])
    compiled = torch.compile(loss_of, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(grad_of(compiled, logits), want)


def test_costs_that_differ_within_vmap_are_refused():
    logits, target, _ = case({})
    with pytest.raises(InputError, match="costs must be"):
        torch.vmap(lambda costs: pandora_loss(logits, target, costs=costs))(torch.ones(2, 5))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_transform_that_is_compiled_agrees(backend):
    logits, target, criterion = case({})
    want = grad_of(lambda values: criterion(values, target), logits)[1]
    transformed = torch.func.grad(lambda values: criterion(values, target))
    torch.testing.assert_close(torch.compile(transformed, fullgraph=True, backend=backend)(logits), want)


@every_kind
def test_func_grad_agrees(options):
    logits, target, criterion = case(options)
    want = grad_of(lambda z: criterion(z, target), logits)[1]
    got = torch.func.grad(lambda z: criterion(z, target).sum())(logits)
    torch.testing.assert_close(got, want)


@every_kind
def test_vmap_and_its_gradients_agree_with_a_loop(options):
    logits, target, criterion = case(options)
    batches = torch.stack([logits, logits.flip(0), -logits])
    want = [grad_of(lambda z: criterion(z, target), batch) for batch in batches]
    losses = torch.vmap(lambda z: criterion(z, target))(batches)
    torch.testing.assert_close(losses, torch.stack([loss for loss, _ in want]))
    inner = torch.vmap(torch.func.grad(lambda z: criterion(z, target).sum()))(batches)
    outer = torch.func.grad(lambda z: torch.vmap(lambda x: criterion(x, target), in_dims=2)(z).sum())
    torch.testing.assert_close(inner, torch.stack([grad for _, grad in want]))
    torch.testing.assert_close(outer(batches.movedim(0, 2)).movedim(2, 0), inner)


def test_gradients_of_single_cases():
    logits, target, criterion = case({})
    each = torch.vmap(torch.func.grad(criterion))(logits, target)
    torch.testing.assert_close(each, 5 * grad_of(lambda z: criterion(z, target), logits)[1])
    jacobian = torch.func.jacrev(lambda z: pandora_loss(z, target, reduction="none"))(logits)
    torch.testing.assert_close(jacobian[torch.arange(6), torch.arange(6)], each)


def test_a_second_derivative_is_refused_by_torch_func_too():
    logits, target, criterion = case({})
    once = torch.func.grad(lambda z: criterion(z, target))
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.func.grad(lambda z: once(z).square().sum())(logits)


@pytest.mark.parametrize("options", [{}, {"soft": True}, {"dtype": torch.float16}], ids=str)
def test_operators_pass_the_checks_of_torch(options):
    logits, target, _ = case(options)
    costs = torch.arange(1.0, 6.0, device=DEVICE)
    rule = (target, costs, ONE, 0.1 if "soft" in options else 0.0, -100)
    torch.library.opcheck(loss.row_losses, (logits.clone().requires_grad_(), *rule))
    torch.library.opcheck(loss.row_gradients, (torch.rand(6, device=DEVICE), logits, *rule))


def test_an_alpha_that_changes_compiles_nothing_anew():
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    logits, target, _ = case({})
    criterion = PandoraLoss(alpha=0.0, costs=[1, 2, 3, 4, 5])
    compiled = torch.compile(criterion, fullgraph=True, backend=count)
    for alpha in (0.0, 0.3, 1.0, 0.01, np.inf, 0.0, 2.5):
        criterion.alpha = alpha
        assert compiled(logits, target).item() == pytest.approx(criterion(logits, target).item(), rel=1e-6)
    assert len(graphs) == 3  # at 0, above, and at infinity


def test_a_compiled_function_takes_its_alpha_as_a_constant():
    logits, target, _ = case({})
    want = grad_of(lambda values: pandora_loss(values, target, alpha=0.37), logits)
    compiled = torch.compile(
        lambda values: pandora_loss(values, target, alpha=0.37), fullgraph=True, backend="aot_eager"
    )
    torch.testing.assert_close(grad_of(compiled, logits), want)


def test_the_backward_of_a_graph_needs_no_sum_over_classes():
    """A reduction there would read the logits twice."""
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return make_boxed_func(graph.forward)

    logits, target, criterion = case({"reduction": "sum"})
    backend = aot_autograd(
        fw_compiler=lambda graph, _: make_boxed_func(graph.forward),
        bw_compiler=keep,
        partition_fn=min_cut_rematerialization_partition,  # as Inductor does
    )
    grad_of(torch.compile(lambda values: criterion(values, target), fullgraph=True, backend=backend), logits)
    [backward] = graphs
    sums = [node for node in backward.graph.nodes if "sum" in str(node.target)]
    assert not sums
