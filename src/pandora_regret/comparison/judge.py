"""How models stand to the cheapest, judged by what is worth acting on: kinds, names and numbers, no words.

A difference is held against the margin: deploy the cheapest model, choose on other grounds because models are
level, or gather so many more cases.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pandora_regret.comparison.doubts import UNSEEN, Finding
from pandora_regret.comparison.parts import PricesOfMiss, VerdictKind
from pandora_regret.comparison.request import Margin
from pandora_regret.core.inputs import Names
from pandora_regret.inference.estimate import Interval
from pandora_regret.inference.student import NORMAL, student_quantile

Standing: TypeAlias = Literal["open", "more", "level"]

MOST_CASES = 10**12  # beyond it nobody would count
FEW_CLUSTERS = 30

# A verdict's kind, by the first of these that another model's standing to the cheapest is; of one model: "single".
KIND_OF_STANDING: dict[Standing, VerdictKind] = {
    "open": "undecided",
    "more": "deploy",
    "level": "level",
}


@dataclass(frozen=True)
class Evidence:
    """How much the estimates rest on."""

    cases: int
    clusters: int | None
    level: float  # of the intervals

    @property
    def units(self) -> int:
        """Cases, or clusters, that are independent of each other."""
        return self.clusters or self.cases


@dataclass(frozen=True)
class Contest:
    """The cheapest model, and what the others cost more, before anything is decided."""

    leader: str  # the model of least cost
    cost: float  # of the leader
    gaps: Mapping[str, Finding]  # what each other model costs more than it, by rising cost; none where it is alone
    evidence: Evidence
    margin: Margin
    chance: float | None = 1.0  # that the leader is the cheapest
    stake: float | None = 0.0  # what it costs more than the cheapest on average, as far as the data can tell
    recalibrated: bool = False  # whether all models are compared recalibrated
    apart: Names = ()  # models that were scored on other truths than the first, so that nobody leads
    ranges: tuple[PricesOfMiss, ...] = ()  # of the price of a miss, where the verdict has to hold for all of them


@dataclass(frozen=True)
class Judgement:
    """How the models of a contest stand to the cheapest."""

    contest: Contest
    kind: VerdictKind
    by_standing: Mapping[Standing, Names]
    cases_needed: int | None  # so many more would settle every difference that is open; None where none is known
    cases_for_gap: int | None  # so many more would settle the difference seen, where that is more than the margin


def judge(contest: Contest) -> Judgement:
    """The verdict on the cheapest model and on what the others cost more."""
    if contest.apart:
        return Judgement(contest, "undecided", {"open": tuple(contest.gaps), "more": (), "level": ()}, None, None)
    if contest.ranges:
        return _judge_ranges(contest)
    by_standing: dict[Standing, Names] = dict.fromkeys(KIND_OF_STANDING, ())
    for name, gap in contest.gaps.items():
        by_standing[standing_of(gap, contest)] += (name,)
    kind: VerdictKind = "single"
    for standing in KIND_OF_STANDING:
        if by_standing[standing]:
            kind = KIND_OF_STANDING[standing]
            break  # the first that any model has decides
    needed = None
    for_gap = None
    if kind == "undecided":
        gaps = [contest.gaps[name] for name in by_standing["open"]]
        needed = cases_for_all(gaps, contest.evidence, contest.margin)
        seen = gaps[0].value or 0.0
        if seen > contest.margin.amount:
            for_gap = more_cases(gaps[0], contest.evidence, seen) or None
    return Judgement(contest, kind, by_standing, needed, for_gap)


def _judge_ranges(contest: Contest) -> Judgement:
    """The verdict where nobody said what a miss costs: one model is deployed if it leads whatever that is."""
    names = tuple(contest.gaps)
    if not names:
        return Judgement(contest, "single", {"open": (), "more": (), "level": ()}, None, None)
    if len(contest.ranges) == 1 and not contest.ranges[0].undecided:
        return Judgement(contest, "deploy", {"open": (), "more": names, "level": ()}, None, None)
    return Judgement(contest, "undecided", {"open": names, "more": (), "level": ()}, None, None)


def standing_of(gap: Finding, contest: Contest) -> Standing:
    """How a model stands to the leader, by what it costs more.

    It is level where its whole interval lies within the margin, and costs more where the interval lies above zero.
    An interval that is not to be trusted, or of few cases, is held to be wider by what may have gone unseen: in n
    cases, 3 that cost as much again.
    """
    units = contest.evidence.units
    is_enough = gap.is_trusted and units >= FEW_CLUSTERS
    unseen = 0.0 if is_enough else UNSEEN / units * contest.cost
    if gap.low is not None and gap.high is not None:
        furthest = max(-gap.low, gap.high) + unseen
        if furthest <= contest.margin.amount:
            return "level"
    return "more" if gap.is_above_zero else "open"


def cases_for_all(gaps: Sequence[Interval], evidence: Evidence, margin: Margin) -> int | None:
    """How many more cases settle all differences; None where that cannot be said of one, or none are needed."""
    needed = [more_cases(gap, evidence, margin.amount) for gap in gaps]
    known = [number for number in needed if number is not None]
    if len(known) < len(needed):
        return None
    return max(known) or None


def more_cases(gap: Interval, evidence: Evidence, size: float, power: float | None = None) -> int | None:
    """How many more cases would show a difference of some size: the error shrinks with their root."""
    if gap.value is None or gap.low is None or gap.high is None or size == 0:
        return None
    tail = (1 + evidence.level) / 2
    shorter = min(gap.high - gap.value, gap.value - gap.low)  # the other may have been stretched
    error = shorter / student_quantile(evidence.units - 1, tail)

    def is_enough(more: int) -> bool:
        """Student's quantiles fall, as the standard error does, while cases come in."""
        growth = 1 + more / evidence.cases
        reach = student_quantile(evidence.units * growth - 1, tail)
        reach_of_power = NORMAL.inv_cdf(power) if power else reach
        return (reach + reach_of_power) * error / math.sqrt(growth) <= size

    if not is_enough(MOST_CASES):
        return None
    return bisect_left(range(MOST_CASES), True, key=is_enough)
