"""What models are charged for: the tests of a search, at their prior and typical costs, or a whole work-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pandora_regret import workup as workups
from pandora_regret.comparison.parts import ALIKE, KNOWN_COSTS, STATED, UNTITLED, Costs
from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    did_you_mean,
    read_costs,
)
from pandora_regret.core.priors import Fixed, Prior, Uniform
from pandora_regret.core.priors.names import prior_of_orders, read_prior, spelled_prior
from pandora_regret.metrics import Metric, comparison_metrics, workup_metrics
from pandora_regret.text import TESTS


@dataclass(frozen=True)
class Charge:
    """The metrics, and the costs that they count."""

    prior: Prior  # of the search, and of metrics that know no costs
    metrics: tuple[Metric, ...]
    costs: Costs
    typical: FloatArray  # what testing each class costs, (K,) or (N, K)
    scenarios: Mapping[str, FloatArray] = field(default_factory=dict)  # other typical costs; the stated ones, too
    workup: workups.Workup | None = None
    varying: Prior | None = None  # how the work-up's costs vary, unless they are known

    @property
    def base(self) -> FloatArray | None:
        """Base costs of a search, (K,) or (N, K)."""
        return None if self.workup else self.typical / self.prior.mean


@dataclass(frozen=True)
class Pricing:
    """What was said of costs, as it was handed in; the fields are arguments of `compare`."""

    prior: Prior | None = None
    costs: ByClass | None = None
    currency: str | None = None
    source: str | None = None
    scenarios: object = None

    def check_texts(self) -> None:
        """An error if what must be text is none."""
        for name, text in {"currency": self.currency, "source": self.source}.items():
            if not isinstance(text, str | None):
                raise InputTypeError(f"must be text, or None, got {text!r:.80}", argument=name, value=text)


def charge_for_search(
    labels: Sequence[object], n_cases: int | None, pricing: Pricing, *, by_order: bool = False
) -> Charge:
    """The charge of a search. What nobody prices costs a typical test price; or counts tests, if prices are fixed.

    Parameters
    ----------
    labels
        The classes, in column order.
    n_cases
        How many cases may have costs of their own; None where they may not.
    pricing
        What was said of costs.
    by_order
        Whether models are compared by the order of their tests alone.
    """
    pricing.check_texts()
    is_stated = pricing.costs is not None or getattr(pricing.prior, "n_classes", None) is not None
    prior = read_prior(prior_of_orders(pricing.prior) if by_order else pricing.prior, labels)
    if pricing.costs is not None:  # the very numbers
        typical = read_costs(pricing.costs, labels, n_cases)
    elif is_stated:  # by a prior of each class
        typical = np.ones(len(labels)) * prior.mean
    else:
        typical = np.ones(len(labels))
    unnamed_unit = None
    if is_stated:
        unnamed_unit = ""
    elif prior == Fixed():
        unnamed_unit = TESTS
    costs = Costs(pricing.currency or unnamed_unit, spelled_prior(prior), listed_costs(typical), pricing.source)
    scenarios = read_scenarios(pricing.scenarios, typical, labels, n_cases, is_stated)
    return Charge(prior, comparison_metrics(by_order), costs, typical, scenarios)


def listed_costs(typical: FloatArray) -> tuple[float, ...] | None:
    """One cost per class; None where every instance has its own."""
    return tuple(typical.tolist()) if typical.ndim == 1 else None


def read_scenarios(
    scenarios: object, typical: FloatArray, labels: Sequence[object], n_cases: int | None, is_stated: bool
) -> dict[str, FloatArray]:
    """Typical costs by scenario: as stated (if they are), the same for all tests, and the user's own.

    Parameters
    ----------
    scenarios
        What the user says: None, or a mapping from names to costs. A scenario that names some classes changes what
        these cost.
    typical
        The costs as stated, (K,) or (N, K).
    labels, n_cases
        The classes, in column order; how many cases may have costs of their own.
    is_stated
        Whether the user said what tests cost.

    Returns
    -------
    dict of str to (K,) or (N, K)
    """
    class_names = [str(label) for label in labels]
    typical_by_scenario = {}
    if is_stated:
        typical_by_scenario[STATED] = typical
    typical_by_scenario[ALIKE] = np.full(len(class_names), typical.mean())
    if scenarios is None:
        return typical_by_scenario
    if not isinstance(scenarios, Mapping):
        problem = f"must map names to typical costs, got {scenarios!r:.200}"
        fix = "pass such as {'costly biopsy': {'nevus': 200}}"
        raise InputTypeError(problem, argument="scenarios", value=scenarios, fix=fix)
    for name, listed in scenarios.items():
        scenario = str(name)
        if scenario in typical_by_scenario:
            problem = f"has {scenario!r} twice, or it is one that is always there"
            raise InputError(problem, argument="scenarios", value=scenario, fix="rename it")
        typical_by_scenario[scenario] = _changed_costs(scenario, listed, typical, class_names, n_cases)
    return typical_by_scenario


def _changed_costs(
    scenario: str, listed: ByClass, typical: FloatArray, class_names: list[str], n_cases: int | None
) -> FloatArray:
    """The typical costs, (K,) or (N, K), of one scenario, which lists all of them or those of some classes."""
    place = f"scenario {scenario!r}"
    if isinstance(listed, Mapping):
        changed = [str(label) for label in listed]
        listed = dict.fromkeys(class_names, 1.0) | dict(zip(changed, listed.values(), strict=True))
    else:
        changed = class_names
    for name in changed:
        if name not in class_names:
            raise InputError(f"names {name!r}", place=place, value=name, fix=did_you_mean(name, class_names))
    own = read_costs(listed, class_names, n_cases, place)
    return np.where(np.isin(class_names, changed), own, typical)


def charge_for_workup(workup: workups.Workup, cases: Forecast, pricing: Pricing) -> Charge:
    """The charge of a work-up of some cases' classes: its own currency and source, unless others are given."""
    pricing.check_texts()
    from pandora_regret.workup.scores import WorkupRows, check_workup

    described = check_workup(workup)
    varying = pricing.prior
    spelled = KNOWN_COSTS if varying is None else spelled_prior(varying)
    source = pricing.source or described.source or described.title or UNTITLED
    costs = Costs(pricing.currency or described.currency or "", spelled, None, source)
    least = WorkupRows(workup, cases, varying).least()
    return Charge(Uniform(), workup_metrics(workup, varying), costs, least, workup=workup, varying=varying)
