"""Numbers as people read them: in sentences to three digits, in tables with the same digits throughout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import floor, log10

SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "CN¥", "INR": "₹", "KRW": "₩", "ILS": "₪"} | {
    "AUD": "A$", "CAD": "C$", "NZD": "NZ$", "BRL": "R$"
}  # fmt: skip
UNDEFINED = "–"
SCORE_DIGITS = 4


def money(amount: float, currency: str | None = None) -> str:
    """An amount in words, to three digits at most.

    Examples
    --------
    >>> money(180.2, "USD"), money(4.1, "EUR"), money(-41234.0, "$"), money(2.5e6, "CHF"), money(0.5833)
    ('$180', '€4.10', '-$41,200', '2.5 million CHF', '0.583 units')
    """
    number = _rounded(float(f"{abs(amount):.3g}"), in_cents=currency is not None)
    sign = "-" if amount < 0 and number != "0" else ""
    if currency is None:
        return f"{sign}{number} units"
    symbol = SYMBOLS.get(currency.upper(), currency)
    return f"{sign}{number} {symbol}" if symbol.isalpha() else f"{sign}{symbol}{number}"


def _rounded(size: float, in_cents: bool) -> str:
    for unit, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if size >= unit:
            return f"{size / unit:,.15g} {word}"
    if in_cents and 0.1 <= size < 100 and not size.is_integer():
        return f"{size:.2f}"
    places = 0 if size == 0 else max(0, 2 - floor(log10(size)))
    return f"{size:,.{min(places, 12)}f}".rstrip("0").rstrip(".") if places else f"{size:,.0f}"


def percent(share: float) -> str:
    """A probability, of which draws can never show that it is 0 or 1.

    Examples
    --------
    >>> percent(0.973), percent(0.9996), percent(0.0)
    ('97 %', 'more than 99 %', 'less than 1 %')
    """
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"


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
    def for_costs(cls, costs: Iterable[float | None], currency: str | None) -> Formats:
        """The formats that suit some costs; undefined ones do not count."""
        return cls(currency, max((abs(cost) for cost in costs if cost), default=1.0))

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
        return UNDEFINED if value is None else f"{fixed(100 * value, 1)} %"

    def score(self, value: float | None) -> str:
        """A score without a unit."""
        return UNDEFINED if value is None else fixed(value, SCORE_DIGITS)

    def tests(self, value: float | None) -> str:
        """A mean number of tests."""
        return UNDEFINED if value is None else fixed(value, 2)

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
    """An alpha, or the limit that it stands for; inf is the string "inf" in JSON.

    Examples
    --------
    >>> alpha_name(0.5), alpha_name(0.0), alpha_name("inf")
    ('α = 0.5', 'α → 0', 'α → ∞')
    """
    limits = {0.0: "α → 0", float("inf"): "α → ∞"}
    return limits.get(float(alpha), f"α = {float(alpha):g}")


def count(value: float) -> str:
    """A number of rows, or a weight."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def typed(value: float) -> str:
    """A number as a person would type it, exactly."""
    return repr(value).removesuffix(".0")


def decimals_for(largest: float, digits: int = 3) -> int:
    """How many decimals show so many digits of the largest of some numbers."""
    return max(0, digits - 1 - floor(log10(largest))) if largest > 0 else 0


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, without a unit."""
    return f"{value:,.{decimals}f}".replace("-", "−")


def significant(value: float, digits: int = 6) -> str:
    """A number to so many digits, without a unit."""
    return f"{value:,.{digits}g}"


def _digits(largest: float, *, priced: bool) -> int:
    """Cents for prices that people pay in; otherwise enough digits to tell models apart."""
    if priced and largest >= 1:
        return 2 if largest < 1e5 else 0
    return decimals_for(largest, digits=4)
