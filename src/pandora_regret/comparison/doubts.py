"""Estimates of single models, and the warnings that come with them: why not to trust an interval."""

from collections.abc import Sequence
from dataclasses import dataclass

from pandora_regret.comparison.judge import UNSEEN
from pandora_regret.core.inputs import FloatArray, Names
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import MOST_CLASSES, Limits, hull, interval_by_classes
from pandora_regret.inference.joint import Carriers
from pandora_regret.metrics import Metric
from pandora_regret.text import class_name, listed, money

FEW_OF_A_CLASS = 5  # cases
TOO_MANY_RARE = 0.1  # of the classes
DO_NOT_TRUST = "do not trust this interval"


def few_carriers(carriers: Carriers, quantity: str, units: str) -> str | None:
    """A warning if a handful of units, "cases" or "clusters", makes up most of a quantity."""
    if not carriers.few:
        return None
    if carriers.number == 0:
        nothing = f"{quantity} is zero in all {carriers.units} {units}, which says little about others"
        return f"{nothing}: {DO_NOT_TRUST}"
    make_up = "makes up" if carriers.largest == 1 else "make up"
    few = f"{carriers.largest} of {carriers.units} {units}"
    return f"{few} {make_up} {100 * carriers.share:.0f} % of {quantity}: {DO_NOT_TRUST}"


@dataclass(frozen=True)
class Background:
    """What an estimate is judged by, whether rows are at hand or were summed as they came."""

    classes: Names
    class_weights: FloatArray  # (K,) of the true class
    typical: FloatArray  # (K,) what testing each class costs, on average over instances
    currency: str | None
    units: str  # "cases" or "clusters"
    effective: float  # so many units of equal weight would say as much
    level: float

    def score(
        self, metric: Metric, value: float, limits: Limits, counts: Sequence[FloatArray], carriers: Carriers | None
    ) -> Estimate:
        """A metric with its interval, which ends where the metric does, and reasons not to trust it.

        Where the metric is made of class counts, (3, K), weights of those that are true, named and both, they
        widen the interval. Not to be trusted: a handful of cases carries it, or a class was hardly seen.
        """
        if metric.counts is not None and len(self.classes) <= MOST_CLASSES:
            limits = hull(limits, interval_by_classes(metric.counts, counts, self.effective, self.level))
        if limits[0] is None or limits[1] is None:
            return Estimate(value)
        low, high = metric.within_bounds(value, limits[0], limits[1])
        doubt = None
        if metric.counts is not None:
            doubt = self._rare_classes()
        elif carriers is not None and carriers.few and carriers.number > 0:
            doubt = few_carriers(carriers, "the spread", self.units)
        elif metric.unit == "money":
            doubt = self._unseen_class(value, high - value)
        return Estimate(value, low, high, doubt)

    def _unseen_class(self, mean: float, margin: float) -> str | None:
        """A warning if a few cases of a class that never occurs would lift a mean past its limit.

        A search for that class costs no less than testing it.
        """
        share = min(1.0, UNSEEN / self.effective)
        added = (self.typical - mean) * share * (self.class_weights == 0)
        worst = int(added.argmax())
        if added[worst] <= margin:
            return None
        name = f"{class_name(self.classes[worst])} ({money(self.typical[worst], self.currency)})"
        return (
            f"{name} never occurs here; if it were {100 * share:.2g} % of cases, as these data allow, a case "
            f"would cost {money(added[worst], self.currency)} more: {DO_NOT_TRUST}"
        )

    def _rare_classes(self) -> str | None:
        """A warning if a class counts as much as the others in a metric, and has hardly any cases."""
        cases = self.class_weights * self.effective / self.class_weights.sum()
        rare = [class_name(name) for name, n in zip(self.classes, cases, strict=True) if n < FEW_OF_A_CLASS]
        if len(rare) < TOO_MANY_RARE * len(self.classes) or not rare:
            return None
        has = "has" if len(rare) == 1 else "have"
        return f"{listed(rare, 2)} {has} fewer than {FEW_OF_A_CLASS} cases: {DO_NOT_TRUST}"
