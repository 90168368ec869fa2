"""Which column of a file is what: said, or found by name; and which columns of numbers are classes.

Where no layout says which are classes, those are that are priced, that all models share, or that occur as labels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.files.candidates import PREFIX, ListedRows
from pandora_regret.files.columns import any_number, coded, is_missing, numbers_of, texts_of
from pandora_regret.files.layout import Layout
from pandora_regret.files.roles import COSTS, ID, LABEL, MODEL, ROLES, SINGLE, VOTES, Role
from pandora_regret.files.source import RAISED, Collected, Fields, FileError, Names, Problems, Source
from pandora_regret.inputs import InputError
from pandora_regret.inputs.names import did_you_mean, matched, quoted
from pandora_regret.text import listed

if TYPE_CHECKING:
    from pandora_regret.files.predictions import Predictions

SAMPLE_ROWS, SAMPLE_VALUES = 1 << 12, 1 << 16
ROUGHLY = 1e-2  # how far off 1 a sum may be, and still say which columns are meant


@dataclass(frozen=True)
class Columns:
    """The columns that are read, by name."""

    label: str  # empty where there are votes, or where there need be none
    classes: Names  # the classes' names
    forecasts: Names  # the column of each class; empty where there is none, and the class has probability 0
    votes: Names = ()  # the column of each class's votes
    costs: Names = ()  # the column of each class's cost
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    by: Names = ()  # that results are broken down by
    spelled: tuple[tuple[str, str], ...] = ()  # names of columns, and what they were taken for
    certain: bool = True  # whether the forecasts' columns were said, not found
    listed: bool = False  # whether the classes were, so that it is clear what numbers among labels count
    unlabelled: bool = False  # whether labels may be missing

    def of(self, role: Role) -> Names:
        """The columns that have a role: none, one, several, or one per class."""
        names = getattr(self, role.name)
        return (names,) if isinstance(names, str) and names else tuple(names or ())

    @property
    def column_of(self) -> dict[str, str]:
        """The column of each class's forecasts."""
        return dict(zip(self.classes, self.forecasts, strict=True))

    @property
    def numbers(self) -> frozenset[str]:
        """The columns that must hold numbers."""
        return frozenset(filter(None, (*self.forecasts, *self.votes, *self.costs, self.weight)))

    @property
    def wanted(self) -> list[str]:
        """All columns that are read, each once."""
        names = (*(name for role in ROLES for name in self.of(role)), *self.forecasts)
        return list(dict.fromkeys(filter(None, names)))


def find_columns(layout: Layout, source: Source) -> Columns:
    """The columns of a file in a layout: only ids and forecasts, where the truth has a file of its own."""
    layout, path = source.in_layout(layout), source.path
    if apart := layout.truth is not None:
        layout = replace(layout, label=None, weight=None, group=None, by=(), votes_prefix=None, cost_prefix=None)
    roles = (ID, MODEL) if apart else SINGLE
    single = {
        role.name: name for role in roles if (name := find_column(role, layout, source, apart and role is ID))
    }
    if layout.votes_prefix is not None:
        single.pop(LABEL.name, None)
        if layout.label is not None:
            problem = f"is read with votes ({layout.votes_prefix!r}) and with the label {layout.label!r}"
            raise FileError(problem, path, "say one of them (--votes-prefix, --label)", argument=LABEL.option)
    elif not apart:
        find_column(LABEL, layout, source, needed=not layout.unlabelled)
    role_of: dict[str, str] = {}
    for asked, name in single.items():
        if (other := role_of.setdefault(name, asked)) != asked:
            problem = f"is asked for both as {other} and as {asked}"
            raise FileError(problem, path, "it can be one", f": column {name!r}", argument=asked)
    by = matched(layout.by, source.kinds)
    column_of = _forecasts(layout, source, {*role_of, *by.values()})
    about: Fields = {LABEL.name: "", **single, "by": tuple(by.values()), "unlabelled": layout.unlabelled}
    about |= {role.name: _of_each_class(role, layout, column_of, source) for role in (VOTES, COSTS)}
    said = (layout.proba_prefix, layout.classes, layout.columns, layout.votes_prefix)
    about |= {"certain": any(each is not None for each in said), "listed": layout.classes is not None}
    meant = {
        name: column for column, name in matched((*layout.by, *_written(layout).values()), source.kinds).items()
    }
    meant |= {single[role.name]: getattr(layout, role.name) or role.name for role in roles if role.name in single}
    usual = {name for role in roles for name in role.usual}
    about["spelled"] = tuple((at, name) for at, name in meant.items() if at != name and at not in usual)
    columns = Columns(classes=tuple(column_of), forecasts=tuple(column_of.values()), **about)
    if nested := next((name for name in columns.wanted if source.kinds.get(name) == "nested"), None):
        fix = "write one number or text per row"
        raise FileError("holds lists or structures", path, fix, f": column {nested!r}", column=nested)
    return columns


