"""Pandora's Regret as torchmetrics metrics: two sums each, and a mark of what they are sums of.

So no process ever sends more than three numbers.
"""

from collections.abc import Callable
from typing import TypedDict, Unpack
from zlib import crc32

import torch
from torch import Tensor
from torchmetrics import Metric

from pandora_regret.core.array_api import read_beta
from pandora_regret.core.inputs import (
    InputError,
    InputTypeError,
    check_rows,
    check_shape,
    read_alpha,
    read_count,
    read_weights,
    row_sum_tolerance,
)
from pandora_regret.core.kernels.portable import tie_of, total_loss
from pandora_regret.core.priors import Beta
from pandora_regret.core.priors.names import read_prices
from pandora_regret.integrations.torch.tensors import (
    TensorLike,
    check_targets,
    costs_on,
    read_class_costs,
    read_tensors,
    row_blocks,
)


class MetricOptions(TypedDict, total=False):
    """What every metric of torchmetrics takes."""

    compute_on_cpu: bool
    dist_sync_on_step: bool
    process_group: object
    dist_sync_fn: Callable[..., object]
    distributed_available_fn: Callable[..., bool]
    sync_on_compute: bool
    compute_with_cache: bool


class PandoraRegret(Metric):
    """Pandora's Regret of a stream of batches, `pandora_regret.pandora_regret`: lower is better.

    The weighted mean over instances, computed and summed in float64.

    Parameters
    ----------
    num_classes
        K.
    alpha
        From 0 to inf; 1 is Pandora's Regret.
    costs
        What a test of each class typically costs, shape (K,), as in `PandoraLoss`.
    logits
        Whether forecasts are logits; probabilities unless said so.
    validate_args
        Whether to check values, not only shapes. Where forecasts live on an accelerator, this waits for it.
    **kwargs
        Those of `torchmetrics.Metric`.

    Examples
    --------
    >>> metric = PandoraRegret(num_classes=3)
    >>> metric.update(torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), torch.tensor([0, 1]))
    >>> metric.compute()
    tensor(0.2917, dtype=torch.float64)
    """

    is_differentiable = False  # the loss is for that
    higher_is_better = False
    full_state_update = False
    plot_lower_bound = 0.0

    total: Tensor
    weight: Tensor
    kind: Tensor

    def __init__(
        self,
        num_classes: int,
        alpha: float = 1.0,
        costs: TensorLike | None = None,
        logits: bool = False,
        validate_args: bool = True,
        **kwargs: Unpack[MetricOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.num_classes = read_count(num_classes, "num_classes", least=2)
        self.alpha = read_alpha(alpha)
        self.logits = logits
        self.validate_args = validate_args
        self.costs = read_class_costs(costs)
        costs_on(self.costs, self.num_classes, torch.device("cpu"), torch.float64)  # fails now, not in update
        self._share = 1 / (3 * (self.num_classes - 1))  # what `total_loss` adds up
        self._own = 0.0
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("weight", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        # A MetricCollection takes metrics for one whose states agree in name and, once, in value. On equal
        # forecasts scores of every alpha agree, so a state says which score the sum is of.
        listed = None if self.costs is None else self.costs.tolist()
        kind = crc32(repr((type(self).__name__, self.alpha, listed, self.logits)).encode())
        self.add_state("kind", torch.tensor(kind), dist_reduce_fx="max")

    def update(self, preds: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add forecasts (N, K) or (N, K, d1, ...) of true classes (N,) or (N, d1, ...), of weights like those."""
        if target.is_floating_point():
            fix = "pass class numbers, int64"
            raise InputTypeError(f"has dtype {target.dtype}", argument="target", value=target.dtype, fix=fix)
        values, truth, shape = read_tensors(preds.detach(), target, "preds")
        if values.shape[1] != self.num_classes:
            problem = f"has {values.shape[1]} classes but num_classes is {self.num_classes}"
            raise InputError(problem, argument="preds", value=values.shape[1])
        weights = torch.ones(shape, dtype=torch.float64, device=values.device)
        if sample_weight is not None:
            weights = torch.as_tensor(sample_weight, dtype=torch.float64, device=values.device)
        check_shape(weights, "sample_weight", f"pass one weight per instance, shape {tuple(shape)}", tuple(shape))
        weights = weights.reshape(-1)
        if self.validate_args:
            _check_values(values, truth, weights, self.logits)
        total = self.total
        weight = self.weight
        costs = costs_on(self.costs, self.num_classes, values.device, torch.float64)
        tie = tie_of(values.dtype, torch)
        for rows in row_blocks(values):
            scores = total_loss(
                truth[rows],
                values[rows].double(),
                torch,
                self.alpha,
                costs=costs,
                logits=self.logits,
                tie=tie,
                share=self._share,
                own=self._own,
            )
            total = total + torch.where(weights[rows] > 0, weights[rows] * scores, 0.0).sum()
            weight = weight + weights[rows].sum()
        self.total = total  # not in place: a sum begun in inference mode could not be added to
        self.weight = weight

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Tensor],
        prefix: str,
        local_metadata: dict[str, object],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the sums, unless they are those of another score."""
        kind = state_dict.get(f"{prefix}kind", self.kind)
        if int(kind) != int(self.kind):
            error_msgs.append(f"{prefix}total is of another score: the class, alpha, costs or logits differ")
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def compute(self) -> Tensor:
        """The weighted mean so far."""
        return self.total / self.weight


class ExpectedSearchCost(PandoraRegret):
    """What the optimal search costs on a stream of batches, `pandora_regret.expected_search_cost`.

    Parameters
    ----------
    prior
        The distribution of unit costs, one of the Beta family, such as `Beta(0.5)`; `Uniform()` unless given.
    costs
        What a test of each class typically costs, shape (K,); the prior's mean unless given.

    Other parameters as in `PandoraRegret`.

    Examples
    --------
    >>> metric = ExpectedSearchCost(num_classes=3, costs=[100, 200, 300])
    >>> metric.update(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([0]))
    >>> metric.compute()
    tensor(106.9444, dtype=torch.float64)
    """

    def __init__(
        self,
        num_classes: int,
        prior: Beta | None = None,
        costs: TensorLike | None = None,
        logits: bool = False,
        validate_args: bool = True,
        **kwargs: Unpack[MetricOptions],
    ) -> None:
        chosen = read_beta(prior)
        labels = range(read_count(num_classes, "num_classes", least=2))
        base = read_prices(chosen, costs, labels)[1]
        super().__init__(num_classes, chosen.alpha, base, logits, validate_args, **kwargs)
        self.prior = chosen
        self._share = chosen.mean * chosen.loss_to_share
        self._own = chosen.mean


def _check_values(values: Tensor, truth: Tensor, weights: Tensor, logits: bool) -> None:
    """One question to the device; only a wrong answer is looked into."""
    tolerance = row_sum_tolerance(values.dtype.itemsize)
    if logits:
        good = values.amax(dim=1).isfinite()
    else:
        good = ((values.sum(dim=1) - 1).abs() <= tolerance) & (values.amin(dim=1) >= 0)
    good &= (truth >= 0) & (truth < values.shape[1]) & (weights >= 0) & weights.isfinite()
    if good.all():
        return
    check_targets(truth, values.shape[1])
    check_rows(values.double().cpu().numpy(), "preds", tolerance, logits)
    read_weights(weights.cpu().numpy(), len(weights))
