"""Where an interval cannot be trusted: a handful of cases carries it, or a dear or rare class was hardly seen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pandora_regret.inference.joint import Carriers
from pandora_regret.inputs import FloatArray
from pandora_regret.text import class_name, listed, money

UNSEEN = 3.0  # cases: what never happened in n cases may yet happen in 3 of n, at 95 % confidence
FEW_OF_A_CLASS = 5  # cases
TOO_MANY_RARE = 0.1  # of the classes
DO_NOT_TRUST = "do not trust this interval"


def few_carriers(carriers: Carriers, what: str, units: str) -> str | None:
    """A warning if a handful of units, "cases" or "groups", makes up most of `what`."""
    if not carriers.few:
        return None
    if carriers.number == 0:
        return f"{what} is zero in all {carriers.units} {units}, which says little about others: {DO_NOT_TRUST}"
    make = "makes" if carriers.largest == 1 else "make"
    share = f"{100 * carriers.share:.0f} % of {what}"
    return f"{carriers.largest} of {carriers.units} {units} {make} up {share}: {DO_NOT_TRUST}"


def same_in_all(
    difference: float, carriers: Carriers, units: str, effective: float, dearest: float = math.inf
) -> str | None:
    """A warning if all units differ equally, and the few that may be otherwise could make up for it.

    `dearest` is the largest difference that a case can make, where that is known.
    """
    if abs(difference) > UNSEEN / effective * (dearest + abs(difference)):
        return None
    return (
        f"all {carriers.units} {units} differ by the same amount, which says little about others: {DO_NOT_TRUST}"
    )


def unseen_class(
    classes: Sequence[str],
    class_weights: FloatArray,
    typical: FloatArray,
    mean: float,
    margin: float,
    effective: float,
    currency: str | None,
) -> str | None:
    """A warning if a class that never occurs is so dear that a few cases of it would lift a mean past its margin.

    `typical` is what testing each class costs on average, (K,): a search for that class costs no less.
    """
    added = (typical - mean) * min(1.0, UNSEEN / effective) * (class_weights == 0)
    dearest = int(added.argmax())
    if added[dearest] <= margin:
        return None
    price, share = money(float(typical[dearest]), currency), 100 * min(1.0, UNSEEN / effective)
    return (
        f"{class_name(classes[dearest])} ({price}) never occurs here; if it were {share:.2g} % of cases, as these "
        f"data allow, a case would cost {money(float(added[dearest]), currency)} more: {DO_NOT_TRUST}"
    )


def rare_classes(classes: Sequence[str], class_weights: FloatArray, effective: float) -> str | None:
    """A warning if a class counts as much as the others in a metric, and has hardly any cases."""
    cases = class_weights * effective / class_weights.sum()
    rare = [name for name, n in zip(classes, cases, strict=True) if n < FEW_OF_A_CLASS]
    if len(rare) < TOO_MANY_RARE * len(classes) or not rare:
        return None
    more = [f"{len(rare) - 2} more"] if len(rare) > 2 else []
    names = listed([*(class_name(name) for name in rare[:2]), *more])
    return f"{names} {'has' if len(rare) == 1 else 'have'} fewer than {FEW_OF_A_CLASS} cases: {DO_NOT_TRUST}"
