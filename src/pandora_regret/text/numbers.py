"""Numbers without a unit, as people read them."""

from __future__ import annotations

from math import floor, inf, log10

UNDEFINED = "–"
DIGITS = 2  # of half an interval's width


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


def counted(n: float, what: str) -> str:
    """So many of something, in the singular or the plural.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count(n)} {what}{'s' * (n != 1)}"


def typed(value: float) -> str:
    """A number as a person would type it, exactly."""
    return repr(value).removesuffix(".0")


def decimals_for(largest: float, digits: int = 3) -> int:
    """How many decimals show so many digits of the largest of some numbers."""
    return max(0, digits - 1 - floor(log10(largest))) if largest > 0 else 0


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, without a unit."""
    return f"{value:,.{decimals}f}".replace("-", "−")


def told_from_zero(decimals: int, low: float, high: float) -> int:
    """So many decimals, or more where a limit of an interval that excludes zero would be written as 0.

    Examples
    --------
    >>> told_from_zero(3, 0.00026, 0.00194), told_from_zero(3, -0.00026, 0.00194), told_from_zero(0, 4.2, 49.0)
    (4, 3, 0)
    """
    nearest = min(abs(low), abs(high)) if low * high > 0 else 0.0
    while nearest and nearest * 10.0**decimals <= 0.5:
        decimals += 1
    return decimals


def significant(value: float, digits: int = 6) -> str:
    """A number to so many digits, without a unit."""
    return f"{value:,.{digits}g}"


def rounded_by(low: float | None, high: float | None) -> int | None:
    """How many decimals show two digits of half an interval's width, below 0 for tens; None where it has none.

    Examples
    --------
    >>> rounded_by(570.4, 621.9), rounded_by(4213.0, 40812.0), rounded_by(2.1, 2.52), rounded_by(3.0, 3.0)
    (0, -3, 2, None)
    """
    if low is None or high is None or not 0 < high - low < inf:
        return None
    half = float(f"{(high - low) / 2:.{DIGITS}g}")  # 0.996 counts as 1.0
    return DIGITS - 1 - floor(log10(half)) if half else None
