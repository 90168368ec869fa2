"""The arms of training_evidence.py: learners, losses, and what is done to a forecast afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import lightgbm
import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pandora_regret import expected_search_cost
from pandora_regret.calibrate import TemperatureScaling, VectorScaling
from pandora_regret.core.priors.beta import beta_loss, beta_loss_slope
from pandora_regret.integrations.boosting import SearchObjective, probabilities

Setting = tuple[float, ...]
Forecasts = dict[Setting, np.ndarray]

HALF_DECADES = 10.0 ** np.arange(-6.0, 0.5, 0.5)  # penalties of squared weights
IMAGE_PENALTIES = tuple((penalty,) for penalty in HALF_DECADES if penalty > 2e-4)
TABLE_PENALTIES = tuple((penalty,) for penalty in HALF_DECADES if penalty < 0.2)
MOST_FEATURES = 128  # principal components of standardised features; the tables have fewer, and keep all
ROUNDS = (25, 50, 100, 200, 300)
BOOSTING_SETTINGS = tuple(product((0.1, 0.4), ROUNDS))  # learning rate, rounds
TREES = {"num_leaves": 8, "min_data_in_leaf": 5, "max_bin": 63, "num_threads": 1, "verbosity": -1, "seed": 0}
INNER_SHARE = 0.25  # of the rows to learn from, to choose a setting by
INNER_FOLDS = 3  # whose forecasts a recalibration learns from


@dataclass(frozen=True, eq=False)
class Rows:
    features: np.ndarray
    truth: np.ndarray

    def some(self, which: np.ndarray) -> Rows:
        return Rows(self.features[which], self.truth[which])


@dataclass(frozen=True, eq=False)
class Loss:
    """What is minimised: log loss, or the search score at alpha and costs (equal ones if None)."""

    alpha: float | None = None
    costs: np.ndarray | None = None

    @property
    def stages(self) -> list[Loss]:
        """The loss, after what to minimise first."""
        if self.alpha is None:
            return [self]
        return [Loss(alpha, self.costs) for alpha in sorted({0.0, self.alpha})]

    def gradient(self, truth: np.ndarray, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean loss of scores, (N, K), and its derivative in each; costs are counted in their mean."""
        n, own = len(truth), (np.arange(len(truth)), truth)
        if self.alpha is None:
            slopes = softmax(scores, axis=1)
            value = -np.log(slopes[own]).mean()
            slopes[own] -= 1
            return float(value), slopes / n
        costs = np.ones(scores.shape[1]) if self.costs is None else self.costs / np.mean(self.costs)
        odds = scores[own][:, None] - scores + np.log(costs / costs[truth][:, None])
        losses, slopes = costs * beta_loss(odds, self.alpha) / 3, -costs * beta_loss_slope(odds, self.alpha) / 3
        losses[own] = slopes[own] = 0.0
        slopes[own] = -slopes.sum(axis=1)
        return float(losses.sum() / n), slopes / n


LOG_LOSS = Loss()


def linear(loss: Loss, train: Rows, X: np.ndarray, settings: Sequence[Setting], seed: int) -> Forecasts:
    """Linear models, each the minimum of its mean loss and a penalty of squared weights.

    L-BFGS on all rows at once leaves nothing to chance, nor to learning rates. The loss of alpha = 1 is not
    convex: its minimum is looked for from that of alpha = 0.
    """
    scaler = make_pipeline(StandardScaler(), PCA(min(MOST_FEATURES, *train.features.shape))).fit(train.features)
    rows, unseen = (_with_ones(scaler.transform(table)) for table in (train.features, X))
    start, found = np.zeros((int(train.truth.max()) + 1, rows.shape[1])), {}
    for (penalty,) in sorted(settings, reverse=True):
        start = weights = minimised(start, loss.stages[0], rows, train.truth, penalty)
        for stage in loss.stages[1:]:
            weights = minimised(weights, stage, rows, train.truth, penalty)
        found[(penalty,)] = softmax(unseen @ weights.T, axis=1)
    return found


def minimised(start: np.ndarray, loss: Loss, rows: np.ndarray, truth: np.ndarray, penalty: float) -> np.ndarray:
    """Intercepts and weights, (K, 1 + D), that minimise the penalised mean loss."""
    free = np.ones(rows.shape[1])
    free[0] = 0.0  # intercepts

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(start.shape)
        value, slopes = loss.gradient(truth, rows @ weights.T)
        return value + penalty / 2 * (free * weights**2).sum(), (
            slopes.T @ rows + penalty * free * weights
        ).ravel()

    best = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300, "maxcor": 20})
    return best.x.reshape(start.shape)


def _with_ones(table: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(table)), table]).astype(float)


