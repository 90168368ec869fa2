"""What is in the files of models, and all that is wrong with them, for `pandora validate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

from pandora_regret.files.alignment import align, common_rows
from pandora_regret.files.batch import Batch, check_labelled
from pandora_regret.files.columns import Columns
from pandora_regret.files.layout import ModelFiles
from pandora_regret.files.opening import models_of, understood_tables
from pandora_regret.files.predictions import Predictions, read_all_models
from pandora_regret.files.prices import PriceList
from pandora_regret.files.problems import CollectedProblems, Problem
from pandora_regret.files.recognise import Remarks
from pandora_regret.files.together import unique_names


class TableReport(CollectedProblems):
    """What was understood of a table, and what is wrong with it; the table's reader tells it."""

    columns: Columns | None = None
    rows = 0
    unused: Sequence[str] = ()
    done: Remarks = ()  # what was recognised in the file, or left out of it

    def __init__(self, path: str, name: str) -> None:
        super().__init__()
        self.path = path
        self.name = name
        self.batches = list[Batch]()  # all rows of each model
        self.models = Counter[str]()  # rows of each model
        self.labels = Counter[str]()  # rows of each class
        self.unlabelled = 0  # rows without a label
        self.truth: Batch | None = None  # where it has a file of its own

    @property
    def fine(self) -> bool:
        """Whether it was understood, and can be scored."""
        return self.columns is not None and not self.problems

    def add(self, table: Predictions) -> None:
        """Read a table as for a score."""
        wanted = set(table.columns.wanted)
        self.columns = table.columns
        self.truth = table.truth
        self.done = table.done
        self.unused = [name for name in table.sources[0].kinds if name not in wanted]
        for batch in read_all_models(models_of(table)):
            self.batches.append(batch)
            self.rows += len(batch)
            if batch.model.only is not None:
                self.models[batch.model.only] = len(batch)
            if batch.votes is None:
                self.labels.update(batch.classes[k] for k in batch.truth[batch.truth >= 0].tolist())
            if not table.layout.unlabelled:
                self.unlabelled += int(batch.without_label(table.truth).sum())
            self.done += batch.changes.done(batch.model.name)
        if not self.problems:  # else rows whose label is wrong would count, too
            check_labelled(self.unlabelled, self.rows, self.path if self.truth is None else self.truth.path)


def inspect_models(
    files: Sequence[ModelFiles], prices: PriceList | None = None, progress: Callable[[], object] = lambda: None
) -> tuple[list[TableReport], list[Problem]]:
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
    reports = [TableReport(str(model.paths[0]), model.name or str(model.paths[0])) for model in files]
    together = CollectedProblems()
    layout = files[0].layout
    with together.noting():
        priced = None if prices is None else prices.costs.keys()
        for table in understood_tables(files, priced, reports, together):
            report = table.problems  # one of `reports`, as each table tells its own
            assert isinstance(report, TableReport)
            with report.noting():
                report.add(table)
            progress()
    batches = list(chain.from_iterable(report.batches for report in reports if report.fine))
    with together.noting("prices", () if prices is None else (prices.source,)):
        if prices is not None and batches:
            prices.for_classes(list(dict.fromkeys(chain.from_iterable(batch.classes for batch in batches))))
    with together.noting():
        names = unique_names([batch.model for batch in batches])
        if layout.common_rows:
            batches, _ = common_rows(batches, names, reports[0].truth)
        if batches:
            align(batches, names, together)
    return reports, together.problems
