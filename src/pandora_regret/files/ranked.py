"""Files of ranked lists, read into `Candidates`: long tables, lists in JSON lines, TREC runs, a folder of files.

One direction: `ListLayout` says which column is what; `read_rows` reads the rows of a file, whatever its
format; the models of a file, or of several, come as `RankedModels`: the same cases in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from pandora_regret.candidates import Candidates
from pandora_regret.candidates.reading import (
    LongTable,
    Tell,
    Truth,
    hits_by_name,
    prices_of,
    read_hits,
    read_prices_of_rows,
    read_values,
    true_names,
)
from pandora_regret.candidates.search import BoolArray
from pandora_regret.candidates.searched import CaseLists, SearchedOrders
from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    IntArray,
    Names,
    Remark,
    did_you_mean,
    matched,
    quoted,
    remark_on,
)
from pandora_regret.files.arrow_columns import (
    LOOKED_AT,
    coded,
    kind_of_texts,
    number_in,
    numbers_in,
    texts_of,
)
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.formats import open_source, stem_of
from pandora_regret.files.layout import ModelFiles
from pandora_regret.files.problems import NAMED_ROWS, RAISED, Problems
from pandora_regret.files.ranked_formats import (
    ID_KEYS,
    TRUTH_KEYS,
    VALUE_KEYS,
    ListKind,
    ListRecord,
    is_lists,
    read_list_records,
    read_qrels,
    read_trec,
    without_comments,
)
from pandora_regret.files.source import ROWS_AT_ONCE, Source
from pandora_regret.text import counted

Format: TypeAlias = Literal["trec"]
OrderKind: TypeAlias = Literal["score", "probability", "rank"]
CaseFacts: TypeAlias = dict[str, list[str | None]]  # texts of N cases, by column

FILE_ID = "FILE"  # instead of a column of ids: each file of a folder is a case
USUAL_COLUMNS: Mapping[str, Names] = {  # names of columns by which they are recognised, where nobody names them
    "id": ID_KEYS,
    "candidate": ("candidate",),
    "score": ("score",),
    "probability": ("probability",),
    "rank": ("rank",),
    "price": ("price",),
    "hit": ("hit", "is_hit"),
}
ORDERS: tuple[OrderKind, ...] = ("score", "probability", "rank")
MOST_KEPT = 2_000_000  # rows of a file; those of a longer one are searched as they are read
ROWS_OF_PART = 1 << 19


@dataclass(frozen=True)
class ListLayout:
    """Which column of files with ranked lists is what; None: found by its usual name, where there is one.

    Parameters
    ----------
    id
        Of what cases are called. "FILE": each file of a folder is a case, called like the file.
    candidate
        Of what candidates are called; in JSON lines, the key of the list.
    score, probability, rank
        What orders the candidates of a case: one of them, or else the order of rows.
    price
        What it costs to look at a candidate.
    hit
        Which candidates are true: 0 and 1, or false and true.
    truth
        Instead of `hit`, a file with ids and true names: several rows for a case, or lists; of TREC runs, qrels.
    weight, group, model, by
        Columns of cases: weights, what belongs together, models that share a file, what to break results down by.
    format
        "trec" for runs, six columns without a header.
    by_price
        Whether scores are divided by prices.
    common_rows
        Whether cases that are missing from at least one file are left out.
    dialect
        How files are written, where that is not to be recognised.
    """

    id: str | None = None
    candidate: str | None = None
    score: str | None = None
    probability: str | None = None
    rank: str | None = None
    price: str | None = None
    hit: str | None = None
    truth: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    by: Names = ()
    format: Format | None = None
    by_price: bool = False
    common_rows: bool = False
    dialect: Dialect = RECOGNISED

    @property
    def value_keys(self) -> Mapping[str, ListKind]:
        """What values are called in the elements of JSON lists, and what they are."""
        if self.probability is not None:
            return {self.probability: "probability"}
        if self.score is not None:
            return {self.score: "score"}
        return VALUE_KEYS

    @property
    def orders(self) -> Mapping[OrderKind, str | None]:
        """The columns of which one orders candidates, by what they hold."""
        return {"score": self.score, "probability": self.probability, "rank": self.rank}

    @property
    def fact_columns(self) -> Names:
        """The columns that say something of a case."""
        named = (self.weight, self.group, *self.by)
        return tuple(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True)
class RankedRows:
    """The rows of one model: one per candidate, C; N cases."""

    path: str
    name: str  # of the model
    ids: list[str]
    case: IntArray  # (C,)
    names: list[str]
    codes: IntArray  # (C,); -1 where a row stands for an empty list
    values: FloatArray  # (C,)
    has_probabilities: bool
    prices: FloatArray | None  # (C,); None where nothing says
    is_true: BoolArray | None  # (C,); None where nothing says
    truths: dict[str, Truth] | None  # by id, where the file says them by name
    facts: CaseFacts
    remarks: tuple[Remark, ...] = ()
    has_row_names: bool = False  # whether candidates are called by their rows, as no column names them
    searched: SearchedOrders | None = None  # instead of candidates, where they are too many to keep
    unlisted: Mapping[str, list[str]] = field(default_factory=dict)  # true names that cases do not list, by id


@dataclass(frozen=True)
class TruthFile:
    """What is true of each case, as a file of its own says, and what else it says of them."""

    names: dict[str, Truth]  # by id
    facts: dict[str, dict[str, str | None]]  # by column, by id


@dataclass(frozen=True)
class RankedModels:
    """Several models' lists on the same N cases, in the same order."""

    models: dict[str, CaseLists]
    truths: list[list[str]]  # the names that are true of each case, as far as anybody says them
    facts: CaseFacts
    paths: Names
    remarks: tuple[Remark, ...]

    @property
    def ids(self) -> Names:
        """What the cases are called."""
        return next(iter(self.models.values())).ids


