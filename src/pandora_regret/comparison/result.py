"""Comparison: what was found, frozen, to and from JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, TypeAlias, cast

from msgspec import Meta

from pandora_regret.comparison.embedded import EmbeddedSample, Reason
from pandora_regret.core.inputs import CLASSES_TAKEN_AS_0, Fields, InputError, Names, Remark
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.inference.estimate import Estimate
from pandora_regret.text import (
    Bar,
    Displayable,
    DisplayCell,
    DisplayTable,
    Formats,
    bars_as_svg,
    count,
    counted,
    money,
)

SCHEMA = "pandora-comparison/4"
TERMS = ("miscalibration", "discrimination", "uncertainty")  # of a decomposition
MOST_MODELS = 20  # in a notebook
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

    @property
    def in_words(self) -> str:
        """Where costs come from, and how they vary."""
        varying = "known" if self.prior == KNOWN_COSTS else f"prior {self.prior}"
        return f"{self.source or 'all tests cost the same'}; {varying}"


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

    def standing_in_words(self, name: str) -> str:
        """How a model stands to the leader, where that is not that it costs more."""
        if name in self.level:
            return "level"
        return "not settled" if name in self.undecided else ""


def margin_in_words(margin: float, share: float | None, unit: str | None) -> str:
    """The difference that is worth acting on.

    Examples
    --------
    >>> margin_in_words(2.3, 0.01, "USD"), margin_in_words(2.5, None, "min")
    ('$2.30 (1 % of the cost)', '2.5 min')
    """
    amount = money(margin, unit)
    return amount if share is None else f"{amount} ({100 * share:g} % of the cost)"


def kind_of_cost(is_workup: bool) -> str:
    """What costs are of, in words."""
    return "work-up" if is_workup else "search"


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

    @property
    def all_flags(self) -> Names:
        """Those about all groups together, then those of each group."""
        return (*self.flags, *(flag for group in self.groups for flag in group.flags))


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
    unnamed: int = (
        0  # cases whose truth nobody names: it is counted as not found there, whether it would be or not
    )


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


@dataclass(frozen=True, repr=False)
class Comparison(Displayable):
    """What `compare` found; models by rising expected cost.

    See Also
    --------
    compare : What makes it.
    write_report : The same as a page.
    """

    library: str
    data: Data
    costs: Costs
    interval: IntervalMethod
    metrics: tuple[MetricInfo, ...]
    models: Annotated[tuple[ModelResult, ...], Meta(min_length=1)]
    differences: tuple[Difference, ...]
    ranks: dict[str, tuple[float, ...]]
    disagreements: Names
    largest_pairs: tuple[LargestPair, ...]
    scenarios: tuple[Scenario, ...]
    verdict: Decision
    headline: Names
    notes: Names = ()
    files: Names = ()  # that forecasts were read from
    remarks: tuple[Remark, ...] = ()  # what was changed in the files or left out of them
    workup: WorkupPart | None = field(default=None, metadata={"optional": True})  # None if by a search
    break_even: tuple[BreakEven, ...] = ()
    by: tuple[Breakdown, ...] = ()
    sample: EmbeddedSample | None = field(default=None, metadata={"optional": True})  # for a page's live prices
    not_sampled: Reason | None = field(default=None, metadata={"optional": True})  # why a page has no live prices
    lists: ListsPart | None = field(default=None, metadata={"optional": True})  # None unless forecasts are lists
    schema: str = SCHEMA

    @property
    def best(self) -> ModelResult:
        """The model of least expected cost."""
        return self.models[0]

    @property
    def gaps(self) -> dict[str, Difference]:
        """How the best model differs from each other one."""
        return gaps_to(self.best.name, self.differences)

    @property
    def other_remarks(self) -> tuple[Remark, ...]:
        """What was done to the files, but for what a note says already because it explains what a model costs."""
        return tuple(remark for remark in self.remarks if remark.what != CLASSES_TAKEN_AS_0)

    @property
    def kind_of_cost(self) -> str:
        """What costs are of, in words."""
        return kind_of_cost(self.workup is not None)

    def to_dict(self) -> Fields:
        """Plain lists, dicts, numbers and text: strict JSON."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, data: object) -> Comparison:
        """The comparison that `to_dict` wrote down; what is not one raises an `InputError` that says where."""
        schema = data.get("schema") if isinstance(data, Mapping) else None
        if schema != SCHEMA:
            raise InputError(f"this comparison has schema {schema!r:.60}: {SCHEMA!r} can be read here.")
        comparison = from_plain(cls, data, "comparison")
        for place in _misfits(comparison):
            raise InputError("does not fit the rest", place=f"the comparison's {place}", fix="write it again")
        return comparison

    def __repr__(self) -> str:
        names = [model.name for model in self.models]
        if len(names) > 5:
            names = [*names[:5], "..."]
        return f"Comparison of {', '.join(names)} on {count(self.data.rows)} cases"

    def overview(self, most: int = MOST_MODELS) -> DisplayTable:
        """The verdict's sentences, and one row per model, the cheapest first; how it stands where that is open.

        Costs have as many digits as the differences beside them. Where models are compared recalibrated, both
        costs are shown, and who is the cheapest then comes first.
        """
        if self.lists is not None:
            return self._overview_of_lists(self.lists, most)
        standings = standings_of(self.models, self.differences, self.verdict.recalibrated)
        shown = dict(list(standings.items())[:most])
        below = [self._basis(len(standings) - most), *self.margin_sentence]
        return DisplayTable(self._header(), self._rows_of_models(shown), self.verdict.sentences, below)

    def _repr_html_(self) -> str:
        """The verdict, the bars of the page and the table: what a notebook shows."""
        formats = Formats((model.cost for model in self.models), self.costs.currency)
        bars = []
        for model in self.models[:MOST_MODELS]:
            cost = model.scores["expected_cost"]
            written = formats.estimate("money", cost, self._finest_digits(formats))[0]
            bars.append(Bar(model.name, model.parts_of_cost, cost.low, cost.high, written))
        picture = bars_as_svg(bars, "Cost per case")
        return super()._repr_html_().replace("<table>", f"{picture}<table>", 1)

    def _finest_digits(self, formats: Formats) -> int | None:
        """The digits of the finest difference to the cheapest, which costs have, too; None without any."""
        standings = standings_of(self.models, self.differences, self.verdict.recalibrated)
        digits = [formats.digits("money", standing.more) for standing in standings.values()]
        return max((number for number in digits if number is not None), default=None)

    @property
    def _shows_tests(self) -> bool:
        """Whether the number of tests stands beside costs: where nobody priced them, as that is another number."""
        return self.costs.currency is None and "tests" in self.models[0].scores

    def _header(self) -> list[str]:
        """What the columns of the table of models hold."""
        header = ["Model", "Cost per case"]
        if self.verdict.recalibrated:
            header.append("Recalibrated")
        if self._shows_tests:
            header.append("Tests")
        return [*header, f"Against {self.verdict.leader}", ""]

    def _rows_of_models(self, standings: Mapping[str, ModelStanding]) -> list[list[DisplayCell | str]]:
        """A row of the table for each of some models, by name."""
        formats = Formats((model.cost for model in self.models), self.costs.currency or "")
        finest = self._finest_digits(formats)
        cost_as_is = {model.name: model.scores["expected_cost"] for model in self.models}
        tests_of = {model.name: model.scores["tests"] for model in self.models if "tests" in model.scores}
        rows: list[list[DisplayCell | str]] = []
        for name, standing in standings.items():
            row: list[DisplayCell | str] = [name, _money_cell(formats, cost_as_is[name], finest)]
            if self.verdict.recalibrated:
                row.append(_money_cell(formats, standing.cost, finest))
            if self._shows_tests:
                row.append(DisplayCell(*formats.estimate("tests", tests_of[name])))
            row.append("" if name == self.verdict.leader else _money_cell(formats, standing.more, finest, "+"))
            row.append(self.verdict.standing_in_words(name))
            rows.append(row)
        return rows

    def _overview_of_lists(self, lists: ListsPart, most: int) -> DisplayTable:
        """The verdict's sentences, and per model its cost, or costs by the price of a miss, and known numbers."""
        formats = Formats((model.cost for model in self.models), self.costs.currency or "")
        header = ["Model"]
        if lists.miss is None:
            header += [f"at {price_heading(price)}" for price in lists.shown_at]
        else:
            header.append("Looks per case" if self.costs.currency is None else "Cost per case")
        columns = [metric for metric in self.metrics if metric.key != "expected_cost"]
        header += [metric.title for metric in columns]
        rows: list[list[DisplayCell | str]] = []
        for model in self.models[:most]:
            row: list[DisplayCell | str] = [model.name]
            if lists.miss is None:
                row += [money(estimate.value or 0.0, "") for estimate in lists.shown[model.name]]
            else:
                row.append(DisplayCell(*formats.estimate("money", model.scores["expected_cost"])))
            row += [formats.write(metric.unit, model.scores[metric.key].value) for metric in columns]
            rows.append(row)
        below = [self._basis(len(self.models) - most), *self.margin_sentence]
        return DisplayTable(header, rows, self.verdict.sentences, below)

    @property
    def cases_in_words(self) -> str:
        """How many cases there are, in how many clusters, and how many classes or candidates."""
        cases = counted(self.data.rows, "case")
        if self.data.clusters is not None:
            cases += f" in {counted(self.data.clusters, 'cluster')}"
        if self.lists is None:
            return f"{cases}, {len(self.data.classes)} classes"
        words = f"{cases}, {counted(self.lists.candidates, 'candidate')}"
        if self.lists.several_truths:
            words += f", {counted(self.lists.several_truths, 'case')} with several truths"
        return words

    def _basis(self, n_hidden: int) -> str:
        """What the table of models rests on, and how many of them it leaves out."""
        cases = self.cases_in_words
        basis = f"{cases}; {100 * self.interval.level:g} % intervals"
        return f"{basis}; {n_hidden} more expensive models left out" if n_hidden > 0 else basis

    @property
    def margin_sentence(self) -> Names:
        """From how much on a difference counts; nothing of one model."""
        margin = margin_in_words(self.verdict.margin, self.verdict.share, self.costs.currency)
        return (f"A difference counts from {margin}.",) if len(self.models) > 1 else ()

    def table(self) -> list[Fields]:
        """One flat row per model, for printing: every score with its interval, rank, probability of being best."""
        rows = []
        for model in self.models:
            row = {"model": model.name, "rank": model.rank, "probability_best": model.probability_best}
            for key, score in (*model.scores.items(), ("predicted_cost", model.predicted_cost)):
                row |= {key: score.value, f"{key}_low": score.low, f"{key}_high": score.high}
            rows.append(row)
        return rows

    _table = overview  # as notebooks show it
    _frame = table


