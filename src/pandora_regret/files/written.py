"""What people write on one line: lists (``flu, cold``), pairs (``flu=0.7,cold=0.3``), amounts of money or time.

Whether ``1,250`` is a thousand and more, or one and a quarter, is decided by all amounts together: by those that
can be read in one way only, else by whole hundreds without a mark. Where neither tells, that is an error.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from typing import NamedTuple
from unicodedata import category

from pandora_regret.inputs import Done, InputError
from pandora_regret.text import SYMBOLS, counted, typed

PRICE = re.compile(r"([^\d.,+-]*)([+-]?[.,]?\d(?:[\d.,'’\s]*\d)?)([eE][+-]?\d+)?([^\d]*)")
WHOLE = re.compile(r"[+-]?(?:\d*|[1-9]\d{0,2}([.,' ])(?:\d{2,3}\1)*\d{3})")  # two: lakhs are written 1,25,000
SPELLINGS = {
    "USD": "$ us$ dollar dollars", "EUR": "€ euro euros", "GBP": "£ pound pounds", "min": "mins minute minutes",
    "h": "hr hrs hour hours",
}  # fmt: skip
UNITS = {symbol.casefold(): code for code, symbol in SYMBOLS.items()} | {
    spelling: unit for unit, spellings in SPELLINGS.items() for spelling in spellings.split()
}
MULTIPLES = frozenset(["k", "m", "mio", "mn", "bn", "tsd", "thousand", "million"])
WRITE = "write a number, such as 1250 or 1250.00, with or without its unit"


def listed(text: str) -> list[str]:
    """What stands between commas; what contains a comma itself is quoted.

    Examples
    --------
    >>> listed('flu, "cold, common",')
    ['flu', 'cold, common']
    """
    one_line = " ".join(text.splitlines())
    return [field.strip() for field in next(csv.reader([one_line], skipinitialspace=True), []) if field.strip()]


def read_pairs(text: str, what: str) -> dict[str, float]:
    """``NAME=VALUE,...`` as a mapping; a name that contains a comma is quoted with its value.

    Examples
    --------
    >>> read_pairs("flu=20, cold=5", "costs")
    {'flu': 20.0, 'cold': 5.0}
    """
    return {
        name: read_written_number(value, f"{what}: the value of {name!r}")
        for name, value in read_texts(text, what).items()
    }


def read_texts(text: str, what: str, fix: str = "write such as flu=0.7,cold=0.3") -> dict[str, str]:
    """The same, the values as they are written; `fix` is said of what is no pair."""
    pairs: dict[str, str] = {}
    for field in listed(text):
        name, _, value = (part.strip() for part in field.rpartition("="))
        if not name:
            raise InputError(f"{field!r} is not NAME=VALUE", place=f"{what}:", value=field, fix=fix)
        if name in pairs:
            raise named_twice(name, what)
        pairs[name] = value
    return pairs


def named_twice(name: str, what: str) -> InputError:
    """The error for a class that is listed twice."""
    return InputError(f"there is {name!r} twice", place=f"{what}:", value=name, fix="name each class once")


def read_written_number(text: str, place: str) -> float:
    """A number that a person typed at a place."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"is {text!r}", place=place, value=text, fix="write a number") from None


class Amounts(NamedTuple):
    """Prices in one unit."""

    values: dict[str, float]
    unit: str  # "" where none is written
    thousands: tuple[str, ...] = ()  # what was taken for thousands, such as 1,250, though it might be decimals

    def done(self, source: str) -> tuple[Done, ...]:
        """What was decided without being certain."""
        n, example = len(self.thousands), next(iter(self.thousands), "")
        sentence = f"{counted(n, 'price')} such as {example} read as thousands"
        return (Done("prices in thousands", n, sentence, source),) if n else ()


class _Price(NamedTuple):
    readings: dict[str, float]  # by the mark that may stand before decimals
    unit: str
    digits: str

    @property
    def is_ambiguous(self) -> bool:
        return len(set(self.readings.values())) > 1


