"""TOML files, and tables of them that know where they stand: every complaint names the file and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from pandora_regret.inputs import InputError
from pandora_regret.records import did_you_mean


@dataclass(frozen=True)
class Section:
    """One table: typed look-ups of its keys, each an error where the value is missing or of another kind."""

    file: str
    key: str  # where the table stands, such as items.visit or classes[2]; empty for the whole file
    entries: dict[str, Any]

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def fail(self, key: str, problem: str, fix: str | None = None) -> NoReturn:
        """Raise the error that names file, key, problem and fix."""
        place, value = self.path(key), self.entries.get(key)
        raise InputError(problem, argument=key, value=value, place=place, fix=fix).within(self.file)

    def path(self, key: str) -> str:
        """Where a key of this table stands in the file, as TOML would write it."""
        bare = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
        return f"{self.key}.{bare}" if self.key else bare

    def check_keys(self, known: Collection[str]) -> None:
        """A key nobody reads is a typing error, and would silently change a cost."""
        for key in self:
            if key not in known:
                self.fail(key, "is not a key of the format", did_you_mean(key, known))

    def text(self, key: str, default: str | None = None) -> str:
        """Text that is not empty."""
        value = self._value(key, default)
        if not isinstance(value, str):
            self.fail(key, f"is {shown(value)}", "it must be text in quotes")
        if not value.strip() and key in self:
            self.fail(key, "is empty", "fill it in, or leave it out if the format allows that")
        return value

    def number(self, key: str, default: int | None = None) -> Decimal:
        """A finite number."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            self.fail(key, f"is {shown(value)}", "it must be a number, without quotes")
        if not (number := Decimal(value)).is_finite():
            self.fail(key, f"is {number}", "it must be a finite number")
        return number

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number between two others."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.fail(key, f"is {shown(value)}", f"it must be a whole number from {least} to {most}")
        return value

    def name_among(self, key: str, known: Collection[str], what: str) -> str:
        """The name of something defined elsewhere in the file."""
        name = self.text(key)
        if name not in known:
            self.fail(key, f"is {name!r}, which is not among the {what}", did_you_mean(name, known))
        return name

    def section(self, key: str) -> Section:
        """A table within this one."""
        value = self._value(key)
        if not isinstance(value, dict):
            self.fail(key, f"is {shown(value)}", "it must be a table")
        return Section(self.file, self.path(key), value)

    def sections(self, key: str) -> tuple[Section, ...]:
        """A list of tables within this one, not empty."""
        value = self._value(key)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            self.fail(key, f"is {shown(value)}", "it must be a list of tables")
        if not value:
            self.fail(key, "is an empty list", "list one table at least")
        return tuple(Section(self.file, f"{self.path(key)}[{index}]", entry) for index, entry in enumerate(value))

    def _value(self, key: str, default: Any = None) -> Any:
        value = self.entries.get(key, default)
        if value is None:  # TOML has no null, so the key is not there
            self.fail(key, "is missing", "the format asks for it")
        return value


def shown(value: Any) -> str:
    """A value as a message can show it, which may be of any kind and size."""
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return f"{Decimal(value):.12g}"
    return f"{value!r:.60}"


def parse_toml(content: bytes, file: str) -> dict[str, Any]:
    """What a TOML file says. Numbers with a point become decimals, so that money adds up exactly."""
    text = _decode(content, file)
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:  # bad syntax, absurd numbers, absurd nesting
        raise InputError(f"not valid TOML: {error}").within(file) from None


def _decode(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        fix = "save the file with encoding UTF-8"
        raise InputError("is not UTF-8 text", row=line, place=f"line {line}", fix=fix).within(file) from None
