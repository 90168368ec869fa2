"""Some rows of predictions as plain arrays, checked but for the forecasts' own numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import (
    NOTHING_RESCALED,
    UNLABELLED,
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Names,
    RescaledRows,
    refusal,
    relative_weights,
    remark_on,
    rescale_rows,
    row_sum_tolerance,
)
from pandora_regret.files.file_errors import Complaint, FileError
from pandora_regret.files.problems import Problems
from pandora_regret.files.recognise import Remarks, names_matched
from pandora_regret.files.source import Source
from pandora_regret.text import counted

if TYPE_CHECKING:
    import pyarrow as pa

WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]{0,17}))")
PADDED = re.compile(r"(-?0*[0-9]{1,18})(?:\.0+)?")  # a whole number with zeros that say nothing
MOST_UNLABELLED = 0.5  # of the cases
OBJECT_BYTES = 60  # of a short text
PLACES_PER_FILE = 1 << 44  # more rows than any file has

NameArray: TypeAlias = NDArray[np.object_ | np.integer]  # (n,) texts or whole numbers, None where there is none
Forecasts: TypeAlias = "NDArray[np.floating] | Sequence[NDArray[np.floating]]"  # K of (n,), of one float type
ScalarT = TypeVar("ScalarT", bound=np.generic)


@dataclass(frozen=True)
class Changes:
    """What was done to rows while they were read; sums of these are about all of the rows."""

    spelled: frozenset[tuple[str, str]] = frozenset()  # labels, and the classes that they were taken for
    outside: int = 0  # truths that their lists do not name
    other: str = ""  # the class that these were counted as
    rescaled: RescaledRows = NOTHING_RESCALED  # rows that were divided by their sums
    unlabelled: int = 0  # rows without a label that were left out

    def __add__(self, more: Changes) -> Changes:
        return Changes(
            self.spelled | more.spelled,
            self.outside + more.outside,
            self.other or more.other,
            self.rescaled + more.rescaled,
            self.unlabelled + more.unlabelled,
        )

    def remarks(self, model: str) -> Remarks:
        """What is to be said of what was done to the rows of a model."""
        counted_as = f"{counted(self.outside, 'truth')} of {model} outside their lists counted as {self.other!r}"
        outside = remark_on("truths to other", self.outside, counted_as, model)
        spelled = names_matched(sorted(self.spelled), "label", model)
        return (*unlabelled_left_out(self.unlabelled), *outside, *spelled, *self.rescaled.remarks(model))


NO_CHANGES = Changes()


@dataclass(frozen=True)
class ModelFacts:
    """What rows know of the model and the files that they are from."""

    name: str
    sources: tuple[Source, ...]
    only: str | None  # the value of the model column, where models share a file
    logits: bool  # whether the forecasts are logits
    order_only: bool  # whether forecasts say in which order to look, not how likely anything is
    recognised: Remarks  # how the files are written, and names of columns that are spelled otherwise
    problems: Problems  # who is told what is wrong

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.sources[0].path


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one model's predictions."""

    model: ModelFacts
    classes: Names
    truth: IntArray  # (n,) column numbers; the class of most votes where there are votes
    columns: Forecasts  # K arrays (n,), all float16, float32 or float64, numbers equally far apart
    first_row: int  # the number of the first row among those of the model
    places: IntArray  # (n,) the number of a row's file times `PLACES_PER_FILE`, plus its number there; both from 0
    ids: NameArray | None = None  # (n,)
    weights: FloatArray | None = None  # (n,)
    groups: NameArray | None = None  # (n,)
    votes: FloatArray | None = None  # (n, K) each class's share of a row's votes
    costs: FloatArray | None = None  # (n, K) typical costs of each row's tests
    by: Mapping[str, NDArray[np.object_]] | None = None  # (n,) each: columns that results are broken down by
    changes: Changes = NO_CHANGES
    id_texts: pa.Array | None = None  # ids as an Arrow column of text, where they are only to be told apart
    kept: IntArray | None = None  # (n,) which of the rows that were read these are, from 0; None: all of them

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def nbytes(self) -> int:
        """About how many bytes the rows take."""
        optional = (self.ids, self.weights, self.groups, self.votes, self.costs, *(self.by or {}).values())
        arrays = [*self.columns, self.truth, self.places, *(part for part in optional if part is not None)]
        size = 0
        for array in arrays:
            size += array.nbytes
            if array.dtype == object:
                size += OBJECT_BYTES * len(array)
        return size

    @property
    def tolerance(self) -> float:
        """How far a row of probabilities may be off 1."""
        return row_sum_tolerance(self.columns[0].dtype.itemsize)

    @cached_property
    def values(self) -> NDArray[np.floating]:
        """Probabilities or logits, (n, K), columns in the order of `classes`."""
        return np.asarray(self.columns).reshape(-1, len(self)).T

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.model.path

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Which truths their lists do not name, (n,)."""
        other = self.model.sources[0].other
        return np.equal(self.truth, -2 if other is None else self.classes.index(other))

    def origin(self, index: int) -> tuple[Source, int]:
        """The file in which a row stands, and its number there, counted from 0."""
        file, row = divmod(int(self.places[index]), PLACES_PER_FILE)
        return self.model.sources[file], row

    def place(self, index: int) -> str:
        """Where a row stands, in the words of an error message: a file, and a line or row of it."""
        source, row = self.origin(index)
        return f"{source.path}{source.place(row)}"

    @cached_property
    def _row_of(self) -> dict[object, int]:
        """The (first) row of each id."""
        names = () if self.ids is None else self.ids.tolist()
        return {name: row for row, name in reversed([*enumerate(names)]) if name not in (None, "")}

    def rows_of(self, ids: NameArray) -> IntArray:
        """The (first) rows of these ids, -1 where there is none."""
        return np.array([self._row_of.get(name, -1) for name in ids.tolist()], dtype=np.intp)

    def forecast(self, rows: IntArray | None = None) -> Forecast:
        """All rows, or some, as the kernels take them; `errors_with_places` makes their errors name the file."""
        chosen = self if rows is None else self.take(rows)
        forecast = Forecast(
            np.ascontiguousarray(chosen.values),
            self.model.logits,
            list(self.classes),
            chosen.truth,
            range(len(self)) if rows is None else rows,
            self.tolerance,
            weights=chosen.weights,
            rescaled=self.changes.rescaled,
            order_only=self.model.order_only,
        )
        return forecast if chosen.votes is None else forecast.with_votes(chosen.votes)

    def take(self, rows: IntArray) -> Batch:
        """The rows of these numbers, in this order."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return replace(
            self,
            columns=self.values[rows].T,
            places=self.places[rows],
            truth=self.truth[rows],
            ids=_chosen(self.ids, rows),
            weights=_chosen(self.weights, rows),
            groups=_chosen(self.groups, rows),
            votes=_chosen(self.votes, rows),
            costs=_chosen(self.costs, rows),
            by=None if self.by is None else {name: values[rows] for name, values in self.by.items()},
        )

    def normalised(self) -> Batch:
        """The batch with rows divided by their sums where these are off 1 by at most 1 %, and counted."""
        values, rescaled = rescale_rows(self.values, self.tolerance)
        return replace(self, columns=values.T, changes=replace(self.changes, rescaled=rescaled))

    def labelled(self) -> Batch:
        """The rows that have a label; the others are counted among the changes."""
        kept = np.flatnonzero(self.truth >= 0)
        if len(kept) == len(self):
            return self
        changes = replace(self.changes, unlabelled=len(self) - len(kept))
        return replace(self.take(kept), kept=kept, changes=changes)

    def without_label(self, truth: Batch | None) -> NDArray[np.bool_]:
        """Which rows have no label, (n,), though the truth's own file, if there is one, has their ids."""
        no_label = self.truth < 0
        if truth is None or self.ids is None:
            return no_label
        return no_label & (truth.rows_of(self.ids) >= 0)

    def with_relative_weights(self) -> Batch:
        """All rows of a model with their weights divided by their mean; one batch of many must keep its own."""
        return self if self.weights is None else replace(self, weights=relative_weights(self.weights))

    def with_classes(self, classes: Names) -> Batch:
        """The batch with its classes in another order."""
        if classes == self.classes:
            return self
        place = {label: k for k, label in enumerate(self.classes)}
        order = np.array([place[label] for label in classes])
        return replace(
            self,
            classes=classes,
            truth=np.append(np.argsort(order), -1)[self.truth],
            columns=self.values[:, order].T,
            votes=None if self.votes is None else self.votes[:, order],
            costs=None if self.costs is None else self.costs[:, order],
        )

    def check(self) -> Batch:
        """The batch; ids that occur twice, forecasts that cannot be scored, no weight at all are told."""
        if self.ids is not None and len(self._row_of) < len(self):
            first = self.rows_of(self.ids)
            again = np.flatnonzero((first >= 0) & (first != np.arange(len(self))))
            if len(again):
                name = self.ids[again[:1]].tolist()[0]
                source, row = self.origin(first[again[0]])
                self._tell("id", again, complaint_of_repeated_id(name, source, row))
        try:
            if len(self.columns):
                self.forecast().check()
        except InputError:
            self._tell_kinds()
        if self.weights is not None and not (self.weights > 0).any():
            fix = "give at least one row a positive weight"
            error = FileError("has weights that add up to nothing", self.path, fix)
            self.model.problems.in_file("weight", error)
        return self

    def _tell_kinds(self) -> None:
        """All rows that cannot be scored, each kind in the words that its first row is refused with."""
        values = self.values.astype(np.float64)
        logits = self.model.logits
        high = values.max(axis=1)
        if logits:
            conditions = {"value": np.isinf(high)}
        else:
            total = values.sum(axis=1)
            large = high > 1 + self.tolerance
            conditions = {
                "negative": values.min(axis=1) < 0,
                "percent": large & (np.abs(total - 100) < 1),
                "large": large,
                "sum": np.abs(total - 1) > self.tolerance,
            }
        kinds = np.select([*conditions.values()], [*conditions], "")
        for kind in filter(None, dict.fromkeys(kinds.tolist())):
            rows = np.flatnonzero(kinds == kind)
            error = refusal(values[rows[0]], self.tolerance, logits)
            complaint: Complaint = {
                "problem": error.problem,
                "value": error.value,
                "fix": error.fix,
                "command_fix": error.command_fix,
            }
            self._tell(kind, rows, complaint)

    def _tell(self, kind: str, rows: IntArray, complaint: Complaint) -> None:
        """Tell of a problem that some rows have, file by file."""
        files, numbers = np.divmod(self.places[rows], PLACES_PER_FILE)
        for file in dict.fromkeys(files.tolist()):
            of_file = numbers[files == file].tolist()
            self.model.problems.in_rows(kind, self.model.sources[file], of_file, complaint)


