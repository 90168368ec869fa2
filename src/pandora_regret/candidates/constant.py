"""A yardstick: the same list for every case, made of the truths of other cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pandora_regret.candidates.lists import Candidates
from pandora_regret.candidates.searched import CaseLists
from pandora_regret.core.inputs import IntArray
from pandora_regret.inference.keyed import keys_of

N_FOLDS = 10


def constant_list(candidates: CaseLists, truths: list[list[str]], length: int) -> Candidates:
    """The most frequent truths of other cases, as a list for every case.

    Cases are dealt into ten parts, by their ids alone, and each part has the list that the others make: so the
    yardstick knows no more than a model could. A truth that occurs once in all is on no list of its own case.
    Leaving out single cases would be as fair on average, but where several truths are about as frequent each case
    takes its own off its list, and on such data the yardstick would find next to nothing. Truths that are equally
    frequent come by their names.

    Parameters
    ----------
    candidates
        Lists of N cases, whose names have prices: a name costs what it does on average there.
    truths
        The names that are true of each case, N lists.
    length
        How many names are listed.

    Returns
    -------
    Candidates
        A list for each of the N cases, in order.
    """
    part_of = parts_of(candidates.ids)
    counts = Counter(name for names in truths for name in set(names))
    list_of_part = []
    for part in range(N_FOLDS):
        own = Counter(name for case in np.flatnonzero(part_of == part) for name in set(truths[case]))
        others = {name: times - own[name] for name, times in counts.items() if times > own[name]}
        list_of_part.append(sorted(others, key=lambda name: (-others[name], name))[:length])
    lists = [list_of_part[part] for part in part_of]
    listed = {name for names in list_of_part for name in names}
    return Candidates.from_lists(lists, truths, ids=candidates.ids, prices=candidates.mean_prices(listed))


def parts_of(ids: Sequence[str]) -> IntArray:
    """The part of each case, (N,), from 0 to 9, whatever the order of cases; sizes of parts differ by one."""
    by_key = np.argsort(keys_of(list(ids)), kind="stable")
    parts = np.empty(len(ids), dtype=np.intp)
    parts[by_key] = np.arange(len(ids)) % N_FOLDS
    return parts
