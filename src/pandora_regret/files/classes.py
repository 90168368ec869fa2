"""Which columns of numbers are classes where no layout says so: those that are priced, shared or true."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.files.columns import ColumnReader, is_missing, texts_of
from pandora_regret.files.json_lines import PREFIX, ListedRows
from pandora_regret.files.layout import Classes, is_integer_label, some, too_few
from pandora_regret.files.problems import RAISED, FileError, Problems

if TYPE_CHECKING:
    from pandora_regret.files.predictions import Predictions

SAMPLE_ROWS = 1 << 12
ROUGHLY = 1e-2  # how far off 1 a sum may be, and still say which columns are meant


class _Silent(Problems):
    """Nobody is told: of a few rows, it does not matter what is wrong."""

    def in_rows(self, *args: Any, **attributes: Any) -> None:
        pass


class FirstRows:
    """What the first rows of a model tell of its classes."""

    def __init__(self, model: Predictions, forecasts: Sequence[str]) -> None:
        label = model.columns.label
        self.labels, self._numbers, self._logits = set[str](), dict[str, Any](), model.logits
        for source, _, records in model.walk([*filter(None, [label]), *forecasts], SAMPLE_ROWS):
            reader = ColumnReader(records, source, range(len(records)), Classes(()), problems=_Silent())
            self.labels = set(texts_of(records.column(label))) if label else set()
            self._numbers = dict(zip(forecasts, reader.forecasts(forecasts), strict=True))
            break

    def share_summing_to_one(self, names: Collection[str]) -> float:
        """Of rows of probabilities, over some columns; logits say nothing."""
        columns = [numbers for name, numbers in self._numbers.items() if name in names]
        if self._logits or not columns:
            return 0.0
        return float((np.abs(np.sum(columns, axis=0, dtype=np.float64) - 1) < ROUGHLY).mean())

    def speak_against(self, kept: Sequence[str]) -> bool:
        """Whether rows only sum to 1 with a column that would be left out, or have it as their label."""
        left_out = self._numbers.keys() - set(kept)
        less = self.share_summing_to_one(kept) < self.share_summing_to_one(self._numbers)
        return bool(left_out) and (bool(self.labels & left_out) or less)


def with_known_classes(models: Sequence[Predictions], priced: Collection[str] | None = None) -> list[Predictions]:
    """The models with their classes, as far as these are known.

    Classes are known from the first of: the layout (names or a prefix), the price list, the columns that all
    models share. Where the rows themselves speak against that, a model stays as it is, and whoever reads it says
    what is wrong. Lists of candidates are over the options of all models.
    """
    shared = set.intersection(*(set(model.classes) for model in models)) if len(models) > 1 else set[str]()
    uncertain = [model for model in models if not model.columns.certain] if priced or len(shared) > 1 else []
    first = {id(model): FirstRows(model, model.classes) for model in uncertain}
    confirmed = len(uncertain) < len(models) or any(
        rows.share_summing_to_one(shared) > 0.5 for rows in first.values()
    )
    known = list(models)
    for index, model in enumerate(models):
        if (rows := first.get(id(model))) is not None:
            choices: list[Collection[str]] = [shared] if confirmed else []
            if priced:  # a label without a price is a class, too: whoever reads prices says that it has none
                choices = [priced, *choices, rows.labels.union(priced)]
            known[index] = _narrowed(model, rows, choices)
    return _over_all_options(known)


def _narrowed(model: Predictions, rows: FirstRows, choices: Sequence[Collection[str]]) -> Predictions:
    """The model with only such of its columns of numbers as classes that its rows do not speak against."""
    for classes in choices:
        kept = tuple(name for name in model.classes if name in classes)
        if len(kept) > 1 and not rows.speak_against(kept):
            return _with_columns(model, kept, certain=True, listed=True)
    return model


def _with_columns(model: Predictions, names: tuple[str, ...], **about: Any) -> Predictions:
    return replace(model, columns=replace(model.columns, classes=names, forecasts=names, **about))


def _over_all_options(models: list[Predictions]) -> list[Predictions]:
    """Lists of candidates become forecasts of all classes that any model has."""
    lists = [isinstance(model.sources[0], ListedRows) for model in models]
    options = tuple(dict.fromkeys(name for model in models for name in model.classes))
    forecasts = tuple(f"{PREFIX}{name}" for name in options)
    for index in np.flatnonzero(lists):
        sources = tuple(source.over(options) for source in models[index].sources)
        columns = replace(models[index].columns, classes=options, forecasts=forecasts)
        models[index] = replace(models[index], sources=sources, columns=columns)
    return models


def settled(model: Predictions, problems: Problems = RAISED) -> Predictions:
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
    if not (columns.unlabelled or columns.listed or named):
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
    likelier = tuple(name for name in every if name not in unseen)
    if unseen and len(likelier) > 1:  # go on with the columns by which most rows sum to 1
        rows = FirstRows(_with_columns(model, every), every)
        every = max(every, likelier, key=rows.share_summing_to_one)
    return _with_columns(model, every)


def _labels_until_all(model: Predictions) -> set[Any]:
    """The labels that occur, None for missing ones, read until all classes are among them."""
    labels, classes, column = set[Any](), Classes(model.classes), model.columns.label
    for _, _, records in model.walk([column]):
        some_labels = records.column(column).unique().to_pylist()
        labels.update(None if is_missing(label) else label for label in some_labels)
        if len({classes.number_of(label) for label in labels - {None}} - {None}) == len(model.classes) > 1:
            break
    return labels


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
    labels, classes, k = _labels_until_all(model), Classes(model.classes), len(model.classes)
    numbers = classes.numbers_of(labels)
    if numbers.min(initial=k) < 1 or 1 not in numbers or not all(map(is_integer_label, labels)):
        return
    readings = f"{_listed(range(k))} if from 0, {_listed(range(1, k + 1))} if from 1"
    if model.sources[0].names_classes:
        readings = f"{_listed(model.classes)} if from 0; if from 1, write the classes' names as labels"
    raise FileError(
        f"holds numbers from 1 to {numbers.max()} for {k} classes, counted from 0 or from 1",
        path=model.path,
        where=f": column {model.columns.label!r}",
        argument="classes",
        column=model.columns.label,
        fix=f"list the classes (--classes): {readings}",
    )


def _listed(names: Sequence[Any]) -> str:
    return ",".join(map(str, names if len(names) < 5 else [*names[:2], "...", names[-1]]))
