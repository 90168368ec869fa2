"""Which column of a file is what: said, or found by name; and which columns of numbers are classes.

Where no layout says which are classes, those are that are priced, that all models share, or that occur as labels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.core.inputs import Fields, InputError, Names, did_you_mean, matched, quoted
from pandora_regret.files.candidates import ListedRows
from pandora_regret.files.columns import Rows, any_number, coded, numbers_of, texts_of, with_labels
from pandora_regret.files.layout import Layout
from pandora_regret.files.roles import COSTS, ID, LABEL, MODEL, ROLES, SINGLE, VOTES, Role
from pandora_regret.files.source import Collected, FileError, Source
from pandora_regret.text import counted, listed

if TYPE_CHECKING:
    from pandora_regret.files.predictions import Predictions

SAMPLE_VALUES = 1 << 12
OF_FORECASTS = ("proba_prefix", "classes", "columns", "cost_prefix")  # what a layout says of files of predictions
OF_TRUTHS = ("label", "votes_prefix", "cost_prefix", "by")  # and of the truth's, where that has a file of its own
SETTLING = ("proba_prefix", "classes", "columns", "votes_prefix")  # what says which columns hold forecasts
DESCRIBE = "or describe each in a models.toml where files call these differently"
ROUGHLY = 1e-2  # how far off 1 a sum may be, and still say which columns are meant


@dataclass(frozen=True)
class Columns:
    """The columns that are read, by name."""

    classes: Names  # the classes' names
    forecasts: Names  # the column of each class; empty where there is none, and the class has probability 0
    label: str = ""  # empty where there are votes, or where there need be none
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


def find_columns(layout: Layout, source: Source, is_truth: bool = False) -> Columns:
    """The columns of a file in a layout.

    Where the truth has a file of its own, that has no forecasts, and the others have only ids and forecasts.
    """
    layout, roles, needed = _of_file(source.in_layout(layout), source, is_truth)
    named = layout.columns or {}
    prefix = layout.proba_prefix or ""
    written = {name: named.get(name, f"{prefix}{name}") for name in layout.classes or named}
    asked = {role: getattr(layout, role.option) for role in SINGLE if role in roles}
    names = {role: role.usual if name is None else (name,) for role, name in asked.items()}
    meant = matched([*(layout.by or ()), *written.values(), *chain(*names.values())], source.kinds)
    single = Fields()
    of_classes = set(written.values())
    for role, usual in names.items():
        present = (meant[name] for name in usual if name in meant)
        column = next((name for name in present if asked[role] or name not in of_classes), None)
        if column is not None:
            single[role.name] = column
        elif asked[role] is not None or role in needed:
            raise _no_column(role, asked[role], source)
    by = tuple(meant[name] for name in layout.by or () if name in meant)
    taken = {*single.values(), *by}
    column_of = _listed(layout, source, written, meant) if written else _unlisted(layout, source, taken, is_truth)
    columns = Columns(
        tuple(column_of),
        () if is_truth else tuple(column_of.values()),
        votes=_of_each_class(VOTES, layout, column_of, source),
        costs=_of_each_class(COSTS, layout, column_of, source),
        by=by,
        spelled=tuple((column, name) for name, column in meant.items() if column != name),
        certain=any(getattr(layout, setting) is not None for setting in SETTLING),
        listed=layout.classes is not None,
        **single,
    )
    if nested := next((name for name in columns.wanted if source.kinds.get(name) == "nested"), None):
        fix = "write one number or text per row"
        raise FileError("holds lists or structures", source.path, fix, f": column {nested!r}", column=nested)
    return columns


def _of_file(layout: Layout, source: Source, is_truth: bool) -> tuple[Layout, set[Role], set[Role]]:
    """What a layout says of a file; the roles that single columns of it may have, and those that it must have."""
    roles = set(SINGLE)
    needed = {LABEL}
    if layout.truth is not None:
        needed = {ID, LABEL}
        roles = roles - {MODEL} if is_truth else {ID, MODEL}
        nothing: Fields = dict.fromkeys(OF_FORECASTS if is_truth else OF_TRUTHS)
        layout = replace(layout, **nothing)
    if layout.votes_prefix is not None:
        roles -= {LABEL}
        if layout.label is not None:
            problem = f"is read with votes ({layout.votes_prefix!r}) and with the label {layout.label!r}"
            fix = "say one of them (--votes-prefix, --label)"
            raise FileError(problem, source.path, fix, argument=LABEL.option)
    if layout.unlabelled and not is_truth:
        needed -= {LABEL}
    return layout, roles, needed


def _of_each_class(role: Role, layout: Layout, classes: Iterable[str], source: Source) -> Names:
    """The columns of a role that has one for each class."""
    prefix: str | None = getattr(layout, role.option)
    names = () if prefix is None else tuple(f"{prefix}{name}" for name in classes)
    columns = matched(names, source.kinds)
    if missing := [name for name in names if name not in columns]:
        problem = f"has no columns of {role.title} {quoted(missing)}"
        raise FileError(problem, source.path, f"write one for each class, {prefix}<class>", argument=role.option)
    return tuple(columns.values())


def _no_column(role: Role, asked: str | None, source: Source) -> FileError:
    """The error for a column that was asked for, or that is needed."""
    if asked is None:
        problem = f"has no {role.name} column ({', '.join(role.usual)}) among {quoted(source.kinds)}"
        values = "true classes" if role is LABEL else role.title
        fix = f"say which one holds the {values} ({role.option}, --{role.option}), {DESCRIBE}"
    else:
        problem = f"has no column {asked!r} (asked for as {role.name})"
        fix = did_you_mean(asked, source.kinds)
    return FileError(problem, source.path, fix, argument=role.option)


def _unlisted(layout: Layout, source: Source, taken: set[str], is_truth: bool) -> dict[str, str]:
    """The column of each class, in file order; of a file of truths, those of votes."""
    if prefix := (layout.votes_prefix if is_truth else layout.proba_prefix) or "":
        names = [name for name in source.kinds if name.startswith(prefix) and name not in (*taken, prefix)]
        _check_several(names, source, f" whose names begin with {prefix!r}")
        return {name.removeprefix(prefix): name for name in names}
    if is_truth:
        return {}
    if layout.votes_prefix is not None or layout.truth is not None:
        taken = taken.union(LABEL.usual)  # a majority's label, or a vendor's own, beside the truth
    others = tuple(filter(None, (layout.cost_prefix, layout.votes_prefix)))
    numbers = [name for name, kind in source.kinds.items() if kind in ("number", "percent") and name not in taken]
    return {name: name for name in numbers if not name.startswith(others)}


def _listed(
    layout: Layout, source: Source, written: Mapping[str, str], meant: Mapping[str, str]
) -> dict[str, str]:
    """The columns of the classes that were listed, in file order: what those `written` are meant to be."""
    columns = [meant[written[name]] for name in layout.classes or written if written[name] in meant]
    missing = {name: column for name, column in written.items() if column not in meant}
    if missing and not (layout.missing_class_zero and columns):
        words = listed([f"{column!r} for the class {name!r}" for name, column in missing.items()])
        fix = f"it has {quoted(source.kinds)}; --missing-class-zero takes the class as probability 0"
        raise FileError(f"has no column {words}", source.path, fix, argument="classes")
    class_of = {meant[column]: name for name, column in written.items() if column in meant}
    if len(class_of) < len(columns):
        twice = max(columns, key=columns.count)
        raise InputError(f"contain {twice!r} twice", argument="classes", fix="name each class once")
    _check_several(written, source)
    return {class_of[column]: column for column in source.kinds if column in class_of} | dict.fromkeys(missing, "")


def _check_several(names: Collection[Any], source: Source, condition: str = "") -> None:
    """There are forecasts of two classes at least."""
    if len(names) < 2:
        problem = f"has {counted(len(names), 'forecast column')}{condition} among {quoted(source.kinds)}"
        fix = "write one column per class, two at least, or say what their names begin with (--proba-prefix)"
        raise FileError(problem, source.path, fix, argument="proba_prefix")


def _first_rows(model: Predictions) -> Rows | None:
    """What tells of the classes of a model, if it has rows; what is wrong with them is told later."""
    columns = model.columns
    some_rows = 1 + SAMPLE_VALUES // (1 + len(columns.forecasts))
    return next(replace(model, problems=Collected()).walk([columns.label, *columns.forecasts], some_rows), None)


def _sum_to(rows: Rows | None, columns: Iterable[str], totals: Sequence[int] = (1, 100)) -> bool:
    """Whether most rows sum to one of these over some columns, none of them negative."""
    names = list(filter(None, columns))
    if rows is None or not names:
        return False
    numbers = rows.forecasts(names)
    sums = np.sum(numbers, axis=0, dtype=np.float64)
    possible = np.min(numbers, axis=0) >= 0
    return any((possible & (np.abs(sums / total - 1) < ROUGHLY)).mean() > 0.5 for total in totals)


def with_known_classes(models: Sequence[Predictions], priced: Collection[str] | None = None) -> list[Predictions]:
    """The models with their classes, as far as these are known, spelled alike.

    Classes are known from the first of: the layout (names or a prefix), the price list, the columns that all
    models share. Where the rows themselves speak against that, a model stays as it is, and whoever reads it says
    what is wrong.
    """
    models = _spelled_alike(models)
    shared = set.intersection(*(set(model.classes) for model in models)) if len(models) > 1 else set[str]()
    for number, model in enumerate(models):
        if model.columns.certain or not (priced or len(shared) > 1):
            continue
        rows = _first_rows(model)
        columns = model.columns
        first = texts_of(rows.column(columns.label)) if rows and columns.label else ()
        labels = {*model.labels_apart, *first} - {None}
        # a label without a price is a class, too: whoever reads prices says that it has none
        meant = {*matched([*(priced or shared), *labels], model.classes).values()}
        column_of = {name: column for name, column in columns.column_of.items() if name in meant}
        fits = _sum_to(rows, column_of.values()) or (priced and not _sum_to(rows, columns.forecasts))
        if fits and len(column_of) > 1:
            models[number] = _with_classes(model, column_of, certain=True, listed=True)
    return models


def _spelled_alike(models: Sequence[Predictions]) -> list[Predictions]:
    """The models with their classes called as the truth calls them, or the first model that has them."""
    names = dict.fromkeys(name for model in models for name in model.labels_apart)
    alike: list[Predictions] = []
    for model in models:
        meant = matched(model.classes, names)
        meant = {name: other for name, other in meant.items() if name != other}
        new_names = [meant.get(name, name) for name in model.classes]
        if meant and len(set(new_names)) == len(new_names):  # two columns for one class are two classes
            column_of = dict(zip(new_names, model.columns.forecasts, strict=True))
            model = _with_classes(model, column_of, spelled=(*model.columns.spelled, *meant.items()))
        names |= dict.fromkeys(model.classes)
        alike.append(model)
    return alike


def over_all_options(models: Sequence[Predictions]) -> list[Predictions]:
    """The models over the options of all: lists are spread over them, and others have 0 of what they lack.

    That is if it was asked for, or if the class stands for all that lists do not name.
    """
    buckets = {source.other for model in models for source in model.sources} - {None}
    options = tuple(dict.fromkeys(name for model in models for name in model.classes))
    whole: list[Predictions] = []
    for model in models:
        if (model.layout.missing_class_zero or model.truth is not None) and model.sources[0].other is None:
            options = with_labels(options, labels_of(model))
        _check_lists(model, {name for other in models if other is not model for name in other.classes} - buckets)
    for model in models:
        every = model.layout.missing_class_zero or model.is_list
        column_of = model.columns.column_of
        absent = (name for name in options if name not in column_of and (every or name in buckets))
        whole.append(_with_classes(model, column_of | dict.fromkeys(absent, "")))
    return whole


def _with_classes(model: Predictions, column_of: Mapping[str, str], **changes: Any) -> Predictions:
    """The model with other classes, or other names of them, and further changes of its columns."""
    classes = tuple(column_of)
    forecasts = tuple(column_of.values())
    return replace(model, columns=replace(model.columns, classes=classes, forecasts=forecasts, **changes))


def _check_lists(model: Predictions, others: Collection[str]) -> None:
    """What stands for all that lists do not name is a class of nobody, and lists name some of what is true."""
    lists = [source for source in model.sources if isinstance(source, ListedRows)]
    if not lists:
        return
    other = lists[0].other
    named = tuple(name for source in lists for name in source.named)
    labels = [str(label) for label in labels_of(model) if label is not None]
    if other is not None and (clash := matched([other], [*labels, *others])):
        whose = "is the truth of some cases" if matched([other], labels) else "is a class of another model"
        fix = "name something that is no class, or leave it out: what lists leave is then spread evenly"
        raise FileError(f"is read with --other {clash[other]!r}, which {whose}", model.path, fix)
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
    percent = not model.is_list and _sum_to(_first_rows(model), model.columns.forecasts, [100])
    if percent and model.logits:
        problem = "is read as logits, but holds numbers from 0 to 100 that sum to 100 in each row"
        raise FileError(problem, model.path, "are these percentages? Then leave --logits out", argument="logits")
    return replace(model, percent=percent)


def _by_labels(model: Predictions) -> Predictions:
    """Columns are classes if they occur as labels, also those that hold text in some place."""
    columns = model.columns
    source = model.sources[0]
    labels = labels_of(model, until_all=True)
    if model.layout.unlabelled:
        labels.pop(None, None)
    if not labels:
        fix = "list the classes (--classes), or say what the forecasts' names begin with (--proba-prefix)"
        about: Fields = {"fix": fix, "argument": "classes"}
        problem = "has no labels that say which columns are classes"
        raise FileError(problem, model.path, **about) if model.count() else model.no_rows()
    numbers = numbers_of(labels, model.classes).tolist()
    others = {str(label) for label, at in zip(labels, numbers, strict=True) if at < 0 and label is not None}
    texts = (name for name in others - {*columns.wanted} if source.kinds.get(name, "nested") != "nested")
    class_of = {column: name for name, column in columns.column_of.items()} | {name: name for name in texts}
    unseen = [name for at, name in enumerate(model.classes) if at not in numbers]
    if unseen and not others and None not in labels and len(class_of) > 1:  # else whoever reads the rows says it
        where = repr(columns.label) if model.truth is None else model.truth.path
        problem = f"hold numbers but never occur as a label in {where}"
        fix = (
            "list the classes (--classes), and other columns are ignored; or say what the forecasts' names begin "
            "with (--proba-prefix), or what such a column is for: see pandora help files"
        )
        raise FileError(problem, model.path, fix, f": columns {quoted(unseen)}", argument="classes")
    _check_several(class_of, source, " of numbers")
    return _with_classes(model, {class_of[column]: column for column in source.kinds if column in class_of})


def labels_of(model: Predictions, until_all: bool = False) -> dict[Any, None]:
    """The labels that occur, None for missing ones; perhaps read only until all classes are among them."""
    labels: dict[Any, None] = dict.fromkeys(model.labels_apart)
    column = model.columns.label
    k = len(model.classes)
    for rows in model.walk([column]) if column else ():
        distinct, codes = coded(rows.column(column))
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
    numbers, by_number = (numbers_of(labels, names) for names in (model.classes, tuple(map(str, range(k)))))
    if numbers.min(initial=k) < 1 or 1 not in numbers or by_number.min() < 0:
        return
    problem = f"holds numbers from 1 to {numbers.max()} for {k} classes, counted from 0 or from 1"
    fix = "write the classes' names as labels, or list the classes (--classes) as they are counted"
    column = model.columns.label
    raise FileError(problem, model.path, fix, f": column {column!r}", argument="classes", column=column)
