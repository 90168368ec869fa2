"""Which column of a prediction file is what: said by the caller, or found by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pandora_regret.inputs import InputError

Kind: TypeAlias = Literal["number", "text", "other"]

USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "label": ("y_true", "label", "target"),
    "id": ("id", "ids"),
    "weight": ("weight", "sample_weight"),
    "group": (),  # clusters change what an interval means, so they are said
    "model": ("model",),
}
OPTIONAL = ("id", "weight", "group", "model")


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
    cost_prefix
        What the names of the columns with each row's own typical costs begin with, before the name of the class.
    logits
        Whether the forecasts are logits.
    classes
        The names of the classes. Without them, and without a prefix, every column of numbers that is nothing else
        must be a class that occurs among the labels.

    The classes' order is that of the file's columns.
    """

    label: str | None = None
    proba_prefix: str | None = None
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    cost_prefix: str | None = None
    logits: bool = False
    classes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Columns:
    """The columns that are read, by name."""

    label: str
    classes: tuple[str, ...]  # the classes' names
    forecasts: tuple[str, ...]  # the column of each class
    costs: tuple[str, ...] = ()  # the column of each class's cost
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    certain: bool = True  # whether the forecasts' columns were said, not found

    @property
    def numbers(self) -> frozenset[str]:
        """The columns that must hold numbers."""
        weight = () if self.weight is None else (self.weight,)
        return frozenset((*self.forecasts, *self.costs, *weight))

    @property
    def wanted(self) -> list[str]:
        """All columns that are read."""
        roles = [self.label, self.id, self.weight, self.group, self.model]
        return [*(name for name in roles if name is not None), *self.forecasts, *self.costs]


def find_columns(layout: Layout, kinds: Mapping[str, Kind], path: str) -> Columns:
    """The columns of a file in a layout."""
    taken = {"label": _label(layout, kinds, path)}
    for role in OPTIONAL:
        name = _named(getattr(layout, role), role, kinds, path) or _usual(role, layout, kinds)
        if name is not None:
            taken[role] = name
    _check_once(taken, path)
    forecasts = _forecasts(layout, kinds, set(taken.values()), path)
    prefix = layout.proba_prefix or ""
    classes = tuple(name.removeprefix(prefix) for name in forecasts)
    certain = layout.proba_prefix is not None or layout.classes is not None
    costs = _costs(layout.cost_prefix, classes, kinds, path)
    return Columns(classes=classes, forecasts=forecasts, costs=costs, certain=certain, **taken)


def _label(layout: Layout, kinds: Mapping[str, Kind], path: str) -> str:
    name = _named(layout.label, "label", kinds, path) or _usual("label", layout, kinds)
    if name is None:
        raise InputError(
            f"{path} has no label column ({_or(USUAL_NAMES['label'])}) among {_some(list(kinds))}: "
            "say which one holds the true classes (label, --label)."
        )
    return name


def _named(name: str | None, role: str, kinds: Mapping[str, Kind], path: str) -> str | None:
    """A column that was asked for must be there."""
    if name is not None and name not in kinds:
        raise InputError(f"{path} has no column {name!r} (asked for as {role}) among {_some(list(kinds))}.")
    return name


def _usual(role: str, layout: Layout, kinds: Mapping[str, Kind]) -> str | None:
    """A column of a usual name, unless the name was said to be a class's."""
    said = {f"{layout.proba_prefix or ''}{name}" for name in layout.classes or ()}
    return next((name for name in USUAL_NAMES[role] if name in kinds and name not in said), None)


def _check_once(taken: Mapping[str, str], path: str) -> None:
    for role, name in taken.items():
        twice = next((other for other, also in taken.items() if also == name and other != role), None)
        if twice:
            raise InputError(f"{path}: column {name!r} is asked for both as {role} and as {twice}: it can be one.")


