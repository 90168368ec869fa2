"""A yardstick: the same list for every case, made of the truths of all other cases."""

from __future__ import annotations

from collections import Counter

import numpy as np

from pandora_regret.candidates.lists import Candidates


def constant_list(candidates: Candidates, truths: list[list[str]], length: int) -> Candidates:
    """The most frequent truths of all other cases, as a list for every case.

    Each case is left out of its own list, so that the yardstick knows no more than a model could: a truth that
    occurs once in all is on no list of its own case. Lists differ by that alone. Truths that are equally frequent
    come by their names.

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
    counts = Counter(name for names in truths for name in set(names))
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    most = length + max((len(names) for names in truths), default=0)
    head = ranked[: most + 1]  # who leaves a case out moves its own truths only, and these down
    lists = []
    for names in truths:
        own = set(names)
        left = {name: counts[name] - (name in own) for name in head}
        known = [name for name in head if left[name] > 0]
        known.sort(key=lambda name: (-left[name], name))
        lists.append(known[:length])
    return Candidates.from_lists(lists, truths, ids=candidates.ids, prices=_mean_prices(candidates))


def _mean_prices(candidates: Candidates) -> dict[str, float]:
    """What each name costs on average, and under "other" what candidates do."""
    if not len(candidates.prices):
        return {"other": 1.0}
    n_names = len(candidates.names)
    totals = np.bincount(candidates.codes, candidates.prices, n_names)
    times = np.bincount(candidates.codes, minlength=n_names)
    means = totals / np.maximum(times, 1)
    prices = {name: float(means[code]) for code, name in enumerate(candidates.names) if times[code]}
    return {"other": float(candidates.prices.mean())} | prices
