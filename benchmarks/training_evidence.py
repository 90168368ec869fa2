"""Does optimising for search pay? Training and recalibration for search cost against log loss, out of sample.

Run with ``PANDORA_DATA=folder OMP_NUM_THREADS=1 python benchmarks/training_evidence.py --cache scratch``. The
folder holds tabular/ and features/ (see evidence_data.py and evidence_features.py). Forecasts are kept in the
cache, so that a run that was interrupted goes on. Results are stored in docs/evidence/; evidence_tables.py makes
the tables, figures and the picture of docs/evidence/training.md from them. A quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from evidence_arms import Arms, Rows
from evidence_data import IMAGES, SIZES, TABLES, load, splits

from pandora_regret.atomic import write_atomically
from pandora_regret.work import run_all

Cell = tuple[str, str, int]  # learner, data, rows to learn from (0: all of the fold)


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
        path = file_of(cache, cell, split.number)
        if path.exists():
            continue
        start, rows = time.process_time(), Rows(data.features, data.truth)
        arms = Arms(learner, rows.some(split.train), data.features[split.test], data.costs, split.number)
        found = {arm: proba.astype(np.float32) for arm, proba in arms.forecasts().items()}
        about = {"choices": arms.choices, "seconds": time.process_time() - start, "rows": len(split.train)}
        write_atomically(path, partial(_write, found, data.truth[split.test], about))


def file_of(cache: Path, cell: Cell, number: int) -> Path:
    return cache / f"{'-'.join(map(str, cell))}-{number}.npz"


def _write(found: dict[str, np.ndarray], truth: np.ndarray, about: dict[str, object], file: object) -> None:
    np.savez(file, **found, truth=truth, about=json.dumps(about))


def main() -> None:
    parser = argparse.ArgumentParser(description="Does optimising for search pay?")
    parser.add_argument("--cache", type=Path, required=True, help="a folder for forecasts")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    for done, _ in run_all(partial(compute, options.cache), list(cells()), jobs=options.jobs):
        print("done:", *done, flush=True)
    from evidence_store import store

    store(options.cache, list(cells()))


if __name__ == "__main__":
    main()
