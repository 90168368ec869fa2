"""Which column of a file is what: said, or found by name; and which columns of numbers are classes.

Where no layout says which are classes, those are that are priced, that all models share, or that occur as labels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.files.candidates import PREFIX, ListedRows
from pandora_regret.files.columns import any_number, coded, is_missing, numbers_of, texts_of
from pandora_regret.files.layout import Layout, some
from pandora_regret.files.roles import COSTS, LABEL, ROLES, SINGLE, VOTES, Role
from pandora_regret.files.source import RAISED, Collected, Fields, FileError, Names, Problems, Source
from pandora_regret.inputs import InputError
from pandora_regret.text import listed

if TYPE_CHECKING:
    from pandora_regret.files.predictions import Predictions

SAMPLE_ROWS = 1 << 12
ROUGHLY = 1e-2  # how far off 1 a sum may be, and still say which columns are meant


@dataclass(frozen=True)
class Columns:
    """The columns that are read, by name."""

    label: str  # empty where there are votes, or where there need be none
    classes: Names  # the classes' names
    forecasts: Names  # the column of each class
    votes: Names = ()  # the column of each class's votes
    costs: Names = ()  # the column of each class's cost
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    by: Names = ()  # that results are broken down by
    certain: bool = True  # whether the forecasts' columns were said, not found
    listed: bool = False  # whether the classes were, so that it is clear what numbers among labels count
    unlabelled: bool = False  # whether labels may be missing

    def of(self, role: Role) -> Names:
        """The columns that have a role: none, one, several, or one per class."""
        names = getattr(self, role.name)
        return (names,) if isinstance(names, str) and names else tuple(names or ())

    @property
    def numbers(self) -> frozenset[str]:
        """The columns that must hold numbers."""
        return frozenset((*self.forecasts, *self.votes, *self.costs, *filter(None, [self.weight])))

    @property
    def wanted(self) -> list[str]:
        """All columns that are read, each once."""
        return list(dict.fromkeys([*(name for role in ROLES for name in self.of(role)), *self.forecasts]))


def find_columns(layout: Layout, source: Source) -> Columns:
    """The columns of a file in a layout."""
    layout, path = source.in_layout(layout), source.path
    single = {role.name: name for role in SINGLE if (name := find_column(role, layout, source))}
    if layout.votes_prefix is not None:
        single.pop(LABEL.name, None)
        if layout.label is not None:
            problem = f"is read with votes ({layout.votes_prefix!r}) and with the label {layout.label!r}"
            raise FileError(problem, path, "say one of them (--votes-prefix, --label)", argument=LABEL.option)
    else:
        find_column(LABEL, layout, source, needed=not layout.unlabelled)
    role_of: dict[str, str] = {}
    for asked, name in single.items():
        if (other := role_of.setdefault(name, asked)) != asked:
            problem = f"is asked for both as {other} and as {asked}"
            raise FileError(problem, path, "it can be one", f": column {name!r}", argument=asked)
    by = tuple(name for name in dict.fromkeys(layout.by) if name in source.kinds)
    column_of = _forecasts(layout, source, {*role_of, *by})
    about: Fields = {LABEL.name: "", **single, "by": by, "unlabelled": layout.unlabelled}
    about |= {role.name: _of_each_class(role, layout, column_of, source) for role in (VOTES, COSTS)}
    said = (layout.proba_prefix, layout.classes, layout.columns, layout.votes_prefix)
    about |= {"certain": any(each is not None for each in said), "listed": layout.classes is not None}
    columns = Columns(classes=tuple(column_of), forecasts=tuple(column_of.values()), **about)
    if nested := next((name for name in columns.wanted if source.kinds.get(name) == "nested"), None):
        fix = "write one number or text per row"
        raise FileError("holds lists or structures", path, fix, f": column {nested!r}", column=nested)
    return columns


def _of_each_class(role: Role, layout: Layout, classes: Iterable[str], source: Source) -> Names:
    """The columns of a role that has one for each class."""
    prefix: str | None = getattr(layout, role.option)
    names = () if prefix is None else tuple(f"{prefix}{name}" for name in classes)
    if missing := [name for name in names if name not in source.kinds]:
        problem = f"has no columns of {role.title} {some(missing)}"
        raise FileError(problem, source.path, f"write one for each class, {prefix}<class>", argument=role.option)
    return names


def find_column(role: Role, layout: Layout, source: Source, needed: bool = False) -> str | None:
    """The column that was asked for, which must be there, or one of a usual name that is no class's."""
    name: str | None = getattr(layout, role.option)
    if name is not None and name not in source.kinds:
        problem = f"has no column {name!r} (asked for as {role.name}) among {some(source.kinds)}"
        raise FileError(problem, source.path, argument=role.option)
    classes = {f"{layout.proba_prefix or ''}{each}" for each in layout.classes or ()}
    classes.update((layout.columns or {}).values())
    name = name or next((usual for usual in role.usual if usual in source.kinds and usual not in classes), None)
    if name is None and needed:
        usual = " or ".join(filter(None, (", ".join(role.usual[:-1]), role.usual[-1])))
        problem = f"has no {role.name} column ({usual}) among {some(source.kinds)}"
        values = "true classes" if role is LABEL else role.title
        fix = f"say which one holds the {values} ({role.option}, --{role.option})"
        raise FileError(problem, source.path, fix, argument=role.option)
    return name


