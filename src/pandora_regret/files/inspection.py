"""Everything that is wrong with files of predictions: the same reading as for a score, all problems collected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from pandora_regret.files.alignment import align
from pandora_regret.files.batch import Batch, concatenated
from pandora_regret.files.classes import Columns, with_known_classes
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.predictions import Predictions, checked_batches, models_of, tables_of
from pandora_regret.files.prices import PriceList
from pandora_regret.files.source import Collected, FileError, Problem
from pandora_regret.inputs import Done, InputError


@dataclass
class Inspected:
    """What was understood of a table, and what is wrong with it."""

    path: str
    name: str
    rows: int = 0
    columns: Columns | None = None
    unused: list[str] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)  # rows of each class
    problems: list[Problem] = field(default_factory=list)
    done: tuple[Done, ...] = ()  # what was recognised in the file, or left out of it
    batches: dict[str, Batch] = field(default_factory=dict)  # all rows of each model, where files are compared

    @property
    def fine(self) -> bool:
        """Whether it can be scored."""
        return not self.problems


def inspect_file(path: str, layout: Layout) -> list[Inspected]:
    """What is in a file, table by table: an NPZ archive may hold several models.

    Parameters
    ----------
    path
        The file.
    layout
        Which column is what, where names do not tell.

    Returns
    -------
    list of Inspected
        One for each table: its model, rows, classes, and what is wrong with it.
    """
    return inspect_models([ModelFiles((path,), layout)])[0]


def inspect_models(
    files: Sequence[ModelFiles], prices: PriceList | None = None, progress: Callable[[], object] = lambda: None
) -> tuple[list[Inspected], list[Problem]]:
    """What is in the files of models, table by table, and what keeps those that are fine from going together.

    Parameters
    ----------
    files
        From `read_models_argument`.
    prices
        What the classes cost, to be checked against theirs.
    progress
        Called after each file.

    Returns
    -------
    tuple
        What is in each table, and what keeps tables from going together.
    """
    inspected: list[Inspected] = []
    tables: list[tuple[Predictions, Inspected]] = []
    for one in files:
        try:
            opened = [
                (table, Inspected(table.path, table.name, done=table.sources[0].done)) for table in tables_of(one)
            ]
            tables += opened
            inspected += [result for _, result in opened]
        except InputError as error:
            problems = Collected()
            problems.in_file("file", error)
            inspected.append(Inspected(one.paths[0], one.name or one.paths[0], problems=problems.settled()))
    models = with_known_classes([table for table, _ in tables], None if prices is None else prices.costs.keys())
    for model, (_, result) in zip(models, tables, strict=True):
        _inspect(model, result, keep=len(inspected) > 1)
        progress()
    return inspected, _together([one for one in inspected if one.fine], prices)


def _inspect(table: Predictions, result: Inspected, keep: bool) -> None:
    """Read as for a score; `keep` all rows to compare them with others."""
    source, problems = table.sources[0], Collected()
    try:
        models = models_of(replace(table, problems=problems))
        result.columns, result.done = models[0].columns, models[0].done if table.columns.certain else source.done
        result.unused = [name for name in source.kinds if name not in models[0].columns.wanted]
        parts: dict[str, list[Batch]] = {}
        for model, batch in checked_batches(models) if len(models[0].classes) > 1 else ():
            result.rows += len(batch)
            if model.only is not None:
                result.models[model.only] += len(batch)
            if batch.votes is None:
                times = np.bincount(batch.truth[batch.truth >= 0], minlength=len(batch.classes))
                result.labels.update(dict(zip(batch.classes, times.tolist(), strict=True)))
            if keep or len(models) > 1:
                parts.setdefault(model.name, []).append(batch)
        result.batches = {name: concatenated(batches) for name, batches in parts.items()}
    except InputError as error:
        problems.in_file("file", error)
    except pa.ArrowException as error:
        what = f"holds what cannot be read as text or numbers ({error})"
        problems.in_file("file", FileError(what, source.path))
    result.problems = problems.settled()


def _together(tables: Sequence[Inspected], prices: PriceList | None) -> list[Problem]:
    """What keeps models from being compared with the first of them, and priced."""
    problems = Collected()
    classes = list(dict.fromkeys(name for one in tables if one.columns for name in one.columns.classes))
    if prices is not None and classes:
        try:
            prices.for_classes(classes)
        except InputError as error:
            missing = [name for name in classes if name not in prices.costs]
            problems.in_file("prices", error, max(1, len(missing)), (prices.source,))
    models = [(name, batch) for one in tables for name, batch in one.batches.items()]
    if len(models) > 1:
        align([batch for _, batch in models], [name for name, _ in models], problems)
    return problems.settled()
