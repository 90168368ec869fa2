"""How a prediction file is written, and which of its columns is what: said by the caller, or found by name."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pandora_regret.files.problems import FileError
from pandora_regret.files.roles import COSTS, LABEL, ROLES, SINGLE, VOTES, Role
from pandora_regret.inputs import InputError, IntArray
from pandora_regret.text import listed

Kind: TypeAlias = Literal["number", "text", "nested", "other"]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
NO_LETTER = r"[^a-zA-Z0-9\"\n\r.\0\x80-\U0010ffff]"  # what can stand between values
DECIMALS = {".": "point", ",": "comma"}
SEPARATOR_WORDS = {word: mark for mark, word in SEPARATORS.items()} | {"\\t": "\t"}
DECIMAL_WORDS = {word: mark for mark, word in DECIMALS.items()}


@dataclass(frozen=True)
class Dialect:
    """How a file is to be read; None: as it is recognised.

    Parameters
    ----------
    separator
        What stands between values: ``,``, ``;``, ``|`` or another character, or ``comma``, ``semicolon``, ``tab``
        or ``pipe`` in words.
    decimal
        The decimal sign of numbers in text, ``.`` or ``,``, or ``point`` or ``comma`` in words.
    encoding
        Of text, such as ``utf-16`` or ``latin-1``.
    sheet
        Of a spreadsheet: its name, or its number counted from 1; the first unless said.
    other
        The class that stands for everything that a row's list of candidates does not name.

    Examples
    --------
    >>> Dialect(separator="semicolon", decimal="comma", encoding="Latin1")
    Dialect(separator=';', decimal=',', encoding='iso8859-1', sheet=None, other=None)
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        separator = SEPARATOR_WORDS.get(self.separator or "", self.separator)
        decimal = DECIMAL_WORDS.get(self.decimal or "", self.decimal)
        if separator and not re.fullmatch(NO_LETTER, separator):
            fix = "write one character, such as ; or |, or one of the words comma, semicolon, tab and pipe"
            raise InputError(argument="separator", value=self.separator, fix=fix)
        if decimal not in (None, *DECIMALS):
            raise InputError(argument="decimal", value=decimal, fix="write . or , (or point or comma)")
        if separator is not None and separator == decimal:
            problem = f"is {separator!r} and so is the decimal sign"
            raise InputError(problem, argument="separator", value=separator, fix="they must differ")
        read = {"separator": separator, "decimal": decimal, "encoding": _read_encoding(self.encoding)}
        for name, value in read.items():
            object.__setattr__(self, name, value)


