"""Which column of a prediction file is what: said by the caller, or found by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.errors import FileError
from pandora_regret.files.roles import COSTS, LABEL, ROLES, SINGLE, VOTES, Role
from pandora_regret.inputs import InputError
from pandora_regret.text import listed

COMPARE = "if these are two models: use compare"
Kind: TypeAlias = Literal["number", "text", "nested", "other"]


@dataclass(frozen=True)
class Layout:
    """Which column is what; None: found by its usual name, where there is one.

    Parameters
    ----------
    label
        The column of true classes, names or column numbers; ``y_true``, ``label`` or ``target``.
    proba_prefix
        What the names of the forecasts' columns begin with, before the name of the class.
    id, weight, group, model
        Columns of row ids (``id``), of sample weights (``weight`` or ``sample_weight``), of clusters such as
        patients (only where said), and, where several models share a file, of their names (``model``).
    votes_prefix
        What the names of the columns with votes begin with, before the name of the class: how many annotators, or
        with what probability, said that class. They take the place of a column of true classes.
    cost_prefix
        What the names of the columns with each row's own typical costs begin with, before the name of the class.
    logits
        Whether the forecasts are logits.
    by
        Columns that results are broken down by, such as a site; those that a file has of them are read.
    normalise
        Whether rows of probabilities whose sum is off 1 by at most 1 % are divided by it, which is counted.
    columns
        The column of each class, by the class's name, where no prefix tells.
    classes
        The names of the classes. Without them, and without a prefix, every column of numbers that is nothing else
        must be a class that occurs among the labels.
    dialect
        How the file is written, where that is not to be recognised.

    The classes' order is that of the file's columns.
    """

    label: str | None = None
    proba_prefix: str | None = None
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    votes_prefix: str | None = None
    cost_prefix: str | None = None
    logits: bool = False
    by: tuple[str, ...] = ()
    classes: tuple[str, ...] | None = None
    dialect: Dialect = RECOGNISED
    normalise: bool = False
    unlabelled: bool = False  # whether labels may be missing
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Columns:
    """The columns that are read, by name."""

    label: str  # empty where there are votes, or where there need be none
    classes: tuple[str, ...]  # the classes' names
    forecasts: tuple[str, ...]  # the column of each class
    votes: tuple[str, ...] = ()  # the column of each class's votes
    costs: tuple[str, ...] = ()  # the column of each class's cost
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    by: tuple[str, ...] = ()  # that results are broken down by
    certain: bool = True  # whether the forecasts' columns were said, not found
    unlabelled: bool = False  # whether labels may be missing

    def of(self, role: Role) -> tuple[str, ...]:
        """The columns that have a role: none, one, several, or one per class."""
        names = getattr(self, role.name)
        return (names,) if isinstance(names, str) and names else tuple(names or ())

    @property
    def numbers(self) -> frozenset[str]:
        """The columns that must hold numbers."""
        roles = [role for role in ROLES if role.reads in ("weights", "votes", "costs")]
        return frozenset((*self.forecasts, *(name for role in roles for name in self.of(role))))

    @property
    def wanted(self) -> list[str]:
        """All columns that are read, each once."""
        return list(dict.fromkeys([*(name for role in ROLES for name in self.of(role)), *self.forecasts]))


def find_columns(layout: Layout, kinds: Mapping[str, Kind], path: str) -> Columns:
    """The columns of a file in a layout."""
    taken = {role.name: name for role in SINGLE if (name := _find(role, layout, kinds, path)) is not None}
    if layout.votes_prefix is not None:
        _check_no_label(layout, path)
        taken.pop(LABEL.name, None)
    elif LABEL.name not in taken and not layout.unlabelled:
        problem = f"has no label column ({', '.join(LABEL.usual[:-1])} or {LABEL.usual[-1]}) among {some(kinds)}"
        fix = "say which one holds the true classes (label, --label)"
        raise FileError(problem, path=path, argument=LABEL.option, fix=fix)
    _check_once(taken, path)
    by = tuple(name for name in dict.fromkeys(layout.by) if name in kinds)
    column_of = _forecasts(layout, kinds, {*taken.values(), *by}, path)
    classes, forecasts = tuple(column_of), tuple(column_of.values())
    said = (layout.proba_prefix, layout.classes, layout.columns, layout.votes_prefix)
    certain = any(each is not None for each in said)
    votes, costs = (_of_each_class(role, layout, classes, kinds, path) for role in (VOTES, COSTS))
    _check_flat((*taken.values(), *forecasts, *votes, *costs, *by), kinds, path)
    found: dict[str, Any] = {LABEL.name: "", "forecasts": forecasts, "votes": votes, "costs": costs, **taken}
    return Columns(classes=classes, by=by, certain=certain, unlabelled=layout.unlabelled, **found)


def _check_no_label(layout: Layout, path: str) -> None:
    if layout.label is not None:
        problem = f"is read with votes ({layout.votes_prefix!r}) and with the label {layout.label!r}"
        raise FileError(problem, path=path, argument=LABEL.option, fix="say one of them (--votes-prefix, --label)")


def _find(role: Role, layout: Layout, kinds: Mapping[str, Kind], path: str) -> str | None:
    """The column that was asked for, which must be there, or one of a usual name that is no class's."""
    name: str | None = getattr(layout, role.option)
    if name is not None and name not in kinds:
        problem = f"has no column {name!r} (asked for as {role.name}) among {some(kinds)}"
        raise FileError(problem, path=path, argument=role.option, value=name)
    classes = {f"{layout.proba_prefix or ''}{each}" for each in layout.classes or ()}
    classes.update((layout.columns or {}).values())
    return name or next((usual for usual in role.usual if usual in kinds and usual not in classes), None)


