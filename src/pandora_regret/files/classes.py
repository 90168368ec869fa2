"""Which column of a file is what: said, or found by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from pandora_regret.core.inputs import Fields, InputError, Names, did_you_mean, matched, quoted
from pandora_regret.files.layout import Layout
from pandora_regret.files.roles import BY, COSTS, GROUP, ID, LABEL, MODEL, ROLES, SINGLE, VOTES, WEIGHT, Role
from pandora_regret.files.source import FileError, Source
from pandora_regret.text import counted, listed

OF_FORECASTS = ("proba_prefix", "classes", "columns", "cost_prefix")  # what a layout says of files of predictions
OF_TRUTHS = ("label", "votes_prefix", "cost_prefix", "by")  # and of the truth's, where that has a file of its own
DESCRIBE = "or describe each in a models.toml where files call these differently"


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
        columns: dict[Role, str | Names | None] = {
            LABEL: self.label,
            ID: self.id,
            WEIGHT: self.weight,
            GROUP: self.group,
            MODEL: self.model,
            VOTES: self.votes,
            COSTS: self.costs,
            BY: self.by,
        }
        names = columns[role]
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
    layout, roles, needed = _of_file(layout.of_format(source), source, is_truth)
    named = layout.columns or {}
    prefix = layout.proba_prefix or ""
    written = {name: named.get(name, f"{prefix}{name}") for name in layout.classes or named}
    stated = {LABEL: layout.label, ID: layout.id, WEIGHT: layout.weight, GROUP: layout.group, MODEL: layout.model}
    asked = {role: stated[role] for role in SINGLE if role in roles}
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
    settling = (layout.proba_prefix, layout.classes, layout.columns, layout.votes_prefix)
    columns = Columns(
        tuple(column_of),
        () if is_truth else tuple(column_of.values()),
        votes=_of_each_class(VOTES, layout.votes_prefix, column_of, source),
        costs=_of_each_class(COSTS, layout.cost_prefix, column_of, source),
        by=by,
        spelled=tuple((column, name) for name, column in meant.items() if column != name),
        certain=any(setting is not None for setting in settling),
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


def _of_each_class(role: Role, prefix: str | None, classes: Iterable[str], source: Source) -> Names:
    """The columns of a role that has one for each class, whose names begin with the prefix; none without one."""
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
        check_several(names, source, f" whose names begin with {prefix!r}")
        return {name.removeprefix(prefix): name for name in names}
    if is_truth:
        return {}
    if layout.votes_prefix is not None or layout.truth is not None:
        taken = taken.union(LABEL.usual)  # a majority's label, or a vendor's own, beside the truth
    other_prefixes = tuple(filter(None, (layout.cost_prefix, layout.votes_prefix)))
    numbers = [name for name, kind in source.kinds.items() if kind in ("number", "percent") and name not in taken]
    return {name: name for name in numbers if not name.startswith(other_prefixes)}


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
    check_several(written, source)
    return {class_of[column]: column for column in source.kinds if column in class_of} | dict.fromkeys(missing, "")


def check_several(names: Collection[Any], source: Source, condition: str = "") -> None:
    """There are forecasts of two classes at least."""
    if len(names) < 2:
        problem = f"has {counted(len(names), 'forecast column')}{condition} among {quoted(source.kinds)}"
        fix = "write one column per class, two at least, or say what their names begin with (--proba-prefix)"
        raise FileError(problem, source.path, fix, argument="proba_prefix")
