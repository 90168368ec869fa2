"""Comparison: what was found, frozen, to and from JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from pandora_regret.comparison.embedded import EmbeddedSample, Reason
from pandora_regret.comparison.parts import (
    Breakdown,
    BreakEven,
    Costs,
    Data,
    Decision,
    Difference,
    IntervalMethod,
    LargestPair,
    ListsPart,
    MetricInfo,
    ModelResult,
    ModelStanding,
    Scenario,
    WorkupPart,
    gaps_to,
    standings_of,
)
from pandora_regret.comparison.words import (
    cases_in_words,
    kind_of_cost,
    margin_sentence,
    standing_in_words,
)
from pandora_regret.core.inputs import CLASSES_TAKEN_AS_0, Fields, InputError, Names, Remark
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.inference.estimate import Estimate
from pandora_regret.text import Bar, Displayable, DisplayCell, DisplayTable, Formats, bars_as_svg, count, money

SCHEMA = "pandora-comparison/4"
TERMS = ("miscalibration", "discrimination", "uncertainty")  # of a decomposition
MOST_MODELS = 20  # in a notebook


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
            row.append(standing_in_words(self.verdict, name))
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
        return cases_in_words(self.data, self.lists)

    def _basis(self, n_hidden: int) -> str:
        """What the table of models rests on, and how many of them it leaves out."""
        cases = self.cases_in_words
        basis = f"{cases}; {100 * self.interval.level:g} % intervals"
        return f"{basis}; {n_hidden} more expensive models left out" if n_hidden > 0 else basis

    @property
    def margin_sentence(self) -> Names:
        """From how much on a difference counts; nothing of one model."""
        return (margin_sentence(self.verdict, self.costs.currency),) if len(self.models) > 1 else ()

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
        mentioned |= part.all_flagged
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
