"""The zoo's classifiers as data: good and bad ones of every family, and some that mistake how sure they may be.

A classifier without probabilities of its own (a support vector machine, a perceptron) has its decision values
pushed through a softmax, as people do, which is one way of being miscalibrated. A temperature below 1 sharpens the
forecasts of a model, one above 1 flattens them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import softmax

from pandora_regret.inputs import FloatArray
from pandora_regret.optional import import_optional


@dataclass(frozen=True, eq=False)
class Part:
    """A scikit-learn object to be made: where it is found, its parameters, and what changes the features first."""

    path: str  # within sklearn: "linear_model.LogisticRegression"
    parameters: Mapping[str, Any]  # other parts among them, made as well
    first: Part | None = None

    def make(self) -> Any:
        """A fresh object."""
        module, name = self.path.rsplit(".", 1)
        options = {
            key: value.make() if isinstance(value, Part) else value for key, value in self.parameters.items()
        }
        made = getattr(import_optional(f"sklearn.{module}", extra="zoo"), name)(**options)
        if self.first is None:
            return made
        return import_optional("sklearn.pipeline", extra="zoo").make_pipeline(self.first.make(), made)

    def to_dict(self) -> dict[str, Any]:
        """The same in plain values."""
        options = {
            key: value.to_dict() if isinstance(value, Part) else value for key, value in self.parameters.items()
        }
        before = {} if self.first is None else {"first": self.first.to_dict()}
        return {"class": self.path, **options, **before}


@dataclass(frozen=True, eq=False)
class Classifier:
    """One model of the zoo."""

    name: str
    family: str
    part: Part
    temperature: float = 1.0

    def make(self, seed: int) -> Any:
        """A fresh estimator; everything random in it is seeded."""
        estimator = self.part.make()
        random = [key for key in estimator.get_params() if key.split("__")[-1] == "random_state"]
        return estimator.set_params(**dict.fromkeys(random, seed))

    def source(self) -> str:
        """Where its forecasts come from."""
        return "predict_proba" if hasattr(self.part.make(), "predict_proba") else "softmax of decision_function"

    def forecast(self, estimator: Any, features: FloatArray) -> FloatArray:
        """The fitted estimator's probabilities at this temperature, shape (N, its classes)."""
        if hasattr(estimator, "predict_proba"):
            return _at_temperature(np.asarray(estimator.predict_proba(features), np.float64), self.temperature)
        values = np.asarray(estimator.decision_function(features), np.float64)
        if values.ndim == 1:  # two classes have one decision value: that of the second
            values = np.column_stack([np.zeros_like(values), values])
        return softmax(values / self.temperature, axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Its parameters in plain values."""
        return self.part.to_dict() | ({} if self.temperature == 1 else {"temperature": self.temperature})


def _at_temperature(probabilities: FloatArray, temperature: float) -> FloatArray:
    """Probabilities to the power of 1 / temperature, summing to 1 again; zeros stay zeros."""
    if temperature == 1:  # naive Bayes loses digits in logarithms of size 1e8, and its rows miss 1 by as much
        normalised: FloatArray = probabilities / probabilities.sum(axis=1, keepdims=True)
        return normalised
    with np.errstate(divide="ignore"):
        return softmax(np.log(probabilities) / temperature, axis=1)


def _part(path: str, first: Part | None = None, /, **parameters: Any) -> Part:
    return Part(path, parameters, first)


def _calibrated(part: Part, method: str) -> Part:
    return _part("calibration.CalibratedClassifierCV", estimator=part, method=method, cv=3, ensemble=False)


def _logistic(first: Part | None = None, /, **parameters: Any) -> Part:
    return _part("linear_model.LogisticRegression", first, **{"max_iter": 200} | parameters)


def _sized(path: str, size: str, **usual: Any) -> Callable[..., Part]:
    """What makes parts of one kind: from a size, what comes first, and parameters that differ from the usual."""

    def make(value: float, first: Part | None = None, /, **parameters: Any) -> Part:
        return _part(path, first, **{size: value} | usual | parameters)

    return make


_sgd = partial(_part, "linear_model.SGDClassifier")
_svc = partial(_part, "svm.SVC")
_tree = partial(_part, "tree.DecisionTreeClassifier")
_bernoulli = partial(_part, "naive_bayes.BernoulliNB")
_gaussian = partial(_part, "naive_bayes.GaussianNB")
_lda = partial(_part, "discriminant_analysis.LinearDiscriminantAnalysis")
_qda = _sized("discriminant_analysis.QuadraticDiscriminantAnalysis", "reg_param")
_ridge = _sized("linear_model.RidgeClassifier", "alpha")
_forest = _sized("ensemble.RandomForestClassifier", "n_estimators")
_extra = _sized("ensemble.ExtraTreesClassifier", "n_estimators")
_boosted = _sized("ensemble.GradientBoostingClassifier", "n_estimators", subsample=0.5, max_features="sqrt")
_histogram = _sized("ensemble.HistGradientBoostingClassifier", "max_iter", early_stopping=False, max_bins=32)
_neighbours = _sized("neighbors.KNeighborsClassifier", "n_neighbors")


def _bagged(part: Part, **parameters: Any) -> Part:
    return _part("ensemble.BaggingClassifier", estimator=part, n_estimators=10, **parameters)


def _adaboost(rounds: int, depth: int, rate: float) -> Part:
    stump = _tree(max_depth=depth, max_features="sqrt")
    return _part("ensemble.AdaBoostClassifier", estimator=stump, n_estimators=rounds, learning_rate=rate)


def _network(*layers: int, **parameters: Any) -> Part:
    return _part("neural_network.MLPClassifier", hidden_layer_sizes=list(layers), **{"max_iter": 60} | parameters)


_KERNEL = _part("kernel_approximation.Nystroem", n_components=100, gamma=0.005)
_COMPONENTS = _part("decomposition.PCA", n_components=0.8)
_COUNTS = _part("preprocessing.MinMaxScaler", clip=True)
_BINS = _part("preprocessing.KBinsDiscretizer", n_bins=4, encode="ordinal", strategy="uniform")

FAMILIES: dict[str, dict[str, Part]] = {
    "baseline": {"class shares": _part("dummy.DummyClassifier", strategy="prior")},
    "linear": {
        **{f"logistic C={c:g}": _logistic(C=c) for c in (1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0)},
        "logistic C=1e+06 unfinished": _logistic(C=1e6, max_iter=15),
        "logistic one-vs-rest": _part("multiclass.OneVsRestClassifier", estimator=_logistic(C=0.1)),
        "logistic on components": _logistic(_COMPONENTS, C=1.0),
        "logistic balanced": _logistic(C=0.1, class_weight="balanced"),
        "gradient descent log loss": _sgd(loss="log_loss"),
        "gradient descent log loss L1": _sgd(loss="log_loss", penalty="l1", alpha=0.003),
        "gradient descent modified Huber": _sgd(loss="modified_huber"),
        "gradient descent hinge": _sgd(loss="hinge", alpha=0.01),
        "perceptron": _part("linear_model.Perceptron"),
        "ridge alpha=1": _ridge(1.0),
        "ridge alpha=1000": _ridge(1000.0),
        "linear SVM C=0.01": _part("svm.LinearSVC", C=0.01),
        "linear SVM C=0.01 sigmoid": _calibrated(_part("svm.LinearSVC", C=0.01), "sigmoid"),
    },
    "kernel": {
        "SVM C=1": _svc(C=1.0),
        "SVM C=0.05": _svc(C=0.05),
        "SVM C=100 narrow": _svc(C=100.0, gamma=0.1),
        "SVM cubic": _svc(C=1.0, kernel="poly", degree=3),
        "SVM tanh": _svc(C=1.0, kernel="sigmoid"),
        "SVM C=1 sigmoid": _calibrated(_svc(C=1.0), "sigmoid"),
        "SVM C=1 isotonic": _calibrated(_svc(C=1.0), "isotonic"),
        "kernel logistic C=1": _logistic(_KERNEL, C=1.0),
        "kernel logistic C=0.01": _logistic(_KERNEL, C=0.01),
    },
    "trees": {
        "tree depth=3": _tree(max_depth=3),
        "tree depth=6": _tree(max_depth=6),
        "tree full": _tree(),
        "tree full entropy": _tree(criterion="entropy"),
        "tree leaf=20": _tree(min_samples_leaf=20),
        "tree pruned": _tree(ccp_alpha=0.005),
        "tree random splits": _part("tree.ExtraTreeClassifier"),
        "tree full sigmoid": _calibrated(_tree(), "sigmoid"),
    },
    "forests": {
        "forest 5": _forest(5),
        "forest 20": _forest(20),
        "forest 100": _forest(100),
        "forest 100 leaf=10": _forest(100, min_samples_leaf=10),
        "forest 100 depth=4": _forest(100, max_depth=4),
        "forest 100 one feature": _forest(100, max_features=1),
        "forest 50 balanced": _forest(50, class_weight="balanced", min_samples_leaf=3),
        "forest 50 isotonic": _calibrated(_forest(50), "isotonic"),
        "extra trees 20": _extra(20),
        "extra trees 100": _extra(100),
        "extra trees 100 leaf=5": _extra(100, min_samples_leaf=5),
        "bagged trees 10": _bagged(_tree()),
    },
    "boosting": {
        "histogram boosting 10": _histogram(10),
        "histogram boosting 40": _histogram(40, max_leaf_nodes=8),
        "histogram boosting 20 rate=1": _histogram(20, learning_rate=1.0, max_leaf_nodes=8),
        "gradient boosting 10": _boosted(10),
        "gradient boosting 60": _boosted(60),
        "gradient boosting 60 stumps": _boosted(60, max_depth=1),
        "gradient boosting 30 rate=0.5": _boosted(30, learning_rate=0.5),
        "AdaBoost 50 stumps": _adaboost(50, 1, 1.0),
        "AdaBoost 50 depth=4": _adaboost(50, 4, 1.0),
        "AdaBoost 50 depth=8 rate=0.3": _adaboost(50, 8, 0.3),
    },
    "neighbours": {
        **{f"neighbours {k}": _neighbours(k) for k in (1, 3, 10, 30, 100)},
        "neighbours 10 by distance": _neighbours(10, weights="distance"),
        "neighbours 10 Manhattan": _neighbours(10, p=1),
        "neighbours 10 on components": _neighbours(10, _COMPONENTS),
        "neighbours bagged": _bagged(_neighbours(3), max_samples=0.3, max_features=0.5),
    },
    "Bayes": {
        "naive Bayes": _gaussian(),
        "naive Bayes smoothing=0.1": _gaussian(var_smoothing=0.1),
        "naive Bayes smoothing=2": _gaussian(var_smoothing=2.0),
        "naive Bayes isotonic": _calibrated(_gaussian(var_smoothing=0.1), "isotonic"),
        "naive Bayes Bernoulli": _bernoulli(),
        "naive Bayes Bernoulli alpha=100": _bernoulli(alpha=100.0),
        "naive Bayes multinomial": _part("naive_bayes.MultinomialNB", _COUNTS),
        "naive Bayes complement": _part("naive_bayes.ComplementNB", _COUNTS),
        "naive Bayes categorical": _part("naive_bayes.CategoricalNB", _BINS, min_categories=4),
    },
    "discriminant": {
        "linear discriminant": _lda(),
        "linear discriminant shrinkage=auto": _lda(solver="lsqr", shrinkage="auto"),
        "linear discriminant shrinkage=0.9": _lda(solver="lsqr", shrinkage=0.9),
        **{f"quadratic discriminant reg={reg:g}": _qda(reg) for reg in (0.01, 0.1, 0.5, 0.9)},
    },
    "neural": {
        "network 8": _network(8),
        "network 32": _network(32),
        "network 32 two epochs": _network(32, max_iter=2),
        "network 32 alpha=10": _network(32, alpha=10.0),
        "network 128": _network(128, max_iter=30),
        "network 128 unregularised": _network(128, alpha=0.0, learning_rate_init=0.01, max_iter=40),
        "network 32-32": _network(32, 32),
        "network 32 logistic": _network(32, activation="logistic"),
    },
}

CHANGED = [  # models whose forecasts are sharpened or flattened: family, name, temperature
    ("linear", "logistic C=0.01", 0.3),
    ("linear", "logistic C=0.1", 3.0),
    ("kernel", "SVM C=1", 0.2),
    ("kernel", "SVM C=1 sigmoid", 4.0),
    ("forests", "forest 100", 0.3),
    ("neighbours", "neighbours 30", 0.25),
    ("Bayes", "naive Bayes", 10.0),
    ("discriminant", "linear discriminant", 0.2),
    ("neural", "network 32", 5.0),
]


@cache
def all_classifiers() -> dict[str, Classifier]:
    """Every classifier by its name, family by family.

    Examples
    --------
    >>> all_classifiers()["forest 100 leaf=10"].to_dict()
    {'class': 'ensemble.RandomForestClassifier', 'n_estimators': 100, 'min_samples_leaf': 10}
    """
    plain = [Classifier(name, family, part) for family, parts in FAMILIES.items() for name, part in parts.items()]
    words = {True: "sharpened", False: "flattened"}
    changed = [
        Classifier(f"{name} {words[heat < 1]} T={heat:g}", family, FAMILIES[family][name], heat)
        for family, name, heat in CHANGED
    ]
    return {classifier.name: classifier for classifier in plain + changed}