def read_ranked(
    files: Sequence[ModelFiles], layout: ListLayout, prices: Mapping[str, float] | None = None
) -> RankedModels:
    """The lists of all models, joined by the names of cases.

    Parameters
    ----------
    files
        The models' files, as `read_models_argument` names them.
    layout
        Which column is what.
    prices
        By candidate's name, where no column says them; that of "other" is for all names that it does not have.

    Returns
    -------
    RankedModels
        The lists, and what was done to the files.
    """
    ranked = inspect_ranked(files, layout, prices, RAISED)
    assert ranked is not None  # or an error was raised
    return ranked


def inspect_ranked(
    files: Sequence[ModelFiles], layout: ListLayout, prices: Mapping[str, float] | None, problems: Problems
) -> RankedModels | None:
    """The lists of all models as `read_ranked` returns them, or None; `problems` hears what is wrong.

    What could not be read is left out, so that what else is wrong is told, too.
    """
    models: list[RankedRows] = []
    places = [
        (path.path if isinstance(path, Source) else os.fspath(path), model.name)
        for model in files
        for path in model.paths
    ]
    name_of_folder = _names_of_folders([path for path, name in places if name is None and os.path.isdir(path)])
    for path, name in places:
        model_name = name or name_of_folder.get(path)
        models += read_rows(path, layout, model_name, by_name=prices is not None, problems=problems)
    models = [rows for rows in models if rows.ids]
    if not models:
        return None
    names = [rows.name for rows in models]
    for name in names:
        if names.count(name) > 1:
            error = InputError(f"two models are called {name}", place="", fix="give each a name: NAME=FILE")
            problems.in_file("model", error)
    truth = None if layout.truth is None else read_true_names(layout)
    if truth is None:
        _check_same_truths(models, problems)
    elif layout.id == FILE_ID:
        models = [_called_as_in_truth(rows, truth) for rows in models]
    ids, remarks = _common_cases(models, truth, layout.common_rows, problems)
    lists: dict[str, CaseLists] = {}
    for rows in models:
        candidates = _candidates_of(rows, truth, prices, layout, problems).of_cases(ids)
        remarks += rows.remarks + _remarks_on_lists(rows, candidates)
        lists[rows.name] = candidates
    return RankedModels(
        models=lists,
        truths=_true_names_of(ids, models, lists, truth),
        facts={column: _fact(column, ids, models, truth) for column in layout.fact_columns},
        paths=tuple(dict.fromkeys(rows.path for rows in models)),
        remarks=remarks,
    )


def _names_of_folders(paths: Sequence[str]) -> dict[str, str]:
    """What models are called whose cases lie in folders: like these, or the first above that tells them apart.

    PhEval calls all of them pheval_disease_results.
    """
    parts = [os.path.abspath(path).split(os.sep)[::-1] for path in paths]
    for level in zip(*parts, strict=False):
        if len(set(level)) == len(paths):
            return dict(zip(paths, level, strict=True))
    return {path: names[0] for path, names in zip(paths, parts, strict=True)}


def _called_as_in_truth(rows: RankedRows, truth: TruthFile) -> RankedRows:
    """Cases called like their files, without the ending that all of them share, where the truth has none with it.

    PhEval writes PMID_1_case-pheval_disease_result.tsv for the case PMID_1_case.
    """
    if any(name in truth.names for name in rows.ids):
        return rows
    first = rows.ids[0]
    for place, mark in enumerate(first):
        ending = first[place:]
        if mark in "-_." and all(name.endswith(ending) for name in rows.ids):
            shortened = [name.removesuffix(ending) for name in rows.ids]
            if any(name in truth.names for name in shortened):
                sentence = f"{ending!r} left off the names of {counted(len(shortened), 'file')} of {rows.name}"
                remarks = remark_on("endings of files", len(shortened), sentence, rows.name)
                return replace(rows, ids=shortened, remarks=rows.remarks + remarks)
    return rows


def _remarks_on_lists(rows: RankedRows, candidates: CaseLists) -> tuple[Remark, ...]:
    """What was done to a model's lists: names that come twice, empty lists."""
    n_repeated = candidates.n_repeated
    n_empty = int((candidates.lengths == 0).sum())
    repeated = f"{counted(n_repeated, 'candidate')} of {rows.name} named before in the same case left out"
    empty = f"{counted(n_empty, 'empty list')} of {rows.name} counted as misses"
    return (
        *remark_on("candidates named twice", n_repeated, repeated, rows.name),
        *remark_on("empty lists", n_empty, empty, rows.name),
    )


# One file


def read_rows(
    path: str,
    layout: ListLayout,
    name: str | None = None,
    by_name: bool = False,
    problems: Problems = RAISED,
) -> list[RankedRows]:
    """The rows of a file, or of a folder with a file per case: one `RankedRows` for each model in it.

    Parameters
    ----------
    path
        The file, or the folder.
    layout
        Which column is what.
    name
        What the model is called; like the file unless given, or as a column of models says.
    by_name
        Whether prices are by candidates' names: then all of these are kept.
    problems
        Who is told what is wrong in the file.
    """
    if os.path.isdir(path):
        return [_read_folder(path, layout, name or _names_of_folders([path])[path], problems)]
    if layout.format == "trec":
        return [_of_records(path, name or stem_of(path), read_trec(path, problems), layout, problems)]
    if is_lists(path, layout.candidate):
        records = read_list_records(path, layout.id, layout.candidate, layout.value_keys, problems)
        return [_of_records(path, name or stem_of(path), records, layout, problems)]
    return _read_long_table(path, layout, name, by_name, problems)


