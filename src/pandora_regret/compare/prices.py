"""The costs a comparison is made under, and the scenarios beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pandora_regret.compare.result import Scenario
from pandora_regret.inputs import FloatArray, Forecast, InputError, InputTypeError, read_costs
from pandora_regret.inputs.costs import check_costs
from pandora_regret.inputs.numbers import read_floats
from pandora_regret.inputs.tables import is_frame
from pandora_regret.priors import Prior

MOST_NAMED = 8
STATED, ALIKE = "stated costs", "all tests cost the same"


def are_stated(prior: Prior | None, costs: Any, typical_costs: Any) -> bool:
    """Whether anything says what tests cost: a prior that speaks of each class does, too."""
    return costs is not None or typical_costs is not None or getattr(prior, "n_classes", None) is not None


def in_tests(n_classes: int) -> FloatArray:
    """What tests cost, (K,), where nobody says: a typical test is the unit, and results count tests."""
    return np.ones(n_classes)


def read_typical(forecast: Forecast, prior: Prior, typical_costs: Any) -> FloatArray:
    """What tests cost on average, (K,) or (N, K); the very numbers that were given, where they were."""
    if typical_costs is not None:
        return read_costs(typical_costs, forecast.labels, forecast.n_cases, "typical_costs")
    base = forecast.by_case().costs
    return (np.ones(forecast.n_classes) if base is None else base) * prior.mean


def read_scenarios(
    scenarios: Any, typical: FloatArray, prior: Prior, forecast: Forecast, *, stated: bool
) -> list[tuple[Scenario, FloatArray]]:
    """Costs and their base costs: as stated (if they are), the same for all tests, and the user's own."""
    costs = {STATED: typical} if stated else {}
    costs[ALIKE] = np.full(forecast.n_classes, typical.mean())
    for name, listed in _pairs(scenarios):
        if str(name) in costs:
            raise InputError(f"scenarios has {str(name)!r} twice, or it is one that is always there: rename it.")
        costs[str(name)] = _changed(typical, listed, forecast, f"scenario {str(name)!r}")
    return [(Scenario(name, as_tuple(table)), table / prior.mean) for name, table in costs.items()]


def _changed(typical: FloatArray, listed: Any, forecast: Forecast, place: str) -> FloatArray:
    """The costs of a scenario: where it names only some classes, the others cost what they did."""
    if not hasattr(listed, "keys") or is_frame(listed):
        return read_costs(listed, forecast.labels, forecast.n_cases, place)
    names = {str(name): cost for name, cost in listed.items()}
    column_of = {str(label): k for k, label in enumerate(forecast.labels)}
    if unknown := [name for name in names if name not in column_of]:
        fix = f"the classes are {', '.join(list(column_of)[:MOST_NAMED])}{', ...' * (len(column_of) > MOST_NAMED)}"
        raise InputError(f"names {', '.join(map(repr, unknown))}", place=place, value=unknown, fix=fix)
    if not names:
        raise InputError("changes nothing", place=place, fix="name the classes whose costs differ")
    changed = typical.copy()
    columns = [column_of[name] for name in names]
    changed[..., columns] = check_costs(read_floats(list(names.values()), place), place, list(names))
    return changed


def as_tuple(costs: FloatArray) -> tuple[float, ...] | None:
    """One cost per class; None where every instance has its own."""
    return tuple(float(cost) for cost in costs) if costs.ndim == 1 else None


def _pairs(scenarios: Any) -> list[tuple[Any, Any]]:
    if scenarios is None:
        return []
    try:
        return [
            (name, costs) for name, costs in (scenarios.items() if isinstance(scenarios, Mapping) else scenarios)
        ]
    except (TypeError, ValueError):
        problem = f"must map names to typical costs, got {scenarios!r:.200}"
        fix = "pass such as {'dear biopsy': {'nevus': 200}}"
        raise InputTypeError(problem, argument="scenarios", value=scenarios, fix=fix) from None
