"""What people write on one line: lists (``flu, cold``), pairs (``flu=0.7,cold=0.3``), numbers."""

import csv

from pandora_regret.core.inputs import InputError


def split_at_commas(text: str) -> list[str]:
    """What stands between commas; what contains a comma itself is quoted.

    Examples
    --------
    >>> split_at_commas('flu, "cold, common",')
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
    """``NAME=VALUE,...`` as a mapping, the values as they are written; `fix` is said of what is no pair."""
    pairs: dict[str, str] = {}
    for field in split_at_commas(text):
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
