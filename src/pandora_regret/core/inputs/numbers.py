"""Single numbers and plain vectors: alpha, parameters of priors, weights."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, SupportsFloat, SupportsIndex, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs.errors import InputError, InputTypeError
from pandora_regret.core.inputs.kinds import Seed
from pandora_regret.text import typed

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
Word = TypeVar("Word", bound=str)

LEAST_NORMAL = float(np.finfo(np.float64).tiny)
SMALLEST = 1e-50  # of costs and weights, so that their ratios, squares and sums stay in float64
LARGEST = 1e50
TWO_READINGS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # whose mark may stand before thousands or decimals


class HasShape(Protocol):
    """An array of any library."""

    @property
    def shape(self) -> Sequence[int]:
        """How long it is along each axis."""


def read_number(value: object, name: str, is_fine: Callable[[float], bool] | None = None, fix: str = "") -> float:
    """One real number that is not NaN, and that is fine."""
    try:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, SupportsFloat | SupportsIndex):
            raise TypeError
        if getattr(value, "ndim", 0) > 0:
            raise TypeError  # float() would take an array of one number
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        problem = f"must be a single number, got {value!r:.200}"
        raise InputTypeError(problem, argument=name, value=value) from None
    if math.isnan(number):
        raise InputError("is NaN", argument=name, value=number, fix="pass a number")
    if is_fine is not None and not is_fine(number):
        raise InputError(argument=name, value=number, fix=fix)
    return number


class TwoReadings(NamedTuple):
    """The amounts that a text such as 1,250 may mean.

    Examples
    --------
    >>> readings = two_readings("1.125")
    >>> readings.in_words
    'can be read as 1125 or as 1.125'
    >>> readings.fix
    'write 1125 or 1.1250'
    """

    large: float
    small: float

    @property
    def in_words(self) -> str:
        """That the text has two meanings, without a subject."""
        return f"can be read as {typed(self.large)} or as {typed(self.small)}"

    @property
    def fix(self) -> str:
        """How each is written so that it can be read in one way only: 1.125 may be thousands, 1.1250 may not."""
        small = typed(self.small)
        if TWO_READINGS.fullmatch(small):
            small += "0"
        return f"write {typed(self.large)} or {small}"


def two_readings(text: str) -> TwoReadings | None:
    """What a number may mean whose one mark may stand before thousands or before decimals; None of any other."""
    if not TWO_READINGS.fullmatch(text):
        return None
    return TwoReadings(float(re.sub("[.,]", "", text)), float(text.replace(",", ".")))


def check_one_reading(text: str, name: str) -> None:
    """An error with both readings for an amount such as 1,250, which has two."""
    readings = two_readings(text)
    if readings is not None:
        problem = f"is {text!r}, which {readings.in_words}"
        raise InputError(problem, argument=name, value=text, fix=readings.fix)


def read_alpha(alpha: object) -> float:
    """The Beta family's parameter, from 0 to infinity, both limits included."""
    fix = "where 0 is the logarithmic limit, 1 is Pandora's Regret and inf looks at ranks alone"
    number = read_number(alpha, "alpha", lambda number: number >= 0, f"it must lie in [0, inf], {fix}")
    return number if number >= LEAST_NORMAL else 0.0  # below this 1/alpha overflows: the limit


def read_positive(value: object, name: str) -> float:
    """A positive finite number."""
    return read_number(value, name, lambda number: 0 < number < np.inf, "it must be a positive finite number")


def read_level(level: object) -> float:
    """How often an interval is to hold the truth, between 0 and 1."""
    fix = "it must lie between 0 and 1; 0.95 means 95 %"
    return read_number(level, "level", lambda number: 0 < number < 1, fix)


def read_count(value: object, name: str, least: int = 1) -> int:
    """A whole number, at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputTypeError(f"must be a whole number, got {value!r:.200}", argument=name, value=value)
    if value < least:
        raise InputError(f"is {value}", argument=name, value=value, fix=f"it must be at least {least}")
    return int(value)


def read_flag(value: object, name: str) -> bool:
    """The value as a bool, if it is True or False; numbers such as 1 are an InputTypeError."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(f"must be True or False, got {value!r:.200}", argument=name, value=value)
    return bool(value)


