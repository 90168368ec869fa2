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
    counts = Counter(name for names in truths for name in set(names))
    list_of_part = []
    for part in range(N_FOLDS):
        own = Counter(name for case in np.flatnonzero(part_of == part) for name in set(truths[case]))
        others = {name: times - own[name] for name, times in counts.items() if times > own[name]}
        list_of_part.append(sorted(others, key=lambda name: (-others[name], name))[:length])
    names = list(dict.fromkeys(name for listed in list_of_part for name in listed))
    number_of = {name: number for number, name in enumerate(names)}
    codes_of_part = [np.array([number_of[name] for name in listed], dtype=np.intp) for listed in list_of_part]
    lengths = np.array([len(codes) for codes in codes_of_part])[part_of]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = np.concatenate([codes_of_part[part] for part in part_of])
    place = np.arange(len(codes)) - np.repeat(offsets[:-1], lengths)  # in the list of its case, from 0
    case = np.repeat(np.arange(len(lengths)), lengths)
    truth_of = dict(zip(candidates.ids, truths, strict=True))
    return Candidates(
        ids=candidates.ids,
        offsets=offsets,
        names=tuple(names),
        codes=codes,
        values=(-place).astype(np.float64),
        prices=prices_of(names, candidates.mean_prices(set(names)))[codes],
        is_true=hits_by_name(candidates.ids, case, names, codes, truth_of),
        has_probabilities=False,
    )


def parts_of(ids: Sequence[str]) -> IntArray:
    """The part of each case, (N,), from 0 to 9, whatever the order of cases; sizes of parts differ by one."""
    by_key = np.argsort(keys_of(list(ids)), kind="stable")
    parts = np.empty(len(ids), dtype=np.intp)
    parts[by_key] = np.arange(len(ids)) % N_FOLDS
    return parts
