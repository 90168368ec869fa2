"""The zoo `sklearn`: a hundred scikit-learn classifiers on any table, forecasting rows they were not fitted on.

A classifier without probabilities of its own (a support vector machine, a perceptron) has its decision values
pushed through a softmax, as people do, which is one way of being miscalibrated.
"""

import csv
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache, partial
from hashlib import file_digest
from importlib.resources import files
from pathlib import Path
from threading import RLock
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    IntArray,
    Names,
    read_count,
    read_number,
    read_probabilities,
)
from pandora_regret.files import read_table
from pandora_regret.files.dialect import RECOGNISED
from pandora_regret.files.recognise import recognise_encoding, recognise_marks
from pandora_regret.optional import import_optional
from pandora_regret.study.conditions import tempered
from pandora_regret.study.store import Plain, Prediction, Target
from pandora_regret.study.zoo import Outcome, matches
from pandora_regret.text import typed

BUNDLED = ("digits", "wine", "iris", "breast_cancer")  # data sets that scikit-learn brings
TEXT_SUFFIXES = (".csv", ".tsv", ".data", ".txt", ".arff")
MISSING_CELLS = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
NUMERIC = ("NUMERIC", "REAL", "INTEGER")  # kinds of an ARFF file's attributes
NUMBERS = ("int", "uint", "half", "float", "double", "decimal", "null")  # how Arrow's types of numbers begin
library = partial(import_optional, extra="zoo")

FeatureColumn: TypeAlias = NDArray[np.float64] | NDArray[np.object_]
TableColumns: TypeAlias = dict[
    str, FeatureColumn
]  # float64, NaN where missing; or names as objects, None where missing


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Features and the class of each row. Names are held as numbers, which mean nothing but which name it is."""

    features: FloatArray  # (N, P), NaN where missing
    named: NDArray[np.bool_]  # (P,) whether a column holds names rather than numbers
    truth: IntArray  # (N,) the class as a position in `classes`
    classes: Names  # (K,)

    def __len__(self) -> int:
        return len(self.truth)


def read_labelled_table(data: str, label: str | int | None = None) -> LabelledTable:
    """A table with a class to predict.

    Parameters
    ----------
    data
        A data set that scikit-learn brings (digits, wine, iris, breast_cancer), or a file: CSV (with commas,
        semicolons, tabs or spaces), ARFF, or any that predictions may be in, such as Parquet. Empty cells and
        question marks are missing values. A CSV begins with the columns' names where no cell of its first row is
        a number or is found again below itself; columns without names are called 0, 1, 2, ...
    label
        The column of the class, by name or by number (negative from the end); the last one if None.

    Returns
    -------
    LabelledTable
        Features, classes and their names.

    Examples
    --------
    >>> wine = read_labelled_table("wine")
    >>> wine.features.shape, wine.classes
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    columns = _bundled(data) if data in BUNDLED else _read_file(Path(data))
    target = _name_of_label(columns, label)
    codes, classes = _numbered(columns.pop(target))
    if not columns:
        fix = "there is nothing to predict from"
        raise InputError("has one column", argument="data", place=data, value=data, fix=fix)
    missing = np.flatnonzero(np.isnan(codes))
    if len(missing):
        row = int(missing[0])
        raise InputError(
            f"is missing in row {row}",
            argument="label",
            row=row,
            column=target,
            place=f"label column {target!r}",
            fix="drop that row, or give it a class",
        )
    if len(classes) < 2:
        problem = f"holds one class only, {classes[0]!r}"
        place = f"label column {target!r}"
        fix = "name another with label=..."
        raise InputError(problem, argument="label", column=target, place=place, value=classes[0], fix=fix)
    features, named = _features(columns)
    names = [str(typed(name) if isinstance(name, float) else name) for name in classes.tolist()]
    return LabelledTable(features, named, codes.astype(np.intp), tuple(names))


