"""Truths that are not one label: votes of several annotators, or probabilities, one column per class.

A score of votes is the vote-weighted mean of the scores of labels, ``S(p, q) = sum_k q_k S(p, k)``. What counts is
each class's share of a row's votes, not their number: a row is one instance, however many looked at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pandora_regret.inputs.errors import InputError, InputTypeError
from pandora_regret.inputs.labels import Labels
from pandora_regret.inputs.numbers import LARGEST, FloatArray, read_array
from pandora_regret.inputs.tables import is_frame, read_columns


def are_votes(y_true: Labels) -> bool:
    """Whether truths come as a table of several columns instead of one label per row."""
    shape = y_true.shape if hasattr(y_true, "shape") else read_array(y_true, "y_true").shape
    return len(shape) == 2 and shape[1] > 1


def read_votes(y_true: Labels, labels: Sequence[Any], n_rows: int) -> FloatArray:
    """Each class's share of every row's votes, (N, K), columns in the order of the labels."""
    table = np.stack(read_columns(y_true, labels, "y_true")[0], axis=1) if is_frame(y_true) else y_true
    votes = read_array(table, "y_true")
    if votes.dtype.kind not in "biuf":
        fix = "votes must be numbers; a single label per instance must be 1-D"
        raise InputTypeError(f"has shape {votes.shape} and dtype {votes.dtype}", argument="y_true", fix=fix)
    if votes.shape != (n_rows, len(labels)):
        problem = f"has shape {votes.shape} but y_proba has shape {(n_rows, len(labels))}"
        fix = "pass one label per row, or votes with one column for each class"
        raise InputError(problem, argument="y_true", value=votes.shape, fix=fix)
    return shares_of(votes.astype(np.float64))


def shares_of(votes: FloatArray, argument: str = "y_true") -> FloatArray:
    """Votes over their row's sum; every vote must be a number from 0, and every row needs one."""
    bad = ~((votes >= 0) & (votes <= LARGEST))  # NaN compares false
    if bad.any():
        row, column = (int(index) for index in np.argwhere(bad)[0])
        fix = f"votes are numbers from 0 to {LARGEST:g}"
        problem, value = f"contains {votes[row, column]:g}", float(votes[row, column])
        raise InputError(problem, argument=argument, row=row, value=value, fix=fix)
    total = votes.sum(axis=1, keepdims=True)
    if not total.all():
        row = int(np.argmin(total))
        raise InputError("has no votes", argument=argument, row=row, fix="drop the row, or give it one label")
    return np.asarray(votes / total)
