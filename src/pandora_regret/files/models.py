"""The classes of models that go together: which columns of numbers are classes, in one spelling for all models.

Where no layout says which are classes, those are that are priced, that all models share, or that occur as labels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from pandora_regret.core.inputs import matched, quoted
from pandora_regret.files.arrow_columns import coded, texts_of
from pandora_regret.files.columns import check_several
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.labels import any_number, numbers_of, with_labels
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.problems import CollectedProblems
from pandora_regret.files.rows import Reading, read_forecasts
from pandora_regret.files.table import Block

FIX_OF_UNSEEN = (
    "list the classes (--classes), and other columns are ignored; or say what the forecasts' names begin "
    "with (--proba-prefix), or what such a column is for: see pandora help files"
)
SAMPLE_VALUES = 1 << 12
ROUGHLY = 1e-2  # how far off 1 a sum may be, and still say which columns are meant


def _first_rows(model: Predictions) -> Block | None:
    """What tells of the classes of a model, if it has rows."""
    columns = model.columns
    some_rows = 1 + SAMPLE_VALUES // (1 + len(columns.forecasts))
    return next(model.blocks([columns.label, *columns.forecasts], some_rows), None)


def _sum_to(
    block: Block | None, columns: Iterable[str], reading: Reading, totals: Sequence[int] = (1, 100)
) -> bool:
    """Whether most rows sum to one of these over some columns, none of them negative.

    What is wrong with the rows is told later, by who reads all of them.
    """
    names = [column for column in columns if column]
    if block is None or not names:
        return False
    numbers = read_forecasts(block, names, replace(reading, problems=CollectedProblems()))
    sums = np.sum(numbers, axis=0, dtype=np.float64)
    possible = np.min(numbers, axis=0) >= 0
    for total in totals:
        is_near = np.abs(sums / total - 1) < ROUGHLY
        if (possible & is_near).mean() > 0.5:
            return True
    return False


def with_known_classes(models: Sequence[Predictions], priced: Collection[str] | None = None) -> list[Predictions]:
    """The models with their classes, as far as these are known, spelled alike.

    Classes are known from the first of: the layout (names or a prefix), the price list, the columns that all
    models share. Where the rows themselves speak against that, a model stays as it is, and whoever reads it says
    what is wrong.
    """
    models = _spelled_alike(models)
    shared = set.intersection(*(set(model.classes) for model in models)) if len(models) > 1 else set[str]()
    if not priced and len(shared) < 2:
        return models
    for number, model in enumerate(models):
        if not model.columns.certain:
            with model.problems.noting():
                models[number] = _with_named_classes(model, priced or shared, bool(priced))
    return models


def _with_named_classes(model: Predictions, names: Collection[str], are_priced: bool) -> Predictions:
    """The model with those columns as classes that are named so, if its first rows do not speak against that."""
    block = _first_rows(model)
    columns = model.columns
    first = texts_of(block.column(columns.label)) if block is not None and columns.label else ()
    labels = {*model.labels_apart, *first} - {None}
    # a label without a price is a class, too: whoever reads prices says that it has none
    meant = {*matched([*names, *labels], model.classes).values()}
    column_of = {name: column for name, column in columns.column_of.items() if name in meant}
    fits = _sum_to(block, column_of.values(), model.reading)
    if are_priced and not fits:
        fits = not _sum_to(block, columns.forecasts, model.reading)
    if not fits or len(column_of) < 2:
        return model
    known = replace(columns, certain=True, listed=True)
    return _with_classes(replace(model, columns=known), column_of)


def _spelled_alike(models: Sequence[Predictions]) -> list[Predictions]:
    """The models with their classes called as the truth calls them, or the first model that has them."""
    names = dict.fromkeys(chain.from_iterable(model.labels_apart for model in models))
    alike: list[Predictions] = []
    for model in models:
        meant = matched(model.classes, names)
        meant = {name: other for name, other in meant.items() if name != other}
        new_names = [meant.get(name, name) for name in model.classes]
        if meant and len(set(new_names)) == len(new_names):  # two columns for one class are two classes
            column_of = dict(zip(new_names, model.columns.forecasts, strict=True))
            spelled = (*model.columns.spelled, *meant.items())
            model = _with_classes(replace(model, columns=replace(model.columns, spelled=spelled)), column_of)
        names |= dict.fromkeys(model.classes)
        alike.append(model)
    return alike


def over_all_options(models: Sequence[Predictions]) -> list[Predictions]:
    """The models over the options of all: lists are spread over them, and others have 0 of what they lack.

    That is if it was asked for, or if the class stands for all that lists do not name.
    """
    sources = chain.from_iterable(model.sources for model in models)
    buckets = {source.other for source in sources} - {None}
    options = tuple(dict.fromkeys(chain.from_iterable(model.classes for model in models)))
    for model in models:
        with model.problems.noting():
            if (model.layout.missing_class_zero or model.truth is not None) and model.sources[0].other is None:
                options = with_labels(options, labels_of(model))
            classes_of_others = chain.from_iterable(other.classes for other in models if other is not model)
            _check_lists(model, set(classes_of_others) - buckets)
    over_all: list[Predictions] = []
    for model in models:
        may_lack_any = model.layout.missing_class_zero or model.is_list
        column_of = dict(model.columns.column_of)
        for name in options:
            if name not in column_of and (may_lack_any or name in buckets):
                column_of[name] = ""
        over_all.append(_with_classes(model, column_of))
    return over_all


def _with_classes(model: Predictions, column_of: Mapping[str, str]) -> Predictions:
    """The model with other classes, or other names of them: the column of each."""
    classes = tuple(column_of)
    forecasts = tuple(column_of.values())
    return replace(model, columns=replace(model.columns, classes=classes, forecasts=forecasts))


def _check_lists(model: Predictions, other_classes: Collection[str]) -> None:
    """What stands for all that lists do not name is a class of nobody, and lists name some of what is true."""
    lists = [source for source in model.sources if source.named is not None]
    if not lists:
        return
    other = lists[0].other
    named = tuple(chain.from_iterable(source.named or () for source in lists))
    labels = [str(label) for label in labels_of(model) if label is not None]
    clash = {} if other is None else matched([other], [*labels, *other_classes])
    if clash:
        whose = "is the truth of some cases" if matched([other or ""], labels) else "is a class of another model"
        fix = "name something that is no class, or leave it out: what lists leave is then spread evenly"
        raise FileError(f"is read with --other {clash[other or '']!r}, which {whose}", model.path, fix)
    if labels and numbers_of(labels, named).max() < 0:
        problem = f"lists {quoted(named)}, none of which is ever true ({quoted(labels)})"
        raise FileError(problem, model.path, "write the classes' names in the same way")


def settled(model: Predictions) -> Predictions:
    """The model, once labels have settled what names of columns leave open, and rows what is a percentage."""
    columns = model.columns
    if not columns.certain:
        model = _by_labels(model)
    elif not (columns.votes or model.layout.unlabelled or columns.listed or model.truth):
        _check_numbers_start_at_zero(model)
    return scaled(model)


def scaled(model: Predictions) -> Predictions:
    """The model, which knows whether its forecasts are percentages: most rows sum to 100, the others are wrong."""
    percent = not model.is_list and _sum_to(_first_rows(model), model.columns.forecasts, model.reading, [100])
    if percent and model.logits:
        problem = "is read as logits, but holds numbers from 0 to 100 that sum to 100 in each row"
        raise FileError(problem, model.path, "are these percentages? Then leave --logits out", argument="logits")
    return replace(model, percent=percent)


def _by_labels(model: Predictions) -> Predictions:
    """The model with the columns as classes that occur as labels, also those that hold text in some place."""
    columns = model.columns
    kinds = model.sources[0].kinds
    labels = _known_labels(model)
    numbers = numbers_of(labels, model.classes).tolist()
    unknown = [label for label, number in zip(labels, numbers, strict=True) if number < 0 and label is not None]
    class_of = {column: name for name, column in columns.column_of.items()}
    for label in unknown:
        is_other_column = label in kinds and label not in columns.names
        if is_other_column and kinds[label] != "nested":
            class_of[label] = label
    unseen = [name for number, name in enumerate(model.classes) if number not in numbers]
    all_are_classes = not unknown and None not in labels  # else whoever reads the rows says what is wrong
    if unseen and all_are_classes and len(class_of) > 1:
        raise _never_true(model, unseen)
    check_several(class_of, model.sources[0], " of numbers")
    return _with_classes(model, {class_of[column]: column for column in kinds if column in class_of})


def _never_true(model: Predictions, columns: Sequence[str]) -> FileError:
    """The error for columns of numbers that may be no classes."""
    where = repr(model.columns.label) if model.truth is None else model.truth.path
    if len(columns) == 1:
        place = f": column {quoted(columns)}"
        problem = f"holds numbers but never occurs as a label in {where}"
    else:
        place = f": columns {quoted(columns)}"
        problem = f"hold numbers but never occur as a label in {where}"
    return FileError(problem, model.path, FIX_OF_UNSEEN, place, argument="classes")


def _known_labels(model: Predictions) -> dict[str | None, None]:
    """The labels that say which columns are classes; a FileError where there is none."""
    labels = labels_of(model, until_all=True)
    if model.reading.unlabelled:
        labels.pop(None, None)
    if not labels and not model.count():
        raise model.no_rows()
    if not labels:
        fix = "list the classes (--classes), or say what the forecasts' names begin with (--proba-prefix)"
        problem = "has no labels that say which columns are classes"
        raise FileError(problem, model.path, fix, argument="classes")
    return labels


def labels_of(model: Predictions, until_all: bool = False) -> dict[str | None, None]:
    """The labels that occur, None for missing ones; perhaps read only until all classes are among them."""
    labels: dict[str | None, None] = dict.fromkeys(model.labels_apart)
    column = model.columns.label
    k = len(model.classes)
    for block in model.blocks([column]) if column else ():
        distinct, codes = coded(block.column(column))
        labels |= dict.fromkeys(distinct[code] for code in np.flatnonzero(np.bincount(codes)).tolist())
        if until_all and 1 < k <= len(labels) and len({*numbers_of(labels, model.classes)} - {-1}) == k:
            break
    return labels


def _check_numbers_start_at_zero(model: Predictions) -> None:
    """Labels 1, 2, ... of columns without names may count from 0 or from 1; if 0 or K occurs, it is clear."""
    k = len(model.classes)
    if all(source.names_classes for source in model.sources) and any_number(model.classes):
        return
    labels = labels_of(model, until_all=True)
    if model.reading.unlabelled:
        labels.pop(None, None)
    numbers = numbers_of(labels, model.classes)
    by_number = numbers_of(labels, tuple(map(str, range(k))))
    if numbers.min(initial=k) < 1 or 1 not in numbers or by_number.min() < 0:
        return
    problem = f"holds numbers from 1 to {numbers.max()} for {k} classes, counted from 0 or from 1"
    fix = "write the classes' names as labels, or list the classes (--classes) as they are counted"
    column = model.columns.label
    raise FileError(problem, model.path, fix, f": column {column!r}", argument="classes", column=column)
