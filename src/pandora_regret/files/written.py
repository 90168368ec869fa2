"""What people write on one line: lists (``flu, cold``), pairs (``flu=0.7,cold=0.3``), amounts of money or time.

Whether ``1,250`` is a thousand and more, or one and a quarter, is decided by all amounts together: by those that
can be read in one way only, else by whole hundreds without a mark. Where neither tells, that is an error.
"""

import csv
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from unicodedata import category

from pandora_regret.inputs import Done, InputError
from pandora_regret.text import counted, typed, unit_named

PRICE = re.compile(r"([^\d.,+-]*)([+-]?[.,]?\d(?:[\d.,'’\s]*\d)?)([eE][+-]?\d+)?([^\d]*)")
WHOLE = re.compile(r"[+-]?(?:\d*|[1-9]\d{0,2}([.,' ])(?:\d{2,3}\1)*\d{3})")  # two: lakhs are written 1,25,000
MULTIPLES = frozenset(["k", "m", "mio", "mn", "bn", "tsd", "thousand", "million"])


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
    """A number that a person typed at a place; 70 % is 0.7."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise InputError(f"is {text!r}", place=place, value=text, fix="write a number") from None


class Amounts(NamedTuple):
    """Prices in one unit."""

    values: dict[str, float]
    unit: str  # "" where none is written
    thousands: tuple[str, ...] = ()  # what was taken for thousands, such as 1,250, though it might be decimals

    def done(self, source: str) -> tuple[Done, ...]:
        """What was decided without being certain."""
        n, example = len(self.thousands), "".join(self.thousands[:1])
        sentence = f"{counted(n, 'price')} such as {example} read as thousands"
        return (Done("prices in thousands", n, sentence, source),) if n else ()


class _Price(NamedTuple):
    readings: dict[str, float]  # by the mark that may stand before decimals
    unit: str
    digits: str


def read_amounts(
    texts: Mapping[str, str],
    units: Mapping[str, str] | None = None,
    place: Callable[[str], str | None] = lambda name: None,
) -> Amounts:
    """What is written for each name as numbers of one unit; `units` stand in a column of their own.

    An error says the `place` of the name whose amount is wrong.

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
    try:
        prices = {name: _read(text, name) for name, text in texts.items()}
        written = [(name, price.unit) for name, price in prices.items() if price.unit]
        written += [(name, unit_named(unit)) for name, unit in (units or {}).items() if unit.strip()]
        first, unit = written[0] if written else ("", "")
        for name, other in written:
            if other.casefold() != unit.casefold():
                problem = f"is in {other} but that of {first!r} is in {unit}"
                raise InputError(problem, column=name, fix="write all of them in one unit")
        mark, thousands = _decimal_mark(prices)
    except InputError as error:
        raise error.replace(place=place(error.column), value=texts[error.column]) from None
    return Amounts({name: price.readings[mark] for name, price in prices.items()}, unit, thousands)


def _read(text: str, name: str) -> _Price:
    match, readings, units = PRICE.fullmatch(text.strip()), dict[str, float](), set[str]()
    if match is not None:
        before, digits, exponent, after = match.groups("")
        units = {unit_named(unit) for unit in (before, after.strip(".-–— ")) if unit.strip()}
        for mark in ".,":
            whole, _, fraction = re.sub(r"\s", " ", digits).replace("’", "'").partition(mark)
            if WHOLE.fullmatch(whole) and re.fullmatch(r"\d*", fraction):
                whole = re.sub("[.,' ]", "", whole)
                readings[mark] = float(f"{whole}.{fraction}{exponent}")
    unit = " ".join(units)
    named = not unit or any(letter.isalpha() or category(letter) == "Sc" for letter in unit)
    if not readings or len(units) > 1 or not named or unit.strip("$€£¥").casefold() in MULTIPLES:
        fix = "write a number, such as 1250 or 1250.00, with or without its unit"
        raise InputError(f"is {text!r}", column=name, fix=fix)
    return _Price(readings, unit, digits)


def _decimal_mark(prices: Mapping[str, _Price]) -> tuple[str, tuple[str, ...]]:
    """The mark before decimals; and what is only likely to be thousands."""
    possible = [mark for mark in ".," if all(mark in price.readings for price in prices.values())]
    if not possible:
        other, first = (next(name for name in prices if mark not in prices[name].readings) for mark in ".,")
        problem = f"has another decimal mark than that of {first!r}"
        raise InputError(problem, column=other, fix="write all of them in one way")
    doubtful = {name: price for name, price in prices.items() if len(set(price.readings.values())) > 1}
    if len(possible) == 1 or not doubtful:
        return possible[0], ()
    marks = {mark for price in doubtful.values() for mark in ".," if mark in price.digits}
    if marks == {"."} and not any(price.unit for price in prices.values()):
        return ".", ()  # as computers write numbers
    hundreds = (price for price in prices.values() if price.digits.isdecimal() and price.readings["."] >= 100)
    if len(marks) == 1 and any(hundreds):
        return ({".", ","} - marks).pop(), tuple(price.digits for price in doubtful.values())
    name, price = next(iter(doubtful.items()))
    large, small = sorted(price.readings.values(), reverse=True)
    problem = f"is {price.digits!r}, which may be {typed(large)} or {typed(small)}"
    raise InputError(problem, column=name, fix="write it so")
