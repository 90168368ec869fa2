"""What callers say of prediction files: which column is what, and which files hold which model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pandora_regret.core.inputs import Names
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.source import Source


@dataclass(frozen=True)
class Layout:
    """Which column is what; None: found by its usual name, where there is one.

    Parameters
    ----------
    label
        The column of true classes, names or column numbers; ``y_true``, ``label`` or ``target``.
    proba_prefix
        What the names of the forecasts' columns begin with, before the name of the class.
    id, weight, group, model
        Columns of row ids (``id``), of sample weights (``weight`` or ``sample_weight``), of clusters such as
        patients (only where said), and, where several models share a file, of their names (``model``).
    votes_prefix
        What the names of the columns with votes begin with, before the name of the class: how many annotators, or
        with what probability, said that class. They take the place of a column of true classes.
    cost_prefix
        What the names of the columns with each row's own typical costs begin with, before the name of the class.
    logits
        Whether the forecasts are logits.
    by
        Columns that results are broken down by, such as a site; those that a file has of them are read.
    normalise
        Whether rows of probabilities whose sum is off 1 by at most 1 % are divided by it, which is counted.
    columns
        The column of each class, by the class's name, where no prefix tells.
    truth
        A file of its own with ids, true classes, and the columns for `by`, `group` and `weight` (and votes): the
        others then need only ids and forecasts.
    ids_as_numbers
        Whether ids that are whole numbers are read as such: 007 and 7.0 are 7.
    missing_class_zero
        Whether a class for which a file has no forecasts has probability 0 there.
    common_rows
        Whether rows that are missing from at least one file are left out; None where nobody could say so.
    blank_labels
        Whether cases may lack a true class: they are left out and counted, as long as most cases have one.
    classes
        The names of the classes. Without them, and without a prefix, every column of numbers that is nothing else
        must be a class that occurs among the labels.
    dialect
        How the file is written, where that is not to be recognised.

    The classes' order is that of the file's columns.
    """

    label: str | None = None
    proba_prefix: str | None = None
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    votes_prefix: str | None = None
    cost_prefix: str | None = None
    logits: bool = False
    by: Names = ()
    classes: Names | None = None
    dialect: Dialect = RECOGNISED
    normalise: bool = False
    unlabelled: bool = False  # whether labels may be missing
    columns: Mapping[str, str] | None = None
    truth: str | Source | None = None
    ids_as_numbers: bool = False
    missing_class_zero: bool = False
    common_rows: bool | None = None
    blank_labels: bool = False

    def of_format(self, source: Source) -> Layout:
        """The layout, with what a file's format leaves no choice about; a label that is asked for goes first."""
        return replace(self, **source.layout | {"label": self.label or source.layout.get("label")})


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model, parts of one table, and how they are read."""

    paths: tuple[str | Source, ...]  # a table in memory is a source already
    layout: Layout
    name: str | None = None  # None: as the files call it
    of_all: Layout | None = None  # of all models, where this one may be written in a way of its own

    @property
    def truth_layout(self) -> Layout:
        """How the truth's own file is read: as all models are; if no id or label is said, with this one's."""
        of_all = self.of_all or self.layout
        return replace(of_all, id=of_all.id or self.layout.id, label=of_all.label or self.layout.label)
