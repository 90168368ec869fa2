"""The zoo `sklearn`: a hundred scikit-learn classifiers on any table, forecasting rows they were not fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from threading import RLock
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError, IntArray, read_count, read_probabilities
from pandora_regret.inputs.numbers import read_number
from pandora_regret.optional import import_optional
from pandora_regret.study.predicting import Outcome, matches
from pandora_regret.study.store import Prediction, Target
from pandora_regret.study.zoos.classifiers import Classifier, all_classifiers
from pandora_regret.study.zoos.table_files import BUNDLED, LabelledTable, add_noise, read_labelled, sample_rows

TURN = RLock()
MOST_NAMES = 50  # columns that one feature of names becomes; rarer names share the last


class Fold(NamedTuple):
    """One part of the rows to forecast, and the others to fit on, prepared from the latter alone."""

    features: FloatArray  # (n, P) to fit on
    truth: IntArray  # (n,)
    unseen: FloatArray  # (m, P) to forecast
    rows: IntArray  # (m,) which rows of the table those are


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
        if not 0 <= read_number(self.noise, "noise") < np.inf:
            raise InputError(f"noise is {self.noise:g}: it must be 0 or a positive finite number.")

    def target(self) -> Target:
        table = _table(self, _stamp(self.data))
        return Target(table.truth.astype(np.int64), table.classes)

    def names(self) -> list[str]:
        """The models, in the order in which the zoo lists them."""
        known = all_classifiers()
        if self.models is None:
            return list(known)
        for wanted in self.models:
            if not any(matches(name, [wanted]) for name in known):
                raise InputError(
                    f"models names {wanted!r}, which no model is called: use one of {', '.join(known)}."
                )
        return [name for name in known if matches(name, self.models)]

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """One by one: what models share is prepared once a process."""
        return [[name] for name in names]

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        folds = _folds(self, _stamp(self.data))
        shape = (sum(len(fold.rows) for fold in folds), len(self.target().classes))
        for name in names:
            yield self._outcome(all_classifiers()[name], folds, shape)

    def about(self) -> dict[str, Any]:
        """The settings, the table's size and digest, and the versions of what computes the forecasts."""
        table = _table(self, _stamp(self.data))
        return {
            "zoo": "sklearn",
            "settings": {
                key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
            },
            "rows": len(table),
            "features": table.features.shape[1],
            "sha256": _digest(self.data),
            "versions": _versions(),
        }

    def _outcome(self, classifier: Classifier, folds: Sequence[Fold], shape: tuple[int, int]) -> Outcome:
        """What became of one model; anything can go wrong inside a model, so everything is caught."""
        start = perf_counter()
        try:
            with _alone() as warned:
                values = out_of_fold(classifier, folds, shape, self.seed)
            read_probabilities(values, name="the forecasts").check()
        except Exception as error:
            return Outcome(classifier.name, failure=f"{type(error).__name__}: {' '.join(str(error).split())}")
        metadata = {
            "model": classifier.name,
            "family": classifier.family,
            "parameters": dict(classifier.parameters),
            "forecast": classifier.source(),
            "seed": self.seed,
            "folds": self.folds,
            "versions": _versions(),
            "seconds": perf_counter() - start,
            "notes": sorted({f"{warning.category.__name__}: {warning.message}" for warning in warned}),
        }
        return Outcome(classifier.name, Prediction(values, False, metadata))


def out_of_fold(classifier: Classifier, folds: Sequence[Fold], shape: tuple[int, int], seed: int) -> FloatArray:
    """Each fold's forecasts by a model fitted on the others; 0 for a class that it was not shown, shape (N, K)."""
    values = np.zeros(shape)
    for fold in folds:
        estimator = classifier.make(seed).fit(fold.features, fold.truth)
        values[np.ix_(fold.rows, estimator.classes_)] = classifier.forecast(estimator, fold.unseen)
    return values


@contextmanager
def _alone() -> Iterator[list[warnings.WarningMessage]]:
    """One thread, as sums in another order differ in their last bits; and warnings kept instead of shown.

    Both are settings of the process, so the threads of a Dask worker take turns.
    """
    limited = import_optional("threadpoolctl", extra="zoo").threadpool_limits
    with TURN, limited(limits=1), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield warned


@lru_cache(maxsize=2)
def _table(zoo: TableZoo, stamp: object) -> LabelledTable:
    """The table that the zoo predicts; `stamp` makes it be read again when its file changes."""
    table = read_labelled(zoo.data, zoo.label, header=zoo.header, without=zoo.without)
    if zoo.max_rows is not None and zoo.max_rows < len(table):
        table = sample_rows(table, zoo.max_rows, zoo.seed)
    return add_noise(table, zoo.noise, zoo.seed) if zoo.noise else table


@lru_cache(maxsize=2)
def _folds(zoo: TableZoo, stamp: object) -> list[Fold]:
    """The folds, prepared; every model sees the same."""
    table = _table(zoo, stamp)
    most = int(np.bincount(table.truth).max())
    if most < zoo.folds:
        raise InputError(
            f"folds is {zoo.folds}, but the most frequent class has {most} rows: "
            "lower folds, or name the column of the class with label=..."
        )
    split = import_optional("sklearn.model_selection", extra="zoo").StratifiedKFold(
        zoo.folds, shuffle=True, random_state=zoo.seed
    )
    with _alone():  # a class with fewer rows than folds is warned of, and handled
        return [_fold(table, fitted, unseen) for fitted, unseen in split.split(table.truth, table.truth)]


def _fold(table: LabelledTable, fitted: IntArray, unseen: IntArray) -> Fold:
    """The rows of one fold; what prepares the features has seen the fitted rows only."""
    prepare = _preparation(table.named)
    features = prepare.fit_transform(table.features[fitted])
    return Fold(features, table.truth[fitted], prepare.transform(table.features[unseen]), unseen)


def _preparation(named: Any) -> Any:
    """Medians for missing numbers and one scale for all; a column for each name, NaN being one."""
    modules = ("compose", "impute", "pipeline", "preprocessing")
    compose, impute, pipeline, scale = (import_optional(f"sklearn.{name}", extra="zoo") for name in modules)
    numbers = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median", keep_empty_features=True), scale.StandardScaler()
    )
    names = scale.OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_NAMES, sparse_output=False
    )
    return compose.ColumnTransformer(
        [("numbers", numbers, np.flatnonzero(~named)), ("names", names, np.flatnonzero(named))]
    )


def _stamp(data: str) -> object:
    """What changes when a data file does."""
    if data in BUNDLED or not Path(data).is_file():
        return None
    status = Path(data).stat()
    return status.st_mtime_ns, status.st_size


def _digest(data: str) -> str | None:
    """The sha256 of a data file; a bundled one is told by scikit-learn's version."""
    if data in BUNDLED:
        return None
    with Path(data).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _versions() -> dict[str, str]:
    """The libraries that forecasts depend on."""
    return {"scikit-learn": import_optional("sklearn", extra="zoo").__version__, "numpy": np.__version__}
