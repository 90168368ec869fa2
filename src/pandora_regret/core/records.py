"""Dataclasses to and from plain data: what JSON and TOML hold becomes what the types promise, or an error.

msgspec does the converting. Types may be annotated with its `Meta` (a least value, a length), and a dataclass
may raise an `InputError` in `__post_init__`; its place, too, becomes the path within the file. A field whose
metadata is ``{"optional": True}`` is not written where it is None.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Literal,
    NoReturn,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pandora_regret.core.inputs import Fields, InputError, did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from msgspec import Meta

T = TypeVar("T")


class Readable(Protocol):
    """A file on disk, or within a package."""

    def read_bytes(self) -> bytes:
        """All that it holds."""


LARGEST_NUMBER = 1e100  # of a number that anybody measured; larger ones could not be summed or drawn
TYPE_NAMES: dict[object, str] = {
    float: "a number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    tuple: "a list",
    list: "a list",
    dict: "a table of named values",
}


@overload
def to_plain(value: "DataclassInstance | Mapping[str, object]") -> Fields: ...
@overload
def to_plain(value: object) -> object: ...
def to_plain(value: object) -> object:
    """Dataclasses and tuples as dicts and lists: strict JSON."""
    if is_dataclass(value):
        plain = {}
        for field in fields(value):
            item: object = getattr(value, field.name)
            is_left_out = item is None and field.metadata.get("optional", False)
            if not is_left_out:
                plain[field.name] = to_plain(item)
        return plain
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    return value


@overload
def as_written(value: Mapping[str, object]) -> Fields: ...
@overload
def as_written(value: object) -> object: ...
def as_written(value: object) -> object:
    """Python's and NumPy's values as a file would give them: lists, dictionaries without None, numbers, text."""
    if isinstance(value, Mapping):
        return {str(key): as_written(entry) for key, entry in value.items() if entry is not None}
    if hasattr(value, "tolist"):
        return as_written(value.tolist())
    return [as_written(entry) for entry in value] if isinstance(value, list | tuple) else value


def from_plain(kind: type[T], value: object, place: str) -> T:
    """Plain data as a value of a kind, built of dataclasses, tuples, dicts, unions, literals, numbers and text.

    What does not fit raises an `InputError` whose place is the path to it. Keys that a later version added are
    passed over; `check_keys` refuses them.

    Examples
    --------
    >>> from_plain(tuple[float, ...], [1, 2.5], "prices")
    (1.0, 2.5)
    >>> from_plain(dict[str, int], {"a": 1, "b": "2"}, "counts")
    Traceback (most recent call last):
        ...
    pandora_regret.core.inputs.errors.InputError: counts.b is '2': it must be a whole number.
    """
    from msgspec import ValidationError, convert

    _check_numbers(value, place)
    try:
        return convert(value, kind)
    except ValidationError as error:
        raise _first_error(kind, value, place, error.__cause__) from None


def check_keys(kind: object, value: object, place: str) -> None:
    """That a table, and those within it, has only the keys of a dataclass: any other was mistyped."""
    for option in _union_members(kind):
        if not is_dataclass(option) or not isinstance(value, Mapping):
            continue
        names = [field.name for field in fields(option)]
        for key in value:
            if key not in names:
                fail(path(place, key), "is not a key of the format", did_you_mean(key, names), value[key])
    for step, hint, part in _fields_of(kind, value):
        check_keys(hint, part, path(place, step))


def check_one_of(**alternatives: object) -> None:
    """That exactly one of two values of a table, by their names, is there."""
    first, second = alternatives.keys()
    has_first = alternatives[first] is not None
    has_second = alternatives[second] is not None
    if has_first == has_second:
        problem = f"stands beside {second}" if has_first else f"is missing, and so is {second}"
        raise InputError(problem, argument=first, fix="state one of the two")


def fail(place: str, problem: str, fix: str | None = None, value: object = None) -> NoReturn:
    """Say what is wrong with a description, where, and what to do about it."""
    raise InputError(problem, place=place, fix=fix, value=value)


def path(place: str, step: str | int) -> str:
    """Where a part of something stands, as TOML would write it: ``classes[2].cost``, ``items."my item"``."""
    if isinstance(step, int):
        return f"{place}[{step}]"
    key = step if re.fullmatch(r"[A-Za-z0-9_-]+", step) else _quoted(step)
    return f"{place}.{key}" if place else key


def read_toml(file: object, fix: str) -> Fields:
    """What a TOML file says: a path, or a file within the package."""
    try:
        readable = file if hasattr(file, "read_bytes") else Path(cast(str, file))
        content = cast(Readable, readable).read_bytes()
    except (OSError, ValueError, TypeError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read ({reason})", value=str(file), place=repr(str(file)), fix=fix) from None
    return parse_toml(content, str(file))


def parse_toml(content: bytes, file: str) -> Fields:
    """What a TOML file says; errors call it `file`."""
    try:
        return tomllib.loads(content.decode("utf-8-sig"))  # some editors begin a file with a byte order mark
    except (ValueError, RecursionError) as error:  # other encodings, bad syntax, absurd numbers, absurd nesting
        fix = "save it with encoding UTF-8" if isinstance(error, UnicodeDecodeError) else None
        raise InputError(f"not valid TOML: {error}", fix=fix).within(file) from None


def to_toml(document: Mapping[str, object], place: str = "") -> str:
    """A TOML file: sections, down to tables of tables, which have one line each.

    Examples
    --------
    >>> print(to_toml({"title": "Pumps", "steps": {"look": {"cost": 3, "finds": {"a leak": {"pump": 0.5}}}}}))
    title = "Pumps"
    <BLANKLINE>
    [steps.look]
    cost = 3
    <BLANKLINE>
    [steps.look.finds]
    "a leak" = {pump = 0.5}
    <BLANKLINE>
    """
    tables = {key: value for key, value in document.items() if isinstance(value, Mapping)}
    parts: list[object] = []
    for table in tables.values():
        parts.extend(table.values())
    has_tables_of_tables = any(isinstance(part, Mapping) for part in parts)
    sections = tables if has_tables_of_tables else {}
    lines = []
    for key, value in document.items():
        if key not in sections:
            lines.append(f"{path('', key)} = {_inline(value)}\n")
    if place and (lines or not sections):
        lines.insert(0, f"\n[{place}]\n")
    for key, table in sections.items():
        lines.append(to_toml(table, path(place, key)))
    return "".join(lines)


def _inline(value: object) -> str:
    """A value as TOML writes it in one line, tables in braces."""
    if isinstance(value, Mapping):
        parts = (f"{path('', key)} = {_inline(part)}" for key, part in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return _quoted(value)


def _quoted(value: object) -> str:
    """As TOML and JSON both write it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_numbers(value: object, place: str) -> None:
    """That all numbers of a description are finite, and not absurdly large."""
    if isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:  # NaN compares false
        problem = f"is {value}" if isinstance(value, float) else "is too large"  # to be written down
        fail(place, problem, f"it must be a number (at most {LARGEST_NUMBER:g})", value)
    if isinstance(value, dict):
        for key, part in value.items():
            _check_numbers(part, path(place, key))
    if isinstance(value, list | tuple):
        for number, part in enumerate(value):
            _check_numbers(part, path(place, number))