def _of_each_class(role: Role, layout: Layout, classes: Iterable[str], source: Source) -> Names:
    """The columns of a role that has one for each class."""
    prefix: str | None = getattr(layout, role.option)
    names = () if prefix is None else tuple(f"{prefix}{name}" for name in classes)
    columns = matched(names, source.kinds)
    if missing := [name for name in names if name not in columns]:
        problem = f"has no columns of {role.title} {quoted(missing)}"
        raise FileError(problem, source.path, f"write one for each class, {prefix}<class>", argument=role.option)
    return tuple(columns.values())


def find_column(role: Role, layout: Layout, source: Source, needed: bool = False) -> str | None:
    """The column that was asked for, which must be there, or one of a usual name that is no class's."""
    asked: str | None = getattr(layout, role.option)
    if asked is not None and not (named := matched([asked], source.kinds)):
        problem, fix = f"has no column {asked!r} (asked for as {role.name})", did_you_mean(asked, source.kinds)
        raise FileError(problem, source.path, fix, argument=role.option)
    if asked is not None:
        return named[asked]
    usual = matched(role.usual, source.kinds.keys() - set(_written(layout).values()))
    if not usual and needed:
        names = " or ".join(filter(None, (", ".join(role.usual[:-1]), role.usual[-1])))
        problem = f"has no {role.name} column ({names}) among {quoted(source.kinds)}"
        values = "true classes" if role is LABEL else role.title
        fix = f"say which one holds the {values} ({role.option}, --{role.option})"
        raise FileError(problem, source.path, fix, argument=role.option)
    return next(iter(usual.values()), None)


def _written(layout: Layout) -> dict[str, str]:
    """The column of each class that a layout lists, as it is called there."""
    said, prefix = layout.columns or {}, layout.proba_prefix or ""
    return {name: said.get(name, f"{prefix}{name}") for name in layout.classes or said}


def _forecasts(layout: Layout, source: Source, taken: set[str]) -> dict[str, str]:
    """The column of each class, in file order."""
    prefix = layout.proba_prefix or ""
    if layout.classes is not None or layout.columns:
        return _listed(layout, source)
    if prefix:
        names = [name for name in source.kinds if name.startswith(prefix) and name not in (*taken, prefix)]
        _check_several(names, source, f" whose names begin with {prefix!r}")
        return {name.removeprefix(prefix): name for name in names}
    if layout.votes_prefix is not None or layout.truth is not None:
        taken = taken.union(LABEL.usual)  # a majority's label, or a vendor's own, beside the truth
    others = tuple(filter(None, (layout.cost_prefix, layout.votes_prefix)))
    numbers = [name for name, kind in source.kinds.items() if kind in ("number", "percent") and name not in taken]
    return {name: name for name in numbers if not name.startswith(others)}


def _listed(layout: Layout, source: Source) -> dict[str, str]:
    """The columns of the classes that were listed, in file order."""
    if layout.classes is not None and len(set(layout.classes)) < len(layout.classes):
        twice = max(layout.classes, key=layout.classes.count)
        raise InputError(f"contain {twice!r} twice", argument="classes", fix="name each class once")
    written = _written(layout)
    columns = matched(written.values(), source.kinds)
    column_of = {name: columns[column] for name, column in written.items() if column in columns}
    missing = {name: column for name, column in written.items() if column not in columns}
    if missing and not (layout.missing_class_zero and column_of):
        words = listed([f"{column!r} for the class {name!r}" for name, column in missing.items()])
        fix = f"it has {quoted(source.kinds)}; --missing-class-zero takes the class as probability 0"
        raise FileError(f"has no column {words}", source.path, fix, argument="classes")
    if len(set(column_of.values())) < len(column_of):
        twice = max(column_of.values(), key=list(column_of.values()).count)
        raise InputError(f"contain {twice!r} twice", argument="classes", fix="name each class once")
    _check_several(written, source)
    places = list(source.kinds)
    in_order = sorted(column_of.items(), key=lambda pair: places.index(pair[1]))
    return dict(in_order) | dict.fromkeys(missing, "")


