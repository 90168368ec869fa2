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
            right = 0.0  # pairs of the class and another of which the class has the higher score; half of ties
            wrong = 0.0
            own_below = 0.0  # instances of class k at lower scores
            others_below = 0.0
            own_here = 0.0  # instances of class k at this score
            others_here = 0.0
            for n in range(len(truth)):
                instance = order[k, n]
                if truth[instance] == k:
                    own_here += weights[r, instance]
                else:
                    others_here += weights[r, instance]
                if n == len(truth) - 1 or scores[k, n] != scores[k, n + 1]:
                    right += own_here * (others_below + others_here / 2)
                    wrong += others_here * (own_below + own_here / 2)
                    own_below += own_here
                    others_below += others_here
                    own_here = 0.0
                    others_here = 0.0
            if right + wrong > 0:  # not their product: where nothing is wrong, the area is 1 to the last digit
                areas[r] += right / (right + wrong)
                defined[r] += 1
