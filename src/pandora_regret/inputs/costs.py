"""Costs and the priors they meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pandora_regret.inputs.forecast import Forecast
from pandora_regret.inputs.numbers import (
    LARGEST,
    SMALLEST,
    FloatArray,
    InputError,
    InputTypeError,
    out_of_range,
    read_floats,
)
from pandora_regret.inputs.tables import by_name, is_frame, read_columns

if TYPE_CHECKING:
    from pandora_regret.priors import Prior


def read_costs(costs: Any, forecast: Forecast, name: str = "costs") -> FloatArray:
    """What testing each class costs: (K,), or (N, K) where each instance has its own."""
    array = read_floats(_in_label_order(costs, forecast.labels, name), name, copy=False)
    if array.shape not in ((forecast.n_classes,), forecast.values.shape):
        raise InputError(
            f"{name} has shape {array.shape}: pass one cost per class, shape ({forecast.n_classes},), "
            f"or one per class and instance, shape {forecast.values.shape}."
        )
    return check_costs(array, name, forecast.labels)


def check_costs(
    array: FloatArray, name: str, labels: Sequence[Any] | None = None, kind: str = "class"
) -> FloatArray:
    """Positive, and neither so small nor so large that sums and ratios leave float64."""
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}): pass a positive number, or one per class.")
    if not (array.min() >= SMALLEST and array.max() <= LARGEST):  # NaN compares false
        bad = out_of_range(array)
        at = tuple(int(index) for index in np.argwhere(bad)[0])
        raise InputError(
            f"{name}{_place(at, labels, kind)} is {array[at]:g}: "
            f"it must be a positive number from {SMALLEST:g} to {LARGEST:g}."
        )
    return array


def _place(at: tuple[int, ...], labels: Sequence[Any] | None, kind: str) -> str:
    """An entry in words: its row, where each instance has its own, and its class."""
    if not at:
        return ""
    of_class = f"{kind} {at[-1] if labels is None else labels[at[-1]]!r}"
    return f" row {at[0]}, {of_class}," if len(at) == 2 else f" of {of_class}"


def _in_label_order(costs: Any, labels: Sequence[Any], name: str) -> Any:
    """Costs that carry class names (a mapping, a pandas series, a frame) are matched by name."""
    if is_frame(costs):
        return np.stack(read_columns(costs, labels, name)[0], axis=1)
    return by_name(costs, labels, name)


def read_typical_costs(costs: Any, typical_costs: Any, prior: Prior, forecast: Forecast) -> FloatArray | None:
    """Base costs C_k, from base costs or from the mean costs C_k E[u_k]; None where neither is given."""
    if costs is not None and typical_costs is not None:
        raise InputError(
            "both costs and typical_costs are given: pass costs for base costs C_k (a test costs C_k u_k), "
            "or typical_costs for mean costs, not both."
        )
    if typical_costs is not None:
        return read_costs(typical_costs, forecast, "typical_costs") / prior.mean
    return None if costs is None else read_costs(costs, forecast)


def read_raw_prior(prior: Any, forecast: Forecast, default: Prior) -> Prior:
    """The prior of a cost in money: it must fit the classes, and have a mean to pay."""
    if prior is None:
        return default
    check_prior(prior, forecast.n_classes, "y_proba's columns")
    prior = prior.for_classes(forecast.labels)
    with np.errstate(over="ignore"):
        mean = np.asarray(prior.mean)
    if not np.isfinite(mean).all():
        raise InputError(f"prior {prior!r} has mean cost {mean.max():g}: choose one whose mean is finite.")
    if not (mean > 0).all():
        raise InputError(
            f"prior {prior!r} has mean cost 0, so every search is free: as alpha tends to 0 only the normalised "
            "score survives; use pandora_regret(..., alpha=0) or beta_score(..., alpha=0)."
        )
    return cast("Prior", prior)


def check_prior(prior: Any, n_classes: int, of_what: str) -> None:
    """A prior, about as many classes as there are."""
    from pandora_regret.priors import Prior

    if not isinstance(prior, Prior):
        raise InputTypeError(f"prior must be a prior such as Uniform() or Gamma(2.0), got {prior!r}.")
    if prior.n_classes not in (None, n_classes):
        raise InputError(
            f"prior is about {prior.n_classes} classes but there are {n_classes} of {of_what}: "
            "build the prior with one entry per class."
        )
