"""Numbers as people read them; the page keeps the exact ones beside them, in data-value attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import floor, log10
from typing import Any

from pandora_regret.compare.words import SYMBOLS

UNDEFINED = "–"
SCORE_DIGITS = 4
DIRECTION_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")


class Formats:
    """How one page writes money, shares, scores and counts of tests: with the same digits throughout.

    Examples
    --------
    >>> formats = Formats("USD", largest=183.2)
    >>> formats.money(180.456), formats.money(-3), formats.money(None), formats.share(0.0512)
    ('$180.46', '−$3.00', '–', '5.1 %')
    >>> Formats("CHF", largest=0.5).money(0.1234567)
    '0.1235 CHF'
    """

    def __init__(self, currency: str | None, largest: float) -> None:
        symbol = SYMBOLS.get(currency.upper(), currency) if currency else ""
        self.prefix, self.suffix = ("", f" {symbol}") if symbol.isalpha() else (symbol, "")
        self.money_digits = _digits(largest, priced=bool(currency))

    @classmethod
    def of(cls, comparison: Mapping[str, Any]) -> Formats:
        """The formats that suit a comparison's costs."""
        costs = [model["scores"]["expected_cost"]["value"] for model in comparison["models"]]
        return cls(comparison["costs"]["currency"], max((abs(cost) for cost in costs if cost), default=1.0))

    def money(self, value: float | None) -> str:
        """A sum of money, or a bare number where the costs have no currency."""
        if value is None:
            return UNDEFINED
        sign = "−" if value < 0 and round(value, self.money_digits) else ""
        return f"{sign}{self.prefix}{abs(value):,.{self.money_digits}f}{self.suffix}"

    def tick(self, value: float) -> str:
        """A round sum of money, on an axis, where there is no room for a currency of many letters."""
        number = f"{value:,.12g}".replace("-", "−")
        return f"{self.prefix}{number}" if len(self.prefix) <= 3 else number

    def share(self, value: float | None) -> str:
        """A fraction, in percent."""
        return UNDEFINED if value is None else f"{_number(100 * value, 1)} %"

    def score(self, value: float | None) -> str:
        """A score without a unit."""
        return UNDEFINED if value is None else _number(value, SCORE_DIGITS)

    def tests(self, value: float | None) -> str:
        """A mean number of tests."""
        return UNDEFINED if value is None else _number(value, 2)

    def p_value(self, value: float | None) -> str:
        """A p-value; below a thousandth only that is said."""
        if value is None:
            return UNDEFINED
        return "< 0.001" if value < 0.001 else f"{value:.3f}"

    def bare(self, unit: str, value: float | None) -> str:
        """The number without its unit, where that stands beside it already."""
        return self.write(unit, value).replace(self.prefix, "").removesuffix(self.suffix).removesuffix(" %")

    def write(self, unit: str, value: float | None) -> str:
        """A number of the given unit."""
        writers: dict[str, Callable[[float | None], str]] = {
            "money": self.money,
            "share": self.share,
            "tests": self.tests,
        }
        return writers.get(unit, self.score)(value)


def alpha_name(alpha: float | str) -> str:
    """An alpha of the grid: inf is the string "inf" in JSON."""
    return "∞" if alpha == "inf" else f"{alpha:g}"


def count(value: float) -> str:
    """A number of rows, or a weight."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def typed(value: float) -> str:
    """A number as a person would type it, exactly."""
    return repr(value).removesuffix(".0")


def shortened(name: str, length: int) -> str:
    """A name that fits a drawing: its ends, which tell variants apart. The table beside it holds all of it.

    Examples
    --------
    >>> shortened("random forest (seed 17)", 15)
    'random …eed 17)'
    """
    head = length // 2
    return name if len(name) <= length else f"{name[:head]}…{name[len(name) - length + head + 1 :]}"


def one_way(sentence: str) -> str:
    """The sentence without marks that turn its direction, which a name may bring along but never close."""
    return DIRECTION_MARKS.sub("", sentence)


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace("-", "−")


def _digits(largest: float, *, priced: bool) -> int:
    """Cents for prices that people pay in; otherwise enough digits to tell models apart."""
    if priced and largest >= 1:
        return 2 if largest < 1e5 else 0
    return max(0, 3 - floor(log10(largest)))
