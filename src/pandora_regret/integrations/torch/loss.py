"""The training loss, as a module and as a function."""

from typing import Any

import torch
from torch import Tensor

from pandora_regret.inputs import read_alpha
from pandora_regret.integrations.torch.fused import loss_of_batch
from pandora_regret.integrations.torch.tensors import (
    ClassCosts,
    Reduction,
    read_reduction,
    read_smoothing,
)


class PandoraLoss(torch.nn.Module):
    """Pandora's Regret as a training loss, a drop-in for `torch.nn.CrossEntropyLoss`.

    The loss of a row is ``1 / (3 (K - 1)) sum_j c_j L_alpha(q_i / q_j)``: without costs, exactly
    ``pandora_regret(target, logits, alpha=alpha, logits=True)``. It needs no softmax, so that loss and gradient
    come from one pass over the logits.

    Parameters
    ----------
    alpha
        From 0 to inf; it may be set anew at any step. At 0 the loss is convex in the logits and does not saturate,
        which is what makes training from scratch work: let an alpha above 0 rise from there. At inf it has no
        gradient.
    costs
        What a test of each class typically costs, c_k, shape (K,); all 1 unless given. At alpha 1 the loss is then
        what the search is expected to waste, divided by K - 1.
    reduction
        "mean" over the rows that are not ignored, "sum", or "none" for one value per row.
    label_smoothing
        The share of each row's target that is spread evenly over all classes, in [0, 1].
    ignore_index
        Rows with this class as their target add neither loss nor gradient.

    Shapes are those of `torch.nn.CrossEntropyLoss`: logits (K,), (N, K) or (N, K, d1, ...), where -inf marks an
    impossible class; targets are class numbers, without the dimension K, or probabilities, with it. Half precision
    is computed, and the loss returned, in float32.

    ``torch.compile(fullgraph=True)`` works, and an alpha that changes compiles nothing anew; ``torch.func.grad``
    and ``torch.vmap`` work, too. A second derivative is refused. The same input gives the same bits, also on GPUs.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    >>> loss = PandoraLoss()(logits, torch.tensor([0, 2]))
    >>> loss.backward()
    >>> round(loss.item(), 6), logits.grad[1].tolist()
    (0.179471, [0.1666666716337204, 0.1666666716337204, -0.3333333432674408])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        costs: Any = None,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
    ) -> None:
        super().__init__()
        self.alpha = alpha
        self.reduction = read_reduction(reduction)
        self.label_smoothing = read_smoothing(label_smoothing)
        self.ignore_index = ignore_index
        self.costs = None if costs is None else ClassCosts(costs)

    @property
    def alpha(self) -> float:
        """The alpha of the next batch."""
        return self._alpha

    @alpha.setter
    def alpha(self, alpha: float) -> None:
        self._alpha, self._alpha_in_graphs = alpha, _as_tensor(alpha)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss of a batch."""
        alpha = float(self._alpha) if _is_eager(logits) else self._alpha_in_graphs
        return loss_of_batch(
            logits, target, alpha, self.costs, self.reduction, self.label_smoothing, self.ignore_index
        )

    def extra_repr(self) -> str:
        """The arguments, for `print`."""
        return (
            f"alpha={self.alpha}, costs={self.costs}, reduction={self.reduction!r}, "
            f"label_smoothing={self.label_smoothing}, ignore_index={self.ignore_index}"
        )


def pandora_loss(
    logits: Tensor,
    target: Tensor,
    *,
    alpha: float = 1.0,
    costs: Any = None,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
) -> Tensor:
    """Pandora's Regret of logits, with its gradient.

    A list, an array or a CPU tensor of costs is checked and moved at every call, `PandoraLoss` does so once.

    Parameters
    ----------
    logits, target, alpha, costs, reduction, label_smoothing, ignore_index
        As in `PandoraLoss`.

    Returns
    -------
    Tensor
        The mean, the sum, or one loss per row, as `reduction` says.

    See Also
    --------
    PandoraLoss : The same as a module.

    References
    ----------
    Flores et al. (2026), Corollary A.7 [flores26]_.

    Examples
    --------
    >>> pandora_loss(torch.zeros(4, 3), torch.tensor([0, 1, 2, -100]), reduction="none")
    tensor([0.3333, 0.3333, 0.3333, 0.0000])
    >>> pandora_loss(torch.zeros(2, 3), torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    tensor(0.3333)
    """
    value = read_alpha(alpha) if _is_eager(logits) else _as_tensor(alpha)
    options = (read_reduction(reduction), read_smoothing(label_smoothing), ignore_index)
    return loss_of_batch(logits, target, value, costs, *options)


def _as_tensor(alpha: float) -> Tensor:
    """Alpha on the CPU, where compiled code reads it anew at every step."""
    return torch.full((), read_alpha(alpha), dtype=torch.float64)


def _is_eager(logits: Tensor) -> bool:
    """Whether operations run as they are called, on tensors that hold numbers."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    return type(logits) is Tensor or type(logits) is torch.nn.Parameter