def price_heading(price: float) -> str:
    """A price of a miss in a heading.

    Examples
    --------
    >>> price_heading(5.0), price_heading(0.25)
    ('5', '0.25')
    """
    return f"{price:g}"


def _money_cell(formats: Formats, estimate: Estimate, digits: int | None, sign: str = "") -> DisplayCell:
    """An amount with its interval; with a sign where it is positive."""
    value, interval = formats.estimate("money", estimate, digits)
    is_positive = (estimate.value or 0.0) > 0
    return DisplayCell(f"{sign}{value}" if is_positive else value, interval)


def _misfits(whole: Comparison) -> Iterator[str]:
    """The places of parts that do not fit the others; what is looked at later may rest on what fitted before."""
    yield from _misfits_of_lengths(whole)
    yield from _misfits_of_names(whole)
    for number, model in enumerate(whole.models):
        yield from _misfits_of_model(f"models[{number}]", model, whole)


def _misfits_of_lengths(whole: Comparison) -> Iterator[str]:
    """Parts that are not as long as what they are about."""
    n_classes = len(whole.data.classes)
    names = [model.name for model in whole.models]
    keys = {metric.key for metric in whole.metrics}
    if len(set(names)) < len(names):
        yield "list of models"
    if len(whole.data.class_weights) != n_classes:
        yield "data.classes"
    if "expected_cost" not in keys or len(keys) < len(whole.metrics):
        yield "metrics"
    for key in keys:
        if len(whole.ranks.get(key, ())) != len(names):
            yield f"ranks.{key}"
    price_lists = [whole.costs.typical, *(scenario.typical for scenario in whole.scenarios)]
    if any(prices is not None and len(prices) != n_classes for prices in price_lists):
        yield "typical costs"
    if whole.sample is not None and (whole.costs.typical is None or not whole.sample.fits(names, n_classes)):
        yield "sample"