def _forecasts(layout: Layout, kinds: Mapping[str, Kind], taken: set[str], path: str) -> tuple[str, ...]:
    """The columns of the classes, in file order."""
    prefix = layout.proba_prefix or ""
    if layout.classes is not None:
        found = _said(tuple(f"{prefix}{name}" for name in layout.classes), kinds, path)
    elif prefix:
        found = tuple(name for name in kinds if name.startswith(prefix) and name not in taken and name != prefix)
    else:
        costs = tuple(name for name in kinds if layout.cost_prefix and name.startswith(layout.cost_prefix))
        found = tuple(name for name, kind in kinds.items() if kind == "number" and name not in taken | set(costs))
    if len(found) < 2 and (prefix or layout.classes is not None):
        raise InputError(too_few(found, kinds, path, f" whose names begin with {prefix!r}" if prefix else ""))
    return found


def too_few(found: Sequence[str], kinds: Mapping[str, Kind], path: str, of_what: str) -> str:
    """The sentence for a table without forecasts."""
    return (
        f"{path} has {len(found)} forecast columns{of_what} among {_some(list(kinds))}: "
        "write one column per class, two at least, or say what their names begin with (--proba-prefix)."
    )


def _said(wanted: tuple[str, ...], kinds: Mapping[str, Kind], path: str) -> tuple[str, ...]:
    missing = [name for name in wanted if name not in kinds]
    if missing:
        raise InputError(f"{path} has no column for the classes {_some(missing)}; it has {_some(list(kinds))}.")
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise InputError(f"classes contain {twice!r} twice: name each class once.")
    return tuple(name for name in kinds if name in set(wanted))


def _costs(prefix: str | None, classes: Sequence[str], kinds: Mapping[str, Kind], path: str) -> tuple[str, ...]:
    if prefix is None:
        return ()
    missing = [f"{prefix}{name}" for name in classes if f"{prefix}{name}" not in kinds]
    if missing:
        raise InputError(
            f"{path} has no cost columns {_some(missing)}: write one for each class, {prefix}<class>."
        )
    return tuple(f"{prefix}{name}" for name in classes)


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
        self._by_name = {text: at for at, name in enumerate(names) for text in reversed(_spellings(name))}
        self._by_name |= {name: at for at, name in enumerate(names)}  # as it is written, first of all
        self._by_number = not any(_is_integer(text) for text in self._by_name)

    def number_of(self, label: Any) -> int | None:
        """The column of a label, or None where it has none."""
        for text in _spellings(label):
            if text in self._by_name:
                return self._by_name[text]
            if self._by_number and _is_integer(text) and 0 <= int(text) < len(self.names):
                return int(text)
        return None


def _spellings(label: Any) -> tuple[str, ...]:
    """How a label may be written: 1.0 may be 1, and True may be true or 1."""
    text = str(label)
    if text in ("True", "False"):
        return text, text.lower(), str(int(text == "True"))
    whole = text.removesuffix(".0")
    return (text, whole) if _is_integer(whole) else (text,)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit()


def unlabelled(columns: Columns, unseen: Sequence[str], path: str) -> str:
    """The sentence for columns of numbers that no row has as its label."""
    return (
        f"{path}: columns {_some(unseen)} hold numbers but never occur as a label in {columns.label!r}: if they "
        "are classes, list all classes (--classes); if not, say what the forecasts' names begin with "
        "(--proba-prefix), or which column is what (--id, --weight, --group, --cost-prefix)."
    )


def same_columns(first: Columns, other: Columns, path: str, other_path: str) -> Columns:
    """The columns of a further part of the same table; its columns may stand in another order."""
    if set(first.forecasts) != set(other.forecasts):
        differ = sorted(set(first.forecasts) ^ set(other.forecasts))
        raise InputError(f"{other_path} and {path} differ in the columns {_some(differ)}: parts need the same.")
    lacks = [name for name in first.wanted if name not in other.wanted]
    if lacks:
        raise InputError(f"{other_path} lacks the columns {_some(lacks)} that {path} has: parts need the same.")
    return replace(first, certain=other.certain)


def _or(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}"


def _some(names: Sequence[str]) -> str:
    return f"{list(names)[:8]}{'...' if len(names) > 8 else ''}"
