"""What training_evidence.py reads from its forecasts: scores out of sample, and intervals of differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from evidence_data import FOLDS, IMAGES, load, test_parts
from evidence_results import BASE, Estimate
from scipy.stats import t as student

from pandora_regret import expected_search_cost, pandora_regret, search_cost

LEVEL = 0.95
LEAST = 1e-12  # a probability of zero would make every mean of log loss infinite

Scorer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # truth, forecasts, costs -> a value per row


def wasted_if_uncertain(truth: np.ndarray, proba: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """What wrong tests cost, where costs spread uniformly around the typical ones."""
    return expected_search_cost(truth, proba, typical_costs=costs, per_instance=True) - costs[truth]


def wasted_if_known(truth: np.ndarray, proba: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """What wrong tests cost, where costs are exactly the typical ones."""
    return search_cost(truth, proba, costs, ties="average", per_instance=True) - costs[truth]


def _of_truth(truth: np.ndarray, proba: np.ndarray) -> np.ndarray:
    return proba[np.arange(len(truth)), truth].astype(float)


METRICS: dict[str, Scorer] = {
    "pandora_regret": lambda truth, proba, costs: pandora_regret(truth, proba, per_instance=True),
    "wasted_cost": wasted_if_uncertain,
    "wasted_cost_if_known": wasted_if_known,
    "wasted_tests": lambda truth, proba, costs: wasted_if_known(truth, proba, np.ones_like(costs)),
    "log_loss": lambda truth, proba, costs: -np.log(np.maximum(_of_truth(truth, proba), LEAST)),
    "accuracy": lambda truth, proba, costs: (proba.argmax(axis=1) == truth).astype(float),
}


@dataclass(frozen=True, eq=False)
class Measured:
    """The forecasts of one learner on one kind of test rows, split by split."""

    learner: str
    data: str
    rows: int
    costs: np.ndarray
    truth: list[np.ndarray]
    proba: list[dict[str, np.ndarray]]
    same_rows: bool  # whether every split predicts the same ones

    @cached_property
    def arms(self) -> list[str]:
        return list(self.proba[0])

    @cached_property
    def scores(self) -> Callable[[str, str], list[np.ndarray]]:
        """Of a metric and an arm: a value per row, split by split."""

        @cache
        def of(metric: str, arm: str) -> list[np.ndarray]:
            score = METRICS[metric]
            pairs = zip(self.truth, self.proba, strict=True)
            return [score(truth, found[arm], self.costs) for truth, found in pairs]

        return of

    def mean(self, metric: str, arm: str) -> float:
        return float(np.mean([rows.mean() for rows in self.scores(metric, arm)]))

    def difference(self, metric: str, arm: str, other: str = BASE) -> Estimate:
        """The mean of arm minus other, with the interval that fits how the rows were split."""
        pairs = zip(self.scores(metric, arm), self.scores(metric, other), strict=True)
        gaps = [ours - theirs for ours, theirs in pairs]
        means = np.array([gap.mean() for gap in gaps])
        error = _crossed(np.array(gaps)) if self.same_rows else _corrected(means)
        half = student.ppf((1 + LEVEL) / 2, len(means) - 1) * error
        return Estimate(means.mean(), means.mean() - half, means.mean() + half)

    def change(self, metric: str, arm: str, other: str = BASE) -> Estimate:
        """The same as a share of what log loss alone scores."""
        return self.difference(metric, arm, other).over(self.mean(metric, BASE))


def _corrected(means: np.ndarray) -> float:
    """Nadeau and Bengio: folds share most of their training rows, so that their means vary too little."""
    return float(np.sqrt((1 / len(means) + 1 / (FOLDS - 1)) * means.var(ddof=1)))


def _crossed(gaps: np.ndarray) -> float:
    """Chance lies in the samples to learn from, and in the rows that all of them predict."""
    samples, rows = gaps.mean(axis=1), gaps.mean(axis=0)
    return float(np.sqrt(samples.var(ddof=1) / len(samples) + rows.var(ddof=1) / len(rows)))


def read_trials(files: list[Path], learner: str, name: str) -> list[Measured]:
    """One trial for each kind of test rows."""
    splits = [_read(path) for path in files]
    rows = int(np.mean([about["rows"] for _, _, about in splits]))
    costs, trials = load(name).costs, []
    for part, which in test_parts(name).items():
        truth = [labels[which] for labels, _, _ in splits]
        proba = [{arm: table[which] for arm, table in found.items()} for _, found, _ in splits]
        trials.append(Measured(learner, part, rows, costs, truth, proba, same_rows=name in IMAGES))
    return trials


def read_choices(path: Path) -> dict[str, list[float]]:
    return _read(path)[2]["choices"]


def _read(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray], dict]:
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    truth, about = arrays.pop("truth"), json.loads(str(arrays.pop("about")))
    return truth, arrays, about
