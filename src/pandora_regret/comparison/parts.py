"""What a comparison is made of: its data, models, differences, groups, prices, verdict; frozen, and without words.

Steps hand these on, and `result.py` holds all of them at the end. Amounts are in the unit of `Costs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, TypeAlias, cast

from msgspec import Meta

from pandora_regret.core.inputs import Names
from pandora_regret.inference.estimate import Estimate

VerdictKind: TypeAlias = Literal["deploy", "level", "undecided", "single"]
Price: TypeAlias = Annotated[float, Meta(gt=0)]
Weight: TypeAlias = Annotated[float, Meta(ge=0)]
KNOWN_COSTS = "known costs"  # instead of a prior, of a work-up
UNTITLED = "the work-up"


@dataclass(frozen=True)
class MetricInfo:
    """A column of the table of models."""

    key: str
    title: str
    better: Literal["lower", "higher"]
    unit: Literal["score", "share", "money", "tests"]


@dataclass(frozen=True)
class Data:
    """The instances that models were compared on."""

    rows: int  # of positive weight
    weighted: bool  # whether some count more than others
    classes: Names  # none where forecasts are lists
    class_weights: tuple[Weight, ...]  # of the true classes: rows, or where these are weighted, weights of mean 1
    clusters: int | None


@dataclass(frozen=True)
class Costs:
    """What tests cost, and where that comes from."""

    currency: str | None  # or another unit; "" where costs were given without one, None where nobody priced a test
    prior: str  # as people write it: "uniform", "gamma:2"
    typical: tuple[Price, ...] | None  # None where every instance has its own
    source: str | None


STATED = "stated costs"  # scenarios that are always there
ALIKE = "all tests cost the same"


@dataclass(frozen=True)
class IntervalMethod:
    """How intervals were made."""

    level: Annotated[float, Meta(gt=0, lt=1)]
    method: str  # "analytic" or "bootstrap"
    replicates: int
    seed: int


@dataclass(frozen=True)
class Bin:
    """Instances of similar predicted cost."""

    predicted: float
    observed: float
    low: float | None
    high: float | None
    weight: Weight


@dataclass(frozen=True)
class ClassResult:
    """Instances of one true class; None where there are none."""

    label: str
    weight: Weight
    pandora_regret: float | None
    expected_cost: float | None
    realised_cost: float | None
    tests: float | None
    accuracy: float | None


@dataclass(frozen=True)
class RecalibratedModel:
    """A model as its recalibrated self: each row by a map that other rows fitted, on the same instances."""

    method: str
    cost: Estimate
    saved: Estimate  # the model's own cost less this one, paired
    against_best: Estimate  # this cost less the least of all recalibrated costs, paired


@dataclass(frozen=True)
class ModelResult:
    """One model: its scores, what they are made of, and what recalibrating it would change."""

    name: str
    scores: dict[str, Estimate]  # by the metrics' keys
    unavoidable: float  # the part of the expected cost that pays for testing the truth itself
    predicted_cost: Estimate  # what the forecasts predict of themselves
    calibration: tuple[Bin, ...]
    probability_best: float | None
    rank: int
    by_class: tuple[ClassResult, ...]
    pair_costs: tuple[tuple[float, ...], ...]
    scenarios: tuple[float, ...]
    decomposition: dict[str, Estimate] | None = None
    recalibrated: RecalibratedModel | None = None
    at_stated_prices: Estimate | None = None  # the cost if prices are exactly as stated

    @property
    def cost(self) -> float:
        """Mean expected search cost, which is always finite."""
        return cast(float, self.scores["expected_cost"].value)

    @property
    def parts_of_cost(self) -> dict[str, float]:
        """What the cost is made of: what nobody could save, what recalibrating would, and what else is wasted."""
        least = min(self.unavoidable, self.cost)
        saving = (self.recalibrated.saved.value or 0.0) if self.recalibrated else 0.0
        saved = min(max(saving, 0.0), self.cost - least)
        return {"unavoidable": least, "recal": saved, "waste": self.cost - least - saved}


@dataclass(frozen=True)
class Difference:
    """Two models on the same instances: mean expected cost of `model` less that of `against`, never positive."""

    model: str
    against: str
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None
    savings_per_1000: float
    realised: Estimate  # the same of the realised cost
    warning: str | None = field(default=None, metadata={"optional": True})  # why not to trust the interval

    @property
    def more(self) -> Estimate:
        """By how much `against` costs more than `model`."""
        return Estimate(self.difference, self.low, self.high, self.warning).turned


@dataclass(frozen=True)
class LargestPair:
    """Money that goes to one wrong test."""

    model: str
    truth: str
    tested: str
    cost: float
    share: float  # of the model's expected cost
    sentence: str


@dataclass(frozen=True)
class Scenario:
    """Other typical costs, under which all models are priced, too."""

    name: str
    typical: tuple[Price, ...] | None  # None where every instance has its own


@dataclass(frozen=True)
class StepSpending:
    """What a step, or a way to stop, takes of a case."""

    name: str
    chance: float  # of coming to it
    cost: float  # on average over cases


@dataclass(frozen=True)
class WorkupPart:
    """The work-up that models were compared by, and what it does with a typical case."""

    title: str
    spending: tuple[StepSpending, ...]  # the most expensive first
    picture: str  # the tree, as SVG


@dataclass(frozen=True)
class Decision:
    """What to do, as far as the data settle it."""

    kind: VerdictKind
    leader: str  # the model of least cost, recalibrated or not
    undecided: Names  # models of which the data do not settle how they stand to the leader
    level: Names  # models that cost what the leader does, within the margin
    cases_needed: int | None  # so many more would settle differences of the margin; None where that is no question
    cases_for_gap: int | None  # so many more would settle the difference seen, where that is more than the margin
    stake: float | None  # what the leader costs more than the cheapest, per case, on average over what may be true
    margin: float  # per case: differences below it are not worth acting on
    share: float | None  # of the lowest cost, where that is how the margin was given
    recalibrated: bool  # whether all models are compared recalibrated, as that changes who is the cheapest
    sentences: Annotated[Names, Meta(min_length=1)]  # the first is the verdict itself


class ModelStanding(NamedTuple):
    """What a model costs, and how much more than the first."""

    cost: Estimate
    more: Estimate


def gaps_to(name: str, differences: Sequence[Difference]) -> dict[str, Difference]:
    """How a model differs from each other one that costs no less."""
    return {gap.against: gap for gap in differences if gap.model == name}


def standings_of(
    models: Sequence[ModelResult], differences: Sequence[Difference], recalibrated: bool
) -> dict[str, ModelStanding]:
    """What each model costs, and how much more than the first, by rising cost; as they are or recalibrated."""
    if recalibrated:
        again = {model.name: model.recalibrated for model in models if model.recalibrated}
        by_cost = sorted(again.items(), key=lambda pair: pair[1].cost.value or 0.0)
        return {name: ModelStanding(later.cost, later.against_best) for name, later in by_cost}
    more = {name: gap.more for name, gap in gaps_to(models[0].name, differences).items()}
    return {
        model.name: ModelStanding(model.scores["expected_cost"], more.get(model.name, Estimate(0.0)))
        for model in models
    }


FURTHEST_PRICE = 10.0  # times the stated one, or that part of it: prices that are tried


@dataclass(frozen=True)
class Crossing:
    """A price at which another model becomes the cheapest; None ends lie outside the prices that were tried."""

    price: Price
    low: float | None
    high: float | None
    leader: str  # who is cheapest beyond it


@dataclass(frozen=True)
class BreakEven:
    """The prices of one test nearest to the stated one, from a tenth to ten times it, that change the leader."""

    test: str
    stated: Price
    below: Crossing | None
    above: Crossing | None


@dataclass(frozen=True)
class GroupModel:
    """One model on the cases of one group."""

    name: str
    cost: Estimate
    against_leader: Estimate  # its cost less that of the model that is cheapest on all cases
    p_holm: float | None  # that this is 0, adjusted for everything that is asked about groups
    predicted: Estimate  # what the forecasts predict of the cost
    against_rest: Estimate | None  # its cost less what it costs on all other cases; None where there are none
    p_rest: float | None  # that this is 0, adjusted likewise


@dataclass(frozen=True)
class Subgroup:
    """The cases that share a value of a column, or a range of values."""

    name: str
    rows: int
    weight: Weight
    models: tuple[GroupModel, ...]  # in the order of `Comparison.models`
    leader: str  # the model that is cheapest here
    flags: Names  # what stands out beyond chance, in sentences
    flagged: Names  # the models that these are about, in the order of `models`

    @property
    def names(self) -> list[str]:
        """The models' names."""
        return [model.name for model in self.models]


