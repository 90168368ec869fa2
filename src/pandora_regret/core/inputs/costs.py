"""What testing each class costs."""

from collections.abc import Sequence

import numpy as np

from pandora_regret.core.inputs.errors import InputError
from pandora_regret.core.inputs.kinds import ByClass, has_names, is_frame
from pandora_regret.core.inputs.names import quoted
from pandora_regret.core.inputs.numbers import (
    LARGEST,
    SMALLEST,
    FloatArray,
    check_each,
    check_shape,
    in_range,
    read_floats,
)
from pandora_regret.core.inputs.tables import by_name


def read_costs(
    costs: ByClass, labels: Sequence[object], n_rows: int | None = None, argument: str = "costs"
) -> FloatArray:
    """What testing each class costs: (K,), or (N, K) where instances may have their own."""
    array = read_floats(by_name(costs, labels, argument), argument, copy=False)
    k = len(labels)
    fix = f"pass one cost per class, shape ({len(labels)},)"
    if n_rows is None:
        check_shape(array, argument, fix, (k,))
    else:
        fix += f", or one per class and instance, shape ({n_rows}, {k})"
        check_shape(array, argument, fix, (k,), (n_rows, k))
    return check_costs(array, argument, labels)


def check_named(labels: Sequence[object], costs: ByClass | None) -> None:
    """Costs of classes that have names must say which is whose, unless somebody said the classes' order."""
    if costs is None or has_names(costs) or is_frame(costs) or np.ndim(np.asarray(costs)) == 0:
        return
    if any(isinstance(label, str) for label in labels):
        fix = f"name them, {{{labels[0]!r}: ...}}, or say the order of the classes with labels=[...]"
        problem = f"is a list without names, but the classes are {quoted(labels)}"
        raise InputError(problem, argument="costs", fix=fix)


def check_costs(array: FloatArray, name: str, labels: Sequence[object] | None = None) -> FloatArray:
    """Positive, and neither so small nor so large that sums and ratios leave float64."""
    if array.size == 0:
        fix = "pass a positive number, or one per class"
        raise InputError(f"is empty (shape {array.shape})", argument=name, value=array.shape, fix=fix)
    fix = f"it must be a positive number from {SMALLEST:g} to {LARGEST:g}"
    check_each(in_range(array), array, name, fix, labels)
    return array
