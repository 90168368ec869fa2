"""Writes what training_evidence.py measured to docs/evidence/*.csv, which evidence_results.py reads."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from evidence_measure import METRICS, Measured, read_choices, read_trials
from evidence_results import HEADS, STORED, TARGETS, TOLD, Estimate, arm_of

from pandora_regret.atomic import write_atomically

Cell = tuple[str, str, int]


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
