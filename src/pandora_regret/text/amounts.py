"""Numbers as people read them, and amounts in a unit: money, minutes, or typical test prices if none are known."""

import re
from collections.abc import Iterable
from math import floor, inf, isfinite, log10
from typing import Protocol
from unicodedata import category

UNDEFINED = "–"
DIGITS = 2  # of half an interval's width
SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "CN¥", "INR": "₹", "KRW": "₩", "ILS": "₪"} | {
    "AUD": "A$", "CAD": "C$", "NZD": "NZ$", "BRL": "R$"
}  # fmt: skip
SPELLINGS = {
    "USD": "$ us$ dollar dollars", "EUR": "€ euro euros", "GBP": "£ pound pounds", "min": "mins minute minutes",
    "h": "hr hrs hour hours",
}  # fmt: skip
UNIT_OF_SPELLING = {symbol.casefold(): code for code, symbol in SYMBOLS.items()} | {
    spelling: unit for unit, spellings in SPELLINGS.items() for spelling in spellings.split()
}
LARGE = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"))
SCORE_DIGITS = 4
TENS = 10.0  # from here on, money whose interval is some units wide is written without cents
CENT = 0.01
MOST_DIGITS = 6  # of an amount, however narrow its interval


def percent(share: float, *, short: bool = False) -> str:
    """A probability, of which draws can never show that it is 0 or 1; `short` in a table.

    Examples
    --------
    >>> percent(0.973), percent(0.9996), percent(0.0), percent(0.0, short=True)
    ('97 %', 'more than 99 %', 'less than 1 %', '< 1 %')
    """
    if share < 0.01:
        return "< 1 %" if short else "less than 1 %"
    if share > 0.99:
        return "> 99 %" if short else "more than 99 %"
    return f"{100 * share:.0f} %"


def alpha_name(alpha: float) -> str:
    """An alpha, or the limit that it stands for.

    Examples
    --------
    >>> alpha_name(0.5), alpha_name(0.0), alpha_name(inf)
    ('α = 0.5', 'α → 0', 'α → ∞')
    """
    return {0.0: "α → 0", inf: "α → ∞"}.get(alpha, f"α = {alpha:g}")


def count(value: float) -> str:
    """A number of rows, or a weight."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def counted(n: float, noun: str) -> str:
    """A number and what it counts, in the singular or the plural.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"


def typed(value: float) -> str:
    """A number as a person would type it, exactly."""
    return repr(value).removesuffix(".0")


def two_digits(value: float) -> str:
    """A number to two digits, without a power of ten.

    Examples
    --------
    >>> two_digits(0.3149), two_digits(42.4), two_digits(99.7)
    ('0.31', '42', '100')
    """
    return typed(float(f"{value:.{DIGITS}g}"))


def decimals_for(largest: float, digits: int = 3) -> int:
    """How many decimals show so many digits of the largest of some numbers."""
    return max(0, digits - 1 - floor(log10(largest))) if largest > 0 else 0


def fixed(value: float, decimals: int, before: str = "", after: str = "") -> str:
    """A number with so many decimals (tens, where these are below 0), between a sign, a symbol and a unit."""
    rounded = round(value, decimals)
    return f"{'−' if rounded < 0 else ''}{before}{abs(rounded):,.{max(0, decimals)}f}{after}"


