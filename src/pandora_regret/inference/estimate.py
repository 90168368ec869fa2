"""Estimate: a number found on a sample, how far it may be off, and what speaks against trusting that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar


@dataclass(frozen=True)
class Interval:
    """A number and the interval around it; None where it is undefined or infinite, or an end is not known."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def mapped(self, change: Callable[[float], float]) -> Self:
        """The number and its limits, each changed by a function that keeps their order: another unit, say."""
        value = None if self.value is None else change(self.value)
        low = None if self.low is None else change(self.low)
        high = None if self.high is None else change(self.high)
        return replace(self, value=value, low=low, high=high)

    @property
    def turned(self) -> Self:
        """The difference seen from the other side: the number and its limits with opposite signs."""
        less = self.mapped(lambda amount: -amount)
        return replace(less, low=less.high, high=less.low)

    @property
    def is_trusted(self) -> bool:
        """Whether there is an interval, and nothing speaks against it."""
        return self.low is not None

    @property
    def is_above_zero(self) -> bool:
        """Whether the data settle that it is above zero: the interval is, and can be trusted."""
        return self.is_trusted and self.low is not None and self.low > 0

    @property
    def is_not_zero(self) -> bool:
        """Whether the data settle that it is above or below zero."""
        return self.is_above_zero or self.turned.is_above_zero

    def exceeds(self, margin: float) -> bool:
        """Whether the data settle that it is above zero, and it is more than the margin."""
        return self.is_above_zero and (self.value or 0.0) > margin


AnyInterval = TypeVar("AnyInterval", bound=Interval)


@dataclass(frozen=True)
class Estimate(Interval):
    """A number and its interval; None where it is undefined or infinite, and then `warning` says why.

    Beside an interval, `warning` is a reason not to trust it.
    """

    warning: str | None = field(default=None, metadata={"optional": True})

    @property
    def is_trusted(self) -> bool:
        """Whether there is an interval that no warning speaks against."""
        return self.low is not None and self.warning is None
