"""Dataclasses to and from plain data: what JSON holds becomes what the types promise, or an error that says where.

A field's metadata may say what it is called in JSON (``{"json": "class"}``), and that it is left out where it is
None (``{"optional": True}``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from math import isfinite
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pandora_regret.inputs.errors import InputError

T = TypeVar("T")

LARGEST = 1e100  # of a number that anybody measured; larger ones could not be summed or drawn


def to_plain(value: Any) -> Any:
    """Dataclasses and tuples as dicts and lists: strict JSON."""
    if is_dataclass(value):
        named = ((each, getattr(value, each.name)) for each in fields(value))
        return {_key(each): to_plain(item) for each, item in named if item is not None or not _is_optional(each)}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return {key: to_plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def from_plain(kind: type[T], value: Any, place: str) -> T:
    """Plain data as a value of a kind, built of dataclasses, tuples, dicts, unions, literals, numbers and text.

    What does not fit raises an `InputError` whose place is the path to it. Keys that a later version added are
    passed over.

    Examples
    --------
    >>> from_plain(tuple[float, ...], [1, 2.5], "prices")
    (1.0, 2.5)
    >>> from_plain(dict[str, int], {"a": 1, "b": "2"}, "counts")
    Traceback (most recent call last):
        ...
    pandora_regret.inputs.errors.InputError: counts.b is '2': it must be a whole number.
    """
    return cast(T, _read(kind, value, place))


def check_keys(kind: type[Any], value: Any, place: str) -> None:
    """That a table has no keys but a dataclass's: a person who wrote it mistyped any other."""
    known = [_key(each) for each in fields(kind)]
    for key in value if isinstance(value, Mapping) else ():
        if key not in known:
            raise InputError(f"has the key {key!r}", place=place, value=key, fix=did_you_mean(key, known))


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The name that was probably meant, or else all there are."""
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}"


def _read(kind: Any, value: Any, place: str) -> Any:
    origin = get_origin(kind)
    if is_dataclass(kind):
        return _dataclass(kind, value, place)
    if origin in (UnionType, Union):
        return _union(get_args(kind), value, place)
    if origin is tuple:
        return _sequence(get_args(kind), value, place)
    if origin is dict:
        return _mapping(get_args(kind)[1], value, place)
    if origin is Literal:
        return _one_of(get_args(kind), value, place)
    return value if kind is Any else _scalar(kind, value, place)


def _dataclass(kind: Any, value: Any, place: str) -> Any:
    _check(isinstance(value, Mapping), value, place, "a table of named values")
    hints, arguments = get_type_hints(kind), {}
    for each in fields(kind):
        if (key := _key(each)) in value:
            arguments[each.name] = _read(hints[each.name], value[key], f"{place}.{key}")
        elif each.default is MISSING and each.default_factory is MISSING:
            raise InputError(f"lacks {key!r}", place=place, fix="write it again")
    return kind(**arguments)


def _union(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    """The first kind that fits; of several that do not, the first one's error, which is the most telling."""
    if value is None and type(None) in kinds:
        return None
    errors = []
    for kind in (kind for kind in kinds if kind is not type(None)):
        try:
            return _read(kind, value, place)
        except InputError as error:
            errors.append(error)
    raise errors[0]


def _sequence(kinds: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    _check(isinstance(value, list | tuple), value, place, "a list")
    return tuple(_read(kinds[0], item, f"{place}[{number}]") for number, item in enumerate(value))


def _mapping(kind: Any, value: Any, place: str) -> dict[str, Any]:
    _check(isinstance(value, Mapping), value, place, "a table of named values")
    return {str(key): _read(kind, item, f"{place}.{key}") for key, item in value.items()}


def _one_of(choices: tuple[Any, ...], value: Any, place: str) -> Any:
    _check(isinstance(value, str) and value in choices, value, place, f"one of {', '.join(map(repr, choices))}")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


SCALARS: dict[type, tuple[Callable[[Any], bool], str]] = {
    float: (lambda value: _is_number(value) and isfinite(value), f"a number (at most {LARGEST:g})"),
    int: (lambda value: _is_number(value) and isinstance(value, int), "a whole number"),
    str: (lambda value: isinstance(value, str), "text"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
}


def _scalar(kind: Any, value: Any, place: str) -> Any:
    fits, words = SCALARS[kind]
    _check(fits(value), value, place, words)
    return kind(value)


def _check(fits: bool, value: Any, place: str, words: str) -> None:
    if not fits:
        raise InputError(f"is {value!r:.60}", place=place, value=value, fix=f"it must be {words}")


def _key(each: Field[Any]) -> str:
    """A field's name in JSON, where `class` is no reserved word."""
    return str(each.metadata.get("json", each.name))


def _is_optional(each: Field[Any]) -> bool:
    return bool(each.metadata.get("optional", False))
