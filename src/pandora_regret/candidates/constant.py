"""A yardstick: the same list for every case, made of the truths of other cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pandora_regret.candidates.lists import Candidates
from pandora_regret.candidates.reading import hits_by_name, prices_of
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
    lists = _lists_of_parts(truths, part_of, length)
    names = list(dict.fromkeys(name for listed in lists for name in listed))
    case, codes, places = _written_out(lists, names, part_of)
    truth_of = dict(zip(candidates.ids, truths, strict=True))
    return Candidates(
        ids=candidates.ids,
        offsets=np.searchsorted(case, np.arange(len(part_of) + 1)),
        names=tuple(names),
        codes=codes,
        values=(-places).astype(np.float64),
        prices=prices_of(names, candidates.mean_prices(set(names)))[codes],
        is_true=hits_by_name(candidates.ids, case, names, codes, truth_of),
        has_probabilities=False,
    )


def _lists_of_parts(truths: list[list[str]], part_of: IntArray, length: int) -> list[list[str]]:
    """For each part the names that are most often true in the others, the most frequent first."""
    counts = Counter(name for names in truths for name in set(names))
    lists = []
    for part in range(N_FOLDS):
        own = Counter(name for case in np.flatnonzero(part_of == part) for name in set(truths[case]))
        others = {name: times - own[name] for name, times in counts.items() if times > own[name]}
        lists.append(sorted(others, key=lambda name: (-others[name], name))[:length])
    return lists


def _written_out(
    lists: list[list[str]], names: Sequence[str], part_of: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Of all cases' candidates, (C,): the case, the number of the name, and the place in the list, from 0."""
    number_of = {name: number for number, name in enumerate(names)}
    codes_of_part = [np.array([number_of[name] for name in listed], dtype=np.intp) for listed in lists]
    lengths = np.array([len(listed) for listed in lists])[part_of]
    case = np.repeat(np.arange(len(part_of)), lengths)
    codes = np.concatenate([codes_of_part[part] for part in part_of])
    places = np.concatenate([np.arange(length) for length in lengths])
    return case, codes, places


def parts_of(ids: Sequence[str]) -> IntArray:
    """The part of each case, (N,), from 0 to 9, whatever the order of cases; sizes of parts differ by one."""
    by_key = np.argsort(keys_of(list(ids)), kind="stable")
    parts = np.empty(len(ids), dtype=np.intp)
    parts[by_key] = np.arange(len(ids)) % N_FOLDS
    return parts