def _name_of_label(columns: TableColumns, label: str | int | None) -> str:
    """The name of the column of the class, by name or number; the last one if None."""
    if label is None:
        return list(columns)[-1]
    if isinstance(label, str) and label in columns:
        return label
    if isinstance(label, int) and -len(columns) <= label < len(columns):
        return list(columns)[label]
    fix = f"pass the name of a column or its number below {len(columns)}"
    listed = ", ".join(map(repr, columns))
    raise InputError(argument="label", value=label, fix=f"{fix}; the columns are {listed:.300}")


def _features(columns: TableColumns) -> tuple[FloatArray, NDArray[np.bool_]]:
    """One column of numbers for each column, (N, P), NaN where it is missing; and which hold names, (P,)."""
    named = np.array([values.dtype == object for values in columns.values()])
    numbers = []
    for values in columns.values():
        if values.dtype == object:
            codes, _ = _numbered(values)
            numbers.append(codes)
        else:
            numbers.append(np.asarray(values, np.float64))
    features = np.column_stack(numbers)
    infinite = np.argwhere(np.isinf(features))
    if len(infinite):
        row, column = infinite[0].tolist()
        name = list(columns)[column]
        raise InputError(
            f"is infinite in row {row}",
            argument="data",
            row=row,
            column=name,
            place=f"column {name!r}",
            value=float(features[row, column]),
            fix="correct it, or leave the cell empty",
        )
    return features, named


def sample_rows(table: LabelledTable, max_rows: int, seed: int) -> LabelledTable:
    """At most so many rows, drawn at random, of every class its share and at least one if there is room."""
    order = np.random.default_rng(seed).permutation(len(table))
    share = np.empty(len(table))  # of its class that comes before each row
    for k in range(len(table.classes)):
        of_class = np.flatnonzero(table.truth[order] == k)
        share[of_class] = np.arange(len(of_class)) / len(of_class)
    rows = np.sort(order[np.argsort(share, kind="stable")[:max_rows]])
    return replace(table, features=table.features[rows], truth=table.truth[rows])


def add_noise(table: LabelledTable, noise: float, seed: int) -> LabelledTable:
    """Every number blurred by normal noise of `noise` standard deviations of its column; names stay."""
    features = table.features.copy()
    numbers = table.features[:, ~table.named]
    spread = np.ma.masked_invalid(numbers).std(axis=0).filled(0.0)
    features[:, ~table.named] += noise * spread * np.random.default_rng(seed).standard_normal(numbers.shape)
    return replace(table, features=features)


def _bundled(data: str) -> TableColumns:
    """A data set that scikit-learn brings, its class last."""
    datasets = library("sklearn.datasets")
    loaders = {
        "digits": datasets.load_digits,
        "wine": datasets.load_wine,
        "iris": datasets.load_iris,
        "breast_cancer": datasets.load_breast_cancer,
    }
    bundle = loaders[data]()
    columns = dict(zip(map(str, bundle.feature_names), bundle.data.T.astype(np.float64), strict=True))
    return {**columns, "class": np.array(bundle.target_names.tolist(), object)[bundle.target]}


def _read_file(path: Path) -> TableColumns:
    """The columns of a file, by what its name ends in."""
    if not path.is_file():
        fix = f"correct the path, or name a bundled data set ({', '.join(BUNDLED)})"
        raise InputError(f"is {str(path)!r}, which is no file", argument="data", value=str(path), fix=fix)
    if path.suffix.lower() in TEXT_SUFFIXES:
        return _read_text(path)
    table = read_table(path)
    columns: TableColumns = {}
    for name in table.column_names:
        kind = str(table[name].type)
        if kind.startswith(NUMBERS):
            columns[name] = np.asarray(table[name].cast("float64").to_numpy(), np.float64)
        elif "string" in kind:
            columns[name] = np.asarray(table[name].to_numpy(), object)
        else:
            place = f"{path} column {name!r}"
            fix = "it must hold numbers or names"
            raise InputError(f"holds {kind}", argument="data", column=name, place=place, value=kind, fix=fix)
    return columns


