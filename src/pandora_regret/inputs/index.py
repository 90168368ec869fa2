"""The index that pandas objects carry: rows are matched by position, which must not contradict it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from pandora_regret.inputs.errors import InputError


def check_row_order(**arguments: Any) -> None:
    """An error if two arguments, by name, have the rows that their indices name in different orders.

    Indices that name different rows say nothing: after a split one side has often lost its own.
    """
    indices = {name: index for name, values in arguments.items() if (index := _index_of(values)) is not None}
    for (first, theirs), (name, ours) in combinations(indices.items(), 2):
        if _is_permuted(ours, theirs):
            row = int((ours != theirs).argmax())
            here, there = (index[row : row + 1].tolist()[0] for index in (ours, theirs))
            problem = f"has the rows of {first} in another order: its row {row} is {here!r}, not {there!r}"
            fix = f"pass {name}.loc[{first}.index], or {name}.to_numpy() if rows match by their position"
            raise InputError(problem, argument=name, value=here, fix=fix)


def _index_of(values: Any) -> Any:
    """The index of a pandas object, None of anything else; pandas need not be installed."""
    is_pandas = type(values).__module__.partition(".")[0] == "pandas"
    return values.index if is_pandas and hasattr(values, "index") else None


def _is_permuted(ours: Any, theirs: Any) -> bool:
    if len(ours) != len(theirs) or ours.nlevels != theirs.nlevels or ours.equals(theirs):
        return False
    return bool(ours.isin(theirs).all() and theirs.isin(ours).all())
