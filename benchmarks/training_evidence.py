"""Does optimising for search pay? Training and recalibration for search cost against log loss, out of sample.

    PANDORA_DATA=folder python benchmarks/training_evidence.py --features
    PANDORA_DATA=folder OMP_NUM_THREADS=1 python benchmarks/training_evidence.py --cache scratch

The first writes features/<data set>.npz, what a frozen encoder sees of medical images: the folder holds them in
MedMNIST's layout (medmnist/dermamnist_64.npz, octmnist_64.npz) and weights/<ENCODER>.safetensors. Made for
a GPU; two cores need an hour or so. The second needs these features and tabular/. Forecasts are kept in the cache,
so that a run that was interrupted goes on. Results are stored in docs/evidence/; evidence_tables.py makes tables
and the picture of docs/how-to/train.md from them. A quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from evidence_arms import Arms, Rows
from evidence_tables import BASE, HEADS, STORED, TARGETS, TOLD, Estimate, arm_of
from scipy.stats import t as student
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from pandora_regret import expected_search_cost, pandora_regret, search_cost
from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.costs import load_costs
from pandora_regret.study import LabelledTable, VariantsZoo, read_labelled_table
from pandora_regret.study.zoos.image_zoos import extract, load_images
from pandora_regret.work import run_all

Cell = tuple[str, str, int]  # learner, data, rows to learn from (0: all of the fold)

# Data: tables and image features, what their tests cost, and how they are split

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
MADE_UP_RANGE = 16.0  # of a table's most expensive test to its cheapest


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
    table = read_labelled_table(file if "/" not in file else str(_folder() / file))
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


# Features of images

ENCODER, RESOLUTION, OUTPUT = "vit_small_patch14_reg4_dinov2.lvd142m", 224, "block12/avg"


def write_features(folder: Path, name: str) -> None:
    source = str(folder / "medmnist" / f"{name}_64.npz")
    images = load_images(source)
    zoo = VariantsZoo(images=source, weights=str(folder / "weights"), mean_std="own")
    (seen,) = extract([zoo.encoder(f"{ENCODER}@{RESOLUTION}")], images.pixels)
    if seen.failure is not None:
        raise SystemExit(f"{name}: {seen.failure}")
    features = seen.values[OUTPUT].float().cpu().numpy().astype(np.float16)
    arrays = {"features": features, "labels": images.labels, "n_train": np.array(images.n_train)}
    (folder / "features").mkdir(exist_ok=True)
    write_atomically(folder / "features" / f"{name}.npz", lambda file: np.savez(file, **arrays))


# Scores out of sample, and intervals of differences

LEVEL = 0.95
LEAST = 1e-12  # a probability of zero would make every mean of log loss infinite

Scorer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # truth, forecasts, costs -> a value per row


def wasted_if_uncertain(truth: np.ndarray, proba: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """What wrong tests cost, where costs spread uniformly around the typical ones."""
    return expected_search_cost(truth, proba, costs=costs, per_instance=True) - costs[truth]


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


# Storing them in docs/evidence


def store(cache: Path, cells: list[Cell]) -> None:
    """The three tables, from the forecasts in the cache."""
    trials = [trial for cell in cells for trial in read_trials(_files(cache, cell), *cell[:2])]
    _write_csv("training", _rows(trials))
    _write_csv("head-to-head", _head_rows(trials))
    _write_csv("choices", _choice_rows(cache, cells))


def _files(cache: Path, cell: Cell) -> list[Path]:
    return sorted(cache.glob(f"{'-'.join(map(str, cell))}-*.npz"))


def _rows(trials: Iterable[Measured]) -> Iterator[dict[str, Any]]:
    """Every arm by every metric, as it is and minus log loss alone."""
    for trial in trials:
        for arm in trial.arms:
            for metric in METRICS:
                yield (
                    _described(trial)
                    | {"arm": arm, "metric": metric, "mean": trial.mean(metric, arm)}
                    | (trial.difference(metric, arm)._asdict())
                )


def _head_rows(trials: Iterable[Measured]) -> Iterator[dict[str, Any]]:
    for trial in trials:
        for question, target, change in _heads(trial):
            yield _described(trial) | {"question": question, "costs": target} | change._asdict()


def _heads(trial: Measured) -> Iterator[tuple[str, str, Estimate]]:
    """Changes of what the target counts, as shares of what log loss alone wastes."""
    for question, pair in HEADS.items():
        for target, metric in TARGETS.items():
            yield question, target, trial.change(metric, *(arm_of(heading, target) for heading in pair))
    told, untold = "priced: Pandora, alpha 1", "equal: Pandora, alpha 1"
    yield TOLD, "priced", trial.change("wasted_cost", told, untold)


def _choice_rows(cache: Path, cells: Iterable[Cell]) -> Iterator[dict[str, Any]]:
    """How often each setting was chosen."""
    for learner, data, size in cells:
        counts = Counter(
            (arm, *setting)
            for path in _files(cache, (learner, data, size))
            for arm, setting in read_choices(path).items()
        )
        names = ("learning rate", "rounds") if learner == "boosting" else ("penalty",)
        for (arm, *setting), count in sorted(counts.items()):
            chosen = ", ".join(f"{name} {value:.3g}" for name, value in zip(names, setting, strict=True))
            cell = {"learner": learner, "data": data, "sample": size or "all", "arm": arm}
            yield cell | {"setting": chosen, "splits": count}


def _described(trial: Measured) -> dict[str, Any]:
    return {"learner": trial.learner, "data": trial.data, "rows": trial.rows}


def _write_csv(name: str, rows: Iterable[dict[str, Any]]) -> None:
    listed, text = list(rows), io.StringIO()
    writer = csv.DictWriter(text, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: f"{x:.5g}" if isinstance(x, float) else x for key, x in row.items()} for row in listed)
    write_atomically(STORED / f"{name}.csv", lambda file: file.write(text.getvalue().encode()))


# Running it


def cells() -> Iterator[Cell]:
    for data in IMAGES:
        yield from (("probe", data, size) for size in SIZES)
    for data in TABLES:
        yield from ((learner, data, 0) for learner in ("linear", "boosting"))


def compute(cache: Path, cell: Cell) -> None:
    """The forecasts of all arms for every split, one file each."""
    learner, name, size = cell
    data = load(name)
    for split in splits(name, size):
        path = cache / f"{'-'.join(map(str, cell))}-{split.number}.npz"
        if path.exists():
            continue
        start, rows = time.process_time(), Rows(data.features, data.truth)
        arms = Arms(learner, rows.some(split.train), data.features[split.test], data.costs, split.number)
        found = {arm: proba.astype(np.float32) for arm, proba in arms.forecasts().items()}
        about = {"choices": arms.choices, "seconds": time.process_time() - start, "rows": len(split.train)}
        write_atomically(path, partial(_write, found, data.truth[split.test], about))


def _write(found: dict[str, np.ndarray], truth: np.ndarray, about: dict[str, object], file: object) -> None:
    np.savez(file, **found, truth=truth, about=json.dumps(about))


def main() -> None:
    parser = argparse.ArgumentParser(description="Does optimising for search pay?")
    parser.add_argument("--features", action="store_true", help="only write features of the images")
    parser.add_argument("--cache", type=Path, default=Path("scratch"), help="a folder for forecasts")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.features:
        for name in IMAGES:
            write_features(_folder(), name)
        return
    options.cache.mkdir(parents=True, exist_ok=True)
    for done, _ in run_all(partial(compute, options.cache), list(cells()), jobs=options.jobs):
        print("done:", *done, flush=True)
    store(options.cache, list(cells()))


if __name__ == "__main__":
    main()