def _of_records(
    path: str, name: str, records: Sequence[ListRecord], layout: ListLayout, problems: Problems
) -> RankedRows:
    """Lists, one after the other, as rows."""
    records = _one_of_each_case(records, path, problems)
    kinds = {record.kind for record in records if record.names}
    if len(kinds) > 1:
        error = FileError("holds lists of several kinds", path, "write values on every line, or on none")
        problems.in_file("candidate", error)
    index: dict[str, int] = {}
    codes = [index.setdefault(name, len(index)) for record in records for name in record.names]
    truths = {record.id: record.truth for record in records if record.truth is not None}
    facts: CaseFacts = {}
    for column in layout.fact_columns:
        texts = [record.facts.get(column) for record in records]
        if any(text is not None for text in texts):
            facts[column] = texts
    lengths = np.array([len(record.names) for record in records], dtype=np.intp)
    case = np.repeat(np.arange(len(records)), lengths)
    values = np.array([value for record in records for value in record.values], dtype=np.float64)
    n_blank = sum(record.n_blank for record in records)
    remarks = remark_on("blank names", n_blank, f"{counted(n_blank, 'blank name')} of {path} left out", name)
    if kinds == {"probability"} and are_percentages(values, case):
        values = values / 100
        remarks += _divided_by_100(path)
    return RankedRows(
        path=path,
        name=name,
        ids=[record.id for record in records],
        case=case,
        names=list(index),
        codes=np.array(codes, dtype=np.intp),
        values=values,
        has_probabilities=kinds == {"probability"},
        prices=_prices_of_records(records, path, problems),
        is_true=None,
        truths=truths or None,
        facts=facts,
        remarks=remarks,
    )


def are_percentages(values: FloatArray, case: IntArray) -> bool:
    """Whether numbers of candidates, whose cases are these, can only be percentages: most cases sum to 100."""
    if not len(values):
        return False
    sums = np.bincount(case, values)
    sums = sums[np.bincount(case) > 0]
    return bool((np.abs(sums - 100) < 1).mean() > 0.5)


def _divided_by_100(path: str) -> tuple[Remark, ...]:
    """What is said of percentages."""
    return remark_on("percentages", 1, f"percentages of {path} divided by 100", path)


def _one_of_each_case(records: Sequence[ListRecord], path: str, problems: Problems) -> list[ListRecord]:
    """The first list of each case; that a case has another is a problem."""
    lines: dict[str, int] = {}
    kept: list[ListRecord] = []
    for record in records:
        if record.id in lines:
            problem = f"has case {record.id!r} in lines {lines[record.id]} and {record.line}"
            fix = "write one list per case"
            row = record.line - 1
            error = FileError(problem, path, fix, argument="id", row=row, value=record.id)
            problems.in_places(error, [f"line {record.line}"], rows=[row])
        else:
            lines[record.id] = record.line
            kept.append(record)
    return kept


def _prices_of_records(records: Sequence[ListRecord], path: str, problems: Problems) -> FloatArray | None:
    """The prices that lists hold, (C,), checked; None where they hold none."""
    prices = [price for record in records for price in record.prices]
    n_candidates = sum(len(record.names) for record in records)
    if not prices:
        return None
    if len(prices) < n_candidates:
        error = FileError(
            "has prices on some lines only", path, "write one for every candidate, or none", argument="price"
        )
        problems.in_file("price", error)
        return None
    lengths = np.array([len(record.prices) for record in records], dtype=np.intp)
    record_of_price = np.repeat(np.arange(len(records)), lengths)

    def tell(error: InputError, rows: IntArray) -> None:
        lines = [records[number].line for number in np.unique(record_of_price[rows]).tolist()]
        problem = f"price {error.problem}"
        problems.in_places(
            FileError(problem, path, error.fix, argument="price", value=error.value),
            [f"line {line}" for line in lines[:NAMED_ROWS]],
            len(lines),
            [line - 1 for line in lines[:NAMED_ROWS]],
        )

    return read_prices_of_rows(np.array(prices, dtype=np.float64), np.zeros(n_candidates, dtype=np.intp), tell)


class _OrderColumn(NamedTuple):
    """What orders candidates: the highest score or probability first, or the lowest rank."""

    kind: OrderKind
    column: str


@dataclass(frozen=True)
class _LongTableColumns:
    """The columns of a long table, by what they are; None where there is none."""

    id: str | None
    candidate: str | None
    order: _OrderColumn | None  # None: the order of rows
    price: str | None
    hit: str | None
    model: str | None
    facts: Names

    @property
    def can_be_streamed(self) -> bool:
        """Whether cases can be searched one after the other: orders of one model, with a column of hits."""
        is_order = self.order is None or self.order.kind != "probability"
        return is_order and self.hit is not None and self.candidate is not None and self.model is None

    @property
    def numbers(self) -> frozenset[str]:
        """Those that must hold numbers."""
        return frozenset(name for name in (self.order and self.order.column, self.price) if name)

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        listed = (self.id, self.candidate, self.order and self.order.column, self.price, self.hit, self.model)
        return list(dict.fromkeys(name for name in (*listed, *self.facts) if name))


