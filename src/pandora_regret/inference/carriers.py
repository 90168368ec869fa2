"""How many cases carry an estimate: where a handful does, the rest says nothing about how far it may be off.

A sample of 60 with three expensive cases has, for all that its mean can tell, a sample size of three; and whether
the next 60 hold one such case or six, nobody knows. No interval from such a sample covers what it promises.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pandora_regret.inputs import FloatArray

FEW = 6.5  # units
SMALL_SHARE = 0.25  # of all units; small samples as such are a matter of Student's t


@dataclass(frozen=True)
class Carriers:
    """The units that an estimate hangs on."""

    number: float  # effectively: m where m units differ equally from the rest
    units: int  # of all
    share: float  # of all deviation from the usual case that the few largest make up
    largest: int  # how many those are

    @property
    def few(self) -> bool:
        """Whether they are so few that an interval cannot be trusted."""
        return self.number < min(FEW, SMALL_SHARE * self.units)


def carriers_of(values: FloatArray, shares: FloatArray, rounding: float = 0.0) -> Carriers:
    """Of a weighted mean of values, (G,), whose shares of all weight are (G,).

    By ``(E|x|)^2 / E x^2`` of what lies off the median: 0.64 for normal values, m / G where m of G values differ
    from the others by the same amount.
    """
    deviation = np.abs(values - _median(values, shares))
    deviation[deviation <= rounding] = 0.0
    total, units = float((shares * deviation).sum()), len(values)
    if total == 0:
        return Carriers(0.0, units, 0.0, 0)
    number = units * total**2 / float((shares * deviation**2).sum())
    largest = max(1, round(number))
    top = np.sort(shares * deviation)[-largest:]
    return Carriers(number, units, float(top.sum()) / total, largest)


def _median(values: FloatArray, shares: FloatArray) -> float:
    order = np.argsort(values, kind="stable")
    return float(values[order][np.searchsorted(np.cumsum(shares[order]), 0.5)])
