"""A store's labels file: the true classes, their names, and what is known about the data and the zoo."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import InputError
from pandora_regret.inputs.labels import read_labels, read_truth
from pandora_regret.study.prediction import Target
from pandora_regret.study.store.disk import read, write
from pandora_regret.study.store.sealed import BrokenSealError, as_json, seal, unseal

KIND = "truth"  # the array's name in the file


def read_target(truth: ArrayLike, classes: Sequence[Any]) -> Target:
    """Labels as column numbers and the classes' names, checked."""
    names = tuple(str(name) for name in read_labels(classes, "classes"))
    if len(names) < 2:
        raise InputError(f"classes has {len(names)} entries, but a search needs at least two classes.")
    if np.size(truth) == 0:
        raise InputError("truth is empty: pass the true class of each instance.")
    return Target(read_truth(truth, range(len(names)), len(np.atleast_1d(truth))), names)


def read_labels_file(path: Path) -> tuple[Target, dict[str, Any]]:
    """The labels, and what is known about them; `FileNotFoundError` or `BrokenSealError` where there are none."""
    arrays, known = unseal(read(path))
    if list(arrays) != [KIND]:
        raise BrokenSealError
    return Target(arrays[KIND].astype(np.intp), tuple(known["classes"])), known["about"]


def write_labels_file(path: Path, target: Target, about: dict[str, Any]) -> None:
    """Labels for good: the predictions of a store are about them."""
    write(path, seal({KIND: target.truth.astype(np.int64)}, {"classes": target.classes, "about": about}))


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
    else:
        return
    raise InputError(f"{folder} is a store of other data: {difference}; use another folder.")
