"""Predictions of one model, streamed: walk through files in batches, cut them into fragments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain, groupby

import numpy as np

from pandora_regret.core.inputs import Names, remark_on
from pandora_regret.files.arrow_columns import coded, text_bytes
from pandora_regret.files.batch import PLACES_PER_FILE, Batch, Changes, ModelFacts, concatenated
from pandora_regret.files.columns import Columns
from pandora_regret.files.file_errors import NoRowsError
from pandora_regret.files.layout import Layout
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.recognise import MOST_NAMED, Remarks, names_matched
from pandora_regret.files.rows import (
    Reading,
    complete_lists,
    read_facts,
    read_forecasts,
    read_id_texts,
    with_facts_of_truth,
)
from pandora_regret.files.source import Source
from pandora_regret.files.table import Block, blocks_of
from pandora_regret.text import listed

FLOAT_BYTES = 8
WHOLE_BATCHES = 2  # batches, and all of them as one


@dataclass(frozen=True)
class Predictions:
    """What one model predicts, in one file or several parts of one; made by `open_predictions`."""

    name: str
    sources: tuple[Source, ...]
    columns: Columns
    layout: Layout = field(default=Layout(), compare=False, repr=False)
    only: str | None = None  # the value of the model column, where models share a file
    first_row: int = 0  # the number of the first row among those of this model
    is_named: bool = False  # by the caller, so that it must hold one model
    watched: str | None = None  # a column of ids that are only to be told apart, as `Batch.id_texts`
    truth: Batch | None = field(default=None, compare=False, repr=False)  # where it has a file of its own
    percent: bool = False  # whether the forecasts are percentages
    problems: Problems = field(default=RAISED, compare=False, repr=False)  # who is told what is wrong

    @property
    def classes(self) -> Names:
        """The classes' names, in the order of the file's columns."""
        return self.columns.classes

    @property
    def logits(self) -> bool:
        """Whether the forecasts are logits."""
        return self.layout.logits

    @property
    def labels_apart(self) -> Names:
        """The true classes in a file of their own."""
        return () if self.truth is None else self.truth.classes

    @property
    def reading(self) -> Reading:
        """How rows are read and checked."""
        return Reading(
            self.classes,
            self.logits,
            unlabelled=self.layout.unlabelled or self.layout.blank_labels,
            ids_as_numbers=self.layout.ids_as_numbers,
            common_rows=self.layout.common_rows,
            problems=self.problems,
        )

    @cached_property  # each batch has it
    def facts(self) -> ModelFacts:
        """What rows know of their model."""
        return ModelFacts(
            self.name,
            self.sources,
            only=self.only,
            logits=self.logits,
            order_only=self.order_only,
            recognised=self.recognised,
            problems=self.problems,
        )

    @property
    def grouped(self) -> bool:
        """Whether rows belong together."""
        return self.columns.group is not None or (self.truth is not None and self.truth.groups is not None)

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.sources[0].path

    @property
    def recognised(self) -> Remarks:
        """How the files are written, and names of columns that are spelled otherwise."""
        remarks = chain.from_iterable(source.remarks for source in self.sources)
        return (*remarks, *names_matched(self.columns.spelled, "name", self.path))

    @property
    def remarks(self) -> Remarks:
        """What was recognised in the files, or left out of them, as far as their heads tell."""
        votes = self.columns.votes
        wanted = set(self.columns.names)
        kinds = self.sources[0].kinds
        ignored = [name for name in kinds if kinds[name] == "number" and name not in wanted]
        name = self.name if self.only is None else self.path
        columns = f"column{'s' * (len(ignored) > 1)} {listed(ignored, MOST_NAMED)} of {name} ignored"
        weight = self.columns.weight
        recognised = weight is not None and self.layout.weight is None
        return (
            *(() if self.truth is None else self.truth.model.recognised),
            *self.recognised,
            *remark_on("votes", len(votes), f"truths read as votes (columns {listed(votes, MOST_NAMED)})"),
            *remark_on("weights", int(recognised), f"rows weighted by column {weight!r}"),
            *remark_on("percentages", int(self.percent), f"percentages of {self.path} divided by 100", self.path),
            *remark_on("columns ignored", len(ignored), columns, name),
        )

    @property
    def is_list(self) -> bool:
        """Whether rows have lists of their own, which may leave a rest."""
        return self.sources[0].has_lists

    @property
    def order_only(self) -> bool:
        """Whether forecasts say in which order to look, not how likely anything is."""
        return any(source.order_only for source in self.sources)

    @property
    def known_rows(self) -> int:
        """How many rows the files say that they have, of all models in them."""
        return sum(source.n_rows or 0 for source in self.sources)

    def check_held(self, size: float) -> None:
        """An error if so many bytes are more than may be held of the files at once."""
        limits = [source.limit for source in self.sources]
        known = [limit for limit in limits if limit is not None]
        if known and len(known) == len(limits):  # else some of it is in memory already
            whole = replace(known[0], file_bytes=sum(limit.file_bytes for limit in known))
            whole.check(size)

    def no_rows(self) -> NoRowsError:
        """The error for files without any row."""
        paths = " and ".join(source.path for source in self.sources[:3])
        return NoRowsError("has no rows", paths, "there is nothing to score")

    def batches(self, rows: int | None = None) -> Iterator[Batch]:
        """The rows in order, at most so many at a time; some tens of megabytes of them unless said."""
        number = self.first_row
        for _, block in own_rows([self], [*self.columns.names, self.watched or ""], rows):
            yield self.batch(block, number)
            number += len(block)

    def batch(self, block: Block, first_row: int = 0) -> Batch:
        """Rows of a table as arrays, rescaled where that was asked for; what is missing or no label is told."""
        source = block.source
        reading = self.reading
        facts = read_facts(block, self.columns, reading)
        if self.truth is not None:
            facts = with_facts_of_truth(facts, self.truth, block, reading)
        truth = facts.truth
        absent = -np.inf if self.logits else 0.0
        forecasts = read_forecasts(block, self.columns.forecasts, reading, np.nan if self.is_list else absent)
        if self.is_list:
            truth, values = complete_lists(truth, np.array(forecasts).T, block, reading)
            forecasts = values.T
        if self.percent:
            forecasts = np.asarray(forecasts) / 100
        batch = Batch(
            self.facts,
            self.classes,
            truth,
            forecasts,
            first_row,
            places=block.numbers + PLACES_PER_FILE * self.sources.index(source),
            ids=facts.ids,
            weights=facts.weights,
            groups=facts.groups,
            votes=facts.votes,
            costs=facts.costs,
            by=facts.by,
            id_texts=read_id_texts(block, self.watched, reading) if self.watched else None,
        )
        outside = 0 if source.other is None else int(batch.outside.sum())
        batch = replace(batch, changes=Changes(facts.spelled, outside, source.other or ""))
        rescaled = (self.layout.normalise or self.percent) and not self.logits and self.columns.forecasts
        return batch.normalised() if rescaled else batch

    def blocks(self, columns: Iterable[str], rows: int | None = None) -> Iterator[Block]:
        """The rows of the files in order, of all models in them: some columns, each once, in the file's order."""
        return blocks_of(self.sources, columns, self.columns.numbers, rows)

    def fragments(self) -> list[Predictions]:
        """Pieces that can be tallied apart, in other processes too; each knows its first row's number."""
        parts = chain.from_iterable(source.pieces() for source in self.sources)
        pieces = [replace(self, sources=(part,)) for part in parts]
        starts = accumulate((piece.count() for piece in pieces[:-1]), initial=self.first_row)
        return [replace(piece, first_row=start) for piece, start in zip(pieces, starts, strict=True)]

    def count(self) -> int:
        """How many rows there are."""
        if self.only is None:
            return sum(source.count() for source in self.sources)
        return sum(len(block) for _, block in own_rows([self], []))