def rounded_by(low: float, high: float, unit: str | None = "", most: int | None = None) -> int | None:
    """How many decimals show two digits of half an interval's width, below 0 for tens; None where it has none.

    Of money none or two, unless it is a few cents, and at most so many; but more where an end of an interval that
    excludes zero would be written as 0.

    Examples
    --------
    >>> rounded_by(570.4, 621.9), rounded_by(4213.0, 40812.0), rounded_by(2.1, 2.52), rounded_by(3.0, 3.0)
    (0, -3, 2, None)
    >>> rounded_by(0.00026, 0.00194, most=3), rounded_by(-0.00026, 0.00194, most=3)
    (4, 3)
    """
    half = (high - low) / 2
    if not 0 < half < inf:
        return None
    rounded_half = float(f"{half:.{DIGITS}g}")  # 0.996 counts as 1.0
    decimals = DIGITS - 1 - floor(log10(rounded_half))
    largest = max(-low, high)
    in_cents = is_currency(unit) and largest >= 1
    if in_cents and decimals == 1:
        decimals = 0 if largest >= TENS else 2
    elif in_cents:
        decimals = min(decimals, 2)
    if most is not None:
        decimals = min(decimals, most)
    excludes_zero = low * high > 0
    if excludes_zero:
        nearest_to_zero = min(abs(low), abs(high))
        decimals = max(decimals, 1 + floor(-log10(2 * nearest_to_zero)))
    return 2 if in_cents and decimals == 1 else decimals


NO_PRICES = "typical test prices"  # what costs are counted in where nobody priced a test, but prices vary
TESTS = "tests"  # and where each costs the same
ONE: dict[str | None, str] = {None: f" {NO_PRICES[:-1]}", TESTS: " test", "looks": " look"}  # where it is one


def money(amount: float, unit: str | None = None, *, beside: float | None = None) -> str:
    """An amount in words, to three digits at most.

    `unit` is a currency's code or symbol, or another unit such as "min" or "tests"; None stands for costs where
    nobody priced a test, and "" for costs that were given without a unit. `beside` is an amount of the same size
    that it is compared with: a final 0 is written where that one shows a digit.

    Examples
    --------
    >>> money(180.2, "USD"), money(4.1, "EUR"), money(-41234.0, "$"), money(2.5e6, "CHF"), money(95.0, "min")
    ('$180', '€4.10', '−$41,200', '2.5 million CHF', '95 min')
    >>> money(0.5833, "tests"), money(1.0, "tests"), money(31.2, ""), money(0.0592, "USD"), money(0.00044, "USD")
    ('0.583 tests', '1 test', '31.2', '$0.06', '$0.00044')
    >>> money(0.5833), money(1.0)
    ('0.583 typical test prices', '1 typical test price')
    >>> money(28.0, "USD", beside=24.1), money(11.02, "min", beside=11.1), money(28.0, "USD", beside=24.0)
    ('$28.00', '11.0 min', '$28')
    """
    size = float(f"{abs(amount):.3g}")
    scale, word = _scale_of(size)
    if word:
        number = f"{size / scale:,.15g}{word}"
    else:
        number = _number(amount, unit)
        if beside is not None:
            number = _with_as_many_decimals(number, _number(beside, unit), size, unit)
    prefix, suffix = affixes(unit)
    if number == "1" and unit in ONE:
        suffix = ONE[unit]
    sign = "−" if amount < 0 and number != "0" else ""
    return f"{sign}{prefix}{number}{suffix}"


def _number(amount: float, unit: str | None) -> str:
    """The digits of an amount, without its sign: three of them at most, no final 0, or cents."""
    size = float(f"{abs(amount):.3g}")
    if is_currency(unit) and CENT <= abs(amount) < 100 and not size.is_integer():
        return f"{size:.2f}"
    digits = 2 if is_currency(unit) and size < CENT else 3
    number = f"{size:,.{min(12, decimals_for(size, digits))}f}"
    return number.rstrip("0").rstrip(".") if "." in number else number


def _with_as_many_decimals(number: str, other: str, size: float, unit: str | None) -> str:
    """A number, whose size is this, with as many decimals as another has; but three digits in all, or cents."""
    most = decimals_for(size)
    if is_currency(unit) and most > 0:
        most = max(most, 2)  # cents
    decimals = max(_n_decimals(number), min(_n_decimals(other), most))
    return f"{size:,.{decimals}f}"


def _n_decimals(number: str) -> int:
    """How many decimals a number is written with."""
    return len(number.partition(".")[2])


