"""Some rows of predictions as plain arrays, checked but for the forecasts' own numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.roles import KEPT
from pandora_regret.files.source import RAISED, Fields, FileError, Names, Problems, Source
from pandora_regret.inputs import Done, FloatArray, Forecast, InputError, IntArray
from pandora_regret.inputs.tables import NOTHING_RESCALED, Rescaled, rescale_rows, row_sum_tolerance
from pandora_regret.text import counted, listed

PADDED = re.compile(r"0*([0-9]{1,18})(?:\.0+)?")  # a whole number with zeros that say nothing
MOST_NAMED = 5  # of what was done to a file
RowNumbers: TypeAlias = range | IntArray


@dataclass(frozen=True)
class Changes:
    """What was done to rows while they were read; sums of these are about all of the rows."""

    rescaled: Rescaled = NOTHING_RESCALED  # rows that were divided by their sums
    spelled: frozenset[tuple[str, str]] = frozenset()  # labels, and the classes that they were taken for
    outside: int = 0  # truths that their lists do not name
    other: str = ""  # the class that these were counted as

    def __add__(self, more: Changes) -> Changes:
        parts = (self.rescaled + more.rescaled, self.spelled | more.spelled, self.outside + more.outside)
        return Changes(*parts, self.other or more.other)

    def done(self, model: str) -> tuple[Done, ...]:
        """The same in words."""
        counted_as = f"{counted(self.outside, 'truth')} of {model} outside their lists counted as {self.other!r}"
        outside = [Done("truths to other", self.outside, counted_as, model)] if self.outside else []
        return (*outside, *spelled_otherwise(sorted(self.spelled), "label", model), *self.rescaled.done(model))


NO_CHANGES = Changes()


def spelled_otherwise(pairs: Sequence[tuple[str, str]], what: str, where: str) -> tuple[Done, ...]:
    """Names, and what they were taken for."""
    words = [f"{written!r} as {meant!r}" for written, meant in pairs]
    sentence = f"{what}s of {where} read {listed(words, MOST_NAMED)}" if words else ""
    return (Done(f"{what}s matched", len(pairs), sentence, where),) if words else ()


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one model's predictions."""

    classes: Names
    truth: IntArray  # (n,) column numbers; the class of most votes where there are votes
    columns: tuple[NDArray[Any], ...]  # K arrays (n,), all float16, float32 or float64, contiguous
    first_row: int  # the number of the first row among those of the model
    origins: tuple[tuple[Source, RowNumbers], ...]  # the files, and the rows' numbers in each, counted from 0
    ids: NDArray[Any] | None = None  # (n,)
    weights: FloatArray | None = None  # (n,)
    groups: NDArray[Any] | None = None  # (n,)
    votes: FloatArray | None = None  # (n, K) each class's share of a row's votes
    costs: FloatArray | None = None  # (n, K) typical costs of each row's tests
    by: Mapping[str, NDArray[Any]] | None = None  # (n,) each: columns that results are broken down by
    changes: Changes = NO_CHANGES
    percent: bool = False  # whether the forecasts were percentages, which were divided by 100
    id_column: Any = None  # ids as the file has them, where they are only to be told apart
    positions: IntArray | None = None  # (n,) where the rows stand among those of `origins`; None: in their order

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the forecasts."""
        return self.columns[0].dtype if self.columns else np.dtype(np.float64)

    @cached_property
    def values(self) -> NDArray[Any]:
        """Forecasts, (n, K), C-contiguous."""
        return np.stack(self.columns, axis=1)

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.origins[0][0].path

    def origin(self, index: int) -> tuple[Source, int]:
        """The file in which a row stands, and its number there, counted from 0."""
        index = index if self.positions is None else int(self.positions[index])
        for source, numbers in self.origins:
            if index < len(numbers):
                return source, int(numbers[index])
            index -= len(numbers)
        raise IndexError(index)

    def place(self, index: int) -> str:
        """Where a row stands, in the words of an error message: a file, and a line or row of it."""
        source, row = self.origin(index)
        return f"{source.path}{source.place(row)}"

    @property
    def tolerance(self) -> float:
        """How far a row of probabilities may be off 1."""
        return row_sum_tolerance(self.dtype)

    def normalised(self) -> Batch:
        """The same with rows divided by their sums where these are off 1 by at most 1 %, and counted."""
        values, rescaled = rescale_rows(self.values, self.tolerance)
        columns = tuple(np.ascontiguousarray(values.T)) if rescaled.rows else self.columns
        return replace(self, columns=columns, changes=replace(self.changes, rescaled=rescaled))

    def forecast(self, logits: bool, rows: IntArray | None = None) -> Forecast:
        """All rows, or some, as the kernels take them; `blamed` makes their errors name the file."""
        labels, some = list(self.classes), self if rows is None else self.take(rows)
        numbers = range(len(self)) if rows is None else rows
        about: Fields = {"weights": some.weights, "rescaled": some.changes.rescaled, "order_only": self.order_only}
        forecast = Forecast(some.values, logits, labels, some.truth, numbers, self.tolerance, **about)
        return forecast if some.votes is None else forecast.with_votes(some.votes)

    def take(self, rows: IntArray) -> Batch:
        """Some of the rows, in this order."""
        fields = {role.field: getattr(self, role.field) for role in KEPT}
        some: Fields = {
            name: _arrays(lambda parts: parts[0][rows], [part])
            for name, part in fields.items()
            if part is not None
        }
        positions = rows if self.positions is None else self.positions[rows]
        columns = tuple(column[rows] for column in self.columns)
        return replace(self, columns=columns, positions=positions, **some)

    @property
    def order_only(self) -> bool:
        """Whether forecasts say in which order to look, not how likely anything is."""
        return any(source.order_only for source, _ in self.origins)

    def check(self, logits: bool, problems: Problems = RAISED) -> None:
        """Forecasts can be scored, or it is told in all rows that cannot. What is nan was told."""
        whole = self if problems is RAISED else self.take(np.flatnonzero(~np.isnan(self.values).any(axis=1)))
        try:
            with whole.blamed():
                whole.forecast(logits).check()
        except FileError as error:
            if problems is RAISED:
                raise
            if not whole._tell(logits, problems):
                problems.in_file("file", error)

    def _tell(self, logits: bool, problems: Problems) -> bool:
        """All rows that cannot be scored, each kind in the words that its first row is refused with; if any."""
        values, told = self.values.astype(np.float64), False
        high, total = values.max(axis=1), values.sum(axis=1)
        large, off = high > 1 + self.tolerance, np.abs(total - 1) > self.tolerance
        conditions = [values.min(axis=1) < 0, large & (np.abs(total - 100) < 1), large, off]
        kinds = np.select(conditions, ["negative", "percent", "large", "sum"], "")
        kinds = np.where(np.isfinite(high), "", "value") if logits else kinds
        for kind in filter(None, dict.fromkeys(kinds.tolist())):
            rows = np.flatnonzero(kinds == kind)
            try:
                self.take(rows[:1]).forecast(logits).check()
            except InputError as error:
                numbers, told = [self.origin(int(row))[1] for row in rows], True
                problems.in_rows(kind, self.origins[0][0], numbers, **self._about(error))
        return told

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors about rows of this batch's `forecast` name file, line and, where it is one number, column."""
        try:
            yield
        except InputError as error:
            if error.argument != "y_proba" or error.row is None:
                raise
            source, row = self.origin(error.row)
            raise source.error(row, **self._about(error)) from None

    def _about(self, error: InputError) -> Fields:
        about = {name: getattr(error, name) for name in ("problem", "value", "fix", "command_fix")}
        return about | {"problem": f"{error.problem}{', percentages being divided by 100' * self.percent}"}


