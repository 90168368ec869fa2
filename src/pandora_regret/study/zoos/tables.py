"""The zoo `sklearn`: a hundred scikit-learn classifiers on any table, forecasting rows they were not fitted on.

A classifier without probabilities of its own (a support vector machine, a perceptron) has its decision values
pushed through a softmax, as people do, which is one way of being miscalibrated.
"""

import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from hashlib import file_digest
from importlib.resources import files
from pathlib import Path
from threading import RLock
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy.special import softmax

from pandora_regret.inputs import FloatArray, InputError, IntArray, read_count, read_probabilities
from pandora_regret.inputs.numbers import read_number
from pandora_regret.optional import import_optional
from pandora_regret.study.conditions import tempered
from pandora_regret.study.predicting import Outcome, matches
from pandora_regret.study.store import Prediction, Target
from pandora_regret.study.zoos.table_files import BUNDLED, LabelledTable, add_noise, read_labelled, sample_rows

library = partial(import_optional, extra="zoo")

TURN = RLock()
MOST_NAMES = 50  # columns that one feature of names becomes; rarer names share the last
Fold: TypeAlias = tuple[FloatArray, IntArray, FloatArray, IntArray]  # features and truth, unseen features and rows


class Classifier(NamedTuple):
    """One model of the zoo; its parameters are those of a line of classifiers.toml."""

    name: str
    family: str
    parameters: Mapping[str, Any]

    def make(self, seed: int) -> Any:
        """A fresh estimator; everything random in it is seeded."""
        estimator = _made({key: value for key, value in self.parameters.items() if key != "temperature"})
        random = [key for key in estimator.get_params() if key.endswith("random_state")]
        return estimator.set_params(**dict.fromkeys(random, seed))

    def forecast(self, estimator: Any, features: FloatArray) -> FloatArray:
        """The fitted estimator's probabilities at this temperature, shape (N, its classes)."""
        temperature = float(self.parameters.get("temperature", 1.0))
        if hasattr(estimator, "predict_proba"):
            proba = np.asarray(estimator.predict_proba(features), np.float64)
            shares: FloatArray = proba / proba.sum(axis=1, keepdims=True)
            return tempered(shares, temperature) if temperature != 1 else shares  # logarithms lose digits
        values = np.asarray(estimator.decision_function(features), np.float64)
        if values.ndim == 1:  # two classes have one decision value: that of the second
            values = np.column_stack([np.zeros_like(values), values])
        return softmax(values / temperature, axis=1)


def _made(described: Mapping[str, Any]) -> Any:
    """A scikit-learn object, after what changes the features first; other objects among its parameters, too."""
    options = {key: _made(value) if isinstance(value, Mapping) else value for key, value in described.items()}
    (module, name), first = options.pop("class").rsplit(".", 1), options.pop("first", None)
    made = getattr(library(f"sklearn.{module}"), name)(**options)
    return made if first is None else library("sklearn.pipeline").make_pipeline(first, made)


@cache
def all_classifiers() -> dict[str, Classifier]:
    """Every classifier by its name, family by family.

    Examples
    --------
    >>> all_classifiers()["forest 100 leaf=10"].parameters
    {'class': 'ensemble.RandomForestClassifier', 'n_estimators': 100, 'min_samples_leaf': 10}
    """
    text = (files("pandora_regret.study.zoos") / "classifiers.toml").read_text(encoding="utf-8")
    return {
        name: Classifier(name, family, parameters)
        for family, models in tomllib.loads(text).items()
        for name, parameters in models.items()
    }


