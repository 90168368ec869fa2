"""What names of columns leave open, the labels settle: which columns are classes, and from where labels count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from pandora_regret.files.errors import FileError
from pandora_regret.files.layout import Classes, Layout, too_few, unlabelled
from pandora_regret.files.reading import ColumnReader
from pandora_regret.files.source import ROWS_AT_ONCE, Records, Source

if TYPE_CHECKING:
    from pandora_regret.files.predictions import Predictions


def check_labels(model: Predictions, layout: Layout) -> None:
    """What names alone leave open is settled by the labels, read as far as that takes; votes settle it."""
    if model.columns.votes:
        return
    named = not Classes(model.classes).by_number and all(source.names_classes for source in model.sources)
    if model.columns.unlabelled:
        _check_classes_are_known(model)
    elif not model.columns.certain:
        _check_every_class_occurs(model)
    elif layout.classes is None and not named:
        _check_numbers_start_at_zero(model)


def _check_classes_are_known(model: Predictions) -> None:
    """Where labels may be missing, they cannot tell which columns of numbers are classes."""
    if not model.columns.certain:
        problem = "may lack labels, which cannot say then which columns are classes"
        fix = "list the classes (--classes), or say what the forecasts' names begin with (--proba-prefix)"
        raise FileError(problem, path=model.path, argument="classes", fix=fix)


def _check_every_class_occurs(model: Predictions) -> None:
    """Columns of numbers are classes only if they occur as labels."""
    classes, seen, n_rows = Classes(model.classes), set[int](), 0
    for source, row, records in model.walk([model.columns.label]):
        for label in records.column(model.columns.label).unique().to_pylist():
            if (number := classes.number_of(label)) is None:
                _fail_label(model, source, row, records, label)
            seen.add(number)
        n_rows += len(records)
        if len(seen) == len(model.classes) > 1:
            return
    if not n_rows:
        raise model.no_rows()
    if len(model.classes) < 2:
        raise too_few(model.classes, model.sources[0].kinds, model.path, " of numbers")
    raise unlabelled(model.columns, [name for k, name in enumerate(model.classes) if k not in seen], model.path)


def _check_numbers_start_at_zero(model: Predictions) -> None:
    """Labels 1, 2, ... of columns without names may count from 0 or from 1; if 0 or K occurs, it is clear."""
    classes, seen = Classes(model.classes), set[int]()
    for _, _, records in model.walk([model.columns.label]):
        for label in records.column(model.columns.label).unique().to_pylist():
            number = classes.number_of(label)
            if number is None or number == 0 or not classes.is_number(label):
                return
            seen.add(number)
    if 1 in seen:
        raise FileError(
            f"holds numbers from 1 to {max(seen)} for {len(model.classes)} classes, counted from 0 or from 1",
            path=model.path,
            where=f": column {model.columns.label!r}",
            argument="classes",
            column=model.columns.label,
            fix=f"list the classes (--classes): {_both_readings(model)}",
        )


def _both_readings(model: Predictions) -> str:
    """How to say from where labels count."""

    def listed(names: Sequence[Any]) -> str:
        return ",".join(map(str, names if len(names) < 5 else [*names[:2], "...", names[-1]]))

    k = len(model.classes)
    if model.sources[0].names_classes:
        return f"{listed(model.classes)} if from 0; if from 1, write the classes' names as labels"
    return f"{listed(range(k))} if from 0, {listed(range(1, k + 1))} if from 1"


def _fail_label(model: Predictions, source: Source, row: int, records: Records, label: Any) -> NoReturn:
    """A label that no column of numbers is called by; perhaps a column of text is."""
    if label is not None and str(label) in source.kinds:
        for _ in source.read([str(label)], frozenset((str(label),)), ROWS_AT_ONCE):
            pass  # a text file says on which line it holds what
        where, fix = f": column {str(label)!r}", "it must, being the forecasts of a class"
        raise FileError("holds no numbers", path=source.path, where=where, column=str(label), fix=fix)
    reader_of(model, source, row, records).labels(model.columns.label)
    raise AssertionError(f"{label!r} is a label after all")


def reader_of(model: Predictions, source: Source, row: int, records: Records) -> ColumnReader:
    """A reader of consecutive rows."""
    return ColumnReader(records, source, range(row, row + len(records)), Classes(model.classes))
