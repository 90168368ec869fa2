"""Labels as column numbers: by name, by number, or by a name that is spelled otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import numpy as np

from pandora_regret.core.inputs import IntArray, Names, matched

WHOLE_LABEL = re.compile(r"(-?[0-9]+)(?:\.0+)?")
NUMBER_OF_WORD = {"true": "1", "false": "0"}


def numbers_of(labels: Collection[str | None], names: Sequence[str], by_place: bool = True) -> IntArray:
    """The columns of labels: by name, or by number where no class is named by a number; -1 where there is none.

    A name may be spelled otherwise, as `matched` understands that. Without `by_place`, numbers are names only.

    Examples
    --------
    >>> numbers_of(["dog", "1", "cow", None], ("cat", "dog")).tolist()
    [1, 1, -1, -1]
    >>> numbers_of(["1", "1.0", "0"], ("1", "2")).tolist()
    [0, 0, -1]
    """
    places = _numbers_of_classes(tuple(names), by_place)
    spelled = {label: label if label in places else _plain_label(label) for label in labels if label}
    unknown = [label for label, text in spelled.items() if text not in places]
    if unknown:
        spelled |= matched(unknown, names)
    return np.array([places.get(spelled.get(label or "", ""), -1) for label in labels], np.intp)


@lru_cache(4)  # asked for by every batch
def _numbers_of_classes(names: Names, by_place: bool) -> dict[str, int]:
    """The number of each class by what may be said of it: its number, the number that it is, its name."""
    places: dict[str, int] = {}
    if by_place and not any_number(names):
        places |= {str(index): index for index in range(len(names))}
    places |= {_plain_label(name): index for index, name in enumerate(names)}
    return places | {name: index for index, name in enumerate(names)}


def with_labels(classes: Names, labels: Iterable[str | None]) -> Names:
    """The classes, followed by those labels that are none of them."""
    texts = [label for label in labels if label]
    numbers = numbers_of(texts, classes).tolist()
    return (*classes, *(label for label, number in zip(texts, numbers, strict=True) if number < 0))


def any_number(names: Iterable[str]) -> bool:
    """Whether a class is named by a whole number, however it is written."""
    return any(WHOLE_LABEL.fullmatch(_plain_label(name)) for name in names)


def _plain_label(label: str) -> str:
    """1.0 as 1, and True as 1; everything else as it is."""
    match = WHOLE_LABEL.fullmatch(label)
    return match[1] if match else NUMBER_OF_WORD.get(label.lower(), label)