@dataclass(frozen=True)
class TableZoo:
    """Scikit-learn classifiers on one table, with cross-validated forecasts of every row.

    The rows are dealt into stratified folds; each model forecasts each fold after being fitted on the others.
    Features are prepared inside the folds: missing numbers become the median and numbers are standardised, names
    become one column each, a missing name and a rare one too. A class that is missing from the rows a model was
    fitted on gets probability 0, as the model cannot know of it.

    Parameters
    ----------
    data, label, header, without
        The table, as in `read_labelled`: a bundled data set, or a CSV, Parquet or ARFF file.
    models
        Names of models or patterns such as ``"forest*"``; all of them if None.
    folds
        Number of folds, from 2.
    seed
        Of the folds, the models, the noise and the choice of rows.
    max_rows
        Rows to draw from a larger table, class by class.
    noise
        Standard deviations of normal noise added to every number, which makes an easy table harder.

    Examples
    --------
    >>> zoo = TableZoo(data="iris", models=["neighbours 1*", "naive Bayes"])
    >>> zoo.names()
    ['neighbours 1', 'neighbours 10', ... 'naive Bayes']
    >>> [outcome] = zoo.predict(["naive Bayes"])
    >>> outcome.prediction.values.shape
    (150, 3)
    """

    data: str = "digits"
    label: str | int | None = None
    header: bool | None = None
    without: str | Sequence[str | int] = ()
    models: str | Sequence[str] | None = None
    folds: int = 5
    seed: int = 42
    max_rows: int | None = None
    noise: float = 0.0

    most_jobs: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        for name in ("without", "models"):  # lists cannot be keys of a cache
            names = getattr(self, name)
            if names is not None:
                object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(names))
        read_count(self.folds, "folds", least=2)
        read_count(self.seed, "seed", least=0)
        if self.max_rows is not None:
            read_count(self.max_rows, "max_rows", least=self.folds)
        read_number(self.noise, "noise", lambda noise: 0 <= noise < np.inf, "it must be 0 or a positive number")

    def target(self) -> Target:
        table = _table(self, _digest(self.data))
        return Target(table.truth, table.classes)

    def names(self) -> list[str]:
        """The models, in the order in which the zoo lists them."""
        listed, wanted = all_classifiers(), self.models or ("*",)
        for pattern in wanted:
            if not any(matches(name, [pattern]) for name in listed):
                fix = f"use one of {', '.join(listed)}"
                raise InputError(f"models names {pattern!r}, which no model is called: {fix}.")
        return [name for name in listed if matches(name, wanted)]

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """One by one: what models share is prepared once a process."""
        return [[name] for name in names]

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        folds, target = _folds(self, _digest(self.data)), self.target()
        for name in names:
            yield self._outcome(all_classifiers()[name], folds, (len(target.truth), len(target.classes)))

    def about(self) -> dict[str, Any]:
        """The settings, the table's size and digest, and the versions of what computes the forecasts."""
        digest = _digest(self.data)
        table = _table(self, digest)
        return {
            "zoo": "sklearn",
            "settings": asdict(self),
            "rows": len(table),
            "features": table.features.shape[1],
            "sha256": digest,
            "versions": {"scikit-learn": library("sklearn").__version__, "numpy": np.__version__},
        }

    def _outcome(self, classifier: Classifier, folds: Sequence[Fold], shape: tuple[int, int]) -> Outcome:
        """What became of one model; anything can go wrong inside a model, so everything is caught.

        Each fold is forecast by a model fitted on the others: 0 for a class that it was not shown.
        """
        start, values, estimator = perf_counter(), np.zeros(shape), None
        try:
            with _alone() as warned:
                for features, truth, unseen, rows in folds:
                    estimator = classifier.make(self.seed).fit(features, truth)
                    values[np.ix_(rows, estimator.classes_)] = classifier.forecast(estimator, unseen)
            read_probabilities(values, name="the forecasts").check()
        except Exception as error:
            return Outcome(classifier.name, failure=f"{type(error).__name__}: {' '.join(str(error).split())}")
        metadata = {
            "family": classifier.family,
            "parameters": dict(classifier.parameters),
            "forecast": "predict_proba" if hasattr(estimator, "predict_proba") else "softmax of decision_function",
            "seconds": perf_counter() - start,
            "notes": sorted({f"{warning.category.__name__}: {warning.message}" for warning in warned}),
        }
        return Outcome(classifier.name, Prediction(values, False, metadata))


@contextmanager
def _alone() -> Iterator[list[warnings.WarningMessage]]:
    """One thread, as sums in another order differ in their last bits; and warnings kept instead of shown.

    Both are settings of the process, so the threads of a Dask worker take turns.
    """
    with (
        TURN,
        library("threadpoolctl").threadpool_limits(limits=1),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        yield warned


@lru_cache(maxsize=2)
def _table(zoo: TableZoo, digest: str | None) -> LabelledTable:
    """The table that the zoo predicts; `digest` makes it be read again when its file changes."""
    table = read_labelled(zoo.data, zoo.label, header=zoo.header, without=zoo.without)
    if zoo.max_rows is not None and zoo.max_rows < len(table):
        table = sample_rows(table, zoo.max_rows, zoo.seed)
    return add_noise(table, zoo.noise, zoo.seed) if zoo.noise else table


@lru_cache(maxsize=2)
def _folds(zoo: TableZoo, digest: str | None) -> list[Fold]:
    """The folds; what prepares the features has seen the fitted rows only. Every model sees the same.

    Missing numbers are the median, and all have one scale; each name has a column, a missing one being a name.
    """
    table = _table(zoo, digest)
    most = int(np.bincount(table.truth).max())
    if most < zoo.folds:
        raise InputError(
            f"folds is {zoo.folds}, but the most frequent class has {most} rows: "
            "lower folds, or name the column of the class with label=..."
        )
    modules = ("compose", "impute", "model_selection", "pipeline", "preprocessing")
    compose, impute, selection, pipeline, scale = (library(f"sklearn.{m}") for m in modules)
    medians = impute.SimpleImputer(strategy="median", keep_empty_features=True)
    names = scale.OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_NAMES, sparse_output=False
    )
    prepare = compose.ColumnTransformer(
        [
            ("numbers", pipeline.make_pipeline(medians, scale.StandardScaler()), np.flatnonzero(~table.named)),
            ("names", names, np.flatnonzero(table.named)),
        ]
    )
    split = selection.StratifiedKFold(zoo.folds, shuffle=True, random_state=zoo.seed)
    folds = []
    with _alone():  # a class with fewer rows than folds is warned of, and handled
        for fitted, unseen in split.split(table.truth, table.truth):
            features = prepare.fit_transform(table.features[fitted])
            folds.append((features, table.truth[fitted], prepare.transform(table.features[unseen]), unseen))
    return folds


def _digest(data: str) -> str | None:
    """Of the file, so that one that changes is read again; bundled data are told by scikit-learn's version."""
    if data in BUNDLED or not Path(data).is_file():
        return None
    with Path(data).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
