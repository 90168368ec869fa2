"""Rows of a block as checked arrays: one function for each part that a column plays.

Each takes the block, the names of its columns and how rows are read, and returns one array with an entry per row.
What is wrong is told to `Reading.problems` with its place; where problems are collected, reading goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.types as types
from numpy.typing import NDArray

from pandora_regret.core.inputs import (
    LARGEST,
    LEAST_NORMAL,
    SMALLEST,
    TOLERANCE,
    FloatArray,
    IntArray,
    Names,
    did_you_mean,
    folded,
    in_range,
    two_readings,
)
from pandora_regret.files.arrow_columns import (
    FEW_ROWS,
    NumberArray,
    TextArray,
    coded,
    number_in,
    numbers_in,
    texts_of,
    whole_numbers_in,
)
from pandora_regret.files.batch import (
    PADDED,
    WHOLE_NUMBER,
    Batch,
    Forecasts,
    NameArray,
    fix_of_ids_written_otherwise,
    with_numbers,
)
from pandora_regret.files.columns import Columns
from pandora_regret.files.file_errors import Complaint
from pandora_regret.files.labels import numbers_of
from pandora_regret.files.problems import Problems
from pandora_regret.files.table import Block

NO_VALUE: Complaint = {"problem": "has no value", "fix": "fill it in, or drop the row"}
FIX_OF_NO_CLASS = (
    "correct the label, add the column, say what the forecasts' names begin with (--proba-prefix), "
    "or take the class as probability 0 (--missing-class-zero)"
)
FEW_COLUMNS = 64
COMMA_NUMBER = re.compile(r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$")


@dataclass(frozen=True)
class Reading:
    """How the rows of a model are read and checked."""

    classes: Names  # that labels are looked up among
    logits: bool  # whether the forecasts are logits
    unlabelled: bool  # whether labels may be missing
    ids_as_numbers: bool  # whether 007 and 7.0 are 7
    common_rows: bool | None  # whether rows that another file lacks are left out; None: nobody could say so
    problems: Problems  # who is told what is wrong


@dataclass(frozen=True)
class Facts:
    """What n rows say besides their forecasts; None where they say nothing."""

    truth: IntArray  # (n,) column numbers; -1 where there is no label that is a class
    ids: NameArray | None = None  # (n,)
    weights: FloatArray | None = None  # (n,)
    groups: NameArray | None = None  # (n,)
    votes: FloatArray | None = None  # (n, K)
    costs: FloatArray | None = None  # (n, K)
    by: Mapping[str, TextArray] | None = None  # (n,) each
    spelled: frozenset[tuple[str, str]] = frozenset()  # labels, and the classes that they were taken for


def read_facts(block: Block, columns: Columns, reading: Reading) -> Facts:
    """What rows say besides their forecasts, in the columns that a file has for that."""
    truth = np.full(len(block), -1)
    spelled: frozenset[tuple[str, str]] = frozenset()
    if columns.label:
        truth, spelled = read_label_column(block, columns.label, reading)
    ids = None if columns.id is None else read_ids(block, columns.id, reading)
    weights = None if columns.weight is None else read_weight_column(block, columns.weight, reading)
    groups = None if columns.group is None else read_group_column(block, columns.group, reading)
    votes = read_vote_columns(block, columns.votes, reading) if columns.votes else None
    costs = read_cost_columns(block, columns.costs, reading) if columns.costs else None
    by = read_breakdown_columns(block, columns.by) if columns.by else None
    if votes is not None:
        truth = votes.argmax(axis=1)
    return Facts(truth, ids, weights, groups, votes, costs, by, spelled)


def read_label_column(block: Block, column: str, reading: Reading) -> tuple[IntArray, frozenset[tuple[str, str]]]:
    """The column number of each row's label, -1 where there is none that is a class.

    And labels that are classes but for their spelling, each with its class.
    """
    texts, codes = coded(block.column(column))
    numbers, spelled = _class_numbers(texts, block, reading)
    if np.array_equal(numbers, np.arange(len(texts))):
        return codes, spelled  # as they are
    truth = numbers[codes]
    if truth.min(initial=0) < 0:
        labels = np.array(texts, dtype=object)[codes]
        missing = ~labels.astype(bool)
        if not reading.unlabelled:
            _tell_missing(block, missing, column, reading)
        _tell_no_such_class(block, (truth < 0) & ~missing, labels, reading, column)
    return truth, spelled


def _class_numbers(
    labels: Sequence[str | None], block: Block, reading: Reading, by_place: bool = True
) -> tuple[IntArray, frozenset[tuple[str, str]]]:
    """The column of each label as `numbers_of` knows them, and labels that are spelled otherwise.

    What is no class may be one of those that lists of candidates do not name.
    """
    classes = reading.classes
    other = block.source.other
    numbers = numbers_of(labels, classes, by_place)
    spelled = set[tuple[str, str]]()
    for place, label in enumerate(labels):
        if label is None:
            continue
        if numbers[place] < 0 and other is not None:
            numbers[place] = classes.index(other)
        name = classes[numbers[place]]
        if label != name and numbers[place] >= 0 and folded(name) == folded(label):
            spelled.add((label, name))
    return numbers, frozenset(spelled)


def _tell_no_such_class(
    block: Block, unknown: NDArray[np.bool_], labels: TextArray, reading: Reading, column: str | None = None
) -> None:
    """Tell which rows have labels that are no class of the forecasts."""

    def complaint(row: int) -> Complaint:
        return {
            "problem": f"holds the label {labels[row]!r}, which has no forecast column",
            "argument": "proba_prefix",
            "value": labels[row],
            "fix": f"{did_you_mean(str(labels[row]), reading.classes)}; {FIX_OF_NO_CLASS}",
        }

    tell(block, "label", unknown, complaint, reading, column)


def read_ids(block: Block, column: str, reading: Reading) -> NameArray:
    """Ids as names; perhaps as numbers, however they are written."""
    return read_group_column(block, column, reading, PADDED if reading.ids_as_numbers else WHOLE_NUMBER)


def read_id_texts(block: Block, column: str, reading: Reading) -> pa.Array:
    """Ids as an Arrow column of text, whatever the type of theirs, for whoever only tells them apart."""
    ids = block.column(column)
    if reading.ids_as_numbers:
        names = with_numbers(texts_of(ids), PADDED).tolist()
        return pa.array([None if name is None else str(name) for name in names], pa.string())
    if types.is_string(ids.type) or types.is_large_string(ids.type):
        return ids
    if types.is_integer(ids.type) and len(ids) > FEW_ROWS:
        return ids.cast(pa.string())
    if types.is_dictionary(ids.type) and types.is_string(ids.type.value_type):
        return ids.cast(pa.large_string())  # of a column with few texts that are long: they may be 2 GB and more
    return pa.array(texts_of(ids).tolist(), pa.string())


def read_group_column(
    block: Block, column: str, reading: Reading, whole_numbers: re.Pattern[str] = WHOLE_NUMBER
) -> NameArray:
    """Names: text, or whole numbers, also where these are written as text, as some formats do."""
    names = block.column(column)
    if types.is_integer(names.type) and not names.null_count:
        return whole_numbers_in(names)
    texts = texts_of(names)
    _tell_missing(block, ~texts.astype(bool), column, reading)
    return with_numbers(texts, whole_numbers)


def read_weight_column(block: Block, column: str, reading: Reading, may_be_zero: bool = True) -> FloatArray:
    """Numbers that are positive and of sensible size, or perhaps 0."""
    numbers = _read_numbers(block, column, reading).astype(np.float64, copy=False)
    bad = ~(in_range(numbers) | np.isnan(numbers) | (may_be_zero & (numbers == 0)))
    allowed = "0, or a" if may_be_zero else "a"

    def complaint(row: int) -> Complaint:
        return {
            "problem": f"is {numbers[row]:g}",
            "value": float(numbers[row]),
            "fix": f"it must be {allowed} positive number from {SMALLEST:g} to {LARGEST:g}",
        }

    tell(block, "value", bad, complaint, reading, column)
    return numbers


def read_vote_columns(block: Block, columns: Names, reading: Reading) -> FloatArray:
    """Each class's share of a row's votes, (n, K); none is negative, and every row has one."""
    votes = np.stack([read_weight_column(block, column, reading) for column in columns], axis=1)
    total = votes.sum(axis=1, keepdims=True)
    complaint: Complaint = {"problem": "has no votes", "fix": "drop the row, or count a vote"}
    tell(block, "value", total[:, 0] == 0, lambda _: complaint, reading)
    return votes / np.where(total == 0, 1.0, total)


def read_cost_columns(block: Block, columns: Names, reading: Reading) -> FloatArray:
    """What each row's tests cost, (n, K)."""
    return np.stack([read_weight_column(block, column, reading, may_be_zero=False) for column in columns], axis=1)


