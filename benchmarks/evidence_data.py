"""The data of training_evidence.py: tables and image features, what their tests cost, and how they are split."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from pandora_regret.costs import load_costs
from pandora_regret.study import LabelledTable, read_labelled

TABLES = {
    "wine": "wine",
    "dermatology": "tabular/uci_dermatology.csv",
    "soybean": "tabular/soybean.arff",
    "digits": "digits",
    "steel": "tabular/uci_steel.csv",
    "cardio": "tabular/uci_Cardio.csv",
}
IMAGES = ("dermamnist", "octmnist")
SIZES = (500, 2000)  # images to learn from: a third of the smaller pool, so that samples differ
FOLDS, REPEATS = 5, 2  # of tables
SEEDS = 10  # of images: as many samples to learn from, of each size
HELD_OUT = 2000  # OCT images of the training split that nobody learns from: the official test has another mix
MADE_UP_RANGE = 16.0  # of a table's dearest test to its cheapest


@dataclass(frozen=True, eq=False)
class Data:
    """Features, classes, and what a test of each class costs."""

    features: np.ndarray  # (N, P) float32
    truth: np.ndarray  # (N,)
    costs: np.ndarray  # (K,)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from, and rows to predict."""

    number: int
    train: np.ndarray
    test: np.ndarray


@lru_cache(maxsize=1)
def load(name: str) -> Data:
    return _image_data(name) if name in IMAGES else _table_data(name)


def splits(name: str, size: int) -> Iterator[Split]:
    """The same for every learner and every arm; a size of 0 stands for all rows that are not predicted."""
    truth = load(name).truth
    if name in TABLES:
        yield from _cross_validation(truth)
        return
    pool, test = _image_rows(name)
    for seed in range(SEEDS):
        sampler = StratifiedShuffleSplit(1, train_size=size, random_state=seed)
        rows, _ = next(sampler.split(pool, truth[pool]))
        yield Split(seed, pool[rows], test)


def test_parts(name: str) -> dict[str, slice]:
    """The test rows, by what they stand for."""
    if name != "octmnist":
        return {name: slice(None)}
    return {"octmnist, same mix": slice(0, HELD_OUT), "octmnist, official test": slice(HELD_OUT, None)}


def _cross_validation(truth: np.ndarray) -> Iterator[Split]:
    for repeat in range(REPEATS):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(truth, truth)
        for fold, (train, test) in enumerate(folds):
            yield Split(FOLDS * repeat + fold, train, test)


def _image_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows to draw samples from, and rows to predict."""
    with _open_features(name) as arrays:
        n_train, n = int(arrays["n_train"]), len(arrays["labels"])
    train, test = np.arange(n_train), np.arange(n_train, n)
    if name != "octmnist":
        return train, test
    truth = load(name).truth
    pool, held_out = next(StratifiedShuffleSplit(1, test_size=HELD_OUT, random_state=0).split(train, truth[train]))
    return pool, np.concatenate([held_out, test])


def _image_data(name: str) -> Data:
    with _open_features(name) as arrays:
        features, truth = arrays["features"].astype(np.float32), arrays["labels"].astype(np.intp)
    return Data(features, truth, np.array(list(load_costs(name).published.values())))


def _open_features(name: str) -> np.lib.npyio.NpzFile:
    return np.load(_folder() / "features" / f"{name}.npz", allow_pickle=False)


def _table_data(name: str) -> Data:
    file = TABLES[name]
    table = read_labelled(file if "/" not in file else str(_folder() / file))
    return Data(_numbers(table), table.truth, _made_up_costs(len(table.classes)))


def _numbers(table: LabelledTable) -> np.ndarray:
    """Numbers as they are; a column of names becomes a column for each name, all of them 0 where it is missing."""
    columns = []
    for values, named in zip(table.features.T, table.named, strict=True):
        names = np.unique(values[~np.isnan(values)])
        columns.append(values[:, None] == names if named else values[:, None])
    return np.hstack(columns).astype(np.float32)


def _made_up_costs(n_classes: int) -> np.ndarray:
    """Nobody has priced these: equal steps on a logarithmic scale, dealt to the classes at random."""
    return np.random.default_rng(0).permutation(np.geomspace(1.0, MADE_UP_RANGE, n_classes))


def _folder() -> Path:
    return Path(os.environ["PANDORA_DATA"])
