"""Everything that is wrong with a file of predictions, of every kind, not just the first that a reader meets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files import Layout, open_predictions
from pandora_regret.files.batch import common_dtype, texts_of
from pandora_regret.files.formats import open_sources
from pandora_regret.files.layout import Classes, Columns, find_columns, unlabelled
from pandora_regret.files.source import Records, Source
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.inputs.numbers import out_of_range
from pandora_regret.inputs.tables import _row_sum_tolerance
from pandora_regret.optional import import_optional

ROWS_AT_ONCE = 1 << 16
NAMED = 3  # rows of each problem
ROUGHLY = 1e-3  # how far off 1 a sum may be, and still say which columns are meant
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

    @property
    def fine(self) -> bool:
        """Whether it can be scored."""
        return not self.problems


def inspect_file(path: str, layout: Layout) -> list[Inspected]:
    """What is in a file, table by table: an NPZ archive may hold several models."""
    try:
        tables = open_sources(path)
    except InputError as error:
        return [Inspected(path, path, problems=[_whole(error, path)])]
    found = [_inspect_table(name, source, layout) for name, source in tables.items()]
    if all(one.fine for one in found):
        _read_as_scores_do(path, layout, found[0])
    return found


def _whole(error: InputError, path: str) -> Problem:
    """A problem of the file, not of its rows."""
    return Problem("file", str(error).removeprefix(path).lstrip(" :,"))


def _read_as_scores_do(path: str, layout: Layout, found: Inspected) -> None:
    """The last word is the reader's: what it would refuse is not fine."""
    try:
        for one in open_predictions(path, layout):
            for batch in one.batches():
                with batch.blamed():
                    batch.forecast(one.logits).check()
    except InputError as error:
        found.problems.append(_whole(error, path))


def _inspect_table(name: str, source: Source, layout: Layout) -> Inspected:
    found = Inspected(source.path, name)
    try:
        kinds = source.kinds()
        columns = find_columns(source.in_layout(layout), kinds, source.path)
        found.columns = columns if columns.certain else _likeliest(source, columns)
        found.unused = [column for column in kinds if column not in found.columns.wanted]
        _Walk(source, found.columns, layout.logits, found, columns.forecasts).walk()
    except InputError as error:
        found.problems.append(_whole(error, source.path))
    except import_optional("pyarrow", extra="cli").ArrowException as error:
        found.problems.append(Problem("file", f"holds what cannot be read as text or numbers ({error})."))
    for problem in found.problems:
        problem.places = [source.place(row).removeprefix(source.path).strip() for row in problem.rows]
    return found


def _likeliest(source: Source, columns: Columns) -> Columns:
    """The forecasts' columns where names do not tell: those of numbers, or those that labels name.

    A column of numbers may be no class, and a class with text in one place no column of numbers. Rows that sum
    to 1 tell which.
    """
    labels = _distinct_labels(source, columns)
    named = tuple(name for name in source.kinds() if name in labels)
    if len(named) < 2 or named == columns.forecasts:
        return columns
    records = next(iter(source.read([*{*named, *columns.forecasts}], frozenset(), ROWS_AT_ONCE)))
    both = tuple(name for name in source.kinds() if name in named or name in columns.forecasts)
    likeliest = max((both, named), key=lambda names: _rows_that_sum_to_one(records, names))
    return replace(columns, classes=likeliest, forecasts=likeliest)


def _distinct_labels(source: Source, columns: Columns) -> set[str]:
    blocks = source.read([columns.label], frozenset(), ROWS_AT_ONCE)
    return {text for records in blocks for text in set(texts_of(records.column(columns.label))) if text}


def _rows_that_sum_to_one(records: Records, names: tuple[str, ...]) -> int:
    total = np.sum([_as_numbers(records.column(name))[0] for name in names], axis=0)
    return int((np.abs(total - 1) < ROUGHLY).sum())


