"""Rows that have lists of their own, of candidates with their probabilities or in order only, as whole tables.

Lists become whole forecasts where rows are read (rows.py). What the probabilities of a list leave goes evenly to
the classes that it does not name. Where they leave nothing, the row does not have the others as options: they have
probability 0, and a truth that is listed with probability 0 stays ahead of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from pandora_regret.core.inputs import LARGEST, TOLERANCE, Fields, InputError, quoted, remark_on
from pandora_regret.files.arrow_columns import arrow_table, kinds_of_schema
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.labels import with_labels
from pandora_regret.files.recognise import Remarks
from pandora_regret.files.roles import LABEL
from pandora_regret.files.source import Source, SourceInMemory
from pandora_regret.text import counted

FORECAST = "forecast"
TRUTH = "truth"
SCORED = frozenset({"label", "score"})
PREFIX = f"{FORECAST}:"
TRUTHS = (TRUTH, *LABEL.usual)  # what the field of the true option may be called
LOGIT_STEP = 10_000.0  # between neighbours in an order: more than any two prices differ, in logarithms

ListRecords: TypeAlias = Mapping[str, Fields]  # values by name, by the place of a row, such as " line 3"


class ListRow(NamedTuple):
    """What one line of JSON says: a truth, and a forecast of the options that it lists."""

    truth: str | None  # the name of an option; of a sample, the target
    options: dict[str, float]  # probabilities or logits of those that it lists
    facts: Fields  # other fields: ids, weights, groups
    readings: tuple[int | None, ...] = ()  # the number of a sample's true option: by number, text or outcome


def field_of_lists(values: Fields) -> str | None:
    """The field that holds a row's candidates: `forecast`, or labels with scores, as text classifiers write."""
    if isinstance(values.get(FORECAST), (dict, list)):
        return FORECAST
    return next((name for name, value in values.items() if isinstance(value, list) and _named_values(value)), None)


def _named_values(value: object) -> list[tuple[object, object]] | None:
    """Names with their values, of a mapping or of ``[{"label": ..., "score": ...}, ...]``; None if it is neither.

    A list of scores may stand in a list of its own.
    """
    if isinstance(value, dict):
        return list(value.items())
    if not isinstance(value, list):
        return None
    entries = value[0] if len(value) == 1 and isinstance(value[0], list) else value
    if not entries:
        return None
    for entry in entries:
        if not isinstance(entry, dict) or not entry.keys() >= SCORED:
            return None
    return [(entry["label"], entry["score"]) for entry in entries]


def rows_of_records(path: str, records: ListRecords, read: Callable[[Fields], ListRow]) -> dict[str, ListRow]:
    """What is read of each record; whatever is wrong is said with its place."""
    rows = dict[str, ListRow]()
    for place, values in records.items():
        try:
            rows[place] = read(values)
        except InputError as error:
            column = None if error.column is None else str(error.column)
            raise FileError(
                error.problem,
                path,
                error.fix,
                place,
                argument=error.argument,
                column=column,
                value=error.value,
            ) from None
    return rows


def option_table(
    file: Source,
    rows: Mapping[str, ListRow],
    first: Sequence[str],
    remarks: Remarks,
    logits: bool,
    order_only: bool = False,
    other: str | None = None,
) -> SourceInMemory:
    """The rows of a file as a table of all options, NaN where a row does not list one.

    Parameters
    ----------
    file
        The file.
    rows
        What is on its lines, by their places.
    first
        Options that come before the others.
    remarks
        What was recognised besides.
    logits, order_only
        Whether the forecasts are logits; whether they say no more than an order.
    other
        The class that stands for truths which no row lists; without it, these are options, too.

    Returns
    -------
    SourceInMemory
        The table, and what it settles of a `Layout`.
    """
    named = tuple(dict.fromkeys(chain.from_iterable(row.options for row in rows.values())))
    options = tuple(dict.fromkeys((*first, *named)))
    if other is None:
        options = with_labels(options, dict.fromkeys(row.truth for row in rows.values()))
    if len(options) < 2:
        raise FileError(f"names the options {quoted(options)}", file.path, "list at least two options")
    table = _table_of_rows(list(rows.values()), options)
    return SourceInMemory(
        file.path,
        kinds_of_schema(table.schema),
        remarks=(*file.remarks, *remarks),
        layout={"proba_prefix": PREFIX, "classes": None, "label": TRUTH, "logits": logits},
        order_only=order_only,
        other=other,
        table=table,
        row_places=list(rows),
        named=named,
    )


