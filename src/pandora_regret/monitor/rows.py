"""The door of a monitor: ids, times and labels of one update, checked."""

from collections.abc import Iterable, Sequence, Sized

import numpy as np

from pandora_regret.core.inputs import (
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    is_missing,
    read_array,
    read_truth,
)
from pandora_regret.monitor.queue import OUTSIDE, key_of

OWN_ID = "each case needs an id of its own, in all files (--id)"


def read_keys(ids: Iterable[object]) -> list[int]:
    """64 bits of each id, none of them twice; among a million ids, two share them with probability 3e-8."""
    first_row = dict[int, int]()
    for row, name in enumerate(ids):
        key = key_of(str(name).encode("utf-8", "replace"))
        if first_row.setdefault(key, row) != row:
            problem = f"is {str(name)!r}, as is row {first_row[key]}"
            raise InputError(problem, argument="ids", row=row, value=name, fix=OWN_ID)
    return list(first_row)


def read_times(time: object, n: int) -> list[str] | None:
    """The time of each of n rows, from one name for all or one per row; None where there are none."""
    if time is None:
        return None
    times: list[object] = [time] * n
    if isinstance(time, Iterable) and np.asarray(time).ndim > 0:
        times = list(time)
    for name in times:
        if is_missing(name) or not str(name):
            raise InputTypeError(f"is {name!r}, which is no name", argument="time", fix="name every row's time")
    return [str(name) for name in times]


def read_known_labels(y_true: Labels | None, labels: Sequence[object], n: int) -> tuple[IntArray, list[str]]:
    """The column of each true class, (n,), and the names of classes that no column has.

    It is -1 where the class is not known, and ``OUTSIDE + i`` where it is the i-th of these names. Numbers of
    columns that are not there are refused: they are no classes.
    """
    if y_true is None:
        return np.full(n, -1), []
    read = read_array(y_true, "y_true")
    if read.dtype.kind in "biu" or read.shape != (n,):
        return read_truth(y_true, labels, n), []
    truth = np.full(n, -1)
    listed = np.asarray(y_true, dtype=object)
    known = np.flatnonzero([not is_missing(label) for label in listed])
    if len(known) == 0:
        return truth, []
    is_whole = read.dtype.kind == "f" and not (read[known] % 1).any()  # NaN made floats of whole numbers
    if is_whole:
        truth[known] = read_truth(read[known].astype(int), labels, len(known))
        return truth, []
    outside = []
    if not isinstance(labels, range):  # columns have names
        names = {str(label) for label in labels}
        outside = [row for row in known if isinstance(listed[row], str) and listed[row] not in names]
    inside = np.setdiff1d(known, outside)
    if len(inside):
        truth[inside] = read_truth(listed[inside], labels, len(inside))
    new_names = sorted({listed[row] for row in outside})
    for row in outside:
        truth[row] = OUTSIDE + new_names.index(listed[row])
    return truth, new_names


def check_length(argument: str, column: Sized | None, n: int) -> None:
    """That a column, if there is one, has an entry for each of n rows."""
    if column is not None and len(column) != n:
        problem = f"has {len(column)} entries for {n} rows"
        raise InputError(problem, argument=argument, value=len(column), fix="pass one per row")