def read_choice(value: object, name: str, choices: Mapping[Word, str]) -> Word:
    """One of some words, each with what it means."""
    for choice in choices:
        if isinstance(value, str) and value == choice:
            return choice
    options = ", ".join(f"{choice!r} ({meaning})" for choice, meaning in choices.items())
    raise InputError(argument=name, value=value, fix=f"pass one of {options}")


def read_seed(seed: Seed) -> Generator:
    """A random generator, from a seed, from None, or as it is."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        fix = "pass a whole number from 0, a NumPy generator, or None"
        raise InputError(argument="seed", value=seed, fix=fix) from None


def read_array(values: object, name: str) -> NDArray[np.generic]:
    """What NumPy makes of it, where that is unambiguous."""
    if isinstance(values, np.ma.MaskedArray):
        fix = f"drop or fill the masked entries, then pass np.asarray({name})"
        raise InputTypeError("is a masked array", argument=name, fix=fix)
    if hasattr(values, "toarray"):
        raise InputTypeError("is a sparse array", argument=name, fix=f"pass {name}.toarray()")
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists, tensors that live elsewhere
        fix = "pass a rectangular one"
        if hasattr(values, "detach"):
            fix = f"pass {name}.detach().float().cpu(), or use pandora_regret.core.array_api"
        raise InputError(f"cannot be read as an array ({error})", argument=name, fix=fix) from error


def read_floats(values: object, name: str, *, copy: bool = True) -> FloatArray:
    """An array of real numbers in float64, of any shape; a copy, unless it is read once and not kept."""
    array = read_array(values, name)
    if array.dtype.kind not in "fiu":
        fix = "pass it as numbers, with astype(float)" if array.dtype.kind == "b" else None
        problem = f"must be an array of real numbers, got {values!r:.200}"
        raise InputTypeError(problem, argument=name, value=values, fix=fix)
    return array.astype(np.float64, copy=copy)


def in_range(array: FloatArray) -> NDArray[np.bool_]:
    """Whatever is a positive number of sensible size; NaN compares false."""
    return (array >= SMALLEST) & (array <= LARGEST)


def check_shape(array: HasShape, argument: str, fix: str, *shapes: tuple[int, ...]) -> None:
    """An array has one of some shapes, or an error."""
    if (shape := tuple(array.shape)) not in shapes:
        raise InputError(f"has shape {shape}", argument=argument, value=shape, fix=fix)


def check_each(
    good: NDArray[np.bool_] | np.bool_,
    values: FloatArray,
    argument: str,
    fix: str,
    labels: Sequence[object] | None = None,
    command_fix: str | None = None,
) -> None:
    """Every number of (), (K,) or (N, K) is good, or an error names the first that is not, by row and class."""
    if not good.all():
        index = np.unravel_index(int(np.argmin(good)), good.shape)
        value = values[index]
        row = int(index[0]) if len(index) == 2 else None
        column: object = None
        if len(index) > 0:
            number = int(index[-1])
            column = number if labels is None else labels[number]
        raise InputError(argument=argument, row=row, column=column, value=value, fix=fix, command_fix=command_fix)


def read_weights(sample_weight: object, n_rows: int) -> FloatArray:
    """One weight per instance, none of them negative, not all of them zero."""
    weights = read_floats(sample_weight, "sample_weight", copy=False)
    check_shape(weights, "sample_weight", f"pass one weight per instance, shape ({n_rows},)", (n_rows,))
    good = in_range(weights) | (weights == 0)
    if not good.all():
        row = int(np.argmin(good))
        fix = f"it must be 0, or a positive number from {SMALLEST:g} to {LARGEST:g}"
        raise InputError(argument="sample_weight", row=row, value=weights[row], fix=fix)
    if not weights.any():
        fix = "give at least one instance a positive weight"
        raise InputError("is zero everywhere", argument="sample_weight", fix=fix)
    return weights


def relative_weights(weights: FloatArray) -> FloatArray:
    """Weights divided by the mean of those that are positive, so that a factor on all of them changes nothing.

    Equal weights become exactly 1, and rows without weight are as good as left out: the sum is the number of rows
    that have any. Weights that are all 0 stay so.
    """
    largest = weights.max(initial=0.0)
    if largest == 0:
        return weights
    shares = weights / largest  # first, so that no sum leaves float64
    mean = shares.sum() / np.count_nonzero(shares)
    return np.asarray(shares / mean)
