"""The door: what a user hands in becomes plain, checked arrays here, once."""

from pandora_regret.inputs.costs import read_costs
from pandora_regret.inputs.errors import InputError, InputTypeError
from pandora_regret.inputs.forecast import (
    Forecast,
    read_forecast,
    read_labelled,
    read_probabilities,
)
from pandora_regret.inputs.labels import Labels
from pandora_regret.inputs.numbers import (
    FloatArray,
    IntArray,
    read_alpha,
    read_choice,
    read_count,
    read_positive,
    read_seed,
)
from pandora_regret.inputs.tables import Done, Table

__all__ = [
    "Done",
    "FloatArray",
    "Forecast",
    "InputError",
    "InputTypeError",
    "IntArray",
    "Labels",
    "Table",
    "read_alpha",
    "read_choice",
    "read_costs",
    "read_count",
    "read_forecast",
    "read_labelled",
    "read_positive",
    "read_probabilities",
    "read_seed",
]