def stated_price(amount: float, unit: str | None = None) -> str:
    """A price that somebody stated, in full: with cents where it has them.

    Examples
    --------
    >>> stated_price(412.5, "EUR"), stated_price(1250.0, "$"), stated_price(12.5, "min")
    ('€412.50', '$1,250', '12.5 min')
    """
    size = abs(amount)
    if size >= LARGE[-1][0] or not isfinite(size):
        return money(amount, unit)
    number = f"{size:,.12g}"
    if is_currency(unit) and len(number.partition(".")[2]) == 1:
        number += "0"
    prefix, suffix = affixes(unit)
    if number == "1" and unit in ONE:
        suffix = ONE[unit]
    return f"{'−' if amount < 0 else ''}{prefix}{number}{suffix}"


def money_between(
    value: float, low: float | None, high: float | None, unit: str | None = None, *, per: str = ""
) -> str:
    """An amount and its interval, rounded by the interval's width; without an interval as `money` writes it.

    `per` follows the amount, such as "per case".

    Examples
    --------
    >>> money_between(596.21, 570.4, 621.9, "USD"), money_between(22554.66, 4213.0, 40812.0, "CHF")
    ('$596 (570 to 622)', '23,000 CHF (4,000 to 41,000)')
    >>> money_between(2.345, 2.1, 2.52, "tests"), money_between(-3.2, -14.1, 9.3, "EUR")
    ('2.35 tests (2.10 to 2.52)', '−€3 (−14 to 9)')
    >>> money_between(1.31e6, 0.93e6, 1.64e6, "USD"), money_between(41.26, None, None, "USD")
    ('$1.31 million (0.93 to 1.64)', '$41.30')
    >>> money_between(2.345, 2.1, 2.52, "tests", per="per case")
    '2.35 tests per case (2.10 to 2.52)'
    """
    decimals = None if low is None or high is None else rounded_by(low, high, unit)
    if low is None or high is None or decimals is None:
        return f"{money(value, unit)} {per}".rstrip()
    largest = max(abs(value), abs(low), abs(high))
    scale, word = _scale_of(largest)
    places = max(0, min(decimals + round(log10(scale)), decimals_for(largest / scale, MOST_DIGITS)))
    prefix, suffix = affixes(unit)
    lowest = fixed(round(low, decimals) / scale, places)
    highest = fixed(round(high, decimals) / scale, places)
    amount = fixed(round(value, decimals) / scale, places, prefix, word + suffix)
    if per:
        amount = f"{amount} {per}"
    return f"{amount} ({lowest} to {highest})"


def is_currency(unit: str | None) -> bool:
    """Whether amounts of the unit have cents.

    Examples
    --------
    >>> [is_currency(unit) for unit in ("USD", "usd", "CHF", "A$", "min", "", None)]
    [True, True, True, True, False, False, False]
    """
    return bool(affixes(unit)[0] or re.fullmatch("[A-Z]{3}", unit or ""))


def affixes(unit: str | None) -> tuple[str, str]:
    """What stands before and after an amount.

    Examples
    --------
    >>> affixes("USD"), affixes("CHF"), affixes("min"), affixes(""), affixes(None)
    (('$', ''), ('', ' CHF'), ('', ' min'), ('', ''), ('', ' typical test prices'))
    """
    if unit == "":
        return "", ""
    symbol = NO_PRICES if unit is None else SYMBOLS.get(unit.upper(), unit)
    if any(category(letter) == "Sc" for letter in symbol):
        return symbol, ""
    return "", f" {symbol}"


def unit_named(text: str) -> str:
    """A unit as results are printed with it.

    Examples
    --------
    >>> unit_named("$"), unit_named("usd"), unit_named("Minutes"), unit_named("CHF"), unit_named("points")
    ('USD', 'USD', 'min', 'CHF', 'points')
    """
    name = text.strip().rstrip(".")
    return name.upper() if name.upper() in SYMBOLS else UNIT_OF_SPELLING.get(name.casefold(), name)


def _scale_of(size: float) -> tuple[float, str]:
    """What a large amount is counted in, and its name."""
    for scale, word in LARGE:
        if size >= scale:
            return scale, word
    return 1.0, ""


