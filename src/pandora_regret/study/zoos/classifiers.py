"""The zoo's classifiers, as classifiers.toml lists them: how each is made, and how it forecasts.

A classifier without probabilities of its own (a support vector machine, a perceptron) has its decision values
pushed through a softmax, as people do, which is one way of being miscalibrated.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.special import softmax

from pandora_regret.inputs import FloatArray
from pandora_regret.optional import import_optional
from pandora_regret.study.simulator import tempered


@dataclass(frozen=True, eq=False)
class Classifier:
    """One model of the zoo; its parameters are those of a line of classifiers.toml."""

    name: str
    family: str
    parameters: Mapping[str, Any]

    @property
    def temperature(self) -> float:
        """At which it forecasts."""
        return float(self.parameters.get("temperature", 1.0))

    def make(self, seed: int) -> Any:
        """A fresh estimator; everything random in it is seeded."""
        estimator = _made({key: value for key, value in self.parameters.items() if key != "temperature"})
        random = [key for key in estimator.get_params() if key.split("__")[-1] == "random_state"]
        return estimator.set_params(**dict.fromkeys(random, seed))

    def source(self) -> str:
        """Where its forecasts come from."""
        return "predict_proba" if hasattr(self.make(0), "predict_proba") else "softmax of decision_function"

    def forecast(self, estimator: Any, features: FloatArray) -> FloatArray:
        """The fitted estimator's probabilities at this temperature, shape (N, its classes)."""
        if hasattr(estimator, "predict_proba"):
            proba = np.asarray(estimator.predict_proba(features), np.float64)
            if self.temperature != 1:
                return tempered(proba, self.temperature)
            return np.asarray(proba / proba.sum(axis=1, keepdims=True))  # logarithms would lose digits
        values = np.asarray(estimator.decision_function(features), np.float64)
        if values.ndim == 1:  # two classes have one decision value: that of the second
            values = np.column_stack([np.zeros_like(values), values])
        return softmax(values / self.temperature, axis=1)


def _made(described: Mapping[str, Any]) -> Any:
    """A scikit-learn object, after what changes the features first; other objects among its parameters, too."""
    options = {key: _made(value) if isinstance(value, Mapping) else value for key, value in described.items()}
    (module, name), first = options.pop("class").rsplit(".", 1), options.pop("first", None)
    made = getattr(import_optional(f"sklearn.{module}", extra="zoo"), name)(**options)
    if first is None:
        return made
    return import_optional("sklearn.pipeline", extra="zoo").make_pipeline(first, made)


@cache
def all_classifiers() -> dict[str, Classifier]:
    """Every classifier by its name, family by family.

    Examples
    --------
    >>> all_classifiers()["forest 100 leaf=10"].parameters
    {'class': 'ensemble.RandomForestClassifier', 'n_estimators': 100, 'min_samples_leaf': 10}
    """
    text = (files("pandora_regret.study.zoos") / "classifiers.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text).items()
    return {
        name: Classifier(name, family, parameters)
        for family, models in listed
        for name, parameters in models.items()
    }