def read_breakdown_columns(block: Block, columns: Names) -> dict[str, TextArray]:
    """What results are broken down by: texts, None where there is none; a number is the same in every format."""
    values: dict[str, TextArray] = {}
    for column in columns:
        texts = texts_of(block.column(column))
        if block.source.decimal == ",":
            texts[:] = [text and COMMA_NUMBER.sub(r"\1.\2", text) for text in texts]
        values[column] = texts
    return values


def read_forecasts(block: Block, columns: Sequence[str], reading: Reading, absent: float = 0.0) -> Forecasts:
    """Columns of numbers, K of (n,), of the one float type that all have or else double.

    Few are not copied; many come as one table, because Python takes its time for each. A class without a column
    has an empty name, and the forecasts `absent`; beside NaN, others may be missing.
    """
    may_lack = bool(np.isnan(absent))
    if len(columns) > FEW_COLUMNS and "" not in columns:
        chosen = block.records.select(columns)
        if all(map(types.is_floating, set(chosen.schema.types))):
            return _read_many_forecasts(block, chosen, reading, may_lack)
    arrays = {column: _read_numbers(block, column, reading, may_lack) for column in columns if column}
    dtype = np.result_type(np.float16, *arrays.values())
    nothing = np.full(len(block), absent, dtype)
    return tuple(arrays[column].astype(dtype, copy=False) if column else nothing for column in columns)