def _misfits_of_names(whole: Comparison) -> Iterator[str]:
    """Parts that name a model or a class that is not there."""
    names = [model.name for model in whole.models]
    mentioned = {whole.verdict.leader}
    for part in whole.by:
        for group in part.groups:
            if group.names != names:
                yield "by"
            mentioned.add(group.leader)
    for gap in whole.differences:
        mentioned |= {gap.model, gap.against}
    if not mentioned <= set(names):
        yield "verdict or names of models"
    if not {test.test for test in whole.break_even} <= set(whole.data.classes):
        yield "break_even"


def _misfits_of_model(place: str, model: ModelResult, whole: Comparison) -> Iterator[str]:
    """Parts of a model that do not fit the classes, metrics and scenarios of the whole."""
    n_classes = len(whole.data.classes)
    keys = {metric.key for metric in whole.metrics}
    if not keys <= set(model.scores) or model.scores["expected_cost"].value is None:
        yield f"{place}.scores"
    lengths = {len(model.pair_costs), *map(len, model.pair_costs)}
    if lengths not in ({0}, {n_classes}):
        yield f"{place}.pair_costs"
    if len(model.by_class) not in (0, n_classes):
        yield f"{place}.by_class"
    if len(model.scenarios) != len(whole.scenarios):
        yield f"{place}.scenarios"
    if model.decomposition is not None and not set(TERMS) <= set(model.decomposition):
        yield f"{place}.decomposition"