def unlabelled_left_out(n: int) -> Remarks:
    """What is to be said of so many cases without a true class."""
    return remark_on(UNLABELLED, n, f"left out {counted(n, 'case')} without a true class")


def check_labelled(n_unlabelled: int, n: int, path: str) -> None:
    """An error if most of n cases have no true class."""
    if n_unlabelled > MOST_UNLABELLED * n:
        problem = f"has no true class for {n_unlabelled:,} of {n:,} cases"
        fix = "say which column (--label) or file (--truth) holds them, or wait until at least half are known"
        raise FileError(problem, path, fix, argument="label", value=n_unlabelled)


def _chosen(array: NDArray[ScalarT] | None, rows: IntArray) -> NDArray[ScalarT] | None:
    """Some rows of an array, if there is one."""
    return None if array is None else array[rows]


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Batches of one model, one after the other, as one."""
    first = batches[0]
    if len(batches) == 1:
        return first
    by = None
    if first.by is not None:
        by = {}
        for name in first.by:
            by[name] = np.concatenate([batch.by[name] for batch in batches if batch.by is not None])
    return replace(
        first,
        columns=np.concatenate([batch.values for batch in batches]).T,
        places=np.concatenate([batch.places for batch in batches]),
        truth=np.concatenate([batch.truth for batch in batches]),
        ids=_join_present([batch.ids for batch in batches]),
        weights=_join_present([batch.weights for batch in batches]),
        groups=_join_present([batch.groups for batch in batches]),
        votes=_join_present([batch.votes for batch in batches]),
        costs=_join_present([batch.costs for batch in batches]),
        by=by,
        changes=sum((batch.changes for batch in batches), NO_CHANGES),
    )


def _join_present(arrays: Iterable[NDArray[ScalarT] | None]) -> NDArray[ScalarT] | None:
    """Arrays one after the other, if there are any."""
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if present else None


@contextmanager
def errors_with_places(place: Callable[[int], str]) -> Iterator[None]:
    """Within this, errors about rows of forecasts say where these stand: `place` makes words of a row's number."""
    try:
        yield
    except InputError as error:
        if error.argument != "y_proba" or error.row is None:
            raise
        raise error.replace(place=place(error.row)) from None