class _Walk:
    """Through a table once, block by block, noting what is wrong."""

    def __init__(
        self, source: Source, columns: Columns, logits: bool, found: Inspected, of_numbers: tuple[str, ...]
    ) -> None:
        self.source, self.columns, self.logits, self.found = source, columns, logits, found
        self.of_numbers = of_numbers  # columns that a reader takes for forecasts
        self.noted: dict[tuple[str, str], Problem] = {}
        self.classes = Classes(columns.classes)
        self.ids: dict[tuple[str, str], int] = {}
        self.weight = 0.0
        self.row = 0

    def walk(self) -> None:
        try:
            for records in self.source.read(self.columns.wanted, frozenset(), ROWS_AT_ONCE):
                self._look_at(records)
                self.row += len(records)
        finally:  # what was found before a block that cannot be read is found all the same
            self.found.rows = self.row
            self.found.problems = [*self.noted.values(), *self._of_the_whole()]

    def _of_the_whole(self) -> Iterator[Problem]:
        if not self.row:
            yield Problem("rows", "there are no rows: there is nothing to score.")
        elif self.columns.weight is not None and not self.weight > 0:
            yield Problem("weight", "the weights add up to nothing: give at least one row a positive weight.")
        classes = dict(zip(self.columns.forecasts, self.columns.classes, strict=True))
        unseen = [name for name in self.of_numbers if classes.get(name) not in self.found.labels]
        if self.row and unseen and not self.columns.certain:
            path = self.source.path
            yield Problem("columns", unlabelled(self.columns, unseen, path).removeprefix(f"{path}: "))

    def _note(self, kind: str, about: str, bad: Mask, message: Callable[[int], str]) -> None:
        """Rows of this block that have a problem; the message is about the first of all."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        if (kind, about) not in self.noted:
            self.noted[kind, about] = Problem(kind, message(int(rows[0])), count=0)
        problem = self.noted[kind, about]
        problem.count += len(rows)
        problem.rows += [self.row + int(at) for at in rows[: NAMED - len(problem.rows)]]

    def _look_at(self, records: Records) -> None:
        columns = self.columns
        models = self._names(records, columns.model)
        self.found.models.update(models)
        self._labels(records)
        self._ids(records, models)
        self._names(records, columns.group)
        self._forecasts(records)
        if columns.weight is not None:
            weights = self._numbers(records, columns.weight)
            self._in_range(
                columns.weight, weights, out_of_range(weights) & (weights != 0), "0 or a positive number"
            )
            self.weight += float(weights[weights > 0].sum())
        for name in columns.costs:
            costs = self._numbers(records, name)
            self._in_range(name, costs, out_of_range(costs), "a positive number")

    def _in_range(self, name: str, values: FloatArray, bad: Mask, rule: str) -> None:
        bad &= ~np.isnan(values)
        self._note("value", name, bad, lambda at: f"column {name!r} is {values[at]:g}: it must be {rule}.")

    def _names(self, records: Records, name: str | None) -> list[str]:
        """A column of text, none of which may be missing."""
        if name is None:
            return []
        texts = texts_of(records.column(name))
        self._missing(name, np.array([_is_missing(text) for text in texts], dtype=bool))
        return ["" if text is None else str(text) for text in texts]

    def _missing(self, name: str, bad: Mask) -> None:
        self._note("missing", name, bad, lambda at: f"column {name!r} has no value: fill it in, or drop the row.")

    def _labels(self, records: Records) -> None:
        given = [_plain(label) for label in records.column(self.columns.label).to_pylist()]
        self._missing(self.columns.label, np.array([_is_missing(label) for label in given], dtype=bool))
        times = Counter(given)
        of_label = {label: self.classes.number_of(label) for label in times if not _is_missing(label)}
        for label, number in of_label.items():
            if number is not None:
                self.found.labels[self.columns.classes[number]] += times[label]
        unknown = np.array([of_label.get(label, 0) is None for label in given], dtype=bool)
        self._note("label", "", unknown, lambda at: self._no_class(given[at], of_label))

    def _no_class(self, label: Any, of_label: dict[Any, int | None]) -> str:
        others = [str(each) for each, number in of_label.items() if number is None]
        classes = list(self.columns.classes)
        return (
            f"labels {sorted(others)[:8]} have no forecast column: the classes are {classes[:8]}; "
            "correct the labels, add the columns, or name the classes (--classes, --proba-prefix)."
        )

    def _ids(self, records: Records, models: list[str]) -> None:
        ids = self._names(records, self.columns.id)
        repeated = np.zeros(len(ids), dtype=bool)
        of_model = models or [""] * len(ids)
        for at, key in enumerate(zip(of_model[: len(ids)], ids, strict=True)):
            repeated[at] = key[1] != "" and self.ids.setdefault(key, self.row + at) != self.row + at
        self._note("id", "", repeated, lambda at: f"id {ids[at]!r} occurred before: each row needs its own id.")

    def _forecasts(self, records: Records) -> None:
        p = np.stack([self._numbers(records, name) for name in self.columns.forecasts], axis=1)
        if self.logits:
            self._note("value", "", _any(np.isposinf(p)), lambda at: "a logit is infinite: repair the row.")
            return
        total, known = p.sum(axis=1), ~_any(np.isnan(p))
        negative, large = known & _any(p < 0), known & _any(p > 1)
        percent = large & ~negative & (total > PERCENT[0]) & (total < PERCENT[1])
        off = known & ~negative & ~large & (np.abs(total - 1) > self._tolerance(records))
        hint = "if these are logits, say so (--logits)."
        self._note("negative", "", negative, lambda at: f"a probability is {p[at].min():g}, below 0; {hint}")
        self._note(
            "percent", "", percent, lambda at: f"the probabilities sum to {total[at]:g}: divide them by 100."
        )
        large &= ~percent & ~negative
        self._note("large", "", large, lambda at: f"a probability is {p[at].max():g}, above 1; {hint}")
        remedy = f"{hint[:-1]}; else divide each row by its sum."
        self._note("sum", "", off, lambda at: f"the probabilities sum to {total[at]:.6g}, not to 1: {remedy}")

    def _tolerance(self, records: Records) -> float:
        """As the reader's; numbers in text may have been written by single precision."""
        kinds = {records.schema.field(name).type for name in self.columns.forecasts}
        return _row_sum_tolerance(np.dtype(np.float32 if self.source.is_text else common_dtype(kinds)))

    def _numbers(self, records: Records, name: str) -> FloatArray:
        """A column as numbers; nan where there is none, which is noted."""
        column = records.column(name)
        numbers, bad = _as_numbers(column)
        texts: Any = texts_of(column) if bad.any() else ()
        self._note("number", name, bad, lambda at: f"column {name!r} holds {texts[at]!r}: write a number.")
        self._missing(name, np.isnan(numbers) & ~bad)
        return numbers


