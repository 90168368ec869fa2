"""What models are charged for: the tests of a search, at their prior and typical costs, or a whole work-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.compare.result import ALIKE, KNOWN_COSTS, STATED, Costs
from pandora_regret.core.inputs import (
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    did_you_mean,
    is_frame,
    read_costs,
)
from pandora_regret.core.priors import Prior, Uniform
from pandora_regret.core.priors.names import prior_of_orders, read_prior, spelled_prior
from pandora_regret.metrics import Metric, comparison_metrics, workup_metrics

if TYPE_CHECKING:
    from pandora_regret.workup import Workup


@dataclass(frozen=True)
class Charge:
    """The metrics, and the costs that they count."""

    prior: Prior  # of the search, and of metrics that know no costs
    metrics: tuple[Metric, ...]
    costs: Costs
    typical: FloatArray  # what testing each class costs, (K,) or (N, K)
    scenarios: Mapping[str, FloatArray] = field(default_factory=dict)  # other typical costs; the stated ones, too
    workup: Workup | None = None
    varying: Prior | None = None  # how the work-up's costs vary, unless they are known

    @property
    def base(self) -> FloatArray | None:
        """Base costs of a search, (K,) or (N, K)."""
        return None if self.workup else self.typical / self.prior.mean


def charge_for_search(
    labels: Sequence[Any],
    n_cases: int | None,
    prior: Prior | None,
    costs: Any,
    currency: str | None,
    source: str | None,
    *,
    by_order: bool = False,
    scenarios: Any = None,
) -> Charge:
    """The charge of a search; `n_cases` of them may have costs of their own. What nobody prices counts tests."""
    stated = costs is not None or getattr(prior, "n_classes", None) is not None  # by a prior of each class, too
    prior = read_prior(prior_of_orders(prior) if by_order else prior, labels)
    typical = np.ones(len(labels)) * (prior.mean if stated else 1.0)
    if costs is not None:  # the very numbers
        typical = read_costs(costs, labels, n_cases)
    charged = Costs(currency or ("" if stated else None), spelled_prior(prior), listed_costs(typical), source)
    others = read_scenarios(scenarios, typical, labels, n_cases, stated)
    return Charge(prior, comparison_metrics(by_order), charged, typical, others)


def listed_costs(typical: FloatArray) -> tuple[float, ...] | None:
    """One cost per class; None where every instance has its own."""
    return tuple(typical.tolist()) if typical.ndim == 1 else None


def read_scenarios(
    scenarios: Any, typical: FloatArray, labels: Sequence[Any], n_cases: int | None, stated: bool
) -> dict[str, FloatArray]:
    """Typical costs: as stated (if they are), the same for all tests, and the user's own.

    A scenario that names some classes changes what these cost.
    """
    costs, names = {STATED: typical} if stated else {}, [str(label) for label in labels]
    costs[ALIKE] = np.full(len(names), typical.mean())
    if not isinstance(scenarios, Mapping | None):
        problem = f"must map names to typical costs, got {scenarios!r:.200}"
        fix = "pass such as {'costly biopsy': {'nevus': 200}}"
        raise InputTypeError(problem, argument="scenarios", value=scenarios, fix=fix)
    for name, listed in (scenarios or {}).items():
        if str(name) in costs:
            raise InputError(f"scenarios has {str(name)!r} twice, or it is one that is always there: rename it.")
        changed, place = names, f"scenario {str(name)!r}"
        if hasattr(listed, "keys") and not is_frame(listed):
            changed = [str(label) for label in listed]
            listed = dict.fromkeys(names, 1.0) | dict(zip(changed, listed.values(), strict=True))
        for unknown in (label for label in changed if label not in names):
            raise InputError(f"names {unknown!r}", place=place, value=unknown, fix=did_you_mean(unknown, names))
        own = read_costs(listed, names, n_cases, place)
        costs[str(name)] = np.where(np.isin(names, changed), own, typical)
    return costs


def charge_for_workup(
    workup: Workup, cases: Forecast, prior: Prior | None, currency: str | None, source: str | None
) -> Charge:
    """The charge of a work-up of some cases' classes: its own currency and source, unless others are given."""
    from pandora_regret.workup.scores import WorkupRows, check_workup

    described = check_workup(workup)
    varying = KNOWN_COSTS if prior is None else spelled_prior(prior)
    source = source or described.source or described.title or "the work-up"
    costs = Costs(currency or described.currency or "", varying, None, source)
    least = WorkupRows(workup, cases, prior).least()
    return Charge(Uniform(), workup_metrics(workup, prior), costs, least, workup=workup, varying=prior)