def _single_column(role: str, stated: str | None, source: Source) -> str | None:
    """The column that was said, which must be there; else one of a usual name, if there is one."""
    if stated is None:
        return next(iter(matched(USUAL_COLUMNS.get(role, ()), source.kinds).values()), None)
    column = matched([stated], source.kinds).get(stated)
    if column is None:
        fix = did_you_mean(stated, list(source.kinds))
        raise FileError(f"has no column {stated!r}", source.path, fix, argument=role, value=stated)
    return column


def _order_column(source: Source, layout: ListLayout) -> _OrderColumn | None:
    """What orders candidates: a column that was said, or one of a usual name; an error where two are."""
    stated = layout.orders
    is_said = any(stated.values())
    found: list[_OrderColumn] = []
    for kind in ORDERS:
        if is_said and stated[kind] is None:
            continue
        column = _single_column(kind, stated[kind], source)
        if column is not None:
            found.append(_OrderColumn(kind, column))
    if len(found) > 1:
        first = found[0].kind
        second = found[1].kind
        problem = f"has columns for {first} and {second}"
        fix = f"say what orders candidates: --{first}, or --{second}"
        raise FileError(problem, source.path, fix, argument=second)
    return found[0] if found else None


def _check_columns(source: Source, layout: ListLayout, needs_id: bool, problems: Problems) -> None:
    """Tell which columns were named that a table does not have."""
    paths = () if needs_id else (source.path,)  # of a folder, messages say which file
    stated = {
        "id": layout.id if needs_id else None,
        "candidate": layout.candidate,
        "price": layout.price,
        "hit": None if layout.truth is not None else layout.hit,
        "model": layout.model,
    }
    for role, name in (stated | dict(layout.orders)).items():
        if name is not None:
            with problems.noting(role, paths):
                _single_column(role, name, source)


def _columns_of(
    source: Source, layout: ListLayout, problems: Problems, needs_id: bool = True
) -> _LongTableColumns:
    """Which column of a table is what."""
    _check_columns(source, layout, needs_id, problems)
    columns = _LongTableColumns(
        id=_single_column("id", layout.id, source) if needs_id else None,
        candidate=_single_column("candidate", layout.candidate, source),
        order=_order_column(source, layout),
        price=_single_column("price", layout.price, source),
        hit=None if layout.truth is not None else _single_column("hit", layout.hit, source),
        model=None if layout.model is None else _single_column("model", layout.model, source),
        facts=tuple(matched(layout.fact_columns, source.kinds).values()),
    )
    for role, column in {"id": columns.id if needs_id else "", "candidate": columns.candidate}.items():
        if column is None and not (role == "candidate" and columns.hit is not None):
            fix = f"say which column that is (--{role}): {quoted(source.kinds)}"
            raise FileError(
                f"has no column called {' or '.join(USUAL_COLUMNS[role])}", source.path, fix, argument=role
            )
    return columns


def _table_of(source: Source, columns: _LongTableColumns) -> pa.Table:
    """The columns of a table in a file."""
    batches: list[pa.RecordBatch] = []
    for part in source.read(columns.names, columns.numbers, ROWS_AT_ONCE):
        batches += part.to_batches() if isinstance(part, pa.Table) else [part]
    if not batches:
        raise FileError("has no rows", source.path, "write a row per case and candidate")
    return pa.Table.from_batches(batches).combine_chunks()


def _read_long_table(
    path: str, layout: ListLayout, name: str | None, by_name: bool, problems: Problems
) -> list[RankedRows]:
    """The rows of a table of one row per case and candidate."""
    plain, remarks = without_comments(path)
    source = replace(open_source(plain, None, layout.dialect), path=path)
    columns = _columns_of(source, layout, problems)
    remarks += source.remarks
    if (source.n_rows or 0) > MOST_KEPT and columns.can_be_streamed and not by_name:
        streamed = None
        try:
            streamed = _read_in_parts(source, columns, layout, name or stem_of(path), remarks)
        except InputError:
            if problems is RAISED:
                raise  # otherwise all of the file is read, and all that is wrong told
        if streamed is not None:
            return [streamed]
    table = _table_of(source, columns)
    places = TablePlaces.of_file(path, len(table))
    if columns.model is None:
        return [_ranked_rows(table, columns, source, name or stem_of(path), remarks, places, problems)]
    models, codes = coded(_chunk(table, columns.model))
    rows = []
    for number, model in enumerate(models):
        taken = np.flatnonzero(codes == number)
        notes = remarks if number == 0 else ()
        rows.append(
            _ranked_rows(table.take(taken), columns, source, str(model), notes, places.take(taken), problems)
        )
    return rows


