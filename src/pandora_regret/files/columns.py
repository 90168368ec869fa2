"""Which column of a file plays which part: said, or found by name. There is one function for each kind of part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from pandora_regret.core.inputs import InputError, Names, did_you_mean, matched, quoted
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.layout import Layout
from pandora_regret.files.roles import BY, COSTS, GROUP, ID, LABEL, MODEL, ROLES, VOTES, WEIGHT, Role
from pandora_regret.files.source import Source
from pandora_regret.text import counted, listed

OTHER_FILE = "or which file does (truth, --truth)"
DESCRIBE = "or describe each in a models.toml where files call these differently"
LONG_TABLE = "a table with a row per candidate of each case is for pandora compare --candidate"


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
    def names(self) -> list[str]:
        """All columns that are read, each once."""
        names = dict.fromkeys(chain.from_iterable(self.of(role) for role in ROLES)) | dict.fromkeys(self.forecasts)
        return [name for name in names if name]


@dataclass(frozen=True)
class _File:
    """A file and what is said of it, for the functions that find the column of one part each."""

    layout: Layout  # without what other files are asked for
    source: Source
    is_truth: bool  # whether it is the truth's own file
    parts: Mapping[Role, str | None]  # that single columns may play, and the column asked for
    class_columns: Mapping[str, str]  # the column of each class, as the layout says it; empty where it does not
    meant: Mapping[str, str]  # the file's columns, by how the layout or its usual names spell them


def find_columns(layout: Layout, source: Source, is_truth: bool = False) -> Columns:
    """Which column of a file plays which part.

    Parameters
    ----------
    layout
        What callers say.
    source
        The file.
    is_truth
        Whether this is the truth's own file, which has no forecasts; the others have only ids and forecasts then.

    Returns
    -------
    Columns
        The columns by their parts; a FileError where one is missing, or holds what none can.
    """
    file = _file(layout, source, is_truth)
    layout = file.layout
    label = _label_column(file)
    id_column = _single_column(ID, file, is_needed=layout.truth is not None)
    weight = _single_column(WEIGHT, file)
    group = _single_column(GROUP, file)
    model = _single_column(MODEL, file)
    by = tuple(file.meant[name] for name in layout.by if name in file.meant)
    not_classes = {label, id_column, weight, group, model, *by}
    column_of = _listed_classes(file) if file.class_columns else _unlisted_classes(file, not_classes)
    columns = Columns(
        tuple(column_of),
        () if is_truth else tuple(column_of.values()),
        label=label,
        votes=_columns_of_classes(VOTES, layout.votes_prefix, column_of, source),
        costs=_columns_of_classes(COSTS, layout.cost_prefix, column_of, source),
        id=id_column,
        weight=weight,
        group=group,
        model=model,
        by=by,
        spelled=tuple((column, name) for name, column in file.meant.items() if column != name),
        certain=_says_classes(layout),
        listed=layout.classes is not None,
    )
    _check_flat(columns, source)
    return columns


def _check_flat(columns: Columns, source: Source) -> None:
    """Raise a FileError if a column that is read holds lists or structures."""
    for name in columns.names:
        if source.kinds.get(name) == "nested":
            fix = "write one number or text per row"
            raise FileError("holds lists or structures", source.path, fix, f": column {name!r}", column=name)


def _file(layout: Layout, source: Source, is_truth: bool) -> _File:
    """The file with what is said of it, and not of others; and what its columns are called there."""
    layout = layout.of_format(source)
    parts = {LABEL: layout.label, ID: layout.id, WEIGHT: layout.weight, GROUP: layout.group, MODEL: layout.model}
    if is_truth:
        layout = replace(layout, proba_prefix=None, classes=None, columns=None, cost_prefix=None)
        del parts[MODEL]
    elif layout.truth is not None:
        layout = replace(layout, label=None, votes_prefix=None, cost_prefix=None, by=())
        parts = {ID: layout.id, MODEL: layout.model}
    if layout.votes_prefix is not None:
        parts.pop(LABEL)
    named = layout.columns or {}
    prefix = layout.proba_prefix or ""
    class_columns = {name: named.get(name, f"{prefix}{name}") for name in layout.classes or named}
    names = [*layout.by, *class_columns.values()]
    for role, asked in parts.items():
        names += role.usual if asked is None else [asked]
    return _File(layout, source, is_truth, parts, class_columns, matched(names, source.kinds))


def _says_classes(layout: Layout) -> bool:
    """Whether a layout says which columns are classes, so that they need not be found."""
    settings = (layout.proba_prefix, layout.classes, layout.columns, layout.votes_prefix)
    return any(setting is not None for setting in settings)


def _label_column(file: _File) -> str:
    """The column of true classes; "" where another file has them, where there are votes, or need be none."""
    layout = file.layout
    if layout.votes_prefix is not None and layout.label is not None:
        problem = f"is read with votes ({layout.votes_prefix!r}) and with the label {layout.label!r}"
        fix = "say one of them (--votes-prefix, --label)"
        raise FileError(problem, file.source.path, fix, argument=LABEL.option)
    return _single_column(LABEL, file, is_needed=file.is_truth or not layout.unlabelled) or ""


def _single_column(role: Role, file: _File, is_needed: bool = False) -> str | None:
    """The column of a role that has one: that which was asked for, or one of a usual name that is no class."""
    if role not in file.parts:
        return None
    requested = file.parts[role]
    if requested is not None:
        if requested not in file.meant:
            problem = f"has no column {requested!r} (asked for as {role.name})"
            fix = did_you_mean(requested, file.source.kinds)
            raise FileError(problem, file.source.path, fix, argument=role.option)
        return file.meant[requested]
    of_classes = file.class_columns.values()
    for name in role.usual:
        if name in file.meant and name not in of_classes:
            return file.meant[name]
    if is_needed:
        problem = f"has no {role.name} column ({', '.join(role.usual)}) among {quoted(file.source.kinds)}"
        values = "true classes" if role is LABEL else role.title
        fixes = [f"say which one holds the {values} ({role.option}, --{role.option})", DESCRIBE]
        if role is LABEL and not file.is_truth:
            fixes.insert(1, OTHER_FILE)
        fix = ", ".join(fixes)
        if role is LABEL and "text" in file.source.kinds.values():  # perhaps names of candidates
            fix += f"; {LONG_TABLE}"
        raise FileError(problem, file.source.path, fix, argument=role.option)
    return None


def _columns_of_classes(role: Role, prefix: str | None, classes: Iterable[str], source: Source) -> Names:
    """The columns of a role that has one for each class, whose names begin with the prefix; none without one."""
    names = () if prefix is None else tuple(f"{prefix}{name}" for name in classes)
    columns = matched(names, source.kinds)
    missing = [name for name in names if name not in columns]
    if missing:
        problem = f"has no columns of {role.title} {quoted(missing)}"
        raise FileError(problem, source.path, f"write one for each class, {prefix}<class>", argument=role.option)
    return tuple(columns.values())


def _unlisted_classes(file: _File, not_classes: Collection[str | None]) -> dict[str, str]:
    """The column of each class, in file order; of a file of truths, those of votes.

    They are those that begin with a prefix; without one, all columns of numbers, some of which may be no classes.
    Columns that play other parts are `not_classes`.
    """
    layout = file.layout
    kinds = file.source.kinds
    prefix = layout.votes_prefix if file.is_truth else layout.proba_prefix
    if prefix:
        names = [name for name in kinds if name.startswith(prefix) and name not in (*not_classes, prefix)]
        check_several(names, file.source, f" whose names begin with {prefix!r}")
        return {name.removeprefix(prefix): name for name in names}
    if file.is_truth:
        return {}
    if layout.votes_prefix is not None or layout.truth is not None:
        not_classes = {*not_classes, *LABEL.usual}  # a majority's label, or a vendor's own, beside the truth
    other_prefixes = tuple(filter(None, (layout.cost_prefix, layout.votes_prefix)))
    numbers = [name for name, kind in kinds.items() if kind in ("number", "percent") and name not in not_classes]
    return {name: name for name in numbers if not name.startswith(other_prefixes)}


def _listed_classes(file: _File) -> dict[str, str]:
    """The column of each class that was listed, in file order; "" for one that may be, and is, missing."""
    columns: list[str] = []
    missing: dict[str, str] = {}
    for name in file.layout.classes or file.class_columns:
        written = file.class_columns[name]
        if written in file.meant:
            columns.append(file.meant[written])
        else:
            missing[name] = written
    if missing and not (file.layout.missing_class_zero and columns):
        words = listed([f"{column!r} for the class {name!r}" for name, column in missing.items()])
        fix = f"it has {quoted(file.source.kinds)}; --missing-class-zero takes the class as probability 0"
        raise FileError(f"has no column {words}", file.source.path, fix, argument="classes")
    if len(set(columns)) < len(columns):
        twice = max(columns, key=columns.count)
        raise InputError(f"contain {twice!r} twice", argument="classes", fix="name each class once")
    class_of = {file.meant[column]: name for name, column in file.class_columns.items() if name not in missing}
    check_several(file.class_columns, file.source)
    in_file_order = {class_of[column]: column for column in file.source.kinds if column in class_of}
    return in_file_order | dict.fromkeys(missing, "")


def check_several(names: Collection[str], source: Source, condition: str = "") -> None:
    """There are forecasts of two classes at least."""
    if len(names) < 2:
        problem = f"has {counted(len(names), 'forecast column')}{condition} among {quoted(source.kinds)}"
        fix = "write one column per class, two at least, or say what their names begin with (--proba-prefix)"
        raise FileError(problem, source.path, fix, argument="proba_prefix")