def complaint_of_repeated_id(name: object, source: Source, row: int) -> Complaint:
    """What is wrong with a row that has the id of a row before, which stands in this place."""
    fix = "each row needs its own id; say which column it is (--id), or drop the second row"
    problem = f"has the id {name!r}, which occurred before ({source.path}{source.place(row)})"
    return {"problem": problem, "argument": "id", "value": name, "fix": fix}


def with_numbers(names: Iterable[object], pattern: re.Pattern[str]) -> NameArray:
    """Names, those that a pattern knows as whole numbers as such; an array of numbers where all of them are.

    Examples
    --------
    >>> with_numbers(["007", "12.0", "A7"], PADDED).tolist()
    [7, 12, 'A7']
    """
    matches = [(name, pattern.fullmatch(str(name))) for name in names]
    array = np.array([name if match is None else int(match[1]) for name, match in matches], dtype=object)
    return array.astype(np.int64) if matches and all(match for _, match in matches) else array


def fix_of_ids_written_otherwise(ids: NameArray, others: NameArray, path: str) -> Complaint:
    """What to do about ids of a file that another writes with leading zeros, or as other numbers; or nothing."""
    as_numbers = set(with_numbers(ids.tolist(), PADDED).tolist())
    others_as_numbers = set(with_numbers(others.tolist(), PADDED).tolist())
    if set(ids.tolist()) & set(others.tolist()) or not as_numbers & others_as_numbers:
        return {}
    why = f"{path} writes ids in another way"
    command_fix = f"{why}: --ids-as-numbers reads 007 and 7.0 as 7"
    return {"fix": f"{why}: write them alike", "command_fix": command_fix}