def _read_text(path: Path) -> TableColumns:
    """Text as `files` recognises it, columns set apart by spaces, or ARFF; perhaps names in the first row."""
    content = path.read_bytes()
    text = content.decode(recognise_encoding(content, str(path))).removeprefix("\ufeff")
    if path.suffix.lower() == ".arff":
        return _read_arff(text, path)
    lines = [line for line in text.splitlines() if line.strip()]
    separator, decimal = recognise_marks(text.encode(), RECOGNISED, ",", str(path))
    if separator not in text:
        lines = [",".join(line.split()) for line in lines]
        separator = ","
    rows = [_stripped(cells) for cells in csv.reader(lines, delimiter=separator)]
    if rows and _are_names(rows[0], rows[1:], decimal):
        names = rows.pop(0)
    else:
        names = [str(number) for number in range(len(rows[0]) if rows else 0)]
    if not names or not rows or len(set(names)) < len(names):
        problem = "has no rows, or two columns of one name"
        raise InputError(problem, argument="data", place=str(path), value=names, fix="it must hold a table")
    for number, row in enumerate(rows):
        if len(row) != len(names):
            problem = f"has {len(row)} values, but there are {len(names)} columns"
            place = f"{path} row {number}"
            raise InputError(problem, argument="data", row=number, place=place, value=len(row))
    return {name: _as_numbers(cells, decimal) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}


def _stripped(cells: Sequence[str]) -> list[str]:
    """Cells without the spaces around them."""
    return [cell.strip() for cell in cells]


