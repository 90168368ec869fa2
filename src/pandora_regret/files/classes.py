"""Which columns of numbers are classes where no layout says so: those that are priced, shared or true."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pandora_regret.files.columns import ColumnReader, is_missing, texts_of
from pandora_regret.files.json_lines import ListedRows
from pandora_regret.files.layout import Classes, Columns, Layout, find_columns, is_integer_label, some, too_few
from pandora_regret.files.problems import RAISED, FileError, Problems
from pandora_regret.files.source import Records, Source

if TYPE_CHECKING:
    from pandora_regret.files.predictions import Predictions

SAMPLE_ROWS = 1 << 12
ROUGHLY = 1e-2  # how far off 1 a sum may be, and still say which columns are meant


class _Silent(Problems):
    """Nobody is told: of a few rows, it does not matter what is wrong."""

    def in_rows(self, *args: Any, **attributes: Any) -> None:
        pass


@dataclass(frozen=True)
class ModelTable:
    """A model's table, perhaps in several files, and how it is to be read."""

    name: str
    sources: tuple[Source, ...]
    layout: Layout
    is_named: bool = False  # by the caller, so that it must hold one model

    @cached_property
    def columns(self) -> Columns:
        """The columns of the first file."""
        source = self.sources[0]
        return find_columns(source.in_layout(self.layout), source.kinds, source.path)

    @cached_property
    def sample(self) -> Records | None:
        """Labels and columns of numbers of the first rows, as they are written."""
        wanted = [name for name in dict.fromkeys([self.columns.label, *self.columns.forecasts]) if name]
        records = next(self.sources[0].read(wanted, self.columns.numbers & {*wanted}, SAMPLE_ROWS), None)
        return None if records is None else records.slice(0, SAMPLE_ROWS)

    @property
    def labels(self) -> set[str]:
        """Those of the first rows."""
        known = self.sample is not None and self.columns.label
        return set(texts_of(self.sample.column(self.columns.label))) if known else set()  # type: ignore[union-attr]

    def sums_to_one(self, classes: Collection[str]) -> bool:
        """Whether most rows of probabilities do over some classes; logits say nothing."""
        if self.layout.logits or self.sample is None:
            return False
        names = [name for name in self.columns.forecasts if name in classes]
        return 2 * rows_that_sum_to_one(self.sample, self.sources[0], names) > len(self.sample)

    def narrowed(self, classes: Collection[str]) -> ModelTable | None:
        """The same with only these of its columns of numbers as classes, if its rows do not speak against that.

        They do if they only sum to 1 with a column that would be left out, or have it as their label.
        """
        every = self.columns.classes
        kept = tuple(name for name in every if name in classes)
        left_out = set(every) - set(kept)
        if len(kept) < 2 or (left_out and self.sample is not None and self._speaks_for(left_out, kept)):
            return None
        return replace(self, layout=replace(self.layout, classes=kept))

    def _speaks_for(self, left_out: set[str], kept: Sequence[str]) -> bool:
        if self.labels & left_out:
            return True
        source, both = self.sources[0], (kept, self.columns.classes)
        less, every = (rows_that_sum_to_one(self.sample, source, names) for names in both)
        return not self.layout.logits and less < every


def with_known_classes(tables: Sequence[ModelTable], priced: Collection[str] | None = None) -> list[ModelTable]:
    """The tables, their layouts with the classes, as far as these are known.

    Classes are known from the first of: the layout (names or a prefix), the price list, the columns that all
    tables share. Where the rows themselves speak against that, a table stays as it is, and whoever reads it says
    what is wrong. Lists of candidates are over the options of all tables.
    """
    shared, known = _shared(tables), []
    for table in tables:  # a label without a price is a class, too: whoever reads prices says that it has none
        choices = (priced, shared, table.labels.union(priced)) if priced else (shared,)
        narrowed = () if table.columns.certain else map(table.narrowed, choices)
        known.append(next(filter(None, narrowed), table))
    return _over_all_options(known)


def _shared(tables: Sequence[ModelTable]) -> set[str]:
    """The classes that all tables have; none where nothing confirms that they are classes."""
    shared = set[str]() if len(tables) < 2 else set.intersection(*(set(table.columns.classes) for table in tables))
    if len(shared) < 2:
        return set()
    confirmed = any(table.columns.certain or table.sums_to_one(shared) for table in tables)
    return shared if confirmed else set()


def _over_all_options(tables: list[ModelTable]) -> list[ModelTable]:
    """Lists of candidates become forecasts of all classes that any table has."""
    lists = [source for table in tables for source in table.sources if isinstance(source, ListedRows)]
    if not lists:
        return tables
    options = dict.fromkeys(name for table in tables for name in table.columns.classes)
    options |= dict.fromkeys(name for source in lists for name in source.options)
    return [replace(table, sources=tuple(each.over(tuple(options)) for each in table.sources)) for table in tables]


