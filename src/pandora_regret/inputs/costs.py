"""Costs and the priors they meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pandora_regret.inputs.errors import InputError, InputTypeError
from pandora_regret.inputs.forecast import Forecast
from pandora_regret.inputs.numbers import LARGEST, SMALLEST, FloatArray, out_of_range, read_floats
from pandora_regret.inputs.tables import by_name, is_frame, read_columns

if TYPE_CHECKING:
    from pandora_regret.priors import Prior


def read_costs(costs: Any, forecast: Forecast, name: str = "costs") -> FloatArray:
    """What testing each class costs: (K,), or (N, K) where each instance has its own."""
    array = read_floats(_in_label_order(costs, forecast.labels, name), name, copy=False)
    if array.shape not in ((forecast.n_classes,), forecast.values.shape):
        fix = (
            f"pass one cost per class, shape ({forecast.n_classes},), "
            f"or one per class and instance, shape {forecast.values.shape}"
        )
        raise InputError(f"has shape {array.shape}", argument=name, value=array.shape, fix=fix)
    return check_costs(array, name, forecast.labels)


def check_costs(
    array: FloatArray, name: str, labels: Sequence[Any] | None = None, kind: str = "class"
) -> FloatArray:
    """Positive, and neither so small nor so large that sums and ratios leave float64."""
    if array.size == 0:
        fix = "pass a positive number, or one per class"
        raise InputError(f"is empty (shape {array.shape})", argument=name, value=array.shape, fix=fix)
    if not (array.min() >= SMALLEST and array.max() <= LARGEST):  # NaN compares false
        index = np.unravel_index(int(np.argmax(out_of_range(array))), array.shape)
        raise _bad_cost(array[index], tuple(map(int, index)), name, labels, kind)
    return array


def _bad_cost(
    value: float, index: tuple[int, ...], name: str, labels: Sequence[Any] | None, kind: str
) -> InputError:
    """An error that names an entry's row, where each instance has its own, and its class or group."""
    row = index[0] if len(index) == 2 else None
    column = None if not index else index[-1] if labels is None else labels[index[-1]]
    place = None if kind == "class" or column is None else f"{name} of {kind} {column!r}"
    fix = f"it must be a positive number from {SMALLEST:g} to {LARGEST:g}"
    return InputError(argument=name, row=row, column=column, value=value, place=place, fix=fix)


def _in_label_order(costs: Any, labels: Sequence[Any], name: str) -> Any:
    """Costs that carry class names (a mapping, a pandas series, a frame) are matched by name."""
    if is_frame(costs):
        return np.stack(read_columns(costs, labels, name)[0], axis=1)
    return by_name(costs, labels, name)


def read_typical_costs(costs: Any, typical_costs: Any, prior: Prior, forecast: Forecast) -> FloatArray | None:
    """Base costs C_k, from base costs or from the mean costs C_k E[u_k]; None where neither is given."""
    if costs is not None and typical_costs is not None:
        fix = "pass costs for base costs C_k (a test costs C_k u_k), or typical_costs for mean costs, not both"
        raise InputError("both costs and typical_costs are given", argument="typical_costs", place="", fix=fix)
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
        problem = f"{prior!r} has mean cost {mean.max():g}"
        raise InputError(problem, argument="prior", value=prior, fix="choose one whose mean is finite")
    if not (mean > 0).all():
        raise InputError(
            f"{prior!r} has mean cost 0, so every search is free",
            argument="prior",
            value=prior,
            fix="as alpha tends to 0 only the normalised score survives; "
            "use pandora_regret(..., alpha=0) or beta_score(..., alpha=0)",
            command_fix="choose another prior",
        )
    return cast("Prior", prior)


def check_prior(prior: Any, n_classes: int, of_what: str) -> None:
    """A prior, about as many classes as there are."""
    from pandora_regret.priors import Prior

    if not isinstance(prior, Prior):
        problem = f"must be a prior such as Uniform() or Gamma(2.0), got {prior!r:.200}"
        raise InputTypeError(problem, argument="prior", value=prior)
    if prior.n_classes not in (None, n_classes):
        problem = f"is about {prior.n_classes} classes but there are {n_classes} of {of_what}"
        raise InputError(problem, argument="prior", value=prior, fix="build the prior with one entry per class")