def _any(table: Mask) -> Mask:
    """Which rows have any."""
    return np.asarray(table.any(axis=1))


def _as_numbers(column: Any) -> tuple[FloatArray, Mask]:
    """Numbers, nan where they are missing; and where there is something that is no number."""
    arrow = import_optional("pyarrow", extra="cli")
    try:
        numbers = np.array(column.cast(arrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        return numbers, np.zeros(len(numbers), dtype=bool)
    except arrow.ArrowException:
        texts = texts_of(column)
    read = [_read(text) for text in texts]
    return np.array([np.nan if x is None else x for x in read]), np.array([x is None for x in read], dtype=bool)


def _read(text: Any) -> float | None:
    """The number, nan if it is missing, None if it is no number."""
    if _is_missing(text):
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return None


def _plain(label: Any) -> Any:
    """A label that can be looked up."""
    return label if isinstance(label, (str, int, float, type(None))) else str(label)


def _is_missing(value: Any) -> bool:
    """As pyarrow understands text in a place for numbers, and as Python and NumPy say it."""
    return value is None or value != value or (isinstance(value, str) and value.strip() in _missing_texts())


@cache
def _missing_texts() -> frozenset[str]:
    return frozenset(import_optional("pyarrow.csv", extra="cli").ConvertOptions().null_values)
