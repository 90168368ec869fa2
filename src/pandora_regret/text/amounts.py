"""Amounts in a unit: money, minutes, or tests where nothing says what a test costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import floor, log10
from unicodedata import category

from pandora_regret.text.numbers import UNDEFINED, decimals_for, fixed, rounded_by, told_from_zero

SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "CN¥", "INR": "₹", "KRW": "₩", "ILS": "₪"} | {
    "AUD": "A$", "CAD": "C$", "NZD": "NZ$", "BRL": "R$"
}  # fmt: skip
LARGE = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"))
SCORE_DIGITS = 4
TENS = 10.0  # from here on, money whose interval is some units wide is written without cents
MOST_DIGITS = 6  # of an amount, however narrow its interval


def money(amount: float, unit: str | None = None) -> str:
    """An amount in words, to three digits at most.

    `unit` is a currency's code or symbol, or another unit such as "min"; None counts tests, and "" stands for
    costs that were given without a unit.

    Examples
    --------
    >>> money(180.2, "USD"), money(4.1, "EUR"), money(-41234.0, "$"), money(2.5e6, "CHF"), money(95.0, "min")
    ('$180', '€4.10', '−$41,200', '2.5 million CHF', '95 min')
    >>> money(0.5833), money(1.0), money(31.2, "")
    ('0.583 tests', '1 test', '31.2')
    """
    number = _to_three_digits(float(f"{abs(amount):.3g}"), in_cents=is_currency(unit))
    return _joined("−" if amount < 0 and number != "0" else "", number, unit)


def money_between(
    value: float, low: float | None, high: float | None, unit: str | None = None, *, per: str = ""
) -> str:
    """An amount and its interval, rounded by the interval's width; without an interval as `money` writes it.

    `per` follows the amount, such as "per case".

    Examples
    --------
    >>> money_between(596.21, 570.4, 621.9, "USD"), money_between(22554.66, 4213.0, 40812.0, "CHF")
    ('$596 (570 to 622)', '23,000 CHF (4,000 to 41,000)')
    >>> money_between(2.345, 2.1, 2.52), money_between(-3.2, -14.1, 9.3, "EUR")
    ('2.35 tests (2.10 to 2.52)', '−€3 (−14 to 9)')
    >>> money_between(1.31e6, 0.93e6, 1.64e6, "USD"), money_between(41.26, None, None, "USD")
    ('$1.31 million (0.93 to 1.64)', '$41.30')
    >>> money_between(2.345, 2.1, 2.52, per="per case")
    '2.35 tests per case (2.10 to 2.52)'
    """
    decimals = _rounded_by(low, high, unit)
    if low is None or high is None or decimals is None:
        return f"{money(value, unit)} {per}".rstrip()
    largest = max(abs(value), abs(low), abs(high))
    scale, word = next(((size, word) for size, word in LARGE if largest >= size), (1.0, ""))
    places = _places(decimals + round(log10(scale)), largest / scale)
    (sign, digits), *limits = (_signed(round(x, decimals) / scale, places) for x in (value, low, high))
    amount = f"{_joined(sign, digits + word, unit)} {per}".rstrip()
    return f"{amount} ({' to '.join(map(''.join, limits))})"


def is_currency(unit: str | None) -> bool:
    """Whether amounts of the unit have cents.

    Examples
    --------
    >>> [is_currency(unit) for unit in ("USD", "usd", "CHF", "A$", "min", "", None)]
    [True, True, True, True, False, False, False]
    """
    if not unit:
        return False
    return unit.upper() in SYMBOLS or _is_symbol(unit) or (len(unit) == 3 and unit.isalpha() and unit.isupper())


def affixes(unit: str | None) -> tuple[str, str]:
    """What stands before and after an amount.

    Examples
    --------
    >>> affixes("USD"), affixes("CHF"), affixes("min"), affixes(""), affixes(None)
    (('$', ''), ('', ' CHF'), ('', ' min'), ('', ''), ('', ' tests'))
    """
    symbol = "tests" if unit is None else SYMBOLS.get(unit.upper(), unit)
    return (symbol, "") if _is_symbol(symbol) else ("", f" {symbol}" if symbol else "")


def _is_symbol(unit: str) -> bool:
    return any(category(letter) == "Sc" for letter in unit)


def _joined(sign: str, number: str, unit: str | None) -> str:
    prefix, suffix = affixes(unit)
    return f"{sign}{prefix}{number}{' test' if unit is None and number == '1' else suffix}"


def _signed(value: float, places: int) -> tuple[str, str]:
    """The sign, where anything but zero is left, and the digits."""
    digits = f"{abs(value):,.{places}f}"
    return "−" if value < 0 and digits.strip("0.") else "", digits


def _rounded_by(low: float | None, high: float | None, unit: str | None) -> int | None:
    """Decimals by the width; of money none or two, unless it is a few cents."""
    decimals = rounded_by(low, high)
    if decimals is None or low is None or high is None:
        return None
    if is_currency(unit) and max(-low, high) >= 1:
        decimals = min(decimals, 2) if decimals != 1 else 0 if max(-low, high) >= TENS else 2
        return 2 if (told := told_from_zero(decimals, low, high)) == 1 else told
    return told_from_zero(decimals, low, high)


def _places(decimals: int, largest: float) -> int:
    """The decimals to write: as many as asked for, but no long tails."""
    return max(0, min(decimals, MOST_DIGITS - 1 - floor(log10(largest)))) if largest else 0


def _to_three_digits(size: float, in_cents: bool) -> str:
    for unit, word in LARGE:
        if size >= unit:
            return f"{size / unit:,.15g}{word}"
    if in_cents and 0.1 <= size < 100 and not size.is_integer():
        return f"{size:.2f}"
    places = 0 if size == 0 else max(0, 2 - floor(log10(size)))
    return f"{size:,.{min(places, 12)}f}".rstrip("0").rstrip(".") if places else f"{size:,.0f}"


class Formats:
    """How one page writes money, shares, scores and counts of tests: with the same digits throughout.

    An estimate with an interval is rounded further, by the interval's width.

    Examples
    --------
    >>> formats = Formats("USD", largest=183.2)
    >>> formats.money(180.456), formats.money(-3), formats.money(None), formats.share(0.0512)
    ('$180.46', '−$3.00', '–', '5.1 %')
    >>> formats.estimate("money", 180.456, 161.2, 199.7), formats.estimate("share", 0.851, 0.62, 0.96)
    (('$180', '161–200'), ('85 %', '62–96'))
    >>> Formats("CHF", largest=0.5).money(0.1234567), Formats(None, largest=2.3).money(2.3456)
    ('0.1235 CHF', '2.346 tests')
    """

    def __init__(self, unit: str | None, largest: float) -> None:
        self.prefix, self.suffix = affixes(unit)
        self.unit = unit
        self.money_digits = _digits(largest, in_cents=is_currency(unit))

    @classmethod
    def for_costs(cls, costs: Iterable[float | None], unit: str | None) -> Formats:
        """The formats that suit some costs; undefined ones do not count."""
        return cls(unit, max((abs(cost) for cost in costs if cost), default=1.0))

    def money(self, value: float | None, decimals: int | None = None) -> str:
        """An amount in the page's unit."""
        if value is None:
            return UNDEFINED
        digits = self.money_digits if decimals is None else decimals
        sign = "−" if value < 0 and round(value, digits) else ""
        return f"{sign}{self.prefix}{_fixed(abs(value), digits)}{self.suffix}"

    def tick(self, value: float) -> str:
        """A round amount, on an axis, where there is no room for a unit of many letters."""
        number = f"{value:,.12g}".replace("-", "−")
        return f"{self.prefix}{number}" if len(self.prefix) <= 3 else number

    def share(self, value: float | None, decimals: int = 1) -> str:
        """A fraction, in percent."""
        return UNDEFINED if value is None else f"{_fixed(100 * value, decimals)} %"

    def score(self, value: float | None, decimals: int = SCORE_DIGITS) -> str:
        """A score without a unit."""
        return UNDEFINED if value is None else _fixed(value, decimals)

    def tests(self, value: float | None, decimals: int = 2) -> str:
        """A mean number of tests."""
        return UNDEFINED if value is None else _fixed(value, decimals)

    def p_value(self, value: float | None) -> str:
        """A p-value; below a thousandth only that is said."""
        if value is None:
            return UNDEFINED
        return "< 0.001" if value < 0.001 else f"{value:.3f}"

    def bare(self, unit: str, value: float | None) -> str:
        """The number without its unit, where that stands beside it already."""
        return self._without_unit(self.write(unit, value))

    def write(self, unit: str, value: float | None) -> str:
        """A number of the given unit."""
        return self._writer(unit)(value)

    def digits(self, unit: str, low: float | None, high: float | None) -> int | None:
        """How many decimals an estimate of the given unit is written with; None where it has no limits."""
        decimals = _rounded_by(low, high, self.unit if unit == "money" else "")
        if decimals is None or low is None or high is None:
            return None
        usual = {"money": self.money_digits, "share": 1, "tests": 2}.get(unit, SCORE_DIGITS)
        scale = 100 if unit == "share" else 1
        return told_from_zero(min(usual, decimals - 2 if unit == "share" else decimals), scale * low, scale * high)

    def estimate(
        self,
        unit: str,
        value: float | None,
        low: float | None,
        high: float | None,
        least_digits: int | None = None,
    ) -> tuple[str, str]:
        """A number of the given unit and its limits, rounded by their distance; no limits are empty text.

        `least_digits` are those of numbers that a reader will hold this one, not its limits, against.
        """
        digits, writer = self.digits(unit, low, high), self._writer(unit)
        if digits is None:
            return writer(value), ""
        ends = [self._without_unit(writer(limit, digits)) for limit in (low, high)]
        finer = digits if least_digits is None else max(digits, least_digits)
        return writer(value, finer), (" to " if low is not None and low < 0 else UNDEFINED).join(ends)

    def _writer(self, unit: str) -> Callable[..., str]:
        writers: dict[str, Callable[..., str]] = {"money": self.money, "share": self.share, "tests": self.tests}
        return writers.get(unit, self.score)

    def _without_unit(self, text: str) -> str:
        return text.replace(self.prefix, "").removesuffix(self.suffix).removesuffix(" %")


def _fixed(value: float, decimals: int) -> str:
    """With so many decimals, or rounded to tens and hundreds where they are below 0."""
    return fixed(round(value, decimals), max(0, decimals))


def _digits(largest: float, *, in_cents: bool) -> int:
    """Cents for prices that people pay in; otherwise enough digits to tell models apart."""
    if in_cents and largest >= 1:
        return 2 if largest < 1e5 else 0
    return decimals_for(largest, digits=4)
