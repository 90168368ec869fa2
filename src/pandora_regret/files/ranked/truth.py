"""A file of its own that says what is true of each case: a table, lists in JSON lines, or qrels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pandora_regret.candidates.reading import Truth, true_names
from pandora_regret.core.inputs import matched
from pandora_regret.files.arrow_columns import texts_of
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.formats import open_source
from pandora_regret.files.ranked.formats import TRUTH_KEYS, read_qrels
from pandora_regret.files.ranked.layout import FILE_ID, USUAL_COLUMNS, ListLayout
from pandora_regret.files.source import ROWS_AT_ONCE, Source


@dataclass(frozen=True)
class TruthFile:
    """What is true of each case, as a file of its own says, and what else it says of them."""

    names: dict[str, Truth]  # by id
    facts: dict[str, dict[str, str | None]]  # by column, by id


def read_true_names(layout: ListLayout) -> TruthFile:
    """What is true of each case: a table with several rows for a case, lists in JSON lines, or qrels."""
    assert layout.truth is not None
    path = layout.truth
    if layout.format == "trec":
        return TruthFile(read_qrels(path), {})
    source = open_source(path, None, layout.dialect)
    columns = _truth_columns(source, layout)
    names: dict[str, list[str]] = {}
    values: dict[str, dict[str, str | None]] = {fact: {} for fact in columns.facts}
    for part in source.read(columns.names, frozenset(), ROWS_AT_ONCE):
        cases = [str(case) for case in texts_of(part.column(columns.id))]
        for case, truth in zip(cases, part.column(columns.truth).to_pylist(), strict=True):
            names.setdefault(case, []).extend(true_names([] if truth is None else truth))
        for fact, column in columns.facts.items():
            for case, text in zip(cases, texts_of(part.column(column)), strict=True):
                values[fact].setdefault(case, text)
    return TruthFile(dict(names), values)


@dataclass(frozen=True)
class _TruthColumns:
    """The columns of a file of truths."""

    id: str
    truth: str
    facts: Mapping[str, str]  # by the name that they were asked for by

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys([self.id, self.truth, *self.facts.values()]))


def _truth_columns(source: Source, layout: ListLayout) -> _TruthColumns:
    """Which column of a file of truths is what."""
    id_names = USUAL_COLUMNS["id"]
    if layout.id is not None and layout.id != FILE_ID:
        id_names = (layout.id, *USUAL_COLUMNS["id"])
    truth_names = (*TRUTH_KEYS, *(USUAL_COLUMNS["candidate"] if layout.candidate is None else (layout.candidate,)))
    found: dict[str, str] = {}
    for what, called in {"ids": id_names, "true names": truth_names}.items():
        columns = list(matched(called, source.kinds).values())
        if not columns:
            fix = f"call it {' or '.join(called)}"
            problem = f"has no column of {what}"
            raise FileError(problem, source.path, fix, argument="truth", value=source.path)
        found[what] = columns[0]
    return _TruthColumns(found["ids"], found["true names"], matched(layout.fact_columns, source.kinds))