def _check_once(taken: Mapping[str, str], path: str) -> None:
    first: dict[str, str] = {}
    for role, name in taken.items():
        if (other := first.setdefault(name, role)) != role:
            problem = f"is asked for both as {other} and as {role}"
            raise FileError(problem, path=path, where=f": column {name!r}", argument=role, fix="it can be one")


def _check_flat(names: Sequence[str], kinds: Mapping[str, Kind], path: str) -> None:
    nested = next((name for name in names if kinds.get(name) == "nested"), None)
    if nested is not None:
        where, fix = f": column {nested!r}", "write one number or text per row"
        raise FileError("holds lists or structures", path=path, where=where, column=nested, fix=fix)


def _forecasts(layout: Layout, kinds: Mapping[str, Kind], taken: set[str], path: str) -> dict[str, str]:
    """The column of each class, in file order."""
    prefix, said = layout.proba_prefix or "", layout.columns or {}
    if layout.classes is not None or said:
        wanted = layout.classes if layout.classes is not None else tuple(said)
        return _listed(wanted, [said.get(name, f"{prefix}{name}") for name in wanted], kinds, path)
    if prefix:
        names = [name for name in kinds if name.startswith(prefix) and name not in taken and name != prefix]
    else:
        numbers = [name for name, kind in kinds.items() if kind == "number" and name not in taken]
        usual = LABEL.usual if layout.votes_prefix is not None else ()  # a majority's label beside the votes
        others = tuple(filter(None, (layout.cost_prefix, layout.votes_prefix)))
        names = [name for name in numbers if not name.startswith(others) and name not in usual]
    if len(names) < 2 and prefix:
        raise too_few(names, kinds, path, f" whose names begin with {prefix!r}")
    return {name.removeprefix(prefix): name for name in names}


def too_few(names: Sequence[str], kinds: Mapping[str, Kind], path: str, condition: str) -> FileError:
    """The error for a table without forecasts."""
    return FileError(
        f"has {len(names)} forecast column{'s' * (len(names) != 1)}{condition} among {some(kinds)}",
        path=path,
        argument="proba_prefix",
        fix="write one column per class, two at least, or say what their names begin with (--proba-prefix)",
    )


