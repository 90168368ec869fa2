"""The rows of one model, `RankedRows`: from a long table, or from lists one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from pandora_regret.candidates.reading import Truth, read_prices_of_rows
from pandora_regret.candidates.search import BoolArray
from pandora_regret.candidates.searched import SearchedOrders
from pandora_regret.core.inputs import FloatArray, InputError, IntArray, Remark, remark_on
from pandora_regret.files.arrow_columns import texts_of
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.problems import NAMED_ROWS, Problems
from pandora_regret.files.ranked.columns import LongTableColumns, OrderColumn
from pandora_regret.files.ranked.formats import ListRecord
from pandora_regret.files.ranked.layout import ListLayout
from pandora_regret.files.ranked.values import (
    TablePlaces,
    first_of_case,
    has_percent_signs,
    read_candidates,
    read_cases,
    read_hit_column,
    read_numbers,
    read_prices,
    whole_column,
)
from pandora_regret.files.source import Source
from pandora_regret.text import counted

CaseFacts: TypeAlias = dict[str, list[str | None]]  # texts of N cases, by column


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


def rows_of_table(
    table: pa.Table,
    columns: LongTableColumns,
    source: Source,
    name: str,
    remarks: tuple[Remark, ...],
    places: TablePlaces,
    problems: Problems,
    cases: tuple[list[str], IntArray] | None = None,
) -> RankedRows:
    """The rows of one model, from a table with one row per candidate; `cases` where no column names them."""
    tell = places.telling(problems)
    if cases is None:
        assert columns.id is not None
        cases = read_cases(table, columns.id, tell)
    ids, case = cases
    names, codes = read_candidates(table, columns.candidate)
    values = -np.arange(len(codes), dtype=np.float64)  # in the order of rows, the highest first
    if columns.order is not None:
        values = read_numbers(table, columns.order.column, columns.order.kind, codes, tell, source.decimal)
    prices = None if columns.price is None else read_prices(table, columns.price, codes, tell)
    is_true = None if columns.hit is None else read_hit_column(table, columns.hit, codes, tell)
    has_id = case >= 0
    if not has_id.all():  # which was told; what else is wrong with these rows, too
        table = table.take(np.flatnonzero(has_id))
        case = case[has_id]
        codes = codes[has_id]
        values = values[has_id]
        prices = None if prices is None else prices[has_id]
        is_true = None if is_true is None else is_true[has_id]
    if _holds_percentages(table, columns.order, values, case, source.decimal):
        values = values / 100
        remarks += _divided_by_100(source.path)
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
        facts=_facts_in_table(table, columns, case, len(ids)),
        remarks=remarks,
        has_row_names=columns.candidate is None,
    )
    return _lowest_rank_first(rows) if kind == "rank" else rows


def _facts_in_table(table: pa.Table, columns: LongTableColumns, case: IntArray, n_cases: int) -> CaseFacts:
    """What the first row of each case says of it."""
    facts: CaseFacts = {}
    for column in columns.facts:
        facts[column] = first_of_case(texts_of(whole_column(table, column)).tolist(), case, n_cases)
    return facts


def _holds_percentages(
    table: pa.Table, order: OrderColumn | None, values: FloatArray, case: IntArray, decimal: str
) -> bool:
    """Whether a column of probabilities has them as percentages: by their signs, or because cases sum to 100."""
    if order is None or order.kind != "probability":
        return False
    return has_percent_signs(table, order.column, decimal) or are_percentages(values, case)


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


def _remark_on_rank_0(n_unranked: int, name: str) -> tuple[Remark, ...]:
    """What is said of candidates whose rank is none."""
    sentence = f"{counted(n_unranked, 'candidate')} of {name} with rank 0 left out: ranks begin with 1"
    return remark_on("rank 0", n_unranked, sentence, name)


def rows_of_records(
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
        facts=_facts_of_records(records, layout),
        remarks=remarks,
    )


def _facts_of_records(records: Sequence[ListRecord], layout: ListLayout) -> CaseFacts:
    """What lines say of their cases."""
    facts: CaseFacts = {}
    for column in layout.fact_columns:
        texts = [record.facts.get(column) for record in records]
        if any(text is not None for text in texts):
            facts[column] = texts
    return facts


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
