"""The door of a comparison: models and instances become forecasts whose rows agree, and prices."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.compare.result import Scenario
from pandora_regret.inference.keyed import Keys, keys_of
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    read_costs,
    read_forecast,
)
from pandora_regret.inputs.labels import check_row_order
from pandora_regret.inputs.names import did_you_mean, quoted
from pandora_regret.inputs.tables import is_frame
from pandora_regret.priors import Prior

STATED, ALIKE = "stated costs", "all tests cost the same"


@dataclass(frozen=True)
class Sample:
    """The rows that all models are compared on: those of positive weight, in the order of their cases' keys.

    So a permutation of the cases, with their ids, changes not a single bit; and a cluster's rows stand together.
    """

    cases: slice | IntArray  # which of those that were handed in
    truth: IntArray  # (N,)
    weights: FloatArray  # (N,)
    case_of: IntArray  # (N,) the number of each row's case, rising
    cluster_of: IntArray  # (N,) the number of each row's cluster, rising: its group, or else its case
    keys: Keys  # (G,) what the bootstrap tells clusters apart by
    grouped: bool

    @property
    def n_cases(self) -> int:
        """How many cases there are; some have several rows, one for each class that is true to some extent."""
        return int(self.case_of[-1]) + 1

    @property
    def unit_of(self) -> IntArray | None:
        """The number of each row's cluster, (N,); None where every row is one."""
        return None if len(self.keys) == len(self.truth) else self.cluster_of

    @property
    def groups(self) -> IntArray | None:
        """The number of each case's group, (n_cases,)."""
        return self.cluster_of[np.flatnonzero(np.diff(self.case_of, prepend=-1))] if self.grouped else None

    @property
    def units(self) -> str:
        """What is independent of each other, in words."""
        return "clusters" if self.grouped else "cases"

    def of(self, forecast: Forecast) -> Forecast:
        """A model's forecasts of these rows, each of which stands for itself."""
        return replace(forecast.cases(self.cases), cluster=None, shares=None)


def read_models(
    y_true: Labels | None,
    models: Any,
    labels: Any,
    sample_weight: ArrayLike | None,
    logits: bool,
    normalise: bool = False,
) -> dict[str, Forecast]:
    """Every model's forecasts, checked, their columns in the same order; an error names the model."""
    names, forecasts = _check_models(models, labels), dict[str, Forecast]()
    options: dict[str, Any] = {"sample_weight": sample_weight, "logits": logits, "normalise": normalise}
    for name, table in zip(names, models.values(), strict=True):
        try:
            read = isinstance(table, Forecast)
            forecast = (table if read else read_forecast(y_true, table, labels=labels, **options)).check()
        except (InputError, InputTypeError) as error:
            raise error.within(f"model {name!r}") from None
        forecasts[name] = forecast
        if labels is None and is_frame(table):
            labels = forecast.labels  # the first frame's columns; those that follow are matched by name
        if forecast.n_classes != (expected := forecasts[names[0]].n_classes):
            raise InputError(
                f"model {name!r} has {forecast.n_classes} classes but model {names[0]!r} has {expected}: "
                "compare models of the same classes."
            )
    return forecasts


def _check_models(models: Any, labels: Any) -> list[str]:
    """The names of the models."""
    if not isinstance(models, Mapping):
        kind = type(models).__name__
        raise InputTypeError(f"models must map names to forecasts, {{'resnet': y_proba, ...}}, got a {kind}.")
    if not models:
        raise InputError("models is empty: pass at least one, {'name': y_proba}.")
    if labels is None and len({is_frame(table) for table in models.values()}) == 2:
        raise InputError("models holds both frames and arrays: say the arrays' column order with labels=[...].")
    names = [str(name) for name in models]
    if len(set(names)) < len(names):
        raise InputError(f"models has the names {names}, two of which read the same: give each its own name.")
    return names


def check_same_order(models: Mapping[Any, Any], by: Any = None, **arguments: Any) -> None:
    """An error if pandas indices say that two of them have the same rows in different orders."""
    tables = {f"models[{name!r}]": table for name, table in models.items()}
    columns = {f"by[{name!r}]": values for name, values in by.items()} if isinstance(by, Mapping) else {"by": by}
    check_row_order(**arguments, **tables, **columns)


