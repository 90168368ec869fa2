"""Why not to trust an estimate, as data: which units carry it, which classes were hardly seen.

The words for it are in `words.py`; here a doubt holds what these need.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pandora_regret.comparison.sample import Unit
from pandora_regret.core.inputs import FloatArray, Names
from pandora_regret.inference.estimate import Interval
from pandora_regret.inference.intervals import MOST_CLASSES, Limits, hull, interval_by_classes
from pandora_regret.inference.joint import Carriers, Figure
from pandora_regret.metrics import Metric

FEW_OF_A_CLASS = 5  # cases
TOO_MANY_RARE = 0.1  # of the classes
UNSEEN = 3.0  # cases: what never happened in n cases may yet happen in 3 of n, at 95 % confidence


@dataclass(frozen=True)
class FewCarriers:
    """A handful of units, or none at all, make up most of a quantity."""

    carriers: Carriers
    quantity: Literal["spread", "difference"]
    unit: Unit


@dataclass(frozen=True)
class AllAlike:
    """All units differ by the same amount, which is so small that a few others could make up for it."""

    units: int
    unit: Unit


@dataclass(frozen=True)
class UnseenClass:
    """A class that never occurs: a few cases of it would lift a mean past its limit."""

    name: str
    price: float  # of its test
    share: float  # of cases, which these data allow
    added: float  # what a case would then cost more


@dataclass(frozen=True)
class RareClasses:
    """Classes that count as much as the others in a metric, and have hardly any units of their own."""

    names: Names
    unit: Unit


@dataclass(frozen=True)
class Impossible:
    """A mean is infinite, as some true classes were given probability 0."""

    rows: int | None  # so many of the cases, where that is known
    cases: int


@dataclass(frozen=True)
class NoPrediction:
    """An order without probabilities predicts no cost."""


Doubt: TypeAlias = FewCarriers | AllAlike | UnseenClass | RareClasses | Impossible | NoPrediction


@dataclass(frozen=True)
class Finding(Interval):
    """A number, its interval, and why not to trust that: an estimate that nobody has put into words yet."""

    doubt: Doubt | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether there is an interval that no doubt speaks against."""
        return self.low is not None and self.doubt is None


@dataclass(frozen=True)
class Background:
    """What an estimate is judged by, whether rows are at hand or were summed as they came."""

    classes: Names
    class_weights: FloatArray  # (K,) of the true class
    typical: FloatArray  # (K,) what testing each class costs, on average over instances
    unit: Unit
    effective: float  # so many units of equal weight would say as much
    level: float

    def score(
        self, metric: Metric, value: float, limits: Limits, counts: Sequence[FloatArray], carriers: Carriers | None
    ) -> Finding:
        """A metric with its interval, which ends where the metric does, and reasons not to trust it.

        Where the metric is made of class counts, (3, K), weights of those that are true, named and both, they
        widen the interval. Not to be trusted: a handful of cases carries it, or a class was hardly seen.
        """
        if metric.counts is not None and len(self.classes) <= MOST_CLASSES:
            limits = hull(limits, interval_by_classes(metric.counts, counts, self.effective, self.level))
        if limits[0] is None or limits[1] is None:
            return Finding(value)
        low, high = metric.within_bounds(value, limits[0], limits[1])
        doubt: Doubt | None = None
        if metric.counts is not None:
            doubt = self._rare_classes()
        elif carriers is not None and carriers.few and carriers.number > 0:
            doubt = FewCarriers(carriers, "spread", self.unit)
        elif metric.unit == "money":
            doubt = self._unseen_class(value, high - value)
        return Finding(value, low, high, doubt)

    def gap(self, first: Figure, second: Figure) -> Finding:
        """One figure less another, paired; rounding is no difference."""
        gap = first - second
        scale = max(first.value, second.value)
        estimate = gap.estimate(self.level, scale)
        doubt = None if estimate.low is None else self._doubt_of_gap(gap, estimate.value or 0.0, scale)
        return Finding(estimate.value, estimate.low, estimate.high, doubt)

    def _doubt_of_gap(self, gap: Figure, value: float, scale: float) -> Doubt | None:
        """Why not to trust the interval of a difference: few units carry it, or few others may undo it."""
        carriers = gap.carriers(scale)
        if not carriers.few:
            return None
        if carriers.number > 0 or not value:
            return FewCarriers(carriers, "difference", self.unit)
        size = abs(value)  # in all units
        is_little = size <= UNSEEN / gap.effective * (self.typical.sum() + size)
        return AllAlike(carriers.units, self.unit) if is_little else None

    def _unseen_class(self, mean: float, margin: float) -> UnseenClass | None:
        """A doubt if a few cases of a class that never occurs would lift a mean past its limit.

        A search for that class costs no less than testing it.
        """
        share = min(1.0, UNSEEN / self.effective)
        added = (self.typical - mean) * share * (self.class_weights == 0)
        worst = int(added.argmax())
        if added[worst] <= margin:
            return None
        return UnseenClass(self.classes[worst], float(self.typical[worst]), share, float(added[worst]))

    def _rare_classes(self) -> RareClasses | None:
        """A doubt if a class counts as much as the others in a metric, and has hardly any cases."""
        cases = self.class_weights * self.effective / self.class_weights.sum()
        rare = [name for name, n in zip(self.classes, cases, strict=True) if n < FEW_OF_A_CLASS]
        if len(rare) < TOO_MANY_RARE * len(self.classes) or not rare:
            return None
        return RareClasses(tuple(rare), self.unit)
