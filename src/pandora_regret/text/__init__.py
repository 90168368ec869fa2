"""Money, counts, names and sentences for people, made from plain numbers and words."""

from pandora_regret.text.amounts import SYMBOLS, Formats, affixes, is_currency, money, money_between
from pandora_regret.text.names import (
    capitalised,
    class_name,
    listed,
    pair_sentence,
    ruling_out,
    shortened,
    wasted,
    without_direction_marks,
)
from pandora_regret.text.numbers import (
    UNDEFINED,
    alpha_name,
    count,
    counted,
    decimals_for,
    fixed,
    percent,
    rounded_by,
    significant,
    typed,
)
from pandora_regret.text.table import Cell, Shown, Table, cell_width, without_controls, wrapped

__all__ = [
    "SYMBOLS",
    "UNDEFINED",
    "Cell",
    "Formats",
    "Shown",
    "Table",
    "affixes",
    "alpha_name",
    "capitalised",
    "cell_width",
    "class_name",
    "count",
    "counted",
    "decimals_for",
    "fixed",
    "is_currency",
    "listed",
    "money",
    "money_between",
    "pair_sentence",
    "percent",
    "rounded_by",
    "ruling_out",
    "shortened",
    "significant",
    "typed",
    "wasted",
    "without_controls",
    "without_direction_marks",
    "wrapped",
]
