"""What was asked of a comparison: how intervals are made, and from how much on a difference is worth acting on."""

import math
from dataclasses import dataclass
from typing import Any

from pandora_regret.comparison.result import IntervalMethod
from pandora_regret.core.inputs import InputError, read_count, read_level, read_number


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


def read_worth(worth: Any) -> Worth:
    """An amount in the unit of costs, or a share of the lowest cost such as "1%", checked."""
    text = str(worth).strip()
    number = text.removesuffix("%").strip().replace(",", ".") if isinstance(worth, str) else worth
    try:
        amount = read_number(float(number), "worth")
    except (TypeError, ValueError):
        amount = -1.0
    if not 0 <= amount < math.inf:
        fix = "write an amount in the unit of costs, such as 2.5, or a share of the lowest cost, such as 1%"
        raise InputError(argument="worth", value=worth, fix=fix)
    if text.endswith("%"):
        return Worth(amount=None, share=amount / 100)
    return Worth(amount=amount, share=None)


def read_interval(level: Any, bootstrap: Any, seed: Any) -> IntervalMethod:
    """How intervals are made, checked."""
    share = read_level(level)
    replicates = read_count(bootstrap, "bootstrap", least=0)
    least = math.ceil(2 / (1 - share))  # so that the ends of an interval are not the ends of the sample
    if 0 < replicates < least:
        raise InputError(
            f"bootstrap is {replicates}: that is too few for an interval of {100 * share:g} %, ask for {least} at "
            "least, better 1000, or for 0."
        )
    method = "bootstrap" if replicates else "analytic"
    return IntervalMethod(share, method, replicates, read_count(seed, "seed", least=0))
