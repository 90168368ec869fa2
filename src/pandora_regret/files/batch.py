"""Some rows of predictions as plain arrays, checked but for the forecasts' own numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.roles import KEPT
from pandora_regret.files.source import RAISED, AllDone, Fields, FileError, Names, Problems, Source, noted
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray
from pandora_regret.inputs.tables import NOTHING_RESCALED, Rescaled, rescale_rows, row_sum_tolerance
from pandora_regret.text import counted, listed

PADDED = re.compile(r"0*([0-9]{1,18})(?:\.0+)?")  # a whole number with zeros that say nothing
MOST_NAMED = 5  # of what was done to a file
FILE = 1 << 44  # more rows than any file has


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

    def done(self, model: str) -> AllDone:
        """The same in words."""
        counted_as = f"{counted(self.outside, 'truth')} of {model} outside their lists counted as {self.other!r}"
        outside = noted("truths to other", self.outside, counted_as, model)
        return (*outside, *spelled_otherwise(sorted(self.spelled), "label", model), *self.rescaled.done(model))


NO_CHANGES = Changes()


def spelled_otherwise(pairs: Sequence[tuple[str, str]], what: str, where: str) -> AllDone:
    """Names, and what they were taken for."""
    words = listed([f"{written!r} as {meant!r}" for written, meant in pairs], MOST_NAMED)
    return noted(f"{what}s matched", len(pairs), f"{what}s of {where} read {words}", where)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one model's predictions."""

    classes: Names
    truth: IntArray  # (n,) column numbers; the class of most votes where there are votes
    columns: tuple[NDArray[Any], ...]  # K arrays (n,), all float16, float32 or float64, contiguous
    first_row: int  # the number of the first row among those of the model
    sources: tuple[Source, ...]
    places: IntArray  # (n,) the number of a row's file times `FILE`, and its number there, both counted from 0
    ids: NDArray[Any] | None = None  # (n,)
    weights: FloatArray | None = None  # (n,)
    groups: NDArray[Any] | None = None  # (n,)
    votes: FloatArray | None = None  # (n, K) each class's share of a row's votes
    costs: FloatArray | None = None  # (n, K) typical costs of each row's tests
    by: Mapping[str, NDArray[Any]] | None = None  # (n,) each: columns that results are broken down by
    changes: Changes = NO_CHANGES
    id_column: Any = None  # ids as the file has them, where they are only to be told apart

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
        return self.sources[0].path

    def origin(self, index: int) -> tuple[Source, int]:
        """The file in which a row stands, and its number there, counted from 0."""
        file, row = divmod(int(self.places[index]), FILE)
        return self.sources[file], row

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
        return _combined([self], lambda parts: parts[0][rows])

    @property
    def order_only(self) -> bool:
        """Whether forecasts say in which order to look, not how likely anything is."""
        return any(source.order_only for source in self.sources)

    def check(self, logits: bool, problems: Problems = RAISED) -> None:
        """No id occurs twice and forecasts can be scored, or it is told of all rows. What is nan was told."""
        first, names = dict[Any, int](), enumerate(() if self.ids is None else self.ids.tolist())
        again = {row: name for row, name in names if first.setdefault(name, row) != row and name not in (None, "")}
        if again:
            name = next(iter(again.values()))
            self._tell(problems, "id", list(again), twice(name, *self.origin(first[name])))
        try:
            with self.blamed():
                if self.columns:
                    self.forecast(logits).check()
        except FileError as error:
            if not self._tell_kinds(logits, problems) and not np.isnan(self.values).any():
                problems.in_file("file", error)

    def _tell_kinds(self, logits: bool, problems: Problems) -> bool:
        """All rows that cannot be scored, each kind in the words that its first row is refused with; if any."""
        values, told = self.values.astype(np.float64), False
        high, total = values.max(axis=1), values.sum(axis=1)
        large, off = high > 1 + self.tolerance, np.abs(total - 1) > self.tolerance
        conditions = [values.min(axis=1) < 0, large & (np.abs(total - 100) < 1), large, off]
        kinds = np.select(conditions, ["negative", "percent", "large", "sum"], "")
        kinds = np.where(np.isinf(high), "value", "") if logits else kinds
        for kind in filter(None, dict.fromkeys(kinds.tolist())):
            rows = np.flatnonzero(kinds == kind)
            try:
                self.take(rows[:1]).forecast(logits).check()
            except InputError as error:
                told = True
                self._tell(problems, kind, rows, self._about(error))
        return told

    def _tell(self, problems: Problems, kind: str, rows: Any, about: Fields) -> None:
        files, numbers = np.divmod(self.places[rows], FILE)
        for file in dict.fromkeys(files.tolist()):
            problems.in_rows(kind, self.sources[file], numbers[files == file].tolist(), **about)

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
        return {name: getattr(error, name) for name in ("problem", "value", "fix", "command_fix")}


def _combined(batches: Sequence[Batch], make: Callable[[Sequence[Any]], Any]) -> Batch:
    """The batch whose arrays are made of those of some batches."""

    def of(parts: Sequence[Any]) -> Any:
        if isinstance(parts[0], Mapping):
            return {name: make([part[name] for part in parts]) for name in parts[0]}
        if isinstance(parts[0], tuple):
            return tuple(map(make, zip(*parts, strict=True)))
        return None if parts[0] is None else make(parts)

    names = ("columns", "places", *(role.field for role in KEPT))
    return replace(batches[0], **{name: of([getattr(batch, name) for batch in batches]) for name in names})


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Batches of one model, one after the other, as one."""
    whole, coarsest = _combined(batches, np.concatenate), min(batch.dtype for batch in batches)
    columns = tuple(column.astype(coarsest, copy=False) for column in whole.columns)  # how far sums may be off
    return replace(whole, columns=columns, changes=sum((batch.changes for batch in batches), NO_CHANGES))


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