def _listed(
    classes: Sequence[str], columns: Sequence[str], kinds: Mapping[str, Kind], path: str
) -> dict[str, str]:
    """The columns of the classes that were listed."""
    missing = {name: column for name, column in zip(classes, columns, strict=True) if column not in kinds}
    if missing:
        listed_names = f"for the classes {some(missing)}"
        if list(missing) != list(missing.values()):
            listed_names = listed([f"{column!r} for the class {name!r}" for name, column in missing.items()], 8)
        problem = f"has no column {listed_names}; it has {some(kinds)}"
        raise FileError(problem, path=path, argument="classes", value=list(missing.values()))
    for names in (classes, columns):
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            fix = "name each class once"
            raise InputError(f"contain {twice!r} twice", argument="classes", value=twice, fix=fix)
    if len(classes) < 2:
        raise too_few(columns, kinds, path, "")
    position = {name: index for index, name in enumerate(kinds)}
    pairs = zip(classes, columns, strict=True)
    return dict(sorted(pairs, key=lambda pair: position[pair[1]]))


def _of_each_class(
    role: Role, layout: Layout, classes: Sequence[str], kinds: Mapping[str, Kind], path: str
) -> tuple[str, ...]:
    """The columns of a role that has one for each class."""
    prefix: str | None = getattr(layout, role.option)
    names = () if prefix is None else tuple(f"{prefix}{name}" for name in classes)
    missing = [name for name in names if name not in kinds]
    if missing:
        fix = f"write one for each class, {prefix}<class>"
        problem = f"has no columns of {role.title} {some(missing)}"
        raise FileError(problem, path=path, argument=role.option, fix=fix)
    return names


class Classes:
    """The classes as labels name them: by name, or by column number where no class is named by a number.

    Examples
    --------
    >>> classes = Classes(("cat", "dog"))
    >>> classes.number_of("dog"), classes.number_of(1), classes.number_of("cow")
    (1, 1, None)
    >>> Classes(("1", "2")).number_of(1)
    0
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._by_name = {text: index for index, name in enumerate(names) for text in reversed(_spellings(name))}
        self._by_name |= {name: index for index, name in enumerate(names)}  # as it is written, first of all
        self.by_number = not any(_is_integer(text) for text in self._by_name)

    def number_of(self, label: Any) -> int | None:
        """The column of a label, or None where it has none."""
        for text in _spellings(label):
            if text in self._by_name:
                return self._by_name[text]
            if self.by_number and _is_integer(text) and 0 <= int(text) < len(self.names):
                return int(text)
        return None

    def is_number(self, label: Any) -> bool:
        """Whether a label is a whole number, however it is written; True and False are names."""
        return not isinstance(label, bool) and any(_is_integer(text) for text in _spellings(label))


def _spellings(label: Any) -> tuple[str, ...]:
    """How a label may be written: 1.0 may be 1, True may be true or 1, and bytes may be text."""
    text = label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label)
    if text in ("True", "False"):
        return text, text.lower(), str(int(text == "True"))
    whole = re.sub(r"\.0+$", "", text)
    return (text, whole) if whole != text and _is_integer(whole) else (text,)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit()


def unlabelled(columns: Columns, unseen: Sequence[str], path: str) -> FileError:
    """The error for columns of numbers that no row has as its label."""
    return FileError(
        f"hold numbers but never occur as a label in {columns.label!r}",
        path=path,
        where=f": columns {some(unseen)}",
        argument="classes",
        value=list(unseen),
        fix="if they are classes, list all classes (--classes); if not, say what the forecasts' names begin with "
        "(--proba-prefix), or which column is what (--id, --weight, --group, --cost-prefix)",
    )


def check_same_columns(first: Columns, other: Columns, path: str, other_path: str) -> None:
    """A further part of the same table has the same columns, perhaps in another order."""
    differ = sorted(set(first.forecasts) ^ set(other.forecasts))
    missing = sorted(set(first.wanted) - set(other.wanted))
    if differ or missing:
        lacks = f"lacks the columns {some(missing)} that {path} has"
        problem = f"and {path} differ in the columns {some(differ)}" if differ else lacks
        raise FileError(problem, path=other_path, value=differ or missing, fix=f"parts need the same; {COMPARE}")


def some(names: Collection[str]) -> str:
    """The first few of some names, as a message shows them."""
    return f"{list(names)[:8]}{'...' if len(names) > 8 else ''}"
