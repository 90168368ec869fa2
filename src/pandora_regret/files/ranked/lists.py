"""Rows with what is true of them and what they cost, as the lists that are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pandora_regret.candidates import Candidates
from pandora_regret.candidates.reading import LongTable, Tell, hits_by_name, prices_of
from pandora_regret.candidates.searched import CaseLists
from pandora_regret.core.inputs import InputError, IntArray
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.problems import NAMED_ROWS, Problems
from pandora_regret.files.ranked.layout import ListLayout
from pandora_regret.files.ranked.rows import RankedRows
from pandora_regret.files.ranked.truth import TruthFile


def lists_of(
    rows: RankedRows,
    truth: TruthFile | None,
    prices: Mapping[str, float] | None,
    layout: ListLayout,
    problems: Problems,
) -> CaseLists:
    """A model's lists, with what is true of them, and what they cost."""
    if rows.searched is not None:
        return rows.searched
    table = long_table_of(rows, truth, prices, problems)
    try:
        tell = _telling_cases(table.ids, problems)
        return Candidates(**table.fields()).checked(by_price=layout.by_price, tell=tell)
    except InputError as error:
        raise error.within(rows.path) from None


def long_table_of(
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
