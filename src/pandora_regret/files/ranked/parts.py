"""The cases of one model that lie in several files, as one `RankedRows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.candidates.reading import Truth
from pandora_regret.candidates.searched import SearchedOrders
from pandora_regret.core.inputs import IntArray
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.ranked.lists import long_table_of
from pandora_regret.files.ranked.rows import CaseFacts, RankedRows

Entry = TypeVar("Entry", bound=np.generic)

NOUNS = {  # what a part has that another lacks, by the argument that says so
    "probability": "probabilities",
    "price": "prices",
    "truth": "true names",
    "hit": "hits",
    "candidate": "names of candidates",
}


def joined_parts(models: Sequence[RankedRows], by_price: bool, problems: Problems) -> list[RankedRows]:
    """The rows of models, each once: those of the same name are parts of one.

    Parameters
    ----------
    models
        The rows of all files that are parts of one, in their order.
    by_price
        Whether scores are divided by prices.
    problems
        Who is told of parts that do not go together; what does not fit the first part is left out.
    """
    by_name: dict[str, list[RankedRows]] = {}
    for rows in models:
        parts = by_name.setdefault(rows.name, [])
        error = _misfit(parts, rows)
        if error is None:
            parts.append(rows)
        else:
            problems.in_file(error.argument or "file", error, paths=(rows.path,))
    return [_joined(parts, by_price) for parts in by_name.values()]


def _misfit(parts: Sequence[RankedRows], rows: RankedRows) -> FileError | None:
    """Why rows cannot be a further part of a model; None where they can."""
    if not parts:
        return None
    first = parts[0]
    for part in parts:
        common = set(part.ids).intersection(rows.ids)
        if common:
            case = next(name for name in rows.ids if name in common)
            problem = f"has case {case!r}, which {part.path} has, too"
            fix = "give each case an id of its own, and write all of its list into one file"
            return FileError(problem, rows.path, fix, argument="id", value=case)
    are_kept = first.searched is None and rows.searched is None  # others have no rows to be compared
    differing = {
        "probability": first.has_probabilities != rows.has_probabilities,
        "price": are_kept and (first.prices is None) != (rows.prices is None),
        "truth": (first.truths is None) != (rows.truths is None),
        "hit": are_kept and (first.is_true is None) != (rows.is_true is None),
        "candidate": first.has_row_names != rows.has_row_names,
    }
    for argument, differs in differing.items():
        if differs:
            problem = f"and {first.path} differ: only one of them has {NOUNS[argument]}"
            return FileError(problem, rows.path, "write all parts alike", argument=argument)
    return None


def _joined(parts: Sequence[RankedRows], by_price: bool) -> RankedRows:
    """Parts of one model, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    whole = replace(
        first,
        ids=[case for part in parts for case in part.ids],
        facts=_joined_facts(parts),
        remarks=tuple(remark for part in parts for remark in part.remarks),
        unlisted={case: names for part in parts for case, names in part.unlisted.items()},
    )
    if any(part.searched is not None for part in parts):
        orders = SearchedOrders.joined([_searched(part, by_price) for part in parts])
        return replace(whole, searched=orders)
    names, codes = _joined_names(parts)
    lengths = np.array([len(part.ids) for part in parts], dtype=np.intp)
    starts = np.cumsum(lengths) - lengths
    return replace(
        whole,
        case=np.concatenate([part.case + start for part, start in zip(parts, starts, strict=True)]),
        names=names,
        codes=codes,
        values=np.concatenate([part.values for part in parts]),
        prices=_concatenated([part.prices for part in parts]),
        is_true=_concatenated([part.is_true for part in parts]),
        truths=_joined_truths(parts),
    )


def _searched(part: RankedRows, by_price: bool) -> SearchedOrders:
    """What is left of a part whose candidates are not kept."""
    if part.searched is not None:
        return part.searched
    return SearchedOrders.of_table(long_table_of(part, None, None, RAISED), by_price)


def _joined_names(parts: Sequence[RankedRows]) -> tuple[list[str], IntArray]:
    """The names of all parts, each once, and which of them each row has; -1 where it has none."""
    numbers: dict[str, int] = {}
    codes: list[IntArray] = []
    for part in parts:
        own_numbers = [numbers.setdefault(name, len(numbers)) for name in part.names]
        number_of_code = np.array([*own_numbers, -1], dtype=np.intp)  # code -1 finds the last one
        codes.append(number_of_code[part.codes])
    return list(numbers), np.concatenate(codes)


def _concatenated(arrays: Sequence[NDArray[Entry] | None]) -> NDArray[Entry] | None:
    """Arrays of all parts, one after the other; None where they have none."""
    kept = [array for array in arrays if array is not None]
    return np.concatenate(kept) if kept else None


def _joined_truths(parts: Sequence[RankedRows]) -> dict[str, Truth] | None:
    """The true names of all parts by case; None where they have none."""
    truths: dict[str, Truth] = {}
    for part in parts:
        truths |= part.truths or {}
    return truths or None


def _joined_facts(parts: Sequence[RankedRows]) -> CaseFacts:
    """What parts say of their cases, None where a part does not."""
    columns = dict.fromkeys(column for part in parts for column in part.facts)
    facts: CaseFacts = {column: [] for column in columns}
    for part in parts:
        for column, texts in facts.items():
            texts += part.facts.get(column, [None] * len(part.ids))
    return facts