def _forecasts(layout: Layout, source: Source, taken: set[str]) -> dict[str, str]:
    """The column of each class, in file order."""
    prefix, said = layout.proba_prefix or "", layout.columns or {}
    if layout.classes is not None or said:
        classes = layout.classes if layout.classes is not None else tuple(said)
        return _listed([(name, said.get(name, f"{prefix}{name}")) for name in classes], source)
    if prefix:
        names = [name for name in source.kinds if name.startswith(prefix) and name not in (*taken, prefix)]
        _check_several(names, source, f" whose names begin with {prefix!r}")
        return {name.removeprefix(prefix): name for name in names}
    if layout.votes_prefix is not None:
        taken = taken.union(LABEL.usual)  # a majority's label beside the votes
    others = tuple(filter(None, (layout.cost_prefix, layout.votes_prefix)))
    numbers = [name for name, kind in source.kinds.items() if kind == "number" and name not in taken]
    return {name: name for name in numbers if not name.startswith(others)}


def _listed(pairs: Sequence[tuple[str, str]], source: Source) -> dict[str, str]:
    """The columns of the classes that were listed, in file order."""
    missing = {name: column for name, column in pairs if column not in source.kinds}
    if missing:
        words = listed([f"{column!r} for the class {name!r}" for name, column in missing.items()], 8)
        raise FileError(f"has no column {words}; it has {some(source.kinds)}", source.path, argument="classes")
    for names in zip(*pairs, strict=True):
        if len(set(names)) < len(names):
            twice = max(names, key=names.count)
            raise InputError(f"contain {twice!r} twice", argument="classes", fix="name each class once")
    _check_several(pairs, source)
    class_of = {column: name for name, column in pairs}
    return {class_of[column]: column for column in source.kinds if column in class_of}


def _check_several(
    names: Collection[Any], source: Source, condition: str = "", problems: Problems = RAISED
) -> None:
    """There are forecasts of two classes at least."""
    if len(names) < 2:
        problem = (
            f"has {len(names)} forecast column{'s' * (len(names) != 1)}{condition} among {some(source.kinds)}"
        )
        fix = "write one column per class, two at least, or say what their names begin with (--proba-prefix)"
        problems.in_file("columns", FileError(problem, source.path, fix, argument="proba_prefix"))


class FirstRows:
    """What the first rows of a model tell of its classes."""

    def __init__(self, model: Predictions, forecasts: Sequence[str]) -> None:
        label = model.columns.label
        self.labels, self.numbers, self._logits = set[str](), Fields(), model.logits
        silent = replace(model, problems=Collected())
        for rows in silent.walk([*filter(None, [label]), *forecasts], SAMPLE_ROWS):
            self.labels = set(texts_of(rows.records.column(label))) if label else set()
            self.numbers = dict(zip(forecasts, rows.forecasts(forecasts), strict=True))
            break

    def share_summing_to_one(self, names: Collection[str]) -> float:
        """Of rows of probabilities, over some columns; logits say nothing."""
        columns = [numbers for name, numbers in self.numbers.items() if name in names]
        if self._logits or not columns:
            return 0.0
        return float((np.abs(np.sum(columns, axis=0, dtype=np.float64) - 1) < ROUGHLY).mean())

    def first_fitting(self, choices: Iterable[Collection[str]]) -> Names:
        """The first two columns or more that rows do not speak against: by a label, or a sum, of one left out."""
        for classes in choices:
            kept = tuple(name for name in self.numbers if name in classes)
            left_out = self.numbers.keys() - set(kept)
            less = self.share_summing_to_one(kept) < self.share_summing_to_one(self.numbers)
            if len(kept) > 1 and not (left_out and (self.labels & left_out or less)):
                return kept
        return ()


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
    narrowed: list[Predictions] = []
    for model in models:
        if (rows := first.get(id(model))) is not None:
            choices: list[Collection[str]] = [shared] if confirmed else []
            if priced:  # a label without a price is a class, too: whoever reads prices says that it has none
                choices = [priced, *choices, rows.labels.union(priced)]
            if names := rows.first_fitting(choices):
                model = _with_columns(model, names, names, certain=True, listed=True)
        narrowed.append(model)
    options = tuple(dict.fromkeys(name for model in narrowed for name in model.classes))
    for index, model in enumerate(narrowed):
        if sources := tuple(source.over(options) for source in model.sources if isinstance(source, ListedRows)):
            model = _with_columns(model, options, tuple(f"{PREFIX}{name}" for name in options))
            narrowed[index] = replace(model, sources=sources)
    return narrowed


