"""Names in sentences and drawings, and the sentences that every part of the package says alike."""

import re
from collections.abc import Iterable

DIRECTION_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def listed(words: Iterable[str], most: int | None = None) -> str:
    """One, two and three; of more than one beyond `most`, those and how many others."""
    words = list(words)
    if most is not None and len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} others"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def capitalised(text: str) -> str:
    """The text with a capital first letter and the rest as it is."""
    return text[:1].upper() + text[1:]


def class_name(label: str) -> str:
    """A class in a sentence, where a mere number would be read as a number."""
    return f"class {label}" if label.lstrip("-").replace(".", "", 1).isdigit() else label


def ruling_out(truth: str, tested: str) -> str:
    """A wrong test in a sentence: what it rules out, and what was true."""
    return f"ruling out {class_name(tested)} when it is {class_name(truth)}"


def shortened(name: str, length: int) -> str:
    """A name that fits a drawing: its ends, which tell variants apart. The table beside it holds all of it.

    Examples
    --------
    >>> shortened("random forest (seed 17)", 15)
    'random …eed 17)'
    """
    if len(name) <= length:
        return name
    n_first = length // 2
    n_last = length - n_first - 1  # one place is the ellipsis
    return f"{name[:n_first]}…{name[len(name) - n_last :]}"


def without_direction_marks(sentence: str) -> str:
    """The sentence without marks that turn its direction, which a name may bring along but never close."""
    return DIRECTION_MARKS.sub("", sentence)