def _arrays(make: Callable[[Sequence[Any]], Any], parts: Sequence[Any]) -> Any:
    """What is made of arrays, or of several by name."""
    if isinstance(parts[0], Mapping):
        return {name: make([part[name] for part in parts]) for name in parts[0]}
    return make(parts)


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Batches one after the other, as one; no id may occur twice."""
    parts = {role.field: [getattr(batch, role.field) for batch in batches] for role in KEPT}
    fields: Fields = {name: _arrays(np.concatenate, of) for name, of in parts.items() if of[0] is not None}
    coarsest = min((batch.dtype for batch in batches), key=lambda dtype: dtype.itemsize)
    columns = (np.concatenate(of) for of in zip(*(batch.columns for batch in batches), strict=True))
    return replace(
        batches[0],
        columns=tuple(column.astype(coarsest, copy=False) for column in columns),  # how far sums may be off
        changes=sum((batch.changes for batch in batches), NO_CHANGES),
        origins=tuple(origin for batch in batches for origin in batch.origins),
        **fields,
    )


def check_ids(batch: Batch, before: list[tuple[Source, dict[Any, int]]], problems: Problems) -> None:
    """Rows whose ids came before are told; `before` has the first row of each id, and is added to."""
    if batch.ids is None:
        return
    [(source, numbers)], names = batch.origins, batch.ids.tolist()
    first = dict(zip(reversed(names), reversed(numbers), strict=True))
    before.append((source, first))
    if len(first) == len(names) and all(first.keys().isdisjoint(seen) for _, seen in before[:-1]):
        return
    places = {name: (of, row) for of, seen in reversed(before) for name, row in seen.items()}
    own = zip(numbers, names, strict=True)
    again = {int(row): name for row, name in own if name not in (None, "") and places[name] != (source, row)}
    if again:
        name = next(iter(again.values()))
        problems.in_rows("id", source, list(again), **twice(name, *places[name]))


def twice(name: Any, source: Source, row: int) -> Fields:
    """What is said of an id that a row has although one before, in this place, has it."""
    fix = "each row needs its own id; say which column it is (--id), or drop the second row"
    problem = f"has the id {name!r}, which occurred before ({source.path}{source.place(row)})"
    return {"problem": problem, "argument": "id", "value": name, "fix": fix}


def whole_numbers(values: Iterable[Any]) -> NDArray[Any]:
    """Names as an array: of whole numbers, where all of them are."""
    array = np.array(list(values), dtype=object)
    return array.astype(np.int64) if len(array) and all(isinstance(value, int) for value in array) else array


def as_numbers(names: NDArray[Any]) -> NDArray[Any]:
    """Ids, those that are whole numbers as such.

    Examples
    --------
    >>> as_numbers(np.array(["007", "12.0", "A7"], dtype=object)).tolist()
    [7, 12, 'A7']
    """
    padded = ((name, PADDED.fullmatch(str(name))) for name in names.tolist())
    return whole_numbers(name if match is None else int(match[1]) for name, match in padded)


def ids_written_otherwise(ids: Any, others: Any, path: str) -> Fields:
    """What to do about ids of a file that another writes with leading zeros, or as other numbers; or nothing."""
    plain, theirs = ({*as_numbers(each).tolist()} for each in (ids, others))
    if {*ids.tolist()} & {*others.tolist()} or not plain & theirs:
        return {}
    why = f"{path} writes ids in another way"
    command_fix = f"{why}: --ids-as-numbers reads 007 and 7.0 as 7"
    return {"fix": f"{why}: write them alike", "command_fix": command_fix}