def _read_in_parts(
    source: Source, columns: _LongTableColumns, layout: ListLayout, name: str, remarks: tuple[Remark, ...]
) -> RankedRows | None:
    """The rows of a long file, of which each case is searched once all of its rows are read, and then let go.

    None where the rows of a case do not lie together: then all are read only at the end of the file.
    """
    assert columns.id is not None
    parts: list[SearchedOrders] = []
    facts: CaseFacts = {column: [] for column in columns.facts}
    finished: set[str] = set()
    n_searched = 0  # rows

    def search(table: pa.Table) -> bool:
        """Whether these rows can be searched: no case was finished before, and no rank is 0, which may be none."""
        nonlocal n_searched
        places = TablePlaces.of_file(source.path, len(table), n_searched)
        n_searched += len(table)
        rows = _ranked_rows(table, columns, source, name, (), places, RAISED)
        if not finished.isdisjoint(rows.ids):
            return False
        is_rank = columns.order is not None and columns.order.kind == "rank"
        if is_rank and (rows.remarks or not rows.values.all()):
            return False
        finished.update(rows.ids)
        parts.append(SearchedOrders.of_table(_long_table_of(rows, None, None, RAISED), layout.by_price))
        for column, texts in rows.facts.items():
            facts[column] += texts
        return True

    kept: list[pa.RecordBatch] = []  # rows of a case that may go on
    for part in source.read(columns.names, columns.numbers, ROWS_OF_PART):
        for batch in part.to_batches() if isinstance(part, pa.Table) else [part]:
            start = _start_of_last_case(batch, columns.id)
            if start > 0 and not search(pa.Table.from_batches([*kept, batch.slice(0, start)]).combine_chunks()):
                return None
            kept = [batch.slice(start)] if start > 0 else [*kept, batch]
    if kept and not search(pa.Table.from_batches(kept).combine_chunks()):
        return None
    return RankedRows(
        path=source.path,
        name=name,
        ids=[case for part in parts for case in part.ids],
        case=np.empty(0, dtype=np.intp),
        names=[],
        codes=np.empty(0, dtype=np.intp),
        values=np.empty(0),
        has_probabilities=False,
        prices=None,
        is_true=None,
        truths=None,
        facts=facts,
        remarks=remarks,
        searched=SearchedOrders.joined(parts),
    )


def _start_of_last_case(batch: pa.RecordBatch, column: str) -> int:
    """The row at which the last of the cases of a batch begins; 0 where all rows are of one case."""
    _, codes = coded(batch.column(column))
    of_others = np.flatnonzero(codes != codes[-1])
    return int(of_others[-1]) + 1 if len(of_others) else 0


def _read_folder(path: str, layout: ListLayout, name: str, problems: Problems) -> RankedRows:
    """A folder with a file per case, which is called like the file."""
    if layout.id != FILE_ID:
        raise FileError("is a folder", path, f"say that each file in it is a case (--id {FILE_ID})", argument="id")
    parts = []
    ids = []
    files: list[str] = []
    counts = []
    n_skipped = 0
    columns = None
    for entry in sorted(os.listdir(path)):
        file = os.path.join(path, entry)
        if entry.startswith(".") or not os.path.isfile(file):
            continue
        plain, skipped = without_comments(file)
        n_skipped += sum(remark.count for remark in skipped)
        source = replace(open_source(plain, None, layout.dialect), path=file)
        columns = _columns_of(source, layout, problems, needs_id=False)
        ids.append(stem_of(file))
        files.append(file)
        if source.n_rows == 0:
            counts.append(0)
            continue
        parts.append(_table_of(source, columns))
        counts.append(len(parts[-1]))
    if columns is None or not parts:
        raise _no_files(path)
    table = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
    case = np.repeat(np.arange(len(ids)), counts)
    remarks = remark_on(
        "lines skipped", n_skipped, f"{counted(n_skipped, 'comment line')} of {path} skipped", name
    )
    starts = np.cumsum(counts) - counts
    places = TablePlaces(tuple(files), case, np.arange(len(case)) - np.repeat(starts, counts))
    return _ranked_rows(table, columns, replace(source, path=path), name, remarks, places, problems, (ids, case))


def _no_files(path: str) -> FileError:
    """The error of a folder without files that have rows."""
    folders = sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    fix = "name a folder with a file per case"
    if folders:
        fix = f"name the one in it that has a file per case: {quoted(folders)}"
    return FileError("has no files with rows", path, fix)


def _ranked_rows(
    table: pa.Table,
    columns: _LongTableColumns,
    source: Source,
    name: str,
    remarks: tuple[Remark, ...],
    places: TablePlaces,
    problems: Problems,
    cases: tuple[list[str], IntArray] | None = None,
) -> RankedRows:
    """The rows of one model, from a table with one row per candidate; `cases` where no column names them."""
    if cases is None:
        assert columns.id is not None
        cases = _cases_of(table, columns.id, places.telling(problems))
    ids, case = cases
    has_id = np.flatnonzero(case >= 0)
    if len(has_id) < len(case):
        table = table.take(has_id)
        case = case[has_id]
        places = places.take(has_id)
    tell = places.telling(problems)
    names, codes = _candidate_names(table, columns.candidate)
    values = -np.arange(len(codes), dtype=np.float64)  # in the order of rows, the highest first
    if columns.order is not None:
        values = _number_column(table, columns.order.column, columns.order.kind, codes, tell, source.decimal)
        if _holds_percentages(table, columns.order, values, case, source.decimal):
            values = values / 100
            remarks += _divided_by_100(source.path)
    prices = None if columns.price is None else _prices(table, columns.price, codes, tell)
    is_true = None if columns.hit is None else _hits(table, columns.hit, codes, tell)
    facts = {}
    for column in columns.facts:
        facts[column] = _first_of_case(texts_of(_chunk(table, column)).tolist(), case, len(ids))
    kind = None if columns.order is None else columns.order.kind
    rows = RankedRows(
        path=source.path,
        name=name,
        ids=ids,
        case=case,
        names=names,
        codes=codes,
        values=values,
        has_probabilities=kind == "probability",
        prices=prices,
        is_true=is_true,
        truths=None,
        facts=facts,
        remarks=remarks,
        has_row_names=columns.candidate is None,
    )
    return _lowest_rank_first(rows) if kind == "rank" else rows