class WithLimits(Protocol):
    """What an estimate says: a value and, where there are any, the limits of its interval."""

    @property
    def value(self) -> float | None:
        """The estimate itself."""

    @property
    def low(self) -> float | None:
        """The lower limit."""

    @property
    def high(self) -> float | None:
        """The upper limit."""


class Formats:
    """How one page writes money, shares, scores and counts of tests: with the same digits throughout.

    An estimate with an interval is rounded further, by the interval's width.

    Examples
    --------
    >>> formats = Formats([183.2, None], "USD")
    >>> formats.money(180.456), formats.money(-3), formats.money(None), formats.write("share", 0.0512)
    ('$180.46', '−$3.00', '–', '5.1 %')
    >>> from pandora_regret.inference.estimate import Estimate
    >>> formats.estimate("money", Estimate(180.456, 161.2, 199.7))
    ('$180', '161–200')
    >>> formats.estimate("share", Estimate(0.851, 0.62, 0.96))
    ('85 %', '62–96')
    >>> Formats([0.5], "CHF").money(0.1234567), Formats([2.3], "tests").money(2.3456)
    ('0.1235 CHF', '2.346 tests')
    >>> formats.tick(-2500.0)
    '−$2,500'
    """

    def __init__(self, costs: Iterable[float | None], unit: str | None) -> None:
        self.unit = unit
        self.prefix, self.suffix = affixes(unit)
        largest = max((abs(cost) for cost in costs if cost), default=1.0)
        if not is_currency(unit) or largest < 1:
            self.money_digits = decimals_for(largest, digits=4)  # enough to tell models apart
        elif largest < 1e5:
            self.money_digits = 2
        else:
            self.money_digits = 0
        self._kinds = {  # what a number is multiplied by, its decimals, and what stands before and after it
            "money": (1, self.money_digits, self.prefix, self.suffix),
            "share": (100, 1, "", " %"),
            "tests": (1, 2, "", ""),
            "score": (1, SCORE_DIGITS, "", ""),
        }

    def write(self, kind: str, value: float | None, decimals: int | None = None) -> str:
        """A number of a kind ("money", "share", "tests" or "score"), with its unit."""
        if value is None:
            return UNDEFINED
        factor, usual, prefix, suffix = self._kinds[kind]
        return fixed(factor * value, usual if decimals is None else decimals, prefix, suffix)

    def money(self, value: float | None) -> str:
        """An amount in the page's unit."""
        return self.write("money", value)

    def tick(self, value: float) -> str:
        """A round amount, on an axis, where there is no room for more than a symbol."""
        return f"{'−' if value < 0 else ''}{self.prefix}{abs(value):,.12g}"

    def p_value(self, value: float | None) -> str:
        """A p-value; below a thousandth only that is said."""
        if value is None:
            return UNDEFINED
        return "< 0.001" if value < 0.001 else f"{value:.3f}"

    def digits(self, kind: str, estimate: WithLimits) -> int | None:
        """How many decimals an estimate of a kind is written with; None where it has no limits."""
        if estimate.low is None or estimate.high is None:
            return None
        factor, usual, *_ = self._kinds[kind]
        unit = self.unit if kind == "money" else ""
        return rounded_by(factor * estimate.low, factor * estimate.high, unit, usual)

    def estimate(self, kind: str, estimate: WithLimits, least_digits: int | None = None) -> tuple[str, str]:
        """An `Estimate` of a kind: its value and its limits, rounded by their distance; no limits are empty text.

        `least_digits` are those of numbers that a reader will hold this one, not its limits, against.
        """
        digits = self.digits(kind, estimate)
        if digits is None or estimate.low is None or estimate.high is None:
            return self.write(kind, estimate.value), ""
        factor = self._kinds[kind][0]
        lowest = fixed(factor * estimate.low, digits)
        highest = fixed(factor * estimate.high, digits)
        between = " to " if estimate.low < 0 else UNDEFINED  # a dash beside a minus sign would be misread
        finer = digits if least_digits is None else max(digits, least_digits)
        return self.write(kind, estimate.value, finer), f"{lowest}{between}{highest}"
