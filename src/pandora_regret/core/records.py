"""Dataclasses to and from plain data: what JSON and TOML hold becomes what the types promise, or an error.

msgspec does the converting. Types may be annotated with its `Meta` (a least value, a length), and a dataclass
may raise an `InputError` in `__post_init__`; its place, too, becomes the path within the file. A field whose
metadata is ``{"optional": True}`` is not written where it is None.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from pandora_regret.core.inputs import Fields, InputError, did_you_mean

T = TypeVar("T")

LARGEST = 1e100  # of a number that anybody measured; larger ones could not be summed or drawn
WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table of named values",
}


def to_plain(value: Any) -> Any:
    """Dataclasses and tuples as dicts and lists: strict JSON."""
    if is_dataclass(value):
        return {
            each.name: to_plain(item)
            for each in fields(value)
            if (item := getattr(value, each.name)) is not None or not each.metadata.get("optional", False)
        }
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return {key: to_plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def as_written(value: Any) -> Any:
    """Python's and NumPy's values as a file would give them: lists, dictionaries without None, numbers, text."""
    if isinstance(value, Mapping):
        return {str(key): as_written(entry) for key, entry in value.items() if entry is not None}
    if hasattr(value, "tolist"):
        return as_written(value.tolist())
    return [as_written(entry) for entry in value] if isinstance(value, list | tuple) else value


def from_plain(kind: type[T], value: Any, place: str) -> T:
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
        raise _first_error(kind, value, place, error) from None


def check_keys(kind: Any, value: Any, place: str) -> None:
    """That a table, and those within it, has only the keys of a dataclass: any other was mistyped."""
    for option in _options(kind):
        if not is_dataclass(option) or not isinstance(value, Mapping):
            continue
        names = [each.name for each in fields(option)]
        for key in value:
            if key not in names:
                fail(path(place, key), "is not a key of the format", did_you_mean(key, names), value[key])
    for step, hint, part in _parts(kind, value):
        check_keys(hint, part, path(place, step))


def check_one_of(table: Any, one: str, other: str) -> None:
    """That exactly one of two values of a table is there."""
    has_one, has_other = (getattr(table, key) is not None for key in (one, other))
    if has_one == has_other:
        problem = f"stands beside {other}" if has_one else f"is missing, and so is {other}"
        raise InputError(problem, argument=one, fix="state one of the two")


def fail(place: str, problem: str, fix: str | None = None, value: Any = None) -> NoReturn:
    """Say what is wrong with a description, where, and what to do about it."""
    raise InputError(problem, place=place, fix=fix, value=value)


def path(place: str, step: str | int) -> str:
    """Where a part of something stands, as TOML would write it: ``classes[2].cost``, ``items."my item"``."""
    if isinstance(step, int):
        return f"{place}[{step}]"
    key = step if re.fullmatch(r"[A-Za-z0-9_-]+", step) else _quoted(step)
    return f"{place}.{key}" if place else key


def read_toml(file: Any, fix: str) -> Fields:
    """What a TOML file says: a path, or a file within the package."""
    try:
        content = (file if hasattr(file, "read_bytes") else Path(file)).read_bytes()
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


def to_toml(document: Mapping[str, Any], place: str = "") -> str:
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
    apart = any(isinstance(part, Mapping) for table in tables.values() for part in table.values())
    sections = tables if apart else {}
    lines = [f"{path('', key)} = {_inline(value)}\n" for key, value in document.items() if key not in sections]
    header = [f"\n[{place}]\n"] if place and (lines or not sections) else []
    return "".join([*header, *lines, *(to_toml(value, path(place, key)) for key, value in sections.items())])


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = (f"{path('', key)} = {_inline(part)}" for key, part in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return _quoted(value)


def _quoted(value: Any) -> str:
    """As TOML and JSON both write it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_numbers(value: Any, place: str) -> None:
    if isinstance(value, int | float) and not abs(value) <= LARGEST:  # NaN compares false
        problem = f"is {value}" if isinstance(value, float) else "is too large"  # to be written down
        fail(place, problem, f"it must be a number (at most {LARGEST:g})", value)
    if isinstance(value, list | tuple | dict):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            _check_numbers(part, path(place, step))


def _options(kind: Any) -> list[Any]:
    """The kinds of a union, each without what annotates it."""
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin in (Union, UnionType):
        return [option for each in arguments for option in _options(each)]
    return _options(arguments[0]) if origin is Annotated else [kind]


def _parts(kind: Any, value: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """What a value is made of: key or number, the type promised for it, and the part itself."""
    for option in _options(kind):
        origin = get_origin(option)
        arguments = get_args(option)
        if is_dataclass(option) and isinstance(value, Mapping):
            hints = get_type_hints(option, include_extras=True)
            yield from ((key, hints[key], part) for key, part in value.items() if key in hints)
        elif origin is dict and isinstance(value, Mapping):
            yield from ((key, arguments[1], part) for key, part in value.items())
        elif origin in (tuple, list) and isinstance(value, list | tuple):
            yield from ((number, arguments[0], part) for number, part in enumerate(value))


def _first_error(kind: Any, value: Any, place: str, error: Exception) -> InputError:
    """The first thing that does not fit, as deep within a value as it is found, where msgspec met an error."""
    from msgspec import ValidationError, convert

    for step, hint, part in _parts(kind, value):
        try:
            convert(part, hint)
        except ValidationError as deeper:
            return _first_error(hint, part, path(place, step), deeper)
    if isinstance(cause := error.__cause__, InputError):
        return cause.replace(place=path(place, cause.argument) if cause.argument else place)
    message = str(error)
    if message.startswith("Object missing"):
        return InputError(f"lacks {message.split('`')[1]!r}", place=place, fix="add it")
    literals = [option for option in _options(kind) if get_origin(option) is Literal]
    if literals:
        asked = f"one of {', '.join(map(repr, get_args(literals[0])))}"
    else:  # the names of kinds as msgspec writes them, "Expected `float | null` >= 0, got ..."
        before, kinds, after = (message.removeprefix("Expected ").partition(", got")[0] + "``").split("`")[:3]
        named = (WORDS.get(name, name) for name in kinds.split(" | ") if name != "null")
        asked = f"{before}{' or '.join(named)}{after}"
    return InputError(f"is {value!r:.60}", place=place, value=value, fix=f"it must be {asked}")