def rows_that_sum_to_one(records: Records, source: Source, names: Sequence[str]) -> int:
    """How many rows of these columns sum to about 1."""
    reader = ColumnReader(records, source, range(len(records)), Classes(()), problems=_Silent())
    total = np.sum(reader.forecasts(names), axis=0, dtype=np.float64)
    return int((np.abs(total - 1) < ROUGHLY).sum())


def settled(model: Predictions, layout: Layout, problems: Problems = RAISED) -> Predictions:
    """The model, once labels have settled what names of columns leave open; votes settle it."""
    columns = model.columns
    if columns.votes:
        return model
    if columns.unlabelled and not columns.certain:
        problem = "may lack labels, which cannot say then which columns are classes"
        fix = "list the classes (--classes), or say what the forecasts' names begin with (--proba-prefix)"
        raise FileError(problem, path=model.path, argument="classes", fix=fix)
    if not columns.certain:
        return _by_labels(model, problems)
    named = not Classes(model.classes).by_number and all(source.names_classes for source in model.sources)
    if not columns.unlabelled and layout.classes is None and not named:
        _check_numbers_start_at_zero(model)
    return model


def _by_labels(model: Predictions, problems: Problems) -> Predictions:
    """Columns are classes if they occur as labels, also those that hold text in some place."""
    columns, kinds, classes = model.columns, model.sources[0].kinds, Classes(model.classes)
    labels = _labels_until_all(model)
    seen = {label: number for label in labels - {None} if (number := classes.number_of(label)) is not None}
    texts = {str(label) for label in labels - seen.keys() - {None} if kinds.get(str(label), "nested") != "nested"}
    unseen = [name for number, name in enumerate(model.classes) if number not in seen.values()]
    every = tuple(name for name in kinds if name in texts - set(columns.wanted) or name in columns.forecasts)
    if not labels and not model.count():
        problems.in_file("rows", model.no_rows())
    elif len(every) < 2:
        problems.in_file("columns", too_few(every, kinds, model.path, " of numbers"))
    elif unseen and len(seen) == len(labels):  # else whoever reads the rows says what is wrong with others
        problems.in_file("columns", _unlabelled(columns.label, unseen, model.path))
    if unseen:  # go on with the likeliest
        every = _likeliest(model, every, tuple(name for name in every if name not in unseen))
    return replace(model, columns=replace(columns, classes=every, forecasts=every))


def _labels_until_all(model: Predictions) -> set[Any]:
    """The labels that occur, None for missing ones, read until all classes are among them."""
    labels, classes, column = set[Any](), Classes(model.classes), model.columns.label
    for _, _, records in model.walk([column]):
        some_labels = records.column(column).unique().to_pylist()
        labels.update(None if is_missing(label) else label for label in some_labels)
        if len({classes.number_of(label) for label in labels - {None}} - {None}) == len(model.classes) > 1:
            break
    return labels


def _likeliest(model: Predictions, *choices: tuple[str, ...]) -> tuple[str, ...]:
    """Of several choices of forecast columns, the one by which most rows sum to 1."""
    source = model.sources[0]
    records = next(source.read(choices[0], frozenset(choices[0]), SAMPLE_ROWS), pa.table({}))
    choices = tuple(names for names in choices if len(records) and len(names) > 1) or choices[:1]
    return max(choices, key=lambda names: rows_that_sum_to_one(records, source, names) if len(records) else 0)


def _unlabelled(label: str, unseen: Sequence[str], path: str) -> FileError:
    """The error for columns of numbers that no row has as its label."""
    return FileError(
        f"hold numbers but never occur as a label in {label!r}",
        path=path,
        where=f": columns {some(unseen)}",
        argument="classes",
        value=list(unseen),
        fix="if they are classes, list all classes (--classes); if not, say what the forecasts' names begin with "
        "(--proba-prefix), or which column is what (--id, --weight, --group, --cost-prefix)",
    )


def _check_numbers_start_at_zero(model: Predictions) -> None:
    """Labels 1, 2, ... of columns without names may count from 0 or from 1; if 0 or K occurs, it is clear."""
    classes, seen, label_column = Classes(model.classes), set[int](), model.columns.label
    for _, _, records in model.walk([label_column]):
        for label in records.column(label_column).unique().to_pylist():
            number = classes.number_of(label)
            if number is None or number == 0 or not is_integer_label(label):
                return
            seen.add(number)
    if 1 not in seen:
        return
    k = len(model.classes)
    readings = f"{_listed(range(k))} if from 0, {_listed(range(1, k + 1))} if from 1"
    if model.sources[0].names_classes:
        readings = f"{_listed(model.classes)} if from 0; if from 1, write the classes' names as labels"
    raise FileError(
        f"holds numbers from 1 to {max(seen)} for {k} classes, counted from 0 or from 1",
        path=model.path,
        where=f": column {label_column!r}",
        argument="classes",
        column=label_column,
        fix=f"list the classes (--classes): {readings}",
    )


def _listed(names: Sequence[Any]) -> str:
    return ",".join(map(str, names if len(names) < 5 else [*names[:2], "...", names[-1]]))
