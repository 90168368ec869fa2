"""Searches along orders in two passes over the rows, without sorting; `search.py` says what they must find.

Where an order ends in a block of ties, what is looked at depends on no more than the value of that block: all that
is higher, and a share of what is equal.
"""

from pandora_regret.core.kernels.numba_cache import AS_WRITTEN, njit

FIRST_TRUE = 0  # the block of the first true candidate
LAST_TRUE = 1  # of the last one listed

N_LISTED = 0  # counts of each case: candidates,
N_TRUE = 1  # and how many of them are true

WHOLE = 0  # sums of prices of each case: of all candidates,
ALL_TRUE = 1  # of the true ones,
CHEAPEST = 2  # and the least of these

BEFORE = 0  # of what a search looks at, for either block: what comes before it,
TIED_FALSE = 1  # what is false in it,
TIED_TRUE = 2  # and what is true


@njit(**AS_WRITTEN)
def search_rows(case, codes, values, prices, is_true, last_case, counts, sums, n_at, cost_at):
    """Search each case's candidates by falling value; False, and nothing of use, where they have to be sorted.

    That is where the rows of a case do not lie together, or one names a candidate twice.

    Parameters
    ----------
    case, codes, values, prices, is_true
        Of each row, (C,); a code of -1 is no candidate.
    last_case
        By name the last case that has it, -1 at first.
    counts, sums
        (N, 2) and (N, 3), zero at first: see above.
    n_at, cost_at
        (2, N, 3), zero at first: numbers of candidates, and their prices, for both blocks.
    """
    start = 0
    while start < len(case):
        here = case[start]
        end = start + 1
        while end < len(case) and case[end] == here:
            end += 1
        if end < len(case) and case[end] < here:
            return False
        if not _count_candidates(start, end, case, codes, prices, is_true, last_case, counts, sums):
            return False
        if counts[here, N_TRUE] > 0:
            best = -float("inf")
            worst = float("inf")
            for row in range(start, end):
                if is_true[row] and codes[row] >= 0:
                    best = max(best, values[row])
                    worst = min(worst, values[row])
            _look(
                start, end, best, codes, values, prices, is_true, n_at[FIRST_TRUE, here], cost_at[FIRST_TRUE, here]
            )
            if worst == best:
                n_at[LAST_TRUE, here] = n_at[FIRST_TRUE, here]
                cost_at[LAST_TRUE, here] = cost_at[FIRST_TRUE, here]
            else:
                n_last = n_at[LAST_TRUE, here]
                cost_last = cost_at[LAST_TRUE, here]
                _look(start, end, worst, codes, values, prices, is_true, n_last, cost_last)
        start = end
    return True


@njit(**AS_WRITTEN)
def _count_candidates(start, end, case, codes, prices, is_true, last_case, counts, sums):
    """Count the candidates of a case, and sum their prices; False where it names one twice."""
    here = case[start]
    n_listed = 0
    n_true = 0
    whole = 0.0
    all_true = 0.0
    cheapest = float("inf")
    for row in range(start, end):
        if codes[row] < 0:
            continue
        if last_case[codes[row]] == here:
            return False
        last_case[codes[row]] = here
        n_listed += 1
        whole += prices[row]
        if is_true[row]:
            n_true += 1
            all_true += prices[row]
            cheapest = min(cheapest, prices[row])
    counts[here, N_LISTED] = n_listed
    counts[here, N_TRUE] = n_true
    sums[here, WHOLE] = whole
    sums[here, ALL_TRUE] = all_true
    if n_true > 0:
        sums[here, CHEAPEST] = cheapest
    return True


@njit(**AS_WRITTEN)
def _look(start, end, limit, codes, values, prices, is_true, n_at, cost_at):
    """What a search looks at that ends at the ties of this value: (3,) numbers of candidates, and their prices."""
    n_before = 0
    cost_before = 0.0
    for row in range(start, end):
        if codes[row] < 0 or values[row] < limit:
            continue
        if values[row] > limit:
            n_before += 1
            cost_before += prices[row]
        else:
            part = TIED_TRUE if is_true[row] else TIED_FALSE
            n_at[part] += 1
            cost_at[part] += prices[row]
    n_at[BEFORE] = n_before
    cost_at[BEFORE] = cost_before
