"""Everything that is wrong with files of predictions: the same reading as for a score, all problems collected."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from pandora_regret.files.alignment import align, common_rows
from pandora_regret.files.batch import Batch, concatenated
from pandora_regret.files.classes import Columns, over_all_options, settled, with_known_classes
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.opening import models_of, read_truth, tables_of
from pandora_regret.files.predictions import Predictions, checked_batches
from pandora_regret.files.prices import PriceList
from pandora_regret.files.source import Collected, FileError, Problem
from pandora_regret.files.together import unique_names
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
    read: dict[str, tuple[Predictions, Batch]] = field(default_factory=dict)  # each model, and all its rows

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
    inspected, tables, truth = list[Inspected](), list[tuple[Predictions, Inspected]](), None
    unread = Inspected(str(files[0].layout.truth), "truth")
    with _noted(unread):
        truth = read_truth(files[0].layout)
    if not unread.fine:
        return [unread], []
    for one in files:
        result, opened = Inspected(str(one.paths[0]), one.name or str(one.paths[0])), list[Predictions]()
        with _noted(result):
            opened = [replace(table, truth=truth) for table in tables_of(one)]
        results = [Inspected(table.path, table.name, done=table.sources[0].done) for table in opened]
        tables += zip(opened, results, strict=True)
        inspected += results or [result]
    known = with_known_classes([table for table, _ in tables], None if prices is None else prices.costs.keys())
    models = list[tuple[Predictions, Inspected]]()
    for model, (table, result) in zip(known, tables, strict=True):
        problems = Collected()
        with _noted(result, problems):
            known_by = settled(replace(model, problems=problems))
            result.columns, result.done = known_by.columns, (known_by if model.columns.certain else table).done
            models.append((known_by, result))
    between = Inspected("", "")
    with _noted(between):
        whole = over_all_options([model for model, _ in models])
        models = [(model, result) for model, (_, result) in zip(whole, models, strict=True)]
    for model, result in models:
        _inspect(model, result)
        progress()
    return inspected, between.problems + _together([one for one in inspected if one.fine], files[0].layout, prices)


@contextmanager
def _noted(result: Inspected, problems: Collected | None = None) -> Iterator[None]:
    """Whatever is raised is a problem of the file, after those that were told."""
    problems = problems or Collected()
    try:
        yield
    except InputError as error:
        problems.in_file("file", error)
    except pa.ArrowException as error:
        what = f"holds what cannot be read as text or numbers ({error})"
        problems.in_file("file", FileError(what, result.path))
    result.problems += problems.settled()


def _inspect(table: Predictions, result: Inspected) -> None:
    """Read as for a score."""
    problems, parts = Collected(), dict[str, tuple[Predictions, list[Batch]]]()
    with _noted(result, problems):
        models = models_of(replace(table, problems=problems))
        result.columns = models[0].columns
        read = set(models[0].columns.wanted)
        result.unused = [name for name in table.sources[0].kinds if name not in read]
        for model, batch in checked_batches(models) if len(models[0].classes) > 1 else ():
            result.rows += len(batch)
            if model.only is not None:
                result.models[model.only] += len(batch)
            if batch.votes is None:
                times = np.bincount(batch.truth[batch.truth >= 0], minlength=len(batch.classes))
                result.labels.update(dict(zip(batch.classes, times.tolist(), strict=True)))
            parts.setdefault(model.name, (model, []))[1].append(batch)
        result.read = {name: (model, concatenated(batches)) for name, (model, batches) in parts.items()}
        result.done += tuple(each for name, (_, batch) in result.read.items() for each in batch.changes.done(name))


def _together(tables: Sequence[Inspected], layout: Layout, prices: PriceList | None) -> list[Problem]:
    """What keeps models from being compared with the first of them, and priced."""
    problems, result = Collected(), Inspected("", "")
    classes = list(dict.fromkeys(name for one in tables if one.columns for name in one.columns.classes))
    if prices is not None and classes:
        try:
            prices.for_classes(classes)
        except InputError as error:
            problems.in_file("prices", error, paths=(prices.source,))
    read = [pair for one in tables for pair in one.read.values()]
    batches = [batch for _, batch in read]
    with _noted(result, problems):
        names = unique_names([model for model, _ in read])
        if layout.common_rows:
            batches, _ = common_rows(batches, names)
        if len(read) > 1:
            align(batches, names, problems)
    return result.problems