def own_rows(
    models: Sequence[Predictions], columns: Sequence[str], rows: int | None = None
) -> Iterator[tuple[Predictions, Block]]:
    """The rows of models that share their files, which are read once: blocks, each after the model it is of."""
    first = models[0]
    by_name = {model.only: model for model in models}
    shared = "" if first.only is None else first.columns.model or ""
    for block in first.blocks([*columns, shared], rows):
        if not shared:
            yield first, block
            continue
        names, codes = coded(block.column(shared))
        for code, name in enumerate(names):
            rows_of_model = np.flatnonzero(codes == code)
            if name in by_name and len(rows_of_model):
                yield by_name[name], block.take(rows_of_model)


def read_all(predictions: Predictions) -> Batch:
    """All rows of a file at once, checked: forecasts that can be scored, no id twice.

    Errors name the file, the row and the column.

    Parameters
    ----------
    predictions
        From `open_predictions`.

    Returns
    -------
    Batch
        All rows.
    """
    return next(read_all_models([predictions]))


def read_all_models(opened: Sequence[Predictions]) -> Iterator[Batch]:
    """All rows of each of several models, one after the other; a file that they share is read once.

    Errors are as in `read_all`.

    Parameters
    ----------
    opened
        From `open_predictions` or `open_models`.

    Returns
    -------
    iterator of Batch
        One for each model that has rows.
    """
    for _, sharing in groupby(opened, key=lambda model: id(model) if model.only is None else model.sources):
        models = list(sharing)
        parts = {model.only: list[Batch]() for model in models}
        first = models[0]
        held = 0.0
        first.check_held(WHOLE_BATCHES * FLOAT_BYTES * len(first.columns.names) * first.known_rows)
        for model, block in own_rows(models, first.columns.names):
            batch = model.batch(block)
            held += WHOLE_BATCHES * batch.nbytes + text_bytes(block.records)
            first.check_held(held)
            parts[model.only].append(batch)
        for model in models:
            if batches := parts.pop(model.only):
                yield concatenated(batches).check()
            else:
                model.problems.in_file("rows", model.no_rows())
