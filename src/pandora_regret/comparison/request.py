"""What was asked of a comparison, checked once: models, cases, costs, and how sure is sure enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret import workup as workups
from pandora_regret.calibrate.maps import MAP_METHODS
from pandora_regret.comparison.breakdowns import SMALLEST_GROUP, Division, read_by
from pandora_regret.comparison.charge import Charge, Pricing, charge_for_search, charge_for_workup
from pandora_regret.comparison.parts import IntervalMethod
from pandora_regret.comparison.sample import Sample, read_sample
from pandora_regret.core.inputs import (
    Forecast,
    InputError,
    InputTypeError,
    Labels,
    Names,
    Remark,
    Table,
    check_one_reading,
    check_row_order,
    is_frame,
    read_choice,
    read_count,
    read_forecast,
    read_level,
    read_number,
)
from pandora_regret.core.priors import Prior

if TYPE_CHECKING:  # forecasts of classes need not wait for what reads lists
    from pandora_regret.candidates.search import Until
    from pandora_regret.candidates.searched import CaseLists


@dataclass(frozen=True)
class Margin:
    """Differences below it are not worth acting on."""

    amount: float  # per case
    share: float | None = None  # of the lowest cost, where that is how it was given


@dataclass(frozen=True)
class Worth:
    """What makes a difference worth acting on: an amount, or a share of the lowest cost; one of them is None."""

    amount: float | None
    share: float | None

    def margin(self, lowest_cost: float) -> Margin:
        """The least difference per case that is worth acting on, where the cheapest model costs this."""
        if self.share is not None:
            return Margin(self.share * lowest_cost, self.share)
        return Margin(self.amount or 0.0)


DEFAULT_WORTH = Worth(amount=None, share=0.01)


def nothing() -> None:
    """What is called as a comparison goes on, where nobody watches."""


@dataclass(frozen=True)
class ComparisonOptions:
    """How a comparison is made, where the usual way will not do.

    Parameters
    ----------
    level
        Of the intervals.
    bootstrap
        Replicates; 0 for intervals by linearisation, from Student's t with one degree of freedom less than there
        are instances, or groups.
    seed
        Of the bootstrap, or else of the 20,000 normal draws behind the probability of being best.
    recalibrate
        How each model is recalibrated, row by row with a map that other rows fitted for log loss, to see what that
        would save: "temperature", "vector" or "matrix" scaling, or None for not at all.
    decompose
        Whether to split each model's cost into miscalibration, discrimination and uncertainty, too, which takes
        longer; see `pandora_regret.calibrate.decompose`.
    smallest_group
        Groups of fewer cases (or `groups`, where those are given) are pooled as "other".
    progress
        Called when a model is measured, and when all is done.

    Examples
    --------
    >>> from pandora_regret import compare
    >>> models = {"net": [[0.8, 0.2], [0.3, 0.7]]}
    >>> compare([0, 1], models, options=ComparisonOptions(level=0.9)).interval.level
    0.9
    """

    level: float = 0.95
    bootstrap: int = 0
    seed: int = 0
    recalibrate: str | None = "temperature"
    decompose: bool = False
    smallest_group: int = SMALLEST_GROUP
    progress: Callable[[], object] = nothing


USUAL = ComparisonOptions()  # what is done unless somebody says otherwise


@dataclass(frozen=True)
class CaseColumns:
    """What is known of each case beside its truth, as it was handed in, (n_cases,) each."""

    ids: Labels | None = None
    groups: Labels | None = None
    by: object = None  # a frame, or a mapping of columns to break the result down by


@dataclass(frozen=True)
class Provenance:
    """Where forecasts come from, for the record."""

    files: Names = ()
    remarks: tuple[Remark, ...] = ()  # what was changed or left out as they were read
    prior: str | None = None  # as it was typed


@dataclass(frozen=True)
class ListRequest:
    """Ranked lists to compare, and how searches along them are charged."""

    models: Mapping[str, CaseLists]  # of each model, the cases of the sample in their order
    miss: float  # what it costs to find what a list does not have
    until: Until
    prior: Prior | None  # how prices vary, where lists are forecasts of one truth; None: they are known


@dataclass(frozen=True)
class Request:
    """All that a comparison is about, checked."""

    forecasts: Mapping[str, Forecast]  # of each model as they were handed in, with the base costs of the search
    sample: Sample
    charge: Charge
    interval: IntervalMethod
    worth: Worth
    recalibration: str | None  # the method, or None for not at all
    decomposes: bool
    divisions: tuple[Division, ...]  # what the result is broken down by
    smallest_group: int
    progress: Callable[[], object]
    provenance: Provenance
    apart: Names  # models that were scored on other truths than the first
    lists: ListRequest | None = None  # instead of forecasts

    @property
    def classes(self) -> Names:
        """The classes, in column order; none where models have no classes in common."""
        for forecast in self.forecasts.values():
            return tuple(str(label) for label in forecast.labels)
        return ()


def read_request(
    forecasts: Mapping[str, Forecast],
    pricing: Pricing,
    workup: workups.Workup | None,
    columns: CaseColumns,
    worth: float | str,
    options: ComparisonOptions,
    provenance: Provenance | None = None,
) -> Request:
    """What was asked, checked; `provenance` is what `read_models` knows of it unless given."""
    first = next(iter(forecasts.values()))
    orders = [name for name, forecast in forecasts.items() if forecast.order_only]
    sample = read_sample(first, columns.ids, columns.groups)
    can_learn = not orders and len(sample.keys) > 1  # nothing can be learnt from orders, or from one row or group
    method = None if options.recalibrate is None else read_choice(options.recalibrate, "recalibrate", MAP_METHODS)
    decomposes = options.decompose and can_learn
    if workup is None:
        charge = charge_for_search(first.labels, first.n_cases, pricing, by_order=bool(orders))
    else:
        _check_workup_alone(orders, pricing, decomposes)
        charge = charge_for_workup(workup, first, pricing)
    return Request(
        forecasts=_with_costs(forecasts, charge, order_only=bool(orders)),
        sample=sample,
        charge=charge,
        interval=read_interval(options.level, options.bootstrap, options.seed),
        worth=read_worth(worth),
        recalibration=method if can_learn else None,
        decomposes=decomposes,
        divisions=read_by(columns.by, first.n_cases),
        smallest_group=read_count(options.smallest_group, "smallest_group", least=2),
        progress=options.progress,
        provenance=provenance or Provenance(remarks=_rescalings(forecasts)),
        apart=_differing_truths(forecasts),
    )


def _with_costs(forecasts: Mapping[str, Forecast], charge: Charge, order_only: bool) -> dict[str, Forecast]:
    """The forecasts with the costs of the search; of all models only orders can be compared if one has no more."""
    priced = {}
    for name, forecast in forecasts.items():
        comparable = replace(forecast, alike=len(forecasts), order_only=order_only)
        priced[name] = comparable.with_costs(charge.base)
    return priced


def _differing_truths(forecasts: Mapping[str, Forecast]) -> Names:
    """The models that were scored on other truths than the first."""
    first = next(iter(forecasts.values()))
    return tuple(name for name, forecast in forecasts.items() if not np.array_equal(forecast.truth, first.truth))


def _rescalings(forecasts: Mapping[str, Forecast]) -> tuple[Remark, ...]:
    """What `normalise` did to the rows of each model."""
    return tuple(change for name, forecast in forecasts.items() for change in forecast.rescaled.remarks(name))


def _check_workup_alone(orders: list[str], pricing: Pricing, decomposes: bool) -> None:
    """A work-up needs probabilities, and says what steps cost: no other costs can stand beside it."""
    if orders:
        problem = f"model {orders[0]!r} forecasts an order without probabilities, which a work-up needs"
        fix = "compare by a search, or forecast probabilities"
        raise InputError(problem, argument="workup", place="", fix=fix)
    is_said = {
        "costs": pricing.costs is not None,
        "scenarios": pricing.scenarios is not None,
        "decompose": decomposes,
    }
    for name, stands_beside in is_said.items():
        if stands_beside:
            problem = "stands beside a work-up, and is about the tests of a search"
            fix = "leave one of them out: the work-up says what its steps cost"
            raise InputError(problem, argument=name, fix=fix)


# Options


def read_worth(worth: float | str) -> Worth:
    """An amount in the unit of costs, or a share of the lowest cost such as "1%", checked."""
    if not isinstance(worth, str):
        return Worth(amount=_least_difference(worth, worth), share=None)
    text = worth.strip()
    if text.endswith("%"):
        percent = text.removesuffix("%").strip().replace(",", ".")
        return Worth(amount=None, share=_least_difference(percent, worth) / 100)
    check_one_reading(text, "worth")
    return Worth(amount=_least_difference(text.replace(",", "."), worth), share=None)


def _least_difference(number: float | str, worth: float | str) -> float:
    """A number that is worth acting on, checked; `worth` is how it was handed in."""
    try:
        amount = read_number(float(number), "worth")
    except (TypeError, ValueError):
        amount = -1.0
    if not 0 <= amount < math.inf:
        fix = "write an amount in the unit of costs, such as 2.5, or a share of the lowest cost, such as 1%"
        raise InputError(argument="worth", value=worth, fix=fix)
    return amount


def read_interval(level: float, bootstrap: int, seed: int) -> IntervalMethod:
    """How intervals are made, checked."""
    share = read_level(level)
    replicates = read_count(bootstrap, "bootstrap", least=0)
    least = math.ceil(2 / (1 - share))  # so that the ends of an interval are not the ends of the sample
    if 0 < replicates < least:
        too_few = f"that is too few for an interval of {100 * share:g} %"
        fix = f"{too_few}, ask for {least} at least, better 1000, or for 0"
        raise InputError(argument="bootstrap", value=replicates, fix=fix)
    method = "bootstrap" if replicates else "analytic"
    return IntervalMethod(share, method, replicates, read_count(seed, "seed", least=0))


# Models


def read_models(
    y_true: Labels | None,
    models: Mapping[str, Table | Forecast],
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> dict[str, Forecast]:
    """Every model's forecasts, (N, K), checked, their columns in the same order; an error names the model.

    The arguments are those of `compare`.
    """
    names = _check_models(models, labels)
    column_order: object = labels
    forecasts: dict[str, Forecast] = {}
    for name, table in zip(names, models.values(), strict=True):
        try:
            forecast = read_forecast(y_true, table, column_order, sample_weight, logits, normalise).check()
        except (InputError, InputTypeError) as error:
            raise error.within(f"model {name!r}") from None
        forecasts[name] = forecast
        if column_order is None and is_frame(table):
            column_order = forecast.labels  # the first frame's columns; those that follow are matched by name
        expected = forecasts[names[0]].n_classes
        if forecast.n_classes != expected:
            raise InputError(
                f"has {forecast.n_classes} classes but model {names[0]!r} has {expected}",
                argument="models",
                value=forecast.n_classes,
                place=f"model {name!r}",
                fix="compare models of the same classes",
            )
    return forecasts


def _check_models(models: object, labels: object) -> list[str]:
    """The names of the models."""
    if not isinstance(models, Mapping):
        kind = type(models).__name__
        problem = f"must map names to forecasts, {{'resnet': y_proba, ...}}, got a {kind}"
        raise InputTypeError(problem, argument="models", value=models)
    if not models:
        raise InputError("is empty", argument="models", value=models, fix="pass at least one, {'name': y_proba}")
    kinds = {is_frame(table) for table in models.values()}
    if labels is None and len(kinds) == 2:
        fix = "say the arrays' column order with labels=[...]"
        raise InputError("holds both frames and arrays", argument="models", fix=fix)
    names = [str(name) for name in models]
    if len(set(names)) < len(names):
        problem = f"has the names {names}, two of which read the same"
        raise InputError(problem, argument="models", value=names, fix="give each its own name")
    return names


def check_same_order(models: Mapping[str, object], columns: CaseColumns, **arguments: object) -> None:
    """An error if pandas indices say that two of them have the same rows in different orders."""
    tables = {f"models[{name!r}]": table for name, table in models.items()}
    by: dict[str, object] = {"by": columns.by}
    if isinstance(columns.by, Mapping):
        by = {f"by[{name!r}]": values for name, values in columns.by.items()}
    check_row_order(**arguments, groups=columns.groups, ids=columns.ids, **tables, **by)
