"""AUROC of many replicates, compiled by numba; `formulas.macro_auroc` says what it must compute."""

from pandora_regret.kernels.jit import FAST, njit


@njit(**FAST)
def add_aurocs(order, scores, truth, weights, first, last, areas, defined):
    """Add to `areas` the AUROC of every class against the rest, and count those that are defined.

    Instances are sorted by each class's score, (K, N). Of the replicates, whose weights are (R, N), those from
    `first` to `last` are done; the interpreter's lock is released, so that others are done by other threads.
    """
    for k in range(len(order)):
        for r in range(first, last):
            right = above = below = level = tied = 0.0  # the last two: of class k, and of others, at equal scores
            for n in range(len(truth)):
                if n > 0 and scores[k, n] != scores[k, n - 1]:
                    right += level * (below + tied / 2)
                    above, below, level, tied = above + level, below + tied, 0.0, 0.0
                instance = order[k, n]
                if truth[instance] == k:
                    level += weights[r, instance]
                else:
                    tied += weights[r, instance]
            pairs = (above + level) * (below + tied)
            if pairs > 0:
                areas[r] += (right + level * (below + tied / 2)) / pairs
                defined[r] += 1
