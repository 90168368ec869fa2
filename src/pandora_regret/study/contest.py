"""The models of a study and the instances they are compared on, past the door; read some models at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, InputError, IntArray, Labels
from pandora_regret.inputs.costs import read_costs
from pandora_regret.inputs.labels import read_labels, read_truth
from pandora_regret.inputs.numbers import read_array
from pandora_regret.inputs.tables import check_rows
from pandora_regret.metrics import Metric, weighted_means
from pandora_regret.study.conditions import Condition
from pandora_regret.study.store import Names, read_groups

BATCH_ELEMENTS = 1 << 20  # forecasts, or bills, of as many models as fit are computed at once
TOLERANCE = float(np.sqrt(np.finfo(np.float32).eps))  # of rows' sums: predictions are stored in float32
PUT_RIGHT = 1e-9  # rows whose sums are further from 1: scores of float64 ask for that much


@dataclass(frozen=True)
class Contest:
    """Models, in the order of their names, that predict the same instances."""

    truth: IntArray  # (N,)
    forecasts: NDArray[Any]  # (M, N, K), as it was handed in
    order: IntArray  # (M,) where each model stands in it
    models: Names  # (M,)
    classes: tuple[Any, ...]  # (K,)
    costs: FloatArray | None  # (K,) clinical costs
    seed: int
    groups: IntArray  # (N,) numbers of groups, whose instances replicates draw together

    def batches(self, condition: Condition, per_row: int) -> Iterator[tuple[slice, FloatArray]]:
        """Some models at a time, so many that `per_row` numbers for each row fit, and their forecasts, (B, N, K).

        In float64; rows that lost digits of their sum to a shorter float are put right.
        """
        most = max(1, BATCH_ELEMENTS // (self.truth.size * per_row))
        for start in range(0, len(self.models), most):
            models = slice(start, min(start + most, len(self.models)))
            table = self.forecasts[self.order[models]].astype(np.float64)
            sums = table.sum(axis=-1, keepdims=True)
            np.divide(table, sums, out=table, where=np.abs(sums - 1) > PUT_RIGHT)
            yield models, condition.changed(self.truth, table, self.models[models], self.seed)

    def metric_values(self, metrics: Sequence[Metric], condition: Condition, weights: FloatArray) -> FloatArray:
        """Every metric of every model under every row of weights, (Q, M, R)."""
        values = np.empty((len(metrics), len(self.models), len(weights)))
        priced = any(metric.priced for metric in metrics)
        typical = condition.typical_costs(self.costs, self.classes) if priced else None
        for models, proba in self.batches(condition, len(self.classes)):
            for metric, of_models in zip(metrics, values, strict=True):
                of_models[models] = metric.of_models(self.truth, proba, weights, typical)
        return values

    def search_costs(
        self, condition: Condition, weights: FloatArray, advance: Callable[[int], None] = lambda searched: None
    ) -> tuple[FloatArray, FloatArray]:
        """What every model's searches cost under every row of weights, once for each ranking by cost, (M, R, D).

        And what they cost each instance, averaged over cost vectors, (M, N). `advance` is told how many models
        have been searched.
        """
        costs = condition.cost_draws(self.costs, self.classes, self.seed, len(self.truth))
        means = np.empty((len(self.models), len(weights), condition.rankings))
        rows = np.empty((len(self.models), len(self.truth)))
        for models, proba in self.batches(condition, max(len(self.classes), len(costs))):
            stacked = np.tile(self.truth, len(proba)), proba.reshape(-1, len(self.classes))
            bills = condition.bills(*stacked, costs, self.classes).reshape(len(costs), *proba.shape[:2])
            rows[models] = bills.mean(axis=0)
            ranked = rows[None, models] if condition.rankings == 1 else bills
            means[models] = weighted_means(np.moveaxis(ranked, 0, 2), weights)
            advance(len(proba))
        return means, rows


def read_contest(
    truth: Labels, forecasts: Any, models: Any, classes: Any, costs: Any, seed: int, groups: Any = None
) -> Contest:
    """Models and instances, checked."""
    array = read_array(forecasts, "forecasts")
    if array.ndim != 3 or any(np.less(array.shape, (2, 1, 2))) or array.dtype.kind != "f":
        raise InputError(
            f"forecasts has shape {array.shape} and dtype {array.dtype}: "
            "pass probabilities of at least two models, (models, instances, classes)."
        )
    n_models, n_rows, n_classes = array.shape
    names = _read_names(models, n_models, "models")
    listed = tuple(range(n_classes)) if classes is None else _read_names(classes, n_classes, "classes")
    for name, table in zip(names, array, strict=True):
        check_rows(table.astype(np.float64), f"forecasts of {name!r}", TOLERANCE)
    order = np.array(sorted(range(n_models), key=lambda index: names[index]))
    priced = None if costs is None else read_costs(costs, listed)
    column = read_truth(truth, range(n_classes), n_rows)
    numbers = read_groups(groups, n_rows)
    grouped = np.arange(n_rows) if numbers is None else numbers
    return Contest(column, array, order, tuple(names[index] for index in order), listed, priced, seed, grouped)


def _read_names(names: Any, count: int, what: str) -> Names:
    listed = tuple(map(str, read_labels(range(count) if names is None else list(names), what)))
    if len(listed) != count:
        raise InputError(f"{what} has {len(listed)} entries but forecasts have {count}: name each of them.")
    return listed
