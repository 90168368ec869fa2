"""Money, counts, names and sentences for people, made from plain numbers and words."""

from pandora_regret.text.names import (
    capitalised,
    class_name,
    listed,
    pair_sentence,
    ruling_out,
    shortened,
    without_direction_marks,
)
from pandora_regret.text.numbers import (
    SYMBOLS,
    UNDEFINED,
    Formats,
    alpha_name,
    count,
    decimals_for,
    fixed,
    money,
    percent,
    significant,
    typed,
)

__all__ = [
    "SYMBOLS",
    "UNDEFINED",
    "Formats",
    "alpha_name",
    "capitalised",
    "class_name",
    "count",
    "decimals_for",
    "fixed",
    "listed",
    "money",
    "pair_sentence",
    "percent",
    "ruling_out",
    "shortened",
    "significant",
    "typed",
    "without_direction_marks",
]
