"""Labels and votes: what the columns stand for, and what is true of each instance.

A truth is a label, or votes of several annotators (or probabilities), one column per class. A score of votes is
the vote-weighted mean of the scores of labels, ``S(p, q) = sum_k q_k S(p, k)``. What counts is each class's share
of a row's votes, not their number: a row is one instance, however many looked at it.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs.errors import InputError, InputTypeError
from pandora_regret.core.inputs.names import quoted
from pandora_regret.core.inputs.numbers import LARGEST, FloatArray, IntArray, check_each, check_shape, read_array

CORRECT_IT = "correct it, or pass labels=[...] with every class in column order"


def read_labels(labels: object, argument: str = "labels", place: str | None = None) -> Sequence[object]:
    """The columns' labels, in column order, each once; `place` says in words where the argument has them."""
    listed = np.asarray(labels, dtype=object)
    place = place or argument
    if listed.ndim != 1:
        problem = f"must be a flat list with one label per column, got {labels!r:.200}; join tuples into text"
        raise InputError(problem, argument=argument, value=labels, place=place)
    if {*map(type, listed)} == {str} and len({*listed}) == len(listed):  # the usual case, of any number of classes
        return list(listed)
    seen: set[object] = set()
    for index, label in enumerate(listed):
        if not _is_label(label):
            problem = f"is {label!r}, which is no label"
            entry = f"{place} entry {index}"
            raise InputError(problem, argument=argument, row=index, place=entry, fix="name every column")
        if label in seen or str(label) in seen:  # 1 and '1' are the same name
            fix = "each needs a name of its own"
            raise InputError(f"contain {label!r} twice", argument=argument, value=label, place=place, fix=fix)
        seen |= {label, str(label)}
    return list(listed)


def is_missing(value: object) -> bool:
    """None, NaN, NaT or pandas.NA, told by name since pandas need not be installed."""
    nothing = type(value).__name__ in ("NoneType", "NAType", "NaTType")
    return nothing or (isinstance(value, float | np.floating) and bool(value != value))


def _is_label(value: object) -> bool:
    """Whether a value can stand for a class: it is not missing, and no list or the like."""
    return not is_missing(value) and type(value).__hash__ is not None


def read_truth(y_true: object, labels: Sequence[object], n_rows: int) -> IntArray:
    """The column of each instance's true class."""
    truth = read_array(y_true, "y_true")
    if truth.dtype.kind in "US" and not isinstance(y_true, np.ndarray):
        truth = np.asarray(y_true, dtype=object)  # in a list, NumPy turns what stands beside text into text
    if truth.ndim != 1:
        shape = f"{truth.item()!r:.80}" if truth.ndim == 0 else f"shape {truth.shape}"
        problem = f"must be 1-D, one label per instance, got {shape}"
        fix = "pass np.ravel(y_true)" if truth.shape[1:] == (1,) else None
        raise InputError(problem, argument="y_true", value=truth.shape, fix=fix)
    if len(truth) != n_rows:
        problem = f"has {len(truth)} entries but y_proba has {n_rows} rows"
        raise InputError(problem, argument="y_true", value=len(truth), fix="pass one label per row")
    if truth.dtype.kind not in "biuUS":
        _refuse_first(truth, _is_label, "no label", "drop the row, or give it one label")
    return _column_numbers(truth, labels) if isinstance(labels, range) else _positions(truth, labels)


def _refuse_first(
    truth: NDArray[np.generic], is_fine: Callable[[object], bool], problem_of_it: str, fix: str
) -> None:
    """An error about the first label that is not fine, if there is one."""
    for row, label in enumerate(truth.tolist()):
        if not is_fine(label):
            problem = f"is {label!r}, which is {problem_of_it}"
            raise InputError(problem, argument="y_true", row=row, value=label, fix=fix)


def _column_numbers(truth: NDArray[np.generic], columns: range) -> IntArray:
    """Without names, labels are column numbers."""
    if truth.dtype.kind not in "biu":
        fix = f"say the column order with labels=[...], or pass integers from 0 to {len(columns) - 1}"
        fix += ", y_true.astype(int) if that is what they are"
        _refuse_first(truth, lambda label: isinstance(label, (int, np.integer)), "not a column number", fix)
    if truth.max() >= len(columns) or truth.min() < 0:
        known = f"not among the column numbers 0 to {len(columns) - 1}"
        _refuse_first(truth, lambda label: label in columns, known, CORRECT_IT)
    return truth.astype(np.intp, copy=False)


def _positions(truth: NDArray[np.generic], labels: Sequence[object]) -> IntArray:
    """With names, labels are looked up; 1 and '1' are the same name only where no label matches as it is."""
    column = {label: index for index, label in enumerate(labels)}
    names: list[object] = truth.tolist()
    if column.keys().isdisjoint(names):
        column = {str(label): index for label, index in column.items()}
        names = [str(label) for label in names]
    positions = np.array([column.get(label, -1) for label in names], dtype=np.intp)
    if (positions < 0).any():
        known = f"not among the labels {quoted(labels)}"
        _refuse_first(truth, lambda label: label in column or str(label) in column, known, CORRECT_IT)
    return positions


def are_votes(y_true: object) -> bool:
    """Whether truths come as a table of several columns instead of one label per row."""
    shape: Sequence[int] = y_true.shape if hasattr(y_true, "shape") else read_array(y_true, "y_true").shape
    return len(shape) == 2 and shape[1] > 1


def read_votes(y_true: object, labels: Sequence[object], n_rows: int) -> FloatArray:
    """Each class's share of every row's votes, (N, K), from columns in the order of the labels.

    Every vote must be a number from 0, and every row needs one.
    """
    table = read_array(y_true, "y_true")
    if table.dtype.kind not in "biuf":
        fix = "votes must be numbers; a single label per instance must be 1-D"
        raise InputTypeError(f"has shape {table.shape} and dtype {table.dtype}", argument="y_true", fix=fix)
    fix = (
        f"y_proba has shape {(n_rows, len(labels))}; pass one label per row, or votes with a column for each class"
    )
    check_shape(table, "y_true", fix, (n_rows, len(labels)))
    votes = table.astype(np.float64)
    fix = f"votes are numbers from 0 to {LARGEST:g}"
    check_each((votes >= 0) & (votes <= LARGEST), votes, "y_true", fix, labels)  # NaN compares false
    total = votes.sum(axis=1, keepdims=True)
    if not total.all():
        row = int(np.argmin(total))
        fix = "drop the row, or give it one label"
        raise InputError("has no votes", argument="y_true", row=row, fix=fix)
    return np.asarray(votes / total)


def check_row_order(**arguments: object) -> None:
    """An error if two arguments, by name, have the rows that their indices name in different orders.

    Indices that name different rows say nothing: after a split one side has often lost its own.
    """
    indices = {  # pandas need not be installed
        name: values.index
        for name, values in arguments.items()
        if type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "index")
    }
    for (first, theirs), (name, ours) in combinations(indices.items(), 2):
        if len(ours) == len(theirs) and not ours.equals(theirs) and {*ours} == {*theirs}:
            row = int((ours != theirs).argmax())
            our_name = ours[row : row + 1].tolist()[0]
            their_name = theirs[row : row + 1].tolist()[0]
            problem = (
                f"has the rows of {first} in another order: its row {row} is {our_name!r}, not {their_name!r}"
            )
            fix = f"pass {name}.loc[{first}.index], or {name}.to_numpy() if rows match by their position"
            raise InputError(problem, argument=name, value=our_name, fix=fix)
