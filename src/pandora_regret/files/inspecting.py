"""What is in the files of models, and all that is wrong with them, for `pandora validate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

from pandora_regret.files.aligned_models import unique_names
from pandora_regret.files.alignment import align, check_classes, common_rows
from pandora_regret.files.batch import Batch, check_labelled
from pandora_regret.files.columns import Columns
from pandora_regret.files.layout import ModelFiles
from pandora_regret.files.lists import TRUTH
from pandora_regret.files.opening import models_of, understood_tables
from pandora_regret.files.predictions import Predictions, read_all_models
from pandora_regret.files.prices import PriceList
from pandora_regret.files.problems import CollectedProblems, Problem
from pandora_regret.files.recognise import Remarks
from pandora_regret.files.source import SourceInMemory

WRONG_ROWS = ("file", "columns", "rows", "id")  # problems of files that cannot be held against others


class TableReport(CollectedProblems):
    """What was understood of a table, and what is wrong with it; the table's reader tells it."""

    columns: Columns | None = None
    rows = 0
    unused: Sequence[str] = ()
    holds_lists = False  # whether its rows list options, so that columns of forecasts are named by us
    remarks: Remarks = ()  # what was recognised in the file, or left out of it

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

    @property
    def has_its_rows(self) -> bool:
        """Whether all rows were read, and are those that their ids say, whatever else is wrong with them."""
        return self.columns is not None and not any(problem.kind in WRONG_ROWS for problem in self.problems)

    def add(self, table: Predictions) -> None:
        """Read a table as for a score."""
        wanted = set(table.columns.names)
        self.columns = table.columns
        self.truth = table.truth
        self.remarks = table.remarks
        source = table.sources[0]
        self.holds_lists = isinstance(source, SourceInMemory)
        if self.holds_lists:
            wanted.add(TRUTH)  # the table's own column, whether the file has truths or not
        self.unused = [name for name in source.kinds if name not in wanted]
        for batch in read_all_models(models_of(table)):
            self.batches.append(batch)
            self.rows += len(batch)
            if batch.model.only is not None:
                self.models[batch.model.only] = len(batch)
            if batch.votes is None:
                self.labels.update(batch.classes[k] for k in batch.truth[batch.truth >= 0].tolist())
            if not table.layout.unlabelled:
                self.unlabelled += int(batch.without_label(table.truth).sum())
            self.remarks += batch.changes.remarks(batch.model.name)
        self.unlabelled -= sum(problem.count for problem in self.problems if problem.kind == "label")
        if not self.problems:
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
    shared_problems = CollectedProblems()
    layout = files[0].layout
    with shared_problems.noting():
        priced = None if prices is None else prices.costs.keys()
        for table in understood_tables(files, priced, reports, shared_problems):
            report = table.problems  # one of `reports`, as each table tells its own
            assert isinstance(report, TableReport)
            with report.noting():
                report.add(table)
            progress()
    batches = list(chain.from_iterable(report.batches for report in reports if report.has_its_rows))
    with shared_problems.noting("prices", () if prices is None else (prices.source,)):
        if prices is not None and batches:
            prices.for_classes(list(dict.fromkeys(chain.from_iterable(batch.classes for batch in batches))))
    with shared_problems.noting():
        names = unique_names([batch.model for batch in batches])
        if layout.common_rows:
            batches, _ = common_rows(batches, names, reports[0].truth)
        if batches:
            align(batches, names, shared_problems)
    with_wrong_ids = [report for report in reports if report.columns is not None and not report.has_its_rows]
    for report in with_wrong_ids:
        for batch in report.batches:
            if batches:
                check_classes(batches[0], batch, shared_problems)
    return reports, shared_problems.problems