@dataclass(frozen=True)
class TablePlaces:
    """Where the C rows of a table stand."""

    paths: Names  # of its files
    file: IntArray  # (C,) which of these
    numbers: IntArray  # (C,) which row of it, from 0

    @classmethod
    def of_file(cls, path: str, n_rows: int, start: int = 0) -> TablePlaces:
        """Consecutive rows of one file, from this one on."""
        return cls((path,), np.broadcast_to(np.intp(0), n_rows), np.arange(start, start + n_rows))

    def take(self, rows: IntArray) -> TablePlaces:
        """The places of some of these rows."""
        return TablePlaces(self.paths, self.file[rows], self.numbers[rows])

    def place(self, row: int) -> str:
        """Where a row stands in words; in a folder also in which file."""
        number = f"row {self.numbers[row] + 1}"
        return number if len(self.paths) == 1 else f"{number} of {os.path.basename(self.paths[self.file[row]])}"

    def telling(self, problems: Problems) -> Tell:
        """What tells problems of rows: in which file, and in which row of it, the first of them stands."""

        def tell(error: InputError, rows: IntArray) -> None:
            first = int(rows[0])
            number = int(self.numbers[first])
            named = rows[:NAMED_ROWS].tolist()
            problems.in_places(
                FileError(
                    f"{error.argument} {error.problem}",
                    self.paths[self.file[first]],
                    error.fix,
                    f" row {number + 1}:",
                    argument=error.argument,
                    row=number,
                    value=error.value,
                ),
                [self.place(row) for row in named],
                len(rows),
                self.numbers[named].tolist(),
            )

        return tell


def _holds_percentages(
    table: pa.Table, order: _OrderColumn, values: FloatArray, case: IntArray, decimal: str
) -> bool:
    """Whether a column of probabilities has them as percentages: by their signs, or because cases sum to 100."""
    if order.kind != "probability":
        return False
    return _has_percent_signs(table, order.column, decimal) or are_percentages(values, case)


def _lowest_rank_first(rows: RankedRows) -> RankedRows:
    """Rows whose values are ranks, of which the lowest comes first; candidates of rank 0 are left out and counted.

    Which of these are true is kept as `unlisted`.
    """
    unranked = _unranked_rows(rows.values, rows.case, rows.codes)
    codes = rows.codes.copy()
    codes[unranked] = -1
    is_true = rows.is_true
    unlisted: dict[str, list[str]] = {}
    if is_true is not None:
        for row in unranked[is_true[unranked]].tolist():
            unlisted.setdefault(rows.ids[rows.case[row]], []).append(rows.names[rows.codes[row]])
        is_true = is_true.copy()
        is_true[unranked] = False
    remarks = rows.remarks + _remark_on_rank_0(len(unranked), rows.name)
    return replace(rows, codes=codes, values=-rows.values, is_true=is_true, unlisted=unlisted, remarks=remarks)


def _remark_on_rank_0(n_unranked: int, name: str) -> tuple[Remark, ...]:
    """What is said of candidates whose rank is none."""
    sentence = f"{counted(n_unranked, 'candidate')} of {name} with rank 0 left out: ranks begin with 1"
    return remark_on("rank 0", n_unranked, sentence, name)


def _unranked_rows(ranks: FloatArray, case: IntArray, codes: IntArray) -> IntArray:
    """The rows whose rank 0 is none: those of some case begin with a higher one, so 0 is not the first place.

    PhEval adds the truths that a tool did not find to its results, with rank 0.
    """
    is_listed = codes >= 0
    rows = np.flatnonzero((ranks == 0) & is_listed)
    if not len(rows):
        return rows
    has_zero = np.zeros(int(case.max()) + 1, dtype=bool)
    has_zero[case[rows]] = True
    ranks_begin_higher = (is_listed & ~has_zero[case]).any()
    return rows if ranks_begin_higher else rows[:0]


def _chunk(table: pa.Table, column: str) -> pa.Array:
    """A column of a table as one array."""
    chunks = table.column(column)
    return chunks.combine_chunks() if isinstance(chunks, pa.ChunkedArray) else chunks