def _table_of_rows(rows: Sequence[ListRow], options: Sequence[str]) -> pa.Table:
    """A column for each fact, for the truth, and for each option."""
    records = []
    for row in rows:
        forecast = {f"{PREFIX}{name}": value for name, value in row.options.items()}
        records.append(row.facts | {TRUTH: row.truth} | forecast)
    facts = dict.fromkeys(chain.from_iterable(row.facts for row in rows))
    return arrow_table(records, dict.fromkeys((*facts, TRUTH, *(f"{PREFIX}{name}" for name in options))))


def table_of_lists(
    file: Source, records: ListRecords, other: str | None, classes: Sequence[str]
) -> SourceInMemory:
    """Rows such as ``{"id": 7, "truth": "flu", "forecast": {"flu": 0.7, "cold": 0.3}}``, or in order only.

    Parameters
    ----------
    file
        Where they come from.
    records
        The rows, by their places.
    other
        The class of everything that a list does not name, if there is one.
    classes
        Options that come before the others.

    Returns
    -------
    SourceInMemory
        The rows as a table of all options.
    """
    first = next(iter(records.values()))
    key = field_of_lists(first) or FORECAST
    order_only = _named_values(first[key]) is None
    rows = rows_of_records(file.path, records, partial(_list_row, key=key, order_only=order_only))
    remarks = _lists_recognised([row.options for row in rows.values()], file.path, order_only, other)
    if other is not None:
        classes = (*classes, other)
        for row in rows.values():
            row.options[other] = _value_of_other(row.options, other, order_only)
    return option_table(file, rows, classes, remarks, order_only, order_only, other)


def _lists_recognised(
    lists: Sequence[Mapping[str, float]], path: str, order_only: bool, other: str | None
) -> Remarks:
    """What is to be said of lists: that they are orders only, or where the probability goes that they leave."""
    if order_only:
        sentence = f"{path} lists options in order only: scored by that order, as at known costs (alpha = inf)"
        return remark_on("order only", len(lists), sentence, path)
    n = sum(math.fsum(options.values()) < 1 - TOLERANCE for options in lists)
    to = "spread evenly over the other classes" if other is None else f"given to {other!r}"
    sentence = f"{counted(n, 'list')} of {path} {'sums' if n == 1 else 'sum'} to less than 1: the rest is {to}"
    return remark_on("rest of lists", n, sentence, path)


def _value_of_other(options: Mapping[str, float], other: str, order_only: bool) -> float:
    """The forecast of the class of everything else: it comes last, or has the probability that is left."""
    if order_only:
        return options.get(other, -LOGIT_STEP * len(options))
    return max(0.0, 1 - math.fsum(options.values())) + options.get(other, 0.0)


def _list_row(values: Fields, key: str, order_only: bool) -> ListRow:
    """What is on a line, whose list is called `key`, and all of whose others are orders only or are not."""
    truth = next((values[name] for name in TRUTHS if values.get(name) is not None), None)
    if not isinstance(truth, (str, int, type(None))):
        problem = f"has the {TRUTH} {truth!r:.40}"
        fix = "write the name of the true option"
        raise InputError(problem, argument="y_true", column=TRUTH, value=truth, fix=fix)
    forecast = values.get(key)
    if not forecast or not isinstance(forecast, (dict, list)):
        fix = "write names with their probabilities, or names in order"
        raise InputError(f"has no {key}", argument="y_proba", column=key, fix=fix)
    facts = Fields()
    for name, value in values.items():
        if name != TRUTH and not isinstance(value, (dict, list)):
            facts[name] = value
    return ListRow(None if truth is None else str(truth), _values_by_option(forecast, order_only), facts)


def _values_by_option(forecast: dict[object, object] | list[object], order_only: bool) -> dict[str, float]:
    """Probabilities; or logits that fall along a list, so steeply that no prices change the order."""
    pairs = _named_values(forecast)
    if (pairs is None) != order_only:
        problem = "holds an order where other lines hold probabilities"
        if order_only:
            problem = "holds probabilities where other lines hold an order"
        raise InputError(problem, argument="y_proba", value=forecast, fix="write the same on every line")
    if pairs is None:
        pairs = [(name, -LOGIT_STEP * rank) for rank, name in enumerate(forecast)]
    options = dict[str, float]()
    for name, value in pairs:
        if not isinstance(name, (str, int)) or str(name) in options:
            problem = f"holds the list {forecast!r:.80}"
            raise InputError(problem, argument="y_proba", value=forecast, fix="list names, each once")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
            problem = f"gives {name!r} the value {value!r:.40}"
            raise InputError(problem, argument="y_proba", column=name, value=value, fix="write a number")
        options[str(name)] = float(value)
    return options