def _read_encoding(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        "".encode(text)  # refuses names that are no encodings of text
    except (LookupError, ValueError):
        fix = "write such as utf-8, utf-16 or latin-1"
        raise InputError(argument="encoding", value=text, fix=fix) from None
    return codecs.lookup(text).name.replace("utf-8-sig", "utf-8")


RECOGNISED = Dialect()


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
    listed: bool = False  # whether the classes were, so that it is clear what numbers among labels count
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
    single = {role.name: name for role in SINGLE if (name := find_column(role, layout, kinds, path))}
    if layout.votes_prefix is not None:
        single.pop(LABEL.name, None)
        if layout.label is not None:
            problem = f"is read with votes ({layout.votes_prefix!r}) and with the label {layout.label!r}"
            fix = "say one of them (--votes-prefix, --label)"
            raise FileError(problem, path=path, argument=LABEL.option, fix=fix)
    elif LABEL.name not in single and not layout.unlabelled:
        raise no_column(LABEL, kinds, path)
    _check_once(single, path)
    by = tuple(name for name in dict.fromkeys(layout.by) if name in kinds)
    column_of = _forecasts(layout, kinds, {*single.values(), *by}, path)
    said = (layout.proba_prefix, layout.classes, layout.columns, layout.votes_prefix)
    about: dict[str, Any] = {
        LABEL.name: "",
        "classes": tuple(column_of),
        "forecasts": tuple(column_of.values()),
        "votes": _of_each_class(VOTES, layout, column_of, kinds, path),
        "costs": _of_each_class(COSTS, layout, column_of, kinds, path),
        **single,
    }
    about |= {"certain": any(each is not None for each in said), "listed": layout.classes is not None}
    columns = Columns(**about, by=by, unlabelled=layout.unlabelled)
    if nested := next((name for name in columns.wanted if kinds.get(name) == "nested"), None):
        where, fix = f": column {nested!r}", "write one number or text per row"
        raise FileError("holds lists or structures", path=path, where=where, column=nested, fix=fix)
    return columns


def find_column(role: Role, layout: Layout, kinds: Mapping[str, Kind], path: str) -> str | None:
    """The column that was asked for, which must be there, or one of a usual name that is no class's."""
    name: str | None = getattr(layout, role.option)
    if name is not None and name not in kinds:
        problem = f"has no column {name!r} (asked for as {role.name}) among {some(kinds)}"
        raise FileError(problem, path=path, argument=role.option, value=name)
    classes = {f"{layout.proba_prefix or ''}{each}" for each in layout.classes or ()}
    classes.update((layout.columns or {}).values())
    return name or next((usual for usual in role.usual if usual in kinds and usual not in classes), None)


def no_column(role: Role, kinds: Mapping[str, Kind], path: str) -> FileError:
    """The error for a file that lacks a column."""
    usual = " or ".join(filter(None, (", ".join(role.usual[:-1]), role.usual[-1])))
    values = "true classes" if role is LABEL else role.title
    fix = f"say which one holds the {values} ({role.option}, --{role.option})"
    problem = f"has no {role.name} column ({usual}) among {some(kinds)}"
    return FileError(problem, path=path, argument=role.option, fix=fix)


def _check_once(single: Mapping[str, str], path: str) -> None:
    role_of: dict[str, str] = {}
    for role, name in single.items():
        if (other := role_of.setdefault(name, role)) != role:
            problem = f"is asked for both as {other} and as {role}"
            raise FileError(problem, path=path, where=f": column {name!r}", argument=role, fix="it can be one")


def _forecasts(layout: Layout, kinds: Mapping[str, Kind], taken: set[str], path: str) -> dict[str, str]:
    """The column of each class, in file order."""
    prefix, said = layout.proba_prefix or "", layout.columns or {}
    if layout.classes is not None or said:
        classes = layout.classes if layout.classes is not None else tuple(said)
        return _listed([(name, said.get(name, f"{prefix}{name}")) for name in classes], kinds, path)
    if prefix:
        names = [name for name in kinds if name.startswith(prefix) and name not in taken and name != prefix]
        if len(names) < 2:
            raise too_few(names, kinds, path, f" whose names begin with {prefix!r}")
        return {name.removeprefix(prefix): name for name in names}
    if layout.votes_prefix is not None:
        taken = taken.union(LABEL.usual)  # a majority's label beside the votes
    others = tuple(filter(None, (layout.cost_prefix, layout.votes_prefix)))
    numbers = [name for name, kind in kinds.items() if kind == "number" and name not in taken]
    return {name: name for name in numbers if not name.startswith(others)}


def too_few(names: Sequence[str], kinds: Mapping[str, Kind], path: str, condition: str) -> FileError:
    """The error for a table without forecasts."""
    return FileError(
        f"has {len(names)} forecast column{'s' * (len(names) != 1)}{condition} among {some(kinds)}",
        path=path,
        argument="proba_prefix",
        fix="write one column per class, two at least, or say what their names begin with (--proba-prefix)",
    )


def _listed(pairs: Sequence[tuple[str, str]], kinds: Mapping[str, Kind], path: str) -> dict[str, str]:
    """The columns of the classes that were listed, in file order."""
    missing = {name: column for name, column in pairs if column not in kinds}
    if missing:
        words = f"for the classes {some(missing)}"
        if list(missing) != list(missing.values()):
            words = listed([f"{column!r} for the class {name!r}" for name, column in missing.items()], 8)
        problem = f"has no column {words}; it has {some(kinds)}"
        raise FileError(problem, path=path, argument="classes", value=list(missing.values()))
    for names in zip(*pairs, strict=True):
        if len(set(names)) < len(names):
            twice, fix = next(name for name in names if names.count(name) > 1), "name each class once"
            raise InputError(f"contain {twice!r} twice", argument="classes", value=twice, fix=fix)
    if len(pairs) < 2:
        raise too_few(pairs, kinds, path, "")  # type: ignore[arg-type]
    position = {name: index for index, name in enumerate(kinds)}
    return dict(sorted(pairs, key=lambda pair: position[pair[1]]))


def _of_each_class(
    role: Role, layout: Layout, classes: Collection[str], kinds: Mapping[str, Kind], path: str
) -> tuple[str, ...]:
    """The columns of a role that has one for each class."""
    prefix: str | None = getattr(layout, role.option)
    names = () if prefix is None else tuple(f"{prefix}{name}" for name in classes)
    if missing := [name for name in names if name not in kinds]:
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

    def numbers_of(self, labels: Iterable[Any]) -> IntArray:
        """The columns of labels; -1 where there is no label, or none that is a class."""
        numbers = (None if label is None else self.number_of(label) for label in labels)
        return np.array([-1 if number is None else number for number in numbers], dtype=np.intp)


def is_integer_label(label: Any) -> bool:
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


def some(names: Collection[str]) -> str:
    """The first few of some names, as a message shows them."""
    return f"{list(names)[:8]}{'...' if len(names) > 8 else ''}"
