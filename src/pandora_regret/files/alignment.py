"""Several models on the same rows: matched by id where there is one, else by row order with equal labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch
from pandora_regret.inputs import InputError, IntArray

SINGLE_PRECISION = 1e-6


def align(batches: Sequence[Batch], names: Sequence[str]) -> list[Batch]:
    """The same rows and classes in the same order: those of the first.

    Classes are matched by name. Rows are matched by id where every file has ids, else by row order. Labels, and
    weights, groups and costs where both have them, must then be equal.

    Parameters
    ----------
    batches
        All rows of each model, from `read_all`.
    names
        What to call each of them in an error, besides its file.
    """
    first, *others = batches
    by_id = all(batch.ids is not None for batch in batches)
    aligned = [first]
    for name, other in zip(names[1:], others, strict=True):
        other = _in_order_of_classes(other, first, name, names[0])
        order = _order_by_id(first, other) if by_id else _order_of_rows(first, other)
        _check_equal(first, other, order)
        aligned.append(other.take(order))
    return aligned


def _in_order_of_classes(other: Batch, first: Batch, name: str, first_name: str) -> Batch:
    """The same batch with its classes in the order of the first's."""
    if other.classes == first.classes:
        return other
    missing = [label for label in first.classes if label not in other.classes]
    unknown = [label for label in other.classes if label not in first.classes]
    if missing or unknown:
        lists = (("lacks", missing), ("has", unknown))
        said = " and ".join(f"{verb} {labels[:8]}" for verb, labels in lists if labels)
        raise InputError(
            f"{_file(other)} (model {name!r}) {said}, unlike {_file(first)} (model {first_name!r}): "
            "compare models of the same classes."
        )
    order = np.array([other.classes.index(label) for label in first.classes])
    costs = None if other.costs is None else np.ascontiguousarray(other.costs[:, order])
    columns, truth = tuple(other.columns[at] for at in order), np.argsort(order)[other.truth]
    return replace(other, classes=first.classes, columns=columns, truth=truth, costs=costs)


def _order_by_id(first: Batch, other: Batch) -> IntArray:
    """Which rows of the other have the ids of the first, one by one."""
    place = {name: at for at, name in enumerate(_listed(other.ids))}
    order = [place.pop(name, -1) for name in _listed(first.ids)]
    if -1 in order:
        at = order.index(-1)
        raise InputError(
            f"{_file(other)} has no row of id {_listed(first.ids)[at]!r} ({first.place(at)}): "
            "files that are compared need the same rows."
        )
    if place:
        name, at = next(iter(place.items()))
        raise InputError(
            f"{other.place(at)}: id {name!r} is not in {_file(first)}: files that are compared need the same rows."
        )
    return np.array(order, dtype=np.intp)


def _order_of_rows(first: Batch, other: Batch) -> IntArray:
    if len(first) != len(other):
        raise InputError(
            f"{_file(other)} has {len(other)} rows but {_file(first)} has {len(first)}: "
            "files that are compared need the same rows; an id column in each would match them."
        )
    return np.arange(len(first))


def _check_equal(first: Batch, other: Batch, order: IntArray) -> None:
    """What both say about a row must be the same."""
    for what in ("truth", "weights", "groups", "costs"):
        ours, theirs = getattr(first, what), getattr(other, what)
        if ours is not None and theirs is not None:
            differ = _differ(ours, theirs[order])
            if differ.any():
                _fail(first, other, order, what, int(np.argmax(differ)))


def _differ(ours: Any, theirs: Any) -> NDArray[np.bool_]:
    """Which rows do; weights and costs of one file may have been written by single precision."""
    if ours.dtype.kind == "f":
        same = np.isclose(ours, theirs, rtol=SINGLE_PRECISION, atol=0).reshape(len(ours), -1)
        return np.asarray(~same.all(axis=1))
    return np.asarray(ours != theirs, dtype=np.bool_)


def _fail(first: Batch, other: Batch, order: IntArray, what: str, at: int) -> None:
    our_word, their_word = _word(first, what, at), _word(other, what, int(order[at]))
    fix = "" if other.ids is not None and first.ids is not None else " or match rows by an id column"
    raise InputError(
        f"{other.place(int(order[at]))} has the {what.replace('truth', 'label').removesuffix('s')} {their_word} "
        f"but {first.place(at)} has {our_word} for the same row: correct one of them{fix}."
    )


def _word(batch: Batch, what: str, at: int) -> str:
    value = batch.classes[batch.truth[at]] if what == "truth" else getattr(batch, what)[at].tolist()
    return repr(value)


def _listed(ids: Any) -> list[Any]:
    return list(ids.tolist())


def _file(batch: Batch) -> str:
    return batch.origins[0][0].path