def read_amounts(texts: Mapping[str, str], units: Mapping[str, str] | None = None) -> Amounts:
    """What is written for each name as numbers of one unit; `units` stand in a column of their own.

    The column of an error is the name whose amount is wrong.

    Examples
    --------
    >>> read_amounts({"CT": "$1,250.00", "X-ray": "$1,300", "blood": "95"})
    Amounts(values={'CT': 1250.0, 'X-ray': 1300.0, 'blood': 95.0}, unit='USD', thousands=())
    >>> read_amounts({"CT": "1.250 €", "X-ray": "300 EUR"})
    Amounts(values={'CT': 1250.0, 'X-ray': 300.0}, unit='EUR', thousands=('1.250',))
    >>> read_amounts({"CT": "1,250"})
    Traceback (most recent call last):
    pandora_regret.inputs.errors.InputError: is '1,250', which may be 1250 or 1.25: write it so.
    """
    prices = {name: _read(text, name) for name, text in texts.items()}
    unit = _common_unit(prices, units or {})
    mark, guessed = _decimal_mark(prices)
    values = {name: price.readings[mark] for name, price in prices.items()}
    return Amounts(values, unit, tuple(p.digits for p in prices.values() if p.is_ambiguous) if guessed else ())


def unit_named(text: str) -> str:
    """A unit as results are printed with it.

    Examples
    --------
    >>> unit_named("$"), unit_named("usd"), unit_named("Minutes"), unit_named("CHF"), unit_named("points")
    ('USD', 'USD', 'min', 'CHF', 'points')
    """
    name = text.strip().rstrip(".")
    return name.upper() if name.upper() in SYMBOLS else UNITS.get(name.casefold(), name)


def _read(text: str, name: str) -> _Price:
    match = PRICE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"is {text!r}", column=name, fix=WRITE)
    before, digits, exponent, after = match.groups("")
    units = {unit_named(unit) for unit in (before, after.strip(".-–— ")) if unit.strip()}
    readings = {mark: value for mark in ".," if (value := _value(digits, exponent, mark)) is not None}
    if len(units) > 1 or not readings or not all(map(_is_unit, units)):
        raise InputError(f"is {text!r}", column=name, fix=WRITE)
    return _Price(readings, units.pop() if units else "", digits)


def _value(digits: str, exponent: str, mark: str) -> float | None:
    """The number, if this mark stands before decimals; None if it cannot."""
    plain = re.sub(r"\s", " ", digits).replace("’", "'")
    whole, _, fraction = plain.partition(mark)
    if not WHOLE.fullmatch(whole) or not re.fullmatch(r"\d*", fraction):
        return None
    whole = re.sub("[.,' ]", "", whole)
    return float(f"{whole}.{fraction}{exponent}")


def _is_unit(unit: str) -> bool:
    """Letters or a currency's sign; not a multiple, which has to be written out."""
    letters = unit.strip("$€£¥").casefold()
    return letters not in MULTIPLES and any(
        category(letter)[0] == "L" or category(letter) == "Sc" for letter in unit
    )


def _common_unit(prices: Mapping[str, _Price], units: Mapping[str, str]) -> str:
    """The unit that all prices have that have one."""
    written = [(name, price.unit) for name, price in prices.items() if price.unit]
    written += [(name, unit_named(unit)) for name, unit in units.items() if unit.strip()]
    first, unit = written[0] if written else ("", "")
    for name, other in written:
        if other.casefold() != unit.casefold():
            problem = f"is in {other} but that of {first!r} is in {unit}"
            raise InputError(problem, column=name, fix="write all of them in one unit")
    return unit


def _decimal_mark(prices: Mapping[str, _Price]) -> tuple[str, bool]:
    """The mark before decimals, and whether that is only likely."""
    settled = {next(iter(price.readings)): name for name, price in prices.items() if len(price.readings) == 1}
    if len(settled) == 2:
        problem = f"has another decimal mark than that of {settled['.']!r}"
        raise InputError(problem, column=settled[","], fix="write all of them in one way")
    doubtful = {name: price for name, price in prices.items() if price.is_ambiguous}
    if settled or not doubtful:
        return next(iter(settled), "."), False
    marks = {mark for price in doubtful.values() for mark in ".," if mark in price.digits}
    if marks == {"."} and not any(price.unit for price in prices.values()):
        return ".", False  # as computers write numbers
    hundreds = (price for price in prices.values() if price.digits.isdecimal() and price.readings["."] >= 100)
    if len(marks) == 1 and any(hundreds):
        return ({".", ","} - marks).pop(), True
    name, price = next(iter(doubtful.items()))
    large, small = sorted(price.readings.values(), reverse=True)
    problem = f"is {price.digits!r}, which may be {typed(large)} or {typed(small)}"
    raise InputError(problem, column=name, fix="write it so")