def _are_names(first: Sequence[str], rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether a first row names columns: no column is called by a number, nor by what is found again below."""
    for row in rows:
        if any(cell == name for name, cell in zip(first, row, strict=False)):
            return False
    return all(_as_numbers([name], decimal).dtype == object for name in first if name)


def _read_arff(text: str, path: Path) -> TableColumns:
    """Attributes in braces and strings are names, the others numbers."""
    arff = library("sklearn.externals._arff")
    try:
        content = arff.loads(text)
        columns: TableColumns = {}
        for (name, kind), *cells in zip(content["attributes"], *content["data"], strict=True):
            columns[name] = np.array(cells, np.float64 if kind in NUMERIC else object)
        return columns
    except (arff.ArffException, ValueError) as error:
        problem = f"is no ARFF file of full rows ({error})"
        raise InputError(problem, argument="data", place=str(path), fix="save the table as CSV") from None


def _as_numbers(cells: Sequence[str], decimal: str) -> FeatureColumn:
    """Numbers where all cells are numbers with this decimal sign, or missing; else names."""
    names = np.array([None if cell in MISSING_CELLS else cell for cell in cells], object)
    try:
        return np.array([np.nan if name is None else float(name.replace(decimal, ".")) for name in names])
    except ValueError:
        return names


def _numbered(values: FeatureColumn) -> tuple[FloatArray, FeatureColumn]:
    """Which of its different values each is, NaN where it is missing; and those values, in order."""
    present = np.array([value is not None and value == value for value in values])
    numbers = np.full(len(values), np.nan)
    different, numbers[present] = np.unique(values[present], return_inverse=True)
    return numbers, different


TURN = RLock()  # of threads that change settings of the process
MOST_NAMES = 50  # columns that one feature of names becomes; rarer names share the last


@dataclass(frozen=True)
class Folding:
    """Which rows of which table are forecast, and how they are dealt into folds."""

    data: str
    label: str | int | None
    max_rows: int | None
    noise: float
    folds: int
    seed: int
    digest: str | None  # of the file, so that one that changes is read again


class Fold(NamedTuple):
    """The rows of one fold, and those of all others, on which models are fitted; n and m rows of P' features."""

    fitted: FloatArray  # (m, P')
    truth: IntArray  # (m,) of the fitted rows
    unseen: FloatArray  # (n, P')
    rows: IntArray  # (n,) which rows of the table are unseen


@cache
def all_classifiers() -> dict[str, Plain]:
    """What every classifier is made of by its name, family by family: a line of classifiers.toml.

    Examples
    --------
    >>> all_classifiers()["forest 100 leaf=10"]
    {'class': 'ensemble.RandomForestClassifier', 'n_estimators': 100, 'min_samples_leaf': 10}
    """
    text = (files("pandora_regret.study.zoos") / "classifiers.toml").read_text(encoding="utf-8")
    classifiers: dict[str, Plain] = {}
    for family in tomllib.loads(text).values():
        classifiers |= family
    return classifiers


def _made(parameters: Plain) -> Any:
    """A scikit-learn estimator, perhaps in a pipeline.

    `parameters` name its class ("ensemble.RandomForestClassifier"), what changes the features before it ("first"),
    and its own parameters; those that are tables are estimators themselves.
    """
    options = {key: _made(value) if isinstance(value, dict) else value for key, value in parameters.items()}
    module, name = options.pop("class").rsplit(".", 1)
    first = options.pop("first", None)
    estimator = getattr(library(f"sklearn.{module}"), name)(**options)
    if first is None:
        return estimator
    return library("sklearn.pipeline").make_pipeline(first, estimator)


def _forecast(estimator: Any, features: FloatArray, temperature: float) -> FloatArray:
    """A fitted estimator's probabilities at a temperature, shape (N, its classes)."""
    if hasattr(estimator, "predict_proba"):
        proba = np.asarray(estimator.predict_proba(features), np.float64)
        shares: FloatArray = proba / proba.sum(axis=1, keepdims=True)
        return tempered(shares, temperature) if temperature != 1 else shares  # logarithms lose digits
    values = np.asarray(estimator.decision_function(features), np.float64)
    if values.ndim == 1:  # two classes have one decision value: that of the second
        values = np.column_stack([np.zeros_like(values), values])
    return softmax(values / temperature, axis=1)


@dataclass(frozen=True)
class TableZoo:
    """Scikit-learn classifiers on one table, with cross-validated forecasts of every row.

    The rows are dealt into stratified folds; each model forecasts each fold after being fitted on the others.
    Features are prepared inside the folds: missing numbers become the median and numbers are standardised, names
    become one column each, a missing name and a rare one too. A class that is missing from the rows a model was
    fitted on gets probability 0, as the model cannot know of it.

    Parameters
    ----------
    data, label
        The table, as in `read_labelled_table`: a bundled data set, or a CSV, Parquet or ARFF file.
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
    models: str | Sequence[str] | None = None
    folds: int = 5
    seed: int = 42
    max_rows: int | None = None
    noise: float = 0.0

    most_jobs: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        read_count(self.folds, "folds", least=2)
        read_count(self.seed, "seed", least=0)
        if self.max_rows is not None:
            read_count(self.max_rows, "max_rows", least=self.folds)
        read_number(self.noise, "noise", lambda noise: 0 <= noise < np.inf, "it must be 0 or a positive number")

    def target(self) -> Target:
        table, _ = _prepared(self._folding())
        return Target(table.truth, table.classes)

    def names(self) -> list[str]:
        """The models, in the order in which the zoo lists them."""
        listed = all_classifiers()
        wanted = (self.models,) if isinstance(self.models, str) else tuple(self.models or ("*",))
        for pattern in wanted:
            if not any(matches(name, [pattern]) for name in listed):
                problem = f"names {pattern!r}, which no model is called"
                raise InputError(problem, argument="models", value=pattern, fix=f"use one of {', '.join(listed)}")
        return [name for name in listed if matches(name, wanted)]

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """One by one: what models share is prepared once a process."""
        return [[name] for name in names]

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """What became of each model; anything can go wrong inside one, so everything is caught."""
        table, folds = _prepared(self._folding())
        for name in names:
            start = perf_counter()
            parameters = dict(all_classifiers()[name])
            temperature = float(parameters.pop("temperature", 1.0))
            try:
                with _alone() as warned:
                    values = self._forecasts(table, folds, parameters, temperature)
            except Exception as error:
                yield Outcome(name, failure=f"{type(error).__name__}: {' '.join(str(error).split())}")
                continue
            metadata = {
                "parameters": parameters,
                "temperature": temperature,
                "notes": sorted({f"{warning.category.__name__}: {warning.message}" for warning in warned}),
                "seconds": perf_counter() - start,
            }
            yield Outcome(name, Prediction(values, False, metadata))

    def _forecasts(
        self, table: LabelledTable, folds: Sequence[Fold], parameters: Plain, temperature: float
    ) -> FloatArray:
        """Every row, forecast by a model fitted on the other folds, (N, K); 0 for a class it was not shown."""
        values = np.zeros((len(table), len(table.classes)))
        for fold in folds:
            estimator = _made(parameters)
            random = [key for key in estimator.get_params() if key.endswith("random_state")]
            estimator.set_params(**dict.fromkeys(random, self.seed)).fit(fold.fitted, fold.truth)
            values[np.ix_(fold.rows, estimator.classes_)] = _forecast(estimator, fold.unseen, temperature)
        read_probabilities(values, name="the forecasts").check()
        return values

    def _folding(self) -> Folding:
        """Which rows are forecast, whoever forecasts them."""
        digest = _digest(self.data)
        return Folding(self.data, self.label, self.max_rows, self.noise, self.folds, self.seed, digest)

    def about(self) -> Plain:
        """The settings, the table's digest, and the versions of what computes the forecasts."""
        versions = {"scikit-learn": library("sklearn").__version__, "numpy": np.__version__}
        settings = asdict(self)
        digest = _digest(self.data)
        return {"zoo": "sklearn", "settings": settings, "sha256": digest, "versions": versions}


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
def _prepared(asked: Folding) -> tuple[LabelledTable, list[Fold]]:
    """The rows that are forecast, and their folds; what prepares the features has seen the fitted rows only."""
    table = read_labelled_table(asked.data, asked.label)
    if asked.max_rows is not None:
        table = sample_rows(table, asked.max_rows, asked.seed)
    if asked.noise:
        table = add_noise(table, asked.noise, asked.seed)
    most = int(np.bincount(table.truth).max())
    if most < asked.folds:
        problem = f"is {asked.folds}, but the most frequent class has {most} rows"
        fix = "lower folds, or name the column of the class with label=..."
        raise InputError(problem, argument="folds", value=asked.folds, fix=fix)
    selection = library("sklearn.model_selection")
    split = selection.StratifiedKFold(asked.folds, shuffle=True, random_state=asked.seed)
    preparation = _preparation(table)
    folds = []
    with _alone():  # a class with fewer rows than folds is warned of, and handled
        for fitted, rows in split.split(table.truth, table.truth):
            features = preparation.fit_transform(table.features[fitted])
            unseen = preparation.transform(table.features[rows])
            folds.append(Fold(features, table.truth[fitted], unseen, rows))
    return table, folds


def _preparation(table: LabelledTable) -> Any:
    """What prepares features, a scikit-learn transformer: missing numbers are the median, and all have one scale.

    Each name has a column, a missing one being a name.
    """
    preprocessing = library("sklearn.preprocessing")
    pipeline = library("sklearn.pipeline")
    medians = library("sklearn.impute").SimpleImputer(strategy="median", keep_empty_features=True)
    numbers = pipeline.make_pipeline(medians, preprocessing.StandardScaler())
    names = preprocessing.OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_NAMES, sparse_output=False
    )
    return library("sklearn.compose").ColumnTransformer(
        [("numbers", numbers, np.flatnonzero(~table.named)), ("names", names, np.flatnonzero(table.named))]
    )


def _digest(data: str) -> str | None:
    """Of the file, so that one that changes is read again; bundled data are told by scikit-learn's version."""
    if data in BUNDLED or not Path(data).is_file():
        return None
    with Path(data).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