# What types say


def _union_members(kind: object) -> list[object]:
    """The kinds of a union, each without what annotates it."""
    arguments = get_args(kind)
    if get_origin(kind) is Annotated:
        return _union_members(arguments[0])
    if get_origin(kind) not in (Union, UnionType):
        return [kind]
    options = []
    for argument in arguments:
        options.extend(_union_members(argument))
    return options


def _limits(kind: object) -> list["Meta"]:
    """What annotates the kinds of a union: least and largest values, lengths."""
    arguments = get_args(kind)
    if get_origin(kind) is Annotated:
        return list(arguments[1:])
    if get_origin(kind) not in (Union, UnionType):
        return []
    limits = []
    for argument in arguments:
        limits.extend(_limits(argument))
    return limits


def _fields_of(kind: object, value: object) -> Iterator[tuple[str | int, object, object]]:
    """What a value is made of: key or number, the type promised for it, and the part itself."""
    for option in _union_members(kind):
        origin = get_origin(option)
        arguments = get_args(option)
        if is_dataclass(option) and isinstance(value, Mapping):
            hints = get_type_hints(option, include_extras=True)
            yield from ((key, hints[key], part) for key, part in value.items() if key in hints)
        elif origin is dict and isinstance(value, Mapping):
            yield from ((key, arguments[1], part) for key, part in value.items())
        elif origin in (tuple, list) and isinstance(value, list | tuple):
            yield from ((number, arguments[0], part) for number, part in enumerate(value))


# What does not fit


def _first_error(kind: object, value: object, place: str, cause: BaseException | None) -> InputError:
    """The first thing that does not fit, as deep within a value as it is found.

    `cause` is what went wrong while the value was made, if anything did: perhaps a dataclass's own check.
    """
    from msgspec import ValidationError, convert

    for step, hint, part in _fields_of(kind, value):
        try:
            convert(part, cast("type[object]", hint))
        except ValidationError as deeper:
            return _first_error(hint, part, path(place, step), deeper.__cause__)
    if isinstance(cause, InputError):
        return cause.replace(place=path(place, cause.argument) if cause.argument else place)
    missing = _missing_key(kind, value)
    if missing is not None:
        return InputError(f"lacks {missing!r}", place=place, fix="add it")
    return InputError(f"is {value!r:.60}", place=place, value=value, fix=f"it must be {_wanted(kind, value)}")


def _missing_key(kind: object, value: object) -> str | None:
    """The first key that a dataclass needs and a table lacks, if that is what is wrong."""
    if not isinstance(value, Mapping):
        return None
    for option in _union_members(kind):
        for field in fields(option) if is_dataclass(option) else ():
            is_needed = field.default is MISSING and field.default_factory is MISSING
            if is_needed and field.name not in value:
                return field.name
    return None


def _wanted(kind: object, value: object) -> str:
    """What a value should have been: "a number <= 1", "text or a list"."""
    kinds = []
    for option in _union_members(kind):
        if get_origin(option) is Literal:
            kinds.append(f"one of {', '.join(map(repr, get_args(option)))}")
        elif is_dataclass(option):
            kinds.append(TYPE_NAMES[dict])
        elif option is not NoneType:
            kinds.append(TYPE_NAMES.get(get_origin(option) or option, str(option)))
    limit = next(filter(None, (_broken_limit(meta, value) for meta in _limits(kind))), "")
    return " or ".join(dict.fromkeys(kinds)) + limit


def _broken_limit(meta: "Meta", value: object) -> str:
    """The limit that a value does not keep: " <= 1", " of length >= 2"; empty if it keeps all."""
    if isinstance(value, int | float):
        if meta.ge is not None and not value >= meta.ge:
            return f" >= {meta.ge:.12g}"
        if meta.gt is not None and not value > meta.gt:
            return f" > {meta.gt:.12g}"
        if meta.le is not None and not value <= meta.le:
            return f" <= {meta.le:.12g}"
        if meta.lt is not None and not value < meta.lt:
            return f" < {meta.lt:.12g}"
    if isinstance(value, Sequence) and meta.min_length is not None and len(value) < meta.min_length:
        return f" of length >= {meta.min_length}"
    return ""
