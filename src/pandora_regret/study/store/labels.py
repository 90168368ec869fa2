"""A store's labels file: the true classes, their names, and what is known about the data and the zoo."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import InputError, IntArray
from pandora_regret.inputs.labels import read_labels, read_truth
from pandora_regret.study.prediction import Target
from pandora_regret.study.store.disk import read, write
from pandora_regret.study.store.sealed import BrokenSealError, as_json, seal, unseal

KIND, GROUPS = "truth", "groups"  # the arrays' names in the file


def read_target(truth: ArrayLike, classes: Sequence[Any], groups: ArrayLike | None = None) -> Target:
    """Labels as column numbers, the classes' names and numbers of groups, checked."""
    names = tuple(str(name) for name in read_labels(classes, "classes"))
    if len(names) < 2:
        raise InputError(f"classes has {len(names)} entries, but a search needs at least two classes.")
    if np.size(truth) == 0:
        raise InputError("truth is empty: pass the true class of each instance.")
    labels = read_truth(truth, range(len(names)), len(np.atleast_1d(truth)))
    return Target(labels, names, read_groups(groups, len(labels)))


def read_groups(groups: ArrayLike | None, n_instances: int) -> IntArray | None:
    """Which group each instance belongs to, as numbers from 0, (N,); None where each is a group of its own."""
    if groups is None:
        return None
    names, numbers = np.unique(np.asarray(groups), return_inverse=True)
    if numbers.shape != (n_instances,):
        raise InputError(
            f"groups has shape {numbers.shape}, but there are {n_instances} instances: pass one each."
        )
    if len(names) < 2:
        raise InputError("groups are all the same: a resample needs at least two groups to draw from.")
    return numbers.astype(np.intp)


def read_labels_file(path: Path) -> tuple[Target, dict[str, Any]]:
    """The labels, and what is known about them; `FileNotFoundError` or `BrokenSealError` where there are none."""
    arrays, known = unseal(read(path))
    if sorted(arrays) not in ([KIND], [GROUPS, KIND]):
        raise BrokenSealError
    groups = arrays[GROUPS].astype(np.intp) if GROUPS in arrays else None
    return Target(arrays[KIND].astype(np.intp), tuple(known["classes"]), groups), known["about"]


def write_labels_file(path: Path, target: Target, about: dict[str, Any]) -> None:
    """Labels for good: the predictions of a store are about them."""
    arrays = {KIND: target.truth} if target.groups is None else {KIND: target.truth, GROUPS: target.groups}
    numbers = {name: values.astype(np.int64) for name, values in arrays.items()}
    write(path, seal(numbers, {"classes": target.classes, "about": about}))


def identity(target: Target) -> str:
    """What ties predictions to their labels."""
    content = as_json(target.classes).encode() + target.truth.astype("<i8").tobytes()
    return hashlib.sha256(content).hexdigest()


def check_same(known: Target, other: Target, folder: Path) -> None:
    """The same labels and classes, or an error that says where they differ."""
    if known.classes != other.classes:
        difference = f"its classes are {', '.join(known.classes)}, not {', '.join(other.classes)}"
    elif len(known.truth) != len(other.truth):
        difference = f"it has {len(known.truth)} labels, not {len(other.truth)}"
    elif (known.truth != other.truth).any():
        row = int(np.argmax(known.truth != other.truth))
        difference = f"row {row} is {known.classes[known.truth[row]]}, not {other.classes[other.truth[row]]}"
    elif not np.array_equal(_groups_of(known), _groups_of(other)):
        difference = "its rows belong to other groups"
    else:
        return
    raise InputError(f"{folder} is a store of other data: {difference}; use another folder.")


def _groups_of(target: Target) -> IntArray:
    return np.arange(len(target.truth)) if target.groups is None else target.groups