def _keys(values: Any, name: str, n: int) -> Keys:
    keys = keys_of(values, name)
    if len(keys) != n:
        raise InputError(f"{name} has {len(keys)} entries but there are {n} instances: pass one per instance.")
    return keys


def read_sample(forecast: Forecast, ids: Any, groups: Any) -> Sample:
    """Which cases there are, and which of them belong together."""
    n, case_weights = forecast.n_cases, forecast.case_weights
    case_keys = np.arange(n, dtype=np.uint64) if ids is None else _keys(ids, "ids", n)
    keys = case_keys if groups is None else _keys(groups, "groups", n)
    _, first = np.unique(case_keys, return_index=True)
    if len(first) < n:
        row = int(np.setdiff1d(np.arange(n), first)[0])
        twice = np.asarray(ids).tolist()[row]
        fix = "give each row its own id, and say with groups which rows belong together"
        raise InputError(f"ids row {row} is {twice!r}, which occurred before: {fix}.")
    order = np.lexsort((case_keys, keys))
    if case_weights is not None:
        order = order[case_weights[order] > 0]
    cases = slice(None) if np.array_equal(order, np.arange(n)) else order
    rows = forecast.cases(cases)
    case_of = np.arange(len(rows)) if rows.cluster is None else rows.cluster
    distinct, cluster = np.unique(keys[order], return_inverse=True)
    return Sample(cases, rows.truth, rows.each_weight, case_of, cluster[case_of], distinct, groups is not None)


def are_stated(prior: Prior | None, costs: Any) -> bool:
    """Whether anything says what tests cost: a prior that speaks of each class does, too."""
    return costs is not None or getattr(prior, "n_classes", None) is not None


def in_tests(n_classes: int) -> FloatArray:
    """What tests cost, (K,), where nobody says: a typical test is the unit, and results count tests."""
    return np.ones(n_classes)


def read_scenarios(
    scenarios: Any, typical: FloatArray, prior: Prior, forecast: Forecast, *, stated: bool
) -> list[tuple[Scenario, FloatArray]]:
    """Costs and their base costs: as stated (if they are), the same for all tests, and the user's own."""
    costs = {STATED: typical} if stated else {}
    costs[ALIKE] = np.full(forecast.n_classes, typical.mean())
    if not isinstance(scenarios, Mapping | None):
        problem = f"must map names to typical costs, got {scenarios!r:.200}"
        fix = "pass such as {'costly biopsy': {'nevus': 200}}"
        raise InputTypeError(problem, argument="scenarios", value=scenarios, fix=fix)
    for name, listed in (scenarios or {}).items():
        if str(name) in costs:
            raise InputError(f"scenarios has {str(name)!r} twice, or it is one that is always there: rename it.")
        place = f"scenario {str(name)!r}"
        if hasattr(listed, "keys") and not is_frame(listed):
            costs[str(name)] = _changed(typical, listed, forecast, place)
        else:
            costs[str(name)] = read_costs(listed, forecast.labels, forecast.n_cases, place)
    return [(Scenario(name, as_tuple(table)), table / prior.mean) for name, table in costs.items()]


def _changed(typical: FloatArray, listed: Any, forecast: Forecast, place: str) -> FloatArray:
    """The costs of a scenario that names some classes; the others cost what they did."""
    names, changes = [str(label) for label in forecast.labels], {str(name): cost for name, cost in listed.items()}
    if unknown := [name for name in changes if name not in names]:
        fix = did_you_mean(unknown[0], names)
        raise InputError(f"names {quoted(unknown)}", place=place, value=unknown, fix=fix)
    if not changes:
        raise InputError("changes nothing", place=place, fix="name the classes whose costs differ")
    costs = read_costs([changes.get(name, 1.0) for name in names], names, argument=place)
    return np.where(np.isin(names, list(changes)), costs, typical)


def as_tuple(costs: FloatArray) -> tuple[float, ...] | None:
    """One cost per class; None where every instance has its own."""
    return tuple(costs.tolist()) if costs.ndim == 1 else None