def _read_many_forecasts(block: Block, chosen: pa.Table, reading: Reading, may_lack: bool) -> NDArray[np.floating]:
    """All columns of a table of floats, (K, n)."""
    parts = [part.to_tensor(null_to_nan=True).to_numpy() for part in chosen.to_batches()]
    table: NDArray[np.floating] = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if not may_lack:
        for k in np.flatnonzero(np.isnan(table.min(axis=0))).tolist():
            _tell_missing(block, np.isnan(table[:, k]), chosen.column_names[k], reading)
    return table.T


def _read_numbers(block: Block, column: str, reading: Reading, may_lack: bool = False) -> NumberArray:
    """A column of numbers, contiguous, (n,); perhaps none may be missing."""
    cells = block.column(column)
    is_no_number = np.zeros(1, bool)
    if not types.is_floating(cells.type):
        cells, is_no_number = _cast(block, column, reading)
    if cells.null_count:
        cells = cells.fill_null(np.nan)
    numbers = np.require(numbers_in(cells), None, "A")
    if not may_lack and np.isnan(numbers.min(initial=0)):
        _tell_missing(block, np.isnan(numbers) & ~is_no_number, column, reading)
    return numbers


def _cast(block: Block, column: str, reading: Reading) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Numbers that are written as text, or of another type; and which rows were told to hold none, if any."""
    cells = block.column(column)
    decimal = block.source.decimal
    if decimal == ".":
        with suppress(pa.ArrowException):
            return cells.cast(pa.float64()), np.zeros(1, bool)
    texts = texts_of(cells)
    numbers = [number_in(text, decimal) for text in texts]
    bad = np.array([number is None for number in numbers], bool)

    def complaint(row: int) -> Complaint:
        fix = "write a number"
        if number_in(texts[row], "," if decimal == "." else ".") is not None:
            sign = "point" if decimal == "." else "comma"
            fix = f"write a number with a decimal {sign}, or say which sign it is (--decimal)"
        problem = f"holds {texts[row]!r:.80}"
        readings = two_readings(str(texts[row]).strip())
        if readings is not None:
            problem = f"{problem}, which {readings.in_words}"
        return {"problem": problem, "value": texts[row], "fix": fix}

    tell(block, "number", bad, complaint, reading, column)
    return pa.array(numbers, pa.float64()), bad


def complete_lists(
    truth: IntArray, listed: NDArray[np.floating], block: Block, reading: Reading
) -> tuple[IntArray, NDArray[np.floating]]:
    """Whole forecasts of rows that have lists of their own; the truths, those outside their lists as `other`.

    Parameters
    ----------
    truth
        Column numbers, (n,).
    listed
        Probabilities or logits, (n, K), NaN where a row does not list a class.
    block
        The rows.
    reading
        How they are read.

    Returns
    -------
    tuple
        The truths, and the forecasts. What probabilities leave goes evenly to what is not listed. Where nothing is
        left, a row does not have the others as options: a truth that it lists with 0 comes before them, as the
        smallest positive number does, which counts as 0 wherever its logarithm is taken. A truth that its list
        does not name has to be possible, unless a class stands for all such.
    """
    absent = np.isnan(listed)
    row_numbers = np.arange(len(truth))
    if reading.logits:
        values = np.where(absent, -np.inf, listed)
    else:
        rest = 1 - np.nansum(listed, axis=1)  # for what is not listed; nothing where that is wrong or nearly 0
        rest[(rest <= TOLERANCE) | (np.nanmin(listed, axis=1) < 0)] = 0.0
        share = rest / np.maximum(1, absent.sum(axis=1))
        values = np.where(absent, share[:, None], listed)
        is_possible = (truth >= 0) & (listed[row_numbers, truth] != 0)
        with_own_options = (rest == 0) & absent.any(axis=1) & ~is_possible
        values[with_own_options[:, None] & (listed == 0)] = LEAST_NORMAL
    outside = (truth >= 0) & absent[row_numbers, truth]
    if block.source.other is not None:
        return np.where(outside, reading.classes.index(block.source.other), truth), values

    def complaint(row: int) -> Complaint:
        label = reading.classes[truth[row]]
        return {
            "problem": f"has the truth {label!r}, which its list does not name",
            "value": label,
            "fix": "name a class for what lists do not name (--other NAME), or say what a miss costs (--miss)",
        }

    tell(block, "label", outside & (values[row_numbers, truth] <= 0), complaint, reading)
    return truth, values


def with_facts_of_truth(facts: Facts, truth: Batch, block: Block, reading: Reading) -> Facts:
    """What a file of its own says of rows with these ids; the rows of cases that it lacks are told."""
    assert facts.ids is not None  # such files have ids
    ids = facts.ids
    place = truth.rows_of(ids)
    _tell_truth_lacks(block, (place < 0) & (not reading.common_rows), ids, truth, reading)
    cases = truth.take(place)
    numbers, spelled = _class_numbers(truth.classes, block, reading, by_place=False)
    numbers = np.append(numbers, -1)
    true_class = cases.truth
    votes = None
    if cases.votes is not None:  # a class that only the forecasts have got none
        votes = cases.votes @ (numbers[:-1, None] == np.arange(len(reading.classes)))
        lost = cases.votes * (numbers[:-1] < 0)
        true_class = np.where(lost.any(axis=1), lost.argmax(axis=1), true_class)
    true_numbers = np.where(place < 0, -1, numbers[true_class])
    unknown = (true_numbers < 0) & (place >= 0) & (true_class >= 0)
    labels = np.array((*truth.classes, None), dtype=object)[true_class]
    _tell_no_such_class(block, unknown, labels, reading)
    return Facts(true_numbers, ids, cases.weights, cases.groups, votes, cases.costs, cases.by, spelled)


def _tell_truth_lacks(
    block: Block, lacking: NDArray[np.bool_], ids: NameArray, truth: Batch, reading: Reading
) -> None:
    """Tell which rows have ids that the truth's own file lacks."""

    def complaint(row: int) -> Complaint:
        name = ids[row : row + 1].tolist()[0]
        option = "" if reading.common_rows is None else " (--common-rows)"  # `score` has no such option
        usual: Complaint = {
            "problem": f"has the id {name!r}, which {truth.path} lacks",
            "fix": f"complete it, or leave such rows out{option}",
            "argument": "id",
            "value": name,
        }
        assert truth.ids is not None
        return usual | fix_of_ids_written_otherwise(ids, truth.ids, block.source.path)

    tell(block, "id", lacking, complaint, reading)


def _tell_missing(block: Block, missing: NDArray[np.bool_], column: str, reading: Reading) -> None:
    """Tell which rows have no value in a column."""
    tell(block, "missing", missing, lambda _: NO_VALUE, reading, column)


def tell(
    block: Block,
    kind: str,
    bad: NDArray[np.bool_],
    complaint: Callable[[int], Complaint],
    reading: Reading,
    column: str | None = None,
) -> None:
    """Tell which rows are bad, (n,), if any are; what is said is the complaint about the first of them."""
    rows = np.flatnonzero(bad)
    if len(rows):
        numbers = block.numbers[rows].tolist()
        reading.problems.in_rows(kind, block.source, numbers, complaint(int(rows[0])), column)