def _check_several(
    names: Collection[Any], source: Source, condition: str = "", problems: Problems = RAISED
) -> None:
    """There are forecasts of two classes at least."""
    if len(names) < 2:
        problem = (
            f"has {len(names)} forecast column{'s' * (len(names) != 1)}{condition} among {quoted(source.kinds)}"
        )
        fix = "write one column per class, two at least, or say what their names begin with (--proba-prefix)"
        problems.in_file("columns", FileError(problem, source.path, fix, argument="proba_prefix"))


class FirstRows:
    """What the first rows of a model tell of its classes."""

    def __init__(self, model: Predictions, columns: Mapping[str, str] | None = None) -> None:
        label, column_of = model.columns.label, model.columns.column_of if columns is None else columns
        self.labels, self.numbers, self._logits = set(model.labels_apart), Fields(), model.logits
        silent = replace(model, problems=Collected())
        some_rows = max(64, min(SAMPLE_ROWS, SAMPLE_VALUES // max(1, len(column_of))))
        for rows in silent.walk([*filter(None, [label]), *column_of.values()], some_rows):
            self.labels |= set(texts_of(rows.records.column(label))) if label else set()
            self.numbers = dict(zip(column_of, rows.forecasts(list(column_of.values())), strict=True))
            break

    def _share(self, names: Collection[str], total: float) -> float:
        """Of rows that sum to this over some columns, none of them negative."""
        names = set(names)
        columns = [numbers for name, numbers in self.numbers.items() if name in names]
        if not columns or not len(columns[0]):
            return 0.0
        fits = np.abs(np.sum(columns, axis=0, dtype=np.float64) - total) < total * ROUGHLY
        return float((fits & (np.min(columns, axis=0) >= 0)).mean())

    def share_summing_to_one(self, names: Collection[str]) -> float:
        """Of rows of probabilities or percentages, over some columns; logits say nothing."""
        return 0.0 if self._logits else max(self._share(names, 1.0), self._share(names, 100.0))

    def are_percentages(self) -> bool:
        """Whether most rows sum to 100; the others are wrong."""
        return self._share(self.numbers, 100.0) > 0.5

    def first_fitting(self, choices: Iterable[Collection[str]]) -> Names:
        """The first two columns or more that rows do not speak against: by a label, or a sum, of one left out."""
        for classes in choices:
            kept = tuple(name for name in self.numbers if name in classes)
            left_out = self.numbers.keys() - set(kept)
            less = self.share_summing_to_one(kept) < self.share_summing_to_one(self.numbers)
            if len(kept) > 1 and not (left_out and (matched(filter(None, self.labels), left_out) or less)):
                return kept
        return ()


def with_known_classes(models: Sequence[Predictions], priced: Collection[str] | None = None) -> list[Predictions]:
    """The models with their classes, as far as these are known, spelled alike.

    Classes are known from the first of: the layout (names or a prefix), the price list, the columns that all
    models share. Where the rows themselves speak against that, a model stays as it is, and whoever reads it says
    what is wrong.
    """
    models = _spelled_alike(models)
    shared = set.intersection(*(set(model.classes) for model in models)) if len(models) > 1 else set[str]()
    uncertain = [model for model in models if not model.columns.certain] if priced or len(shared) > 1 else []
    first = {id(model): FirstRows(model) for model in uncertain}
    confirmed = len(uncertain) < len(models) or any(
        rows.share_summing_to_one(shared) > 0.5 for rows in first.values()
    )
    narrowed: list[Predictions] = []
    for model in models:
        if (rows := first.get(id(model))) is not None:
            choices: list[Collection[str]] = [shared] if confirmed else []
            if priced:  # a label without a price is a class, too: whoever reads prices says that it has none
                of_list = set(matched(priced, model.classes).values())
                of_labels = set(matched(filter(None, rows.labels), model.classes).values())
                choices = [of_list, *choices, of_list | of_labels]
            if names := rows.first_fitting(choices):
                column_of = model.columns.column_of
                kept = {name: column_of[name] for name in names}
                model = _with_columns(model, kept, certain=True, listed=True)
        narrowed.append(model)
    return narrowed


def _spelled_alike(models: Sequence[Predictions]) -> list[Predictions]:
    """The models with their classes called as the truth calls them, or the first model that has them."""
    names, alike = dict.fromkeys(name for model in models for name in model.labels_apart), list[Any]()
    for model in models:
        meant = matched(model.classes, names)
        if len(set(meant.values())) < len(meant):  # two columns for one class are two classes
            meant = {name: other for name, other in meant.items() if name == other}
        otherwise = {name: other for name, other in meant.items() if name != other}
        if otherwise:
            column_of = {meant.get(name, name): column for name, column in model.columns.column_of.items()}
            spelled = (*model.columns.spelled, *otherwise.items())
            model = _with_columns(model, column_of, spelled=spelled)
            options, lists = (
                tuple(column_of),
                (source for source in model.sources if isinstance(source, ListedRows)),
            )
            if sources := tuple(source.over(options, meant) for source in lists):
                model = _listing(model, sources, options)
        names |= dict.fromkeys(model.classes)
        alike.append(model)
    return alike


def over_all_options(models: Sequence[Predictions]) -> list[Predictions]:
    """The models over the options of all: lists are spread over them, and others have 0 of what they lack.

    That is if it was asked for, or if the class stands for all that lists do not name.
    """
    buckets = {source.other for model in models for source in model.sources} - {None}
    options = dict.fromkeys(name for model in models for name in model.classes)
    for model in models:
        bucketed = any(source.other is not None for source in model.sources)
        if (model.missing_class_zero or model.truth is not None) and not bucketed:
            options = dict.fromkeys(with_labels(tuple(options), labels_of(model)))
        _check_other(model, {name for other in models if other is not model for name in other.classes} - buckets)
    return [_over(model, tuple(options), buckets) for model in models]


def with_labels(classes: Names, labels: Iterable[Any]) -> Names:
    """Classes, and those labels that are none of them."""
    texts = [str(label) for label in labels if label is not None]
    numbers = numbers_of(texts, classes).tolist()
    return (*classes, *(label for label, number in zip(texts, numbers, strict=True) if number < 0))


def _over(model: Predictions, options: Names, buckets: Collection[str | None]) -> Predictions:
    if sources := tuple(source.over(options) for source in model.sources if isinstance(source, ListedRows)):
        return _listing(model, sources, options)
    classes = set(model.classes)
    absent = [name for name in options if name not in classes]
    taken = [name for name in absent if model.missing_class_zero or name in buckets]
    return _with_columns(model, model.columns.column_of | dict.fromkeys(taken, "")) if taken else model


def _listing(model: Predictions, sources: tuple[Source, ...], options: Names) -> Predictions:
    return replace(_with_columns(model, {name: f"{PREFIX}{name}" for name in options}), sources=sources)


def _check_other(model: Predictions, others: Collection[str]) -> None:
    """What stands for all that lists do not name is a class of nobody, and lists name some of what is true."""
    for source in model.sources:
        if not isinstance(source, ListedRows):
            continue
        labels = [str(label) for label in labels_of(model) if label is not None]
        if source.other is not None and (clash := matched([source.other], [*labels, *others])):
            whose = (
                "is the truth of some cases" if matched([source.other], labels) else "is a class of another model"
            )
            fix = "name something that is no class, or leave it out: what lists leave is then spread evenly"
            raise FileError(f"is read with --other {clash[source.other]!r}, which {whose}", model.path, fix)
        named = tuple(dict.fromkeys(name for row in source.rows for name in row))
        if labels and numbers_of(labels, named).max() < 0:
            problem = f"lists {quoted(named)}, none of which is ever true ({quoted(labels)})"
            raise FileError(problem, model.path, "write the classes' names in the same way")


def _with_columns(model: Predictions, column_of: Mapping[str, str], **about: Any) -> Predictions:
    classes, forecasts = tuple(column_of), tuple(column_of.values())
    return replace(model, columns=replace(model.columns, classes=classes, forecasts=forecasts, **about))


def settled(model: Predictions) -> Predictions:
    """The model, once labels have settled what names of columns leave open, and rows what is a percentage."""
    columns = model.columns
    if not (columns.votes or columns.label or columns.certain or model.truth is not None):
        problem = "has no labels that say which columns are classes"
        fix = "list the classes (--classes), or say what the forecasts' names begin with (--proba-prefix)"
        raise FileError(problem, model.path, fix, argument="classes")
    if not columns.certain:
        model = _by_labels(model)
    elif not (columns.votes or columns.unlabelled or columns.listed or model.truth or _names_numbers(model)):
        _check_numbers_start_at_zero(model)
    return scaled(model)


def scaled(model: Predictions) -> Predictions:
    """The model, which knows whether its forecasts are percentages."""
    if isinstance(model.sources[0], ListedRows) or not FirstRows(model).are_percentages():
        return model
    if model.logits:
        problem = "is read as logits, but holds numbers from 0 to 100 that sum to 100 in each row"
        raise FileError(problem, model.path, "are these percentages? Then leave --logits out", argument="logits")
    return replace(model, percent=True)


def _names_numbers(model: Predictions) -> bool:
    return any_number(model.classes) and all(source.names_classes for source in model.sources)


def _by_labels(model: Predictions) -> Predictions:
    """Columns are classes if they occur as labels, also those that hold text in some place."""
    columns, source, labels = model.columns, model.sources[0], list(labels_of(model, until_all=True))
    labels = [label for label in labels if label is not None] if columns.unlabelled else labels
    numbers = zip(labels, numbers_of(labels, model.classes).tolist(), strict=True)
    seen = {label: number for label, number in numbers if number >= 0}
    texts = {str(label) for label in labels if label is not None and label not in seen} - set(columns.wanted)
    texts = {text for text in texts if source.kinds.get(text, "nested") != "nested"}
    numbered = set(seen.values())
    unseen = [name for number, name in enumerate(model.classes) if number not in numbered]
    class_of = {column: name for name, column in columns.column_of.items()} | {text: text for text in texts}
    every = {class_of[column]: column for column in source.kinds if column in class_of}
    if not labels and not model.count():
        model.problems.in_file("rows", model.no_rows())
    elif unseen and len(seen) == len(labels) and len(every) > 1:  # else whoever reads the rows says what is wrong
        where = repr(columns.label) if model.truth is None else model.truth.path
        problem = f"hold numbers but never occur as a label in {where}"
        fix = (
            "if they are classes, list all classes (--classes); if not, say what the forecasts' names begin with "
            "(--proba-prefix), or which column is what (--id, --weight, --group, --cost-prefix)"
        )
        error = FileError(problem, model.path, fix, f": columns {quoted(unseen)}", argument="classes")
        model.problems.in_file("columns", error)
    else:
        _check_several(every, source, " of numbers", model.problems)
    rare = set(unseen)
    likelier = {name: column for name, column in every.items() if name not in rare}
    if unseen and len(likelier) > 1:  # go on with the columns by which most rows sum to 1
        rows = FirstRows(model, every)
        every = max(every, likelier, key=lambda columns: rows.share_summing_to_one(columns))
    return _with_columns(model, every)


def labels_of(model: Predictions, until_all: bool = False) -> dict[Any, None]:
    """The labels that occur, None for missing ones; perhaps read only until all classes are among them."""
    labels: dict[Any, None] = dict.fromkeys(model.labels_apart)
    column = model.columns.label
    for rows in model.walk([column]) if column else ():
        distinct, codes = coded(rows.records.column(column))
        occurring = (distinct[code] for code in np.flatnonzero(np.bincount(codes)).tolist())
        labels |= dict.fromkeys(None if is_missing(label) else label for label in occurring)
        if until_all and len({*numbers_of(labels, model.classes)} - {-1}) == len(model.classes) > 1:
            break
    return labels


def _check_numbers_start_at_zero(model: Predictions) -> None:
    """Labels 1, 2, ... of columns without names may count from 0 or from 1; if 0 or K occurs, it is clear."""
    labels, k, label = labels_of(model, until_all=True), len(model.classes), model.columns.label
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
