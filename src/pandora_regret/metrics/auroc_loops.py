"""AUROC of many replicates, compiled by numba; `registry.macro_auroc` says what it must compute."""

from pandora_regret.core.kernels.numba_cache import FAST, njit


@njit(**FAST)
def add_aurocs(order, scores, truth, weights, areas, defined):
    """Add to `areas` (R,) the AUROC of every class against the rest, and count those that are defined.

    Instances are sorted by each class's score, (K, N); weights are (R, N). The interpreter's lock is released, so
    that other replicates are done by other threads.
    """
    for k in range(len(order)):
        for r in range(len(weights)):
            right = wrong = above = below = level = tied = (
                0.0  # the last two: of class k, and others, at one score
            )
            for n in range(len(truth)):
                instance = order[k, n]
                if truth[instance] == k:
                    level += weights[r, instance]
                else:
                    tied += weights[r, instance]
                if n == len(truth) - 1 or scores[k, n] != scores[k, n + 1]:
                    right += level * (below + tied / 2)
                    wrong += tied * (above + level / 2)
                    above = above + level
                    below = below + tied
                    level = 0.0
                    tied = 0.0
            if right + wrong > 0:  # not their product: where nothing is wrong, the area is 1 to the last digit
                areas[r] += right / (right + wrong)
                defined[r] += 1