def _cases_of(table: pa.Table, column: str, tell: Tell) -> tuple[list[str], IntArray]:
    """The names of cases, in the order of their first rows, and the number of each row's case, -1 without one."""
    texts, codes = coded(_chunk(table, column))
    unnamed = [code for code, text in enumerate(texts) if text is None]
    if unnamed:
        missing = np.flatnonzero(np.isin(codes, unnamed))
        tell(InputError("is missing", argument="id", row=int(missing[0]), fix="give every row one"), missing)
    first = np.full(len(texts), len(codes), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of equal codes the assignment that comes last stays
    by_place = np.argsort(first, kind="stable")
    is_case = first < len(codes)  # some row has it
    is_case[unnamed] = False
    by_place = by_place[is_case[by_place]]
    number = np.full(len(texts), -1, dtype=np.intp)
    number[by_place] = np.arange(len(by_place))
    return [str(texts[place]) for place in by_place], number[codes]


def _candidate_names(table: pa.Table, column: str | None) -> tuple[list[str], IntArray]:
    """The names of candidates, and which of them each row has; -1 where it has none.

    Without a column of names each row is a candidate of its own.
    """
    if column is None:
        return [f"row {row + 1}" for row in range(len(table))], np.arange(len(table))
    texts, codes = coded(_chunk(table, column))
    codes = np.asarray(codes, dtype=np.intp)
    if None in texts:
        missing = texts.index(None)
        codes = np.where(codes == missing, -1, codes - (codes > missing))
        texts = [text for text in texts if text is not None]
    return [str(text) for text in texts], codes


def _number_column(
    table: pa.Table,
    column: str,
    argument: str,
    codes: IntArray,
    tell: Tell,
    decimal: str = ".",
    otherwise: float = 0.0,
) -> FloatArray:
    """A column of numbers, signs of percent left off; text that is no number is an error that names its row."""
    array = _chunk(table, column)
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        numbers = array.cast(pa.float64())
        if numbers.null_count:
            numbers = numbers.fill_null(float("nan"))
        return read_values(numbers_in(numbers), argument, codes, tell, otherwise)
    texts = array.to_pylist()
    if not _has_percent_signs(table, column, decimal):
        return read_values(np.array(texts, dtype=object), argument, codes, tell, otherwise)
    values: list[object] = []
    for text in texts:
        number = number_in(text, decimal)
        values.append(text if number is None else number)
    return read_values(np.array(values, dtype=object), argument, codes, tell, otherwise)


def _has_percent_signs(table: pa.Table, column: str, decimal: str) -> bool:
    """Whether a column holds text such as 12.5%."""
    array = _chunk(table, column)
    return (
        not pa.types.is_floating(array.type) and kind_of_texts(texts_of(array[:LOOKED_AT]), decimal) == "percent"
    )


def _hits(table: pa.Table, column: str, codes: IntArray, tell: Tell) -> BoolArray:
    """A column that says which candidates are true; each different text is read once."""
    array = _chunk(table, column)
    if pa.types.is_boolean(array.type) and not array.null_count:
        return np.asarray((numbers_in(array.cast(pa.uint8())) == 1) & (codes >= 0))
    texts, numbers = coded(array)
    words = np.array(texts, dtype=object)
    first = np.full(len(texts), -1, dtype=np.intp)  # the first row with each text that names a candidate
    rows = np.flatnonzero(codes >= 0)[::-1]
    first[numbers[rows]] = rows

    def tell_rows(error: InputError, bad_words: IntArray) -> None:
        bad_rows = np.flatnonzero(np.isin(numbers, bad_words) & (codes >= 0))
        tell(error, np.unique(np.append(first[bad_words[:1]], bad_rows)))

    meanings = read_hits(words, first, tell_rows)
    return np.asarray(meanings[numbers] & (codes >= 0))


def _prices(table: pa.Table, column: str, codes: IntArray, tell: Tell) -> FloatArray:
    """A column of prices."""
    numbers = _number_column(table, column, "price", codes, tell, otherwise=1.0)
    return read_prices_of_rows(numbers, codes, tell)


def _first_of_case(texts: Sequence[str | None], case: IntArray, n_cases: int) -> list[str | None]:
    """The text of the first row of each case."""
    found: list[str | None] = [None] * n_cases
    for number, text in zip(case[::-1].tolist(), texts[::-1], strict=True):
        found[number] = text
    return found


# The truth


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


def _candidates_of(
    rows: RankedRows,
    truth: TruthFile | None,
    prices: Mapping[str, float] | None,
    layout: ListLayout,
    problems: Problems,
) -> CaseLists:
    """A model's lists, with what is true of them, and what they cost."""
    if rows.searched is not None:
        return rows.searched
    table = _long_table_of(rows, truth, prices, problems)
    try:
        tell = _telling_cases(table.ids, problems)
        return Candidates(**table.fields()).checked(by_price=layout.by_price, tell=tell)
    except InputError as error:
        raise error.within(rows.path) from None


def _telling_cases(ids: Sequence[str], problems: Problems) -> Tell:
    """What tells problems of cases."""

    def tell(error: InputError, cases: IntArray) -> None:
        named = [f"case {ids[case]!r}" for case in cases[:NAMED_ROWS].tolist()]
        problems.in_places(error, named, len(cases))

    return tell


def _telling_names(names: Sequence[str], problems: Problems) -> Tell:
    """What tells problems of candidates, whatever case lists them."""

    def tell(error: InputError, codes: IntArray) -> None:
        problems.in_places(error, [f"name {names[code]!r}" for code in codes[:NAMED_ROWS].tolist()], len(codes))

    return tell


def _long_table_of(
    rows: RankedRows, truth: TruthFile | None, prices: Mapping[str, float] | None, problems: Problems
) -> LongTable:
    """A model's rows, with what is true of them, and what they cost."""
    ids = list(rows.ids)
    truths = rows.truths if truth is None else truth.names
    if truths is not None:
        known = set(ids)
        ids += [name for name in truths if name not in known]
        tell = _telling_cases(ids, problems)
        is_true = hits_by_name(ids, rows.case, rows.names, rows.codes, truths, tell)
    elif rows.is_true is not None:
        is_true = rows.is_true
    else:
        fix = "say which column tells (--hit), or which file has the true names (--truth)"
        problems.in_file("hit", FileError("does not say what is true", rows.path, fix, argument="hit"))
        is_true = np.zeros(len(rows.codes), dtype=bool)
    if rows.prices is not None and prices is not None:
        fix = "use the column, or the price list"
        error = FileError("has a column of prices, and --costs is given too", rows.path, fix, argument="price")
        problems.in_file("price", error)
        prices = None
    by_name = prices_of(rows.names, prices, _telling_names(rows.names, problems))
    listed = rows.prices
    if listed is None:
        listed = by_name[rows.codes] if len(by_name) else np.ones(len(rows.codes))
    return LongTable(
        tuple(ids), rows.case, tuple(rows.names), rows.codes, rows.values, listed, is_true, rows.has_probabilities
    )


def _check_same_truths(models: Sequence[RankedRows], problems: Problems) -> None:
    """Tell where two files do not agree on what is true of a case."""
    first = models[0]
    for rows in models[1:]:
        cases = list(dict.fromkeys([*_disagreements(first, rows), *_disagreements(rows, first)]))
        if cases:
            problem = f"has another truth of case {cases[0]!r} than {first.path}"
            fix = "correct it, or say with --truth what is true"
            error = FileError(problem, rows.path, fix, argument="truth", value=cases[0])
            problems.in_file("truth", error, len(cases), (first.path, rows.path))


def _disagreements(first: RankedRows, other: RankedRows) -> list[str]:
    """The cases of which the first says what the other denies.

    By names, they deny what they do not name; by hits, what they list as false.
    """
    if first.truths is not None and other.truths is not None:
        differing: list[str] = []
        for case, truth in first.truths.items():
            if case in other.truths and set(true_names(truth)) != set(true_names(other.truths[case])):
                differing.append(case)
        return differing
    if first.is_true is None or other.is_true is None or first.has_row_names or other.has_row_names:
        return []
    case_of_id = {name: number for number, name in enumerate(other.ids)}
    code_of_name = {name: code for code, name in enumerate(other.names)}
    true_rows = np.flatnonzero(first.is_true)
    keys_of_true: list[int] = []
    for row in true_rows.tolist():
        case_number = case_of_id.get(first.ids[first.case[row]])
        code = code_of_name.get(first.names[first.codes[row]])
        if case_number is not None and code is not None:
            keys_of_true.append(case_number * len(other.names) + code)
    keys = other.case * len(other.names) + other.codes
    is_said = np.isin(keys, np.array(keys_of_true, dtype=np.intp)) & (other.codes >= 0)
    denied = np.setdiff1d(keys[is_said & ~other.is_true], keys[is_said & other.is_true])
    return [other.ids[case] for case in np.unique(denied // max(1, len(other.names))).tolist()]


def _common_cases(
    models: Sequence[RankedRows], truth: TruthFile | None, common_rows: bool, problems: Problems
) -> tuple[list[str], tuple[Remark, ...]]:
    """The cases on which models are compared, and what was left out.

    Where a file of truths says which cases there are, those that a model does not list are empty lists.
    """
    if truth is not None:
        remarks: tuple[Remark, ...] = ()
        for rows in models:
            lacking = len(truth.names) - len(set(rows.ids) & truth.names.keys())
            sentence = f"{counted(lacking, 'case')} of the truth that {rows.name} does not list counted as misses"
            remarks += remark_on("cases not listed", lacking, sentence, rows.name)
        return list(truth.names), remarks
    everywhere = set(models[0].ids)
    anywhere = set(models[0].ids)
    for rows in models[1:]:
        everywhere &= set(rows.ids)
        anywhere |= set(rows.ids)
    if len(everywhere) < len(anywhere) and not common_rows:
        for rows in models:
            lacking_ids = sorted(anywhere - set(rows.ids))
            if lacking_ids:
                problem = f"has no case {lacking_ids[0]!r}, which another file has"
                fix = "use the cases that all have (--common-rows), or say with --truth which cases there are"
                error = FileError(problem, rows.path, fix, argument="id", value=lacking_ids[0])
                problems.in_file("ids", error, len(lacking_ids), (rows.path,))
    n_left_out = len(anywhere) - len(everywhere)
    sentence = (
        f"left out {counted(n_left_out, 'case')} that {'is' if n_left_out == 1 else 'are'} missing from a file"
    )
    return [name for name in models[0].ids if name in everywhere], remark_on("rows left out", n_left_out, sentence)


def _true_names_of(
    ids: Sequence[str], models: Sequence[RankedRows], lists: Mapping[str, CaseLists], truth: TruthFile | None
) -> list[list[str]]:
    """The names that are true of each case: as a file says, or as the hits of all models do."""
    by_id = truth.names if truth is not None else models[0].truths
    if by_id is not None:
        return [true_names(by_id.get(name, [])) for name in ids]
    if any(rows.has_row_names for rows in models):
        return [[] for _ in ids]
    names: list[dict[str, None]] = [{} for _ in ids]
    for candidates in lists.values():
        for case, true_here in enumerate(candidates.true_names()):
            names[case].update(dict.fromkeys(true_here))
    for rows in models:
        for case, name in enumerate(ids):
            names[case].update(dict.fromkeys(rows.unlisted.get(name, ())))
    return [list(listed) for listed in names]


def _fact(
    column: str, ids: Sequence[str], models: Sequence[RankedRows], truth: TruthFile | None
) -> list[str | None]:
    """What a column says of each case: of the file of truths, or of the first file that has it."""
    if truth is not None and truth.facts.get(column):
        return [truth.facts[column].get(name) for name in ids]
    for rows in models:
        for name, texts in rows.facts.items():
            if matched([column], [name]):
                by_id = dict(zip(rows.ids, texts, strict=True))
                return [by_id.get(name) for name in ids]
    raise InputError(f"no file has a column {column!r}", place="", value=column, fix="name one that a file has")
