"""How far the costs of two similar models differ from case to case: what a plan for a test set has to assume.

    python benchmarks/paired_spread.py STUDY_FOLDER...

For every zoo of finished studies: all pairs of at most 60 models whose mean costs differ by less than 5 %; the
standard deviation of their difference per case, as a share of the lower cost (10 %, 50 % and 90 % quantiles over
pairs), and how many cases an 80 % chance to settle a difference of 5 % then takes.
"""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from pandora_regret import InputError, expected_search_cost
from pandora_regret.study import Store, read_study

MOST_MODELS = 60
ALIKE = 0.05  # of the lower cost
QUANTILES = (0.1, 0.5, 0.9)
TWO_SIDED, POWER = 1.96, 0.84  # standard errors: level 95 %, power 80 %
DIFFERENCE = 0.05  # to be settled


def spreads(costs: np.ndarray) -> list[float]:
    """The spread of the difference of each similar pair of rows of costs, as a share of the lower mean."""
    means = costs.mean(axis=1)
    shares = []
    for first, second in combinations(range(len(costs)), 2):
        lower = min(means[first], means[second])
        difference = costs[first] - costs[second]
        if abs(means[first] - means[second]) < ALIKE * lower and np.any(difference):
            shares.append(float(difference.std() / lower))
    return shares


def main() -> None:
    """Print one row per zoo."""
    generator = np.random.default_rng(0)
    print(f"{'zoo':18}{'cases':>7}{'pairs':>7}   spread: 10 %, 50 %, 90 %   cases for {DIFFERENCE:.0%}")
    for argument in sys.argv[1:]:
        folder = Path(argument)
        for data in read_study(folder / "study.toml", trust=True).data:
            try:
                store = Store.open(folder / data.name)
            except InputError as error:
                print(f"{data.name:18}{error}")
                continue
            models = list(store.models)
            if len(models) > MOST_MODELS:
                models = [str(model) for model in generator.choice(models, MOST_MODELS, replace=False)]
            prices = data.costs_of(store.classes)
            forecasts = store.probabilities(models)
            costs = [
                expected_search_cost(store.truth, forecast, costs=prices, per_instance=True)
                for forecast in forecasts
            ]
            shares = spreads(np.array(costs))
            low, middle, high = np.quantile(shares, QUANTILES)
            cases = ((TWO_SIDED + POWER) * middle / DIFFERENCE) ** 2
            spread = f"{low:10.2f}, {middle:.2f}, {high:.2f}"
            print(f"{data.name:18}{len(store.truth):7}{len(shares):7}{spread:>26}{cases:14.0f}")


if __name__ == "__main__":
    main()
