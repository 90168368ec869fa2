"""How the rows of a model are scored and charged, checked once before any row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.comparison.charge import Charge, Pricing, charge_for_search, charge_for_workup
from pandora_regret.comparison.parts import Costs, IntervalMethod
from pandora_regret.core.inputs import Forecast, InputError, IntArray, read_probabilities
from pandora_regret.core.kernels.engine import worth_compiling
from pandora_regret.core.priors import Beta
from pandora_regret.inference.intervals import MOST_CLASSES
from pandora_regret.metrics import Metric
from pandora_regret.metrics.fused import LANE_OF

if TYPE_CHECKING:
    from pandora_regret.files import Predictions
    from pandora_regret.files.batch import Batch
    from pandora_regret.workup import Workup

AS_LONG_AS_COMPILING = 4  # times as many numbers as for one score: what NumPy gets done while numba compiles

EACH_ROWS_OWN = "each row's own"  # where costs come from

StreamPrices: TypeAlias = ArrayLike | Mapping[str, float]  # one cost per class


@dataclass(frozen=True)
class Settings:
    """How the rows of a model are scored and charged."""

    charge: Charge
    own_costs: bool  # whether each row has costs of its own
    interval: IntervalMethod
    n_classes: int
    logits: bool
    grouped: bool  # whether rows belong together in clusters
    with_pairs: bool  # whether to sum who pays for which wrong test

    @property
    def means(self) -> list[Metric]:
        """The metrics that are means of rows."""
        return [metric for metric in self.charge.metrics if metric.is_mean]

    @property
    def counts_classes(self) -> bool:
        """Whether there are so few classes that counts of each are kept for intervals."""
        return self.n_classes <= MOST_CLASSES

    @property
    def needs_rows(self) -> bool:
        """Whether intervals ask for the metrics of every row, so that sums over a batch are not enough."""
        return self.grouped or self.interval.replicates > 0

    def is_compiled(self, rows: int) -> bool:
        """Whether so many rows are worth a compiled loop, and there is one that knows all metrics."""
        prior = self.charge.prior
        if self.logits or not isinstance(prior, Beta):
            return False
        if not all(metric.key in LANE_OF for metric in self.means):
            return False
        return worth_compiling(rows * self.n_classes // AS_LONG_AS_COMPILING, prior.alpha)

    def forecast(self, batch: Batch, rows: IntArray | None = None) -> Forecast:
        """All rows of a batch with their base costs; or some, where these are those of all rows."""
        costs = self.charge.base if batch.costs is None else batch.costs / self.charge.prior.mean
        return batch.forecast(rows).with_costs(costs)


def read_settings(
    predictions: Predictions,
    pricing: Pricing,
    interval: IntervalMethod,
    pairs: bool,
    workup: Workup | None = None,
) -> Settings:
    """What the rows are charged for, matched to the classes; the parameters are those of `score_stream`."""
    own_costs = bool(predictions.columns.costs)
    if workup is not None:
        if pricing.costs is not None or pairs:
            problem = "costs and pairs are about the tests of a search"
            argument = "pairs" if pairs else "costs"
            raise InputError(problem, argument=argument, place="", fix="leave them out beside a work-up")
        charge = _charge_for_workup(predictions, workup, pricing)
    elif own_costs and pricing.costs is not None:
        problem = "has cost columns and costs are given too"
        fix = "pass one price list, not both"
        raise InputError(problem, argument="costs", place=predictions.path, fix=fix)
    else:
        charge = charge_for_search(predictions.classes, None, pricing, by_order=predictions.order_only)
        if own_costs:
            source = pricing.source or EACH_ROWS_OWN
            charged = Costs(pricing.currency or "", charge.costs.prior, None, source)
            charge = replace(charge, costs=charged)
    return Settings(
        charge,
        own_costs,
        interval,
        n_classes=len(predictions.classes),
        logits=predictions.logits,
        grouped=predictions.grouped,
        with_pairs=pairs,
    )


def _charge_for_workup(predictions: Predictions, workup: Workup, pricing: Pricing) -> Charge:
    """The charge of a work-up, which must know the classes and needs probabilities."""
    if predictions.order_only:
        fix = "a work-up needs their probabilities"
        raise InputError("lists options in order only", argument="workup", place=predictions.path, fix=fix)
    classes: Sequence[str] = predictions.classes
    one_case_of_each = read_probabilities(np.eye(len(classes)), classes)
    return charge_for_workup(workup, one_case_of_each, pricing)