def _with_columns(model: Predictions, classes: Names, forecasts: Names, **about: Any) -> Predictions:
    return replace(model, columns=replace(model.columns, classes=classes, forecasts=forecasts, **about))


def settled(model: Predictions) -> Predictions:
    """The model, once labels have settled what names of columns leave open; votes settle it."""
    columns = model.columns
    if columns.votes:
        return model
    if not columns.label and not columns.certain:
        problem = "has no labels that say which columns are classes"
        fix = "list the classes (--classes), or say what the forecasts' names begin with (--proba-prefix)"
        raise FileError(problem, model.path, fix, argument="classes")
    if not columns.certain:
        return _by_labels(model)
    named = any_number(model.classes) and all(source.names_classes for source in model.sources)
    if not (columns.unlabelled or columns.listed or named):
        _check_numbers_start_at_zero(model)
    return model


def _by_labels(model: Predictions) -> Predictions:
    """Columns are classes if they occur as labels, also those that hold text in some place."""
    columns, source, labels = model.columns, model.sources[0], list(_labels_until_all(model))
    labels = [label for label in labels if label is not None] if columns.unlabelled else labels
    numbers = zip(labels, numbers_of(labels, model.classes).tolist(), strict=True)
    seen = {label: number for label, number in numbers if number >= 0}
    texts = {str(label) for label in labels if label is not None and label not in seen} - set(columns.wanted)
    texts = {text for text in texts if source.kinds.get(text, "nested") != "nested"}
    unseen = [name for number, name in enumerate(model.classes) if number not in seen.values()]
    every = tuple(name for name in source.kinds if name in texts or name in columns.forecasts)
    if not labels and not model.count():
        model.problems.in_file("rows", model.no_rows())
    elif unseen and len(seen) == len(labels) and len(every) > 1:  # else whoever reads the rows says what is wrong
        problem = f"hold numbers but never occur as a label in {columns.label!r}"
        fix = (
            "if they are classes, list all classes (--classes); if not, say what the forecasts' names begin with "
            "(--proba-prefix), or which column is what (--id, --weight, --group, --cost-prefix)"
        )
        error = FileError(problem, model.path, fix, f": columns {some(unseen)}", argument="classes")
        model.problems.in_file("columns", error)
    else:
        _check_several(every, source, " of numbers", model.problems)
    likelier = tuple(name for name in every if name not in unseen)
    if unseen and len(likelier) > 1:  # go on with the columns by which most rows sum to 1
        rows = FirstRows(_with_columns(model, every, every), every)
        every = max(every, likelier, key=rows.share_summing_to_one)
    return _with_columns(model, every, every)


def _labels_until_all(model: Predictions) -> set[Any]:
    """The labels that occur, None for missing ones, read until all classes are among them."""
    labels, column = set[Any](), model.columns.label
    for rows in model.walk([column]):
        distinct, codes = coded(rows.records.column(column))
        occurring = (distinct[code] for code in np.flatnonzero(np.bincount(codes)).tolist())
        labels.update(None if is_missing(label) else label for label in occurring)
        if len({*numbers_of(labels, model.classes)} - {-1}) == len(model.classes) > 1:
            break
    return labels


def _check_numbers_start_at_zero(model: Predictions) -> None:
    """Labels 1, 2, ... of columns without names may count from 0 or from 1; if 0 or K occurs, it is clear."""
    labels, k, label = _labels_until_all(model), len(model.classes), model.columns.label
    numbers, by_number = (numbers_of(labels, names) for names in (model.classes, tuple(map(str, range(k)))))
    if numbers.min(initial=k) < 1 or 1 not in numbers or by_number.min() < 0:
        return
    zero, one = (
        ",".join(map(str, names if k < 5 else [*names[:2], "...", names[-1]]))
        for names in (model.classes, range(1, k + 1))
    )
    named = model.sources[0].names_classes
    otherwise = "; if from 1, write the classes' names as labels" if named else f", {one} if from 1"
    problem = f"holds numbers from 1 to {numbers.max()} for {k} classes, counted from 0 or from 1"
    fix = f"list the classes (--classes): {zero} if from 0{otherwise}"
    raise FileError(problem, model.path, fix, f": column {label!r}", argument="classes", column=label)