@dataclass(frozen=True)
class Breakdown:
    """All cases by the values of a column, or of several crossed."""

    column: str
    groups: tuple[Subgroup, ...]  # small ones pooled as "other", which is the last
    pooled: int  # so many groups
    flags: Names  # about all groups together, in sentences
    flagged: Names  # the models that these are about, in the order of `Comparison.models`

    @property
    def all_flags(self) -> Names:
        """Those about all groups together, then those of each group."""
        return (*self.flags, *(flag for group in self.groups for flag in group.flags))

    @property
    def all_flagged(self) -> frozenset[str]:
        """The models that stand out in a group, or of all groups together."""
        return frozenset(self.flagged).union(*(group.flagged for group in self.groups))


@dataclass(frozen=True)
class PricesOfMiss:
    """A range of prices of a miss over which the data say the same."""

    low: Weight
    high: float | None  # None in the last range, which has no end
    leader: str  # the cheapest on these cases, at the low end
    undecided: Names  # models of which the data do not settle that they cost more
    saves: Weight | None = None  # what the leader costs less than the next, where all is settled
    saves_at: Weight | None = None  # the price of a miss at which it does: an end of the range


@dataclass(frozen=True)
class MissCrossing:
    """The price of a miss at which two models cost the same; None ends are not known."""

    model: str  # cheaper below
    against: str  # cheaper above
    price: Weight
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ConstantList:
    """A yardstick: the most frequent truths of all other cases, as one list for every case."""

    length: int
    found: float  # the share of cases
    cost: float  # per case, at the price of a miss
    # cases whose truth nobody names: it is counted as not found there, whether it would be or not
    unnamed: int = 0


@dataclass(frozen=True)
class ListsPart:
    """What is known of models whose forecasts are ranked lists, by the price of a miss."""

    until: str  # "first" or "all"
    miss: Weight | None  # as it was said; None where nobody said it
    at: Weight  # the price of a miss at which costs are reported
    candidates: int  # of all models
    several_truths: int  # cases with more than one true candidate on a list
    ranges: tuple[PricesOfMiss, ...]
    crossings: tuple[MissCrossing, ...]
    prices: tuple[Weight, ...]  # of a miss, of the curve
    curves: dict[str, tuple[Estimate, ...]]  # the cost of each model at these
    unavoidable: dict[str, tuple[Weight, ...]]  # of that, what somebody pays who knows the truth
    shown_at: tuple[Weight, ...]  # prices of a miss for a table
    shown: dict[str, tuple[Estimate, ...]]  # the cost of each model at these
    constant: ConstantList | None  # None where nobody knows the names of truths

    @property
    def ranges_to_judge(self) -> tuple[PricesOfMiss, ...]:
        """The ranges that a verdict is about; none where the price of a miss was said, or changes nothing."""
        return self.ranges if self.miss is None and self.at > 0 else ()
