"""Everything that is wrong with a file of predictions, of every kind, not just the first that a reader meets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from pandora_regret.files.agreement import Disagreement, disagreements
from pandora_regret.files.arrow import common_dtype, distinct, regrouped, texts_of
from pandora_regret.files.errors import FileError
from pandora_regret.files.formats import open_sources
from pandora_regret.files.known_classes import (
    ModelTable,
    as_numbers,
    is_missing,
    rows_that_sum_to_one,
    with_known_classes,
)
from pandora_regret.files.layout import Classes, Columns, Layout, find_columns, some, too_few, unlabelled
from pandora_regret.files.models_file import ModelFiles
from pandora_regret.files.predictions import Predictions, models_of
from pandora_regret.files.prices import PriceList
from pandora_regret.files.reading import no_number
from pandora_regret.files.roles import ID, MODEL, ROLES, VOTES, WEIGHT, Role
from pandora_regret.files.source import ROWS_AT_ONCE, Records, Source
from pandora_regret.inputs import Done, FloatArray, InputError
from pandora_regret.inputs.numbers import out_of_range
from pandora_regret.inputs.tables import RESCALED_WITHIN, row_sum_tolerance

ELEMENTS = 1 << 22  # of a block
NAMED_ROWS = 3  # of each problem
NAMED_COLUMNS = 20  # of each kind of problem
PERCENT = (99.0, 101.0)  # sums of rows that were multiplied by 100
Mask = NDArray[np.bool_]


@dataclass
class Problem:
    """One kind of thing that is wrong, in all rows that have it."""

    kind: str
    message: str
    count: int = 1
    rows: list[int] = field(default_factory=list)  # the first few, counted from 0
    places: list[str] = field(default_factory=list)  # the same in words: "line 12"


@dataclass
class Inspected:
    """What was understood of a table, and what is wrong with it."""

    path: str
    name: str
    rows: int = 0
    columns: Columns | None = None
    unused: list[str] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)  # rows of each class
    problems: list[Problem] = field(default_factory=list)
    done: tuple[Done, ...] = ()  # what was recognised in the file, or left out of it
    opened: list[Predictions] = field(default_factory=list)  # the models in it, if it is fine

    @property
    def fine(self) -> bool:
        """Whether it can be scored."""
        return not self.problems


def inspect_file(path: str, layout: Layout) -> list[Inspected]:
    """What is in a file, table by table: an NPZ archive may hold several models.

    Parameters
    ----------
    path
        The file.
    layout
        Which column is what, where names do not tell.

    Returns
    -------
    list of Inspected
        One for each table: its model, rows, classes, and what is wrong with it.
    """
    return inspect_models([ModelFiles((path,), layout)])[0]


def inspect_models(
    files: Sequence[ModelFiles], prices: PriceList | None = None, progress: Callable[[], object] = lambda: None
) -> tuple[list[Inspected], list[Disagreement]]:
    """What is in the files of models, table by table, and what keeps those that are fine from going together.

    Parameters
    ----------
    files
        From `read_models_argument`.
    prices
        What the classes cost, to be checked against theirs.
    progress
        Called after each file.

    Returns
    -------
    tuple
        What is in each table, and what keeps tables from going together.
    """
    by_file = [_opened(path, one) for one in files for path in one.paths]
    tables = [of for opened in by_file for of in opened if isinstance(of, ModelTable) and _has_columns(of)]
    priced = None if prices is None else prices.costs.keys()
    known = dict(zip(map(id, tables), with_known_classes(tables, priced), strict=True))
    inspected: list[Inspected] = []
    for opened in by_file:
        inspected += [of if isinstance(of, Inspected) else _inspect_table(known.get(id(of), of)) for of in opened]
        progress()
    models = [model for one in inspected for model in one.opened if one.fine]
    return inspected, disagreements(models, prices)


def _opened(path: str, files: ModelFiles) -> list[ModelTable | Inspected]:
    try:
        tables = open_sources(path, files.layout.classes, files.layout.dialect)
    except InputError as error:
        return [Inspected(path, files.name or path, problems=[_of_file(error)])]
    return [ModelTable(files.name or name, (source,), files.layout) for name, source in tables.items()]


def _has_columns(table: ModelTable) -> bool:
    try:
        table.columns()
    except InputError:
        return False
    return True


def _of_file(error: InputError) -> Problem:
    """A problem of the file, not of its rows."""
    return Problem("file", error.within_file if isinstance(error, FileError) else str(error))


def _inspect_table(table: ModelTable) -> Inspected:
    source, layout = table.sources[0], table.layout
    result = Inspected(source.path, table.name, done=source.done)
    try:
        columns = find_columns(source.in_layout(layout), source.kinds, source.path)
        result.columns = columns if columns.certain else _likeliest(source, columns)
        wanted = set(result.columns.wanted)
        if columns.certain:
            result.done = Predictions(table.name, table.sources, columns).done
        result.unused = [column for column in source.kinds if column not in wanted]
        _TableWalk(source, result.columns, source.in_layout(layout), result, columns.forecasts).walk()
        if result.fine:
            result.opened = models_of(table)
            result.done = result.opened[0].done
            first = replace(result.opened[0], only=None)
            for batch in first.batches():  # of all models: what the reader refuses is not fine
                batch.checked(first.logits)
    except InputError as error:
        result.problems.append(_of_file(error))
    except pa.ArrowException as error:
        result.problems.append(Problem("file", f"holds what cannot be read as text or numbers ({error})."))
    places = source.places({row for problem in result.problems for row in problem.rows})
    for problem in result.problems:
        problem.places = [places[row].strip() for row in problem.rows]
    return result


def _likeliest(source: Source, columns: Columns) -> Columns:
    """The forecasts' columns where names do not tell: those of numbers, or those that labels name.

    A column of numbers may be no class, and a class with text in one place no column of numbers. Rows that sum
    to 1 tell which.
    """
    blocks = source.read([columns.label], frozenset(), ROWS_AT_ONCE)
    labels = {text for records in blocks for text in set(texts_of(records.column(columns.label))) if text}
    taken = {name for role in ROLES for name in columns.of(role)}
    labels -= taken | {name for name, kind in source.kinds.items() if kind == "nested"}
    named = tuple(name for name in source.kinds if name in labels)
    if len(named) < 2 or named == columns.forecasts:
        return columns
    either = {*named, *columns.forecasts}
    both = tuple(name for name in source.kinds if name in either)
    records = next(source.read(both, frozenset(), ROWS_AT_ONCE))
    likeliest = max((both, named), key=lambda names: rows_that_sum_to_one(records, names))
    return replace(columns, classes=likeliest, forecasts=likeliest)


class _TableWalk:
    """Through a table once, block by block, noting what is wrong."""

    def __init__(
        self, source: Source, columns: Columns, layout: Layout, result: Inspected, of_numbers: tuple[str, ...]
    ) -> None:
        self.source, self.columns, self.layout, self.result = source, columns, layout, result
        self.of_numbers = of_numbers  # columns that a reader takes for forecasts
        self.noted: dict[tuple[str, str], Problem] = {}
        self.noted_columns: Counter[str] = Counter()  # of each kind of problem
        self.classes = Classes(columns.classes)
        self.ids: dict[tuple[str, str], int] = {}
        self.weight = 0.0
        self.row = 0

    def walk(self) -> None:
        rows = max(1, min(ROWS_AT_ONCE, ELEMENTS // len(self.columns.wanted)))
        of_the_whole: list[Problem] = []
        try:
            for records in regrouped(self.source.read(self.columns.wanted, frozenset(), rows), rows):
                self._look_at(records)
                self.row += len(records)
            of_the_whole = list(self._of_the_whole())
        finally:  # what was found before a block that cannot be read is found all the same
            self.result.rows = self.row
            self.result.problems = [*self.noted.values(), *of_the_whole]

    def _of_the_whole(self) -> Iterator[Problem]:
        if not self.row:
            yield Problem("rows", "there are no rows: there is nothing to score.")
        elif self.columns.weight is not None and not self.weight > 0:
            yield Problem("weight", "the weights add up to nothing: give at least one row a positive weight.")
        classes = dict(zip(self.columns.forecasts, self.columns.classes, strict=True))
        unseen = [name for name in self.of_numbers if classes.get(name) not in self.result.labels]
        if self.row and len(classes) < 2:
            error = too_few(self.columns.forecasts, self.source.kinds, self.source.path, " of numbers")
            yield Problem("columns", error.within_file)
        elif self.row and unseen and not self.columns.certain:
            yield Problem("columns", unlabelled(self.columns, unseen, self.source.path).within_file)

    def _look_at(self, records: Records) -> None:
        checks = {"labels": self._labels, "names": self._names, "costs": self._numbers}
        checks |= dict.fromkeys(("weights", "votes"), self._numbers)
        for role in ROLES:
            if role.reads in checks and (names := self.columns.of(role)):
                checks[role.reads](records, names, role)
        if self.columns.forecasts:
            self._forecasts(records)

    def _note(self, kind: str, bad: ArrayLike, message: Callable[[int], str], column: str = "") -> None:
        """Rows of this block that have a problem; the message is about the first of all."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        if (kind, column) not in self.noted:
            self.noted_columns[kind] += 1
            if self.noted_columns[kind] > NAMED_COLUMNS:
                column, message = "", lambda index: "further columns have the same problem."
            self.noted.setdefault((kind, column), Problem(kind, message(int(rows[0])), count=0))
        problem = self.noted[kind, column]
        problem.count += len(rows)
        problem.rows += [self.row + int(index) for index in rows[: NAMED_ROWS - len(problem.rows)]]

    def _missing(self, name: str, bad: Mask) -> None:
        message = f"column {name!r} has no value: fill it in, or drop the row."
        self._note("missing", bad, lambda index: message, name)

    def _names(self, records: Records, names: Sequence[str], role: Role) -> None:
        """A column of text, none of which may be missing."""
        texts = texts_of(records.column(names[0]))
        self._missing(names[0], np.array([is_missing(text) for text in texts], dtype=bool))
        if role is MODEL:
            self.result.models.update("" if text is None else text for text in texts)
        if role is ID:
            self._ids(records, texts)

    def _ids(self, records: Records, ids: NDArray[Any]) -> None:
        column = self.columns.model
        models: Any = [""] * len(ids) if column is None else texts_of(records.column(column))
        repeated = np.zeros(len(ids), dtype=bool)
        for index, key in enumerate(zip(models, ids, strict=True)):
            first = self.ids.setdefault(key, self.row + index)
            repeated[index] = first != self.row + index and not is_missing(key[1])
        self._note("id", repeated, lambda index: f"id {ids[index]!r} occurred before: each row needs its own id.")

    def _labels(self, records: Records, names: Sequence[str], role: Role) -> None:
        labels, codes = distinct(records.column(names[0]))
        missing = [is_missing(label) for label in labels]
        numbers = [None if gone else self.classes.number_of(x) for x, gone in zip(labels, missing, strict=True)]
        for number, times in zip(numbers, np.bincount(codes, minlength=len(labels)).tolist(), strict=True):
            if number is not None and times:
                self.result.labels[self.columns.classes[number]] += times
        self._missing(names[0], np.array(missing, dtype=bool)[codes])
        unknown = [number is None and not gone for number, gone in zip(numbers, missing, strict=True)]
        others = sorted(str(label) for label, is_unknown in zip(labels, unknown, strict=True) if is_unknown)
        message = (
            f"labels {others[:8]} have no forecast column: the classes are {some(self.columns.classes)}; "
            "correct the labels, add the columns, or name the classes (--classes, --proba-prefix)."
        )
        self._note("label", np.array(unknown, dtype=bool)[codes], lambda index: message)

    def _numbers(self, records: Records, names: Sequence[str], role: Role) -> None:
        """Weights, votes, or costs of each row."""
        rule = "0 or a positive number" if role in (WEIGHT, VOTES) else "a positive number"
        for name in names:
            values = self._column(records, name)
            bad = out_of_range(values) & ~np.isnan(values) & ~((values == 0) & (role in (WEIGHT, VOTES)))
            self._note("value", bad, _out_of_range_sentence(name, values, rule), name)
            if role is WEIGHT:
                self.weight += float(values[values > 0].sum())

    def _forecasts(self, records: Records) -> None:
        p = np.stack([self._column(records, name) for name in self.columns.forecasts], axis=1)
        if self.layout.logits:
            self._note("value", np.isposinf(p).any(axis=1), lambda index: "a logit is infinite: repair the row.")
            return
        total, known = p.sum(axis=1), ~np.isnan(p).any(axis=1)
        allowed = RESCALED_WITHIN if self.layout.normalise else self._tolerance(records)
        negative, large = known & (p < 0).any(axis=1), known & (p > 1 + allowed).any(axis=1)
        percent = large & ~negative & (total > PERCENT[0]) & (total < PERCENT[1])
        off = known & ~negative & ~large & (np.abs(total - 1) > allowed)
        hint = "if these are logits, say so (--logits)."
        self._note("negative", negative, lambda index: f"a probability is {p[index].min():g}, below 0; {hint}")
        self._note(
            "percent", percent, lambda index: f"the probabilities sum to {total[index]:g}: divide them by 100."
        )
        large &= ~percent & ~negative
        self._note("large", large, lambda index: f"a probability is {p[index].max():g}, above 1; {hint}")
        self._note("sum", off, lambda index: _sum_sentence(float(total[index]), hint))

    def _tolerance(self, records: Records) -> float:
        """As the reader's."""
        types = (records.column(name).type for name in self.columns.forecasts)
        return row_sum_tolerance(np.dtype(common_dtype(types)))

    def _column(self, records: Records, name: str) -> FloatArray:
        """A column as numbers; nan where there is none, which is noted."""
        column = records.column(name)
        numbers, bad = as_numbers(column)
        if bad is not None:
            texts, message = texts_of(column), "column {column!r} {problem}: {fix}."
            self._note("number", bad, lambda index: message.format(**no_number(texts[index], name)), name)
        missing = np.isnan(numbers)
        self._missing(name, missing if bad is None else missing & ~bad)
        return numbers


def _sum_sentence(total: float, hint: str) -> str:
    close = abs(total - 1) <= RESCALED_WITHIN
    by_hand = f"{hint[:-1]}; else divide each row by its sum."
    remedy = "--normalise divides rows that are off by at most 1 % by their sum." if close else by_hand
    return f"the probabilities sum to {total:.6g}, not to 1: {remedy}"


def _out_of_range_sentence(name: str, values: FloatArray, rule: str) -> Callable[[int], str]:
    return lambda index: f"column {name!r} is {values[index]:g}: it must be {rule}."
