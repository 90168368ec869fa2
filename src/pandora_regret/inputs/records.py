"""Plain data from a JSON file, held against what it should be: a `TypedDict`, down to its last entry."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from pandora_regret.inputs.errors import InputError

WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}
LARGEST_WHOLE = 2**63  # beyond it a whole number is a mistake, and may not even fit into a float


def check_record(value: Any, kind: Any, place: str = "") -> None:
    """Hold plain data against a kind: a `TypedDict`, or a type of str, int, float, bool, None, list and dict.

    The error names the entry, such as ``data[0].agreement.interval``. Further entries of a table are left alone.

    Examples
    --------
    >>> check_record({"costs": {"flu": "ten"}}, dict[str, dict[str, float]])
    Traceback (most recent call last):
    pandora_regret.inputs.errors.InputError: costs.flu is 'ten': it must be a number.
    """
    if is_typeddict(kind):
        _check_table(value, kind, place)
    elif get_origin(kind) is list:
        for number, entry in enumerate(_instance(value, list, "a list", place)):
            check_record(entry, get_args(kind)[0], f"{place}[{number}]")
    elif get_origin(kind) is dict:
        for key, entry in _instance(value, dict, "a table", place).items():
            check_record(entry, get_args(kind)[1], _path(place, key))
    elif not _is_a(value, kind):
        raise InputError(f"{place or 'the content'} is {value!r:.60}: it must be {_words(kind)}.")


def _check_table(value: Any, kind: Any, place: str) -> None:
    table = _instance(value, dict, "a table", place)
    for key, part in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(part) is NotRequired
        if key not in table and not optional:
            raise InputError(f"{_path(place, key)} is missing.")
        if key in table:
            check_record(table[key], get_args(part)[0] if optional else part, _path(place, key))


def _instance(value: Any, kind: type, words: str, place: str) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{place or 'the content'} is {value!r:.60}: it must be {words}.")
    return value


def _is_a(value: Any, kind: Any) -> bool:
    if get_origin(kind) in (UnionType, Union):
        return any(_is_a(value, part) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(kind))
    if type(value) is int:
        return kind in (int, float) and abs(value) < LARGEST_WHOLE
    return type(value) is kind


def _words(kind: Any) -> str:
    if get_origin(kind) in (UnionType, Union):
        return " or ".join(map(_words, get_args(kind)))
    return " or ".join(map(repr, get_args(kind))) if get_origin(kind) is Literal else WORDS[kind]


def _path(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key
