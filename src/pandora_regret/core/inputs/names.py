"""Names as people vary them: one way to look up classes, columns and prices, and to say what may be meant."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias
from unicodedata import combining, normalize

from pandora_regret.core.inputs.errors import InputError
from pandora_regret.text import listed

Names: TypeAlias = tuple[str, ...]  # of classes, columns or models, in their order
Fields: TypeAlias = dict[str, Any]  # values by name, of any kinds: whoever reads one knows which

BETWEEN = r"[\s_\-\u2010-\u2013]+"  # spaces, underscores and hyphens, which are dropped unless between two digits
IGNORED_BETWEEN = re.compile(rf"(?<=[^\W\d_]){BETWEEN}(?=[^\W_])|(?<=\d){BETWEEN}(?=[^\W\d_])")
MOST_NAMED = 40  # of names in a message


@lru_cache(1 << 17, typed=True)  # columns are looked up again for every role
def folded(name: object) -> str:
    """A name without what people write in different ways: case, accents, spaces, hyphens and underscores.

    Examples
    --------
    >>> folded("Crohn's_Disease"), folded("COVID-19"), folded("Épaule gauche"), folded("HER2-")
    ("crohn'sdisease", 'covid19', 'epaulegauche', 'her2-')
    """
    plain = str(name)
    if not plain.isascii():
        plain = "".join(letter for letter in normalize("NFKD", plain) if not combining(letter))
    return IGNORED_BETWEEN.sub("", plain.casefold().strip())


def matched(names: Iterable[str], among: Iterable[str]) -> dict[str, str]:
    """What each name is called among others: the same, or the only one that is the same once folded.

    Examples
    --------
    >>> matched(["flu", "covid 19", "gout"], ["Flu", "flu", "COVID-19"])
    {'flu': 'flu', 'covid 19': 'COVID-19'}
    """
    names = list(names)
    known = dict.fromkeys(among)
    alike = {folded(name): list[str]() for name in names if name not in known}
    for other in known if alike else ():
        if (plain := folded(other)) in alike:
            alike[plain].append(other)
    meant = {name: [name] if name in known else alike[folded(name)] for name in names}
    return {name: meanings[0] for name, meanings in meant.items() if len(meanings) == 1}


def did_you_mean(name: str, names: Collection[str]) -> str:
    """The nearest names, or else all there are."""
    from difflib import get_close_matches

    spelled = {folded(known): known for known in names}
    close = [repr(spelled[near]) for near in get_close_matches(folded(name), spelled)]
    return f"did you mean {' or '.join(close)}?" if close else f"choose from {', '.join(names)}"


def quoted(names: Iterable[object]) -> str:
    """Names in a message."""
    return listed([repr(str(name)) for name in names] or ["none"], MOST_NAMED)


def completed(forecast: Mapping[str, float], classes: Sequence[str]) -> dict[str, float]:
    """A forecast that somebody wrote out, over all classes: those that are not named have probability 0.

    That is if the others sum to 1, and else an error that names those that are missing.

    Examples
    --------
    >>> completed({"Flu": 0.75, "cold": 0.25}, ["cold", "covid", "flu"])
    {'cold': 0.25, 'covid': 0.0, 'flu': 0.75}
    """
    written = matched(classes, forecast)
    total = sum(forecast.values())
    used = set(written.values())
    if unknown := [name for name in forecast if name not in used]:
        fix = did_you_mean(unknown[0], classes)
        raise InputError(f"names {quoted(unknown)}", place="FORECAST", value=unknown, fix=fix)
    missing = [name for name in classes if name not in written]
    if missing and abs(total - 1) > 1e-3:
        problem = f"sums to {total:.6g} without {quoted(missing)}"
        fix = "name every class, or make the others sum to 1"
        raise InputError(problem, place="FORECAST", value=total, fix=fix)
    return {name: forecast[written[name]] if name in written else 0.0 for name in classes}