def boosting(loss: Loss, train: Rows, X: np.ndarray, settings: Sequence[Setting], seed: int) -> Forecasts:
    """LightGBM; one booster a learning rate gives the forecasts of all its rounds."""
    objective: Any = "multiclass" if loss.alpha is None else SearchObjective(alpha=loss.alpha, costs=loss.costs)
    found = {}
    for rate in {rate for rate, _ in settings}:
        rounds = [int(number) for other, number in settings if other == rate]
        options = TREES | {"objective": objective, "num_class": int(train.truth.max()) + 1, "learning_rate": rate}
        booster = lightgbm.train(options, lightgbm.Dataset(train.features, train.truth), max(rounds))
        for number in rounds:
            found[rate, number] = probabilities(booster.predict(X, raw_score=True, num_iteration=number))
    return found


Learner = Callable[[Loss, Rows, np.ndarray, Sequence[Setting], int], Forecasts]
LEARNERS: dict[str, tuple[Learner, tuple[Setting, ...]]] = {
    "probe": (linear, IMAGE_PENALTIES),
    "linear": (linear, TABLE_PENALTIES),
    "boosting": (boosting, BOOSTING_SETTINGS),
}


class Arms:
    """The forecasts of every arm for one split."""

    def __init__(self, learner: str, train: Rows, X: np.ndarray, costs: np.ndarray, seed: int) -> None:
        self.learn, self.settings = LEARNERS[learner]
        self.train, self.X, self.seed = train, X, seed
        self.targets: dict[str, np.ndarray | None] = {"equal": None, "priced": costs}
        self.columns = list(range(len(costs)))
        inner = StratifiedShuffleSplit(1, test_size=INNER_SHARE, random_state=seed)
        fitted, chosen_by = next(inner.split(train.features, train.truth))
        self.fitted, self.chosen_by = train.some(fitted), train.some(chosen_by)
        self.choices: dict[str, Setting] = {}

    def forecasts(self) -> dict[str, np.ndarray]:
        """By name: a target, then the arm; those of log loss alone have no target."""
        found = self._log_loss_arms()
        for target, costs in self.targets.items():
            for alpha in (1.0, 0.0):
                loss, name = Loss(alpha, costs), f"{target}: Pandora, alpha {alpha:g}"
                setting = self._choose(name, self._validated(loss), self._cost_of(costs))
                found[name] = self._final(loss, setting)
        return found

    def _log_loss_arms(self) -> dict[str, np.ndarray]:
        validated = self._validated(LOG_LOSS)
        setting = self._choose("log loss", validated, self._log_loss_of)
        found = {"log loss": self._final(LOG_LOSS, setting)}
        for target, costs in self.targets.items():
            name = f"{target}: log loss, chosen by cost"
            other = self._choose(name, validated, self._cost_of(costs))
            found[name] = found["log loss"] if other == setting else self._final(LOG_LOSS, other)
        return found | self._recalibrated(found["log loss"], self._out_of_fold(setting))

    def _validated(self, loss: Loss) -> Forecasts:
        return self.learn(loss, self.fitted, self.chosen_by.features, self.settings, self.seed)

    def _final(self, loss: Loss, setting: Setting) -> np.ndarray:
        return self.learn(loss, self.train, self.X, [setting], self.seed)[setting]

    def _choose(self, name: str, validated: Forecasts, bad: Callable[[np.ndarray], float]) -> Setting:
        self.choices[name] = min(validated, key=lambda setting: bad(validated[setting]))
        return self.choices[name]

    def _log_loss_of(self, proba: np.ndarray) -> float:
        return float(log_loss(self.chosen_by.truth, proba, labels=self.columns))

    def _cost_of(self, costs: np.ndarray | None) -> Callable[[np.ndarray], float]:
        return lambda proba: expected_search_cost(self.chosen_by.truth, proba, costs=costs)

    def _out_of_fold(self, setting: Setting) -> np.ndarray:
        """Forecasts of the rows to learn from, each by a model that has not seen it."""
        rows, table = self.train, np.empty((len(self.train.truth), len(self.columns)))
        folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=self.seed)
        for fitted, unseen in folds.split(rows.features, rows.truth):
            X = rows.features[unseen]
            table[unseen] = self.learn(LOG_LOSS, rows.some(fitted), X, [setting], self.seed)[setting]
        return table

    def _recalibrated(self, proba: np.ndarray, out_of_fold: np.ndarray) -> dict[str, np.ndarray]:
        """As CalibratedSearch does it, which would train anew for every calibrator.

        The stored results have vector scaling for cost besides, from when it could be fitted for that.
        """
        calibrators: dict[str, Any] = {
            "log loss + temperature for log loss": TemperatureScaling(labels=self.columns),
            "log loss + vector for log loss": VectorScaling(labels=self.columns),
        } | {
            f"{target}: log loss + temperature for cost": TemperatureScaling(
                labels=self.columns, objective="search", costs=costs
            )
            for target, costs in self.targets.items()
        }
        return {
            name: calibrator.fit(out_of_fold, self.train.truth).predict_proba(proba)
            for name, calibrator in calibrators.items()
        }
