"""JSON lines: tables with one object per line, and rows that each have a list of candidates of their own.

Lists become whole forecasts. What the probabilities of a list leave goes evenly to the classes that it does not
name. Where they leave nothing, the row does not have the others as options: they have probability 0, and an option
that is listed with probability 0 becomes the smallest positive number, so that it stays ahead of them.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa

from pandora_regret.files.columns import explained, kinds_of
from pandora_regret.files.layout import Layout, some
from pandora_regret.files.problems import FileError
from pandora_regret.files.roles import LABEL
from pandora_regret.files.source import ROWS_AT_ONCE, Records, TableInMemory, check_names
from pandora_regret.files.text import BYTE_ORDER_MARK, NOT_UTF_8, TextFile
from pandora_regret.inputs import Done, FloatArray
from pandora_regret.inputs.numbers import LARGEST, LEAST_NORMAL

ONE_PER_LINE = "write one object per line"
FORECAST, TRUTH = "forecast", "truth"
PREFIX = f"{FORECAST}:"
TRUTHS = (TRUTH, *LABEL.usual)  # what the field of the true option may be called
STEP = 10_000.0  # between the logits of neighbours in an order: more than any two prices differ, in logarithms
CLOSE = 0.01  # sums that are off 1 by at most this are left to who checks probabilities


@dataclass(frozen=True)
class JsonLines(TextFile):
    """One JSON object per line; a column is what its values are, or text where they are now this, now that."""

    def with_kinds(self, sample: bytes) -> Self:
        """The same file with names and kinds from its first lines."""
        rows = [values for _, values in self._decoded(io.BytesIO(sample))]
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not names:
            raise FileError("has no rows", path=self.path, fix=ONE_PER_LINE)
        check_names(names, self.path)
        return replace(self, kinds=kinds_of(_table(rows, names).schema))

    def is_row(self, line: bytes) -> bool:
        """Empty lines are no rows, nor are those of spaces."""
        return bool(line.removeprefix(BYTE_ORDER_MARK).strip())

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Text where numbers must be is found by who reads it."""
        with explained(self.path, "text"), self.opened() as stream:
            decoded = self._decoded(io.BufferedReader(stream, 1 << 20))
            while block := [values for _, values in islice(decoded, min(rows, ROWS_AT_ONCE))]:
                yield _table(block, columns)

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The lines that are rows, each with its number, as objects that name nothing twice."""
        with explained(self.path, "text"), self.stream() as stream:
            yield from self._decoded(io.BufferedReader(stream, 1 << 20), once=True)

    def _decoded(self, lines: Any, once: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
        row = self.first
        for number, line in enumerate(lines, 1):
            if self.is_row(line):
                try:
                    yield number, _object(line.removeprefix(BYTE_ORDER_MARK), once)
                except LineError as error:
                    raise self.error(row, error.args[0], fix=error.args[1]) from None
                row += 1


class LineError(ValueError):
    """What is wrong with a line, and what to do about it."""

    def at(self, file: TextFile, line: int) -> FileError:
        """The error that says where."""
        problem, fix = self.args
        return FileError(problem, path=file.path, where=f" line {line}", fix=fix)


def _object(line: bytes, once: bool) -> dict[str, Any]:
    try:
        values = msgspec.json.decode(line)
        if once:
            json.loads(line, object_pairs_hook=_each_once)
    except LineError:
        raise
    except RecursionError:
        raise LineError("holds lists within lists, too many to read", "flatten them") from None
    except UnicodeDecodeError:
        raise LineError("is not UTF-8 text", NOT_UTF_8) from None
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise LineError(f"is no JSON object ({line.decode('utf-8', 'replace').strip()[:40]!r})", ONE_PER_LINE)
    return values


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise LineError(f"names {twice!r:.80} twice", "name each once")
    return values


def _table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Records:
    return pa.table({name: as_column([row.get(name) for row in rows]) for name in names})


def as_column(values: Sequence[Any]) -> Any:
    """Values of one type, or else as text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def first_object(sample: bytes) -> dict[str, Any]:
    """The first line as an object; empty where it is none."""
    try:
        first = msgspec.json.decode(sample.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


@dataclass(frozen=True)
class ListedRow:
    """One row, with the options that it lists."""

    line: int  # of the file
    truth: str | None  # which need not be known to ask for an order
    options: Mapping[str, float]  # probabilities or logits
    about: Mapping[str, Any] = field(default_factory=dict)  # other fields: ids, weights, groups

    @property
    def rest(self) -> float:
        """What probabilities leave for options that are not listed; 0 where they are wrong, or nearly sum to 1."""
        rest = 1 - math.fsum(self.options.values())
        return rest if rest > CLOSE and min(self.options.values()) >= 0 else 0.0


@dataclass(frozen=True)
class ListedRows(TableInMemory):
    """Rows with lists of their own, as a table of all options."""

    rows: Sequence[ListedRow] = field(default=(), compare=False, repr=False)
    options: tuple[str, ...] = ()
    logits: bool = False
    order_only: bool = False

    @classmethod
    def of(cls, file: JsonLines, rows: Sequence[ListedRow], classes: Sequence[str], **about: Any) -> Self:
        """The table of some rows; `classes` come first, then the others as they appear."""
        if not rows:
            raise FileError("has no rows", path=file.path, fix="write one object per line")
        truths = [row.truth for row in rows if row.truth is not None]
        names = tuple(dict.fromkeys((*classes, *(name for row in rows for name in row.options), *truths)))
        if len(names) < 2:
            raise FileError(f"names the options {some(names)}", path=file.path, fix="list at least two options")
        about["done"] = (*file.done, *about["done"])
        places = [f" line {row.line}" for row in rows]
        return cls(file.path, {}, rows=rows, row_places=places, **about).over(names)

    def over(self, options: tuple[str, ...]) -> Self:
        """The same rows over these options, which include all that the rows list."""
        if options == self.options:
            return self
        values = _whole_forecasts(self.rows, options, self.logits)
        table = pa.table(_columns(self.rows) | {f"{PREFIX}{name}": values[:, k] for k, name in enumerate(options)})
        return replace(self, kinds=kinds_of(table.schema), table=table, options=options)

    def in_layout(self, layout: Layout) -> Layout:
        """Which columns are forecasts, and of what kind, is no question here."""
        label, logits = layout.label or TRUTH, layout.logits or self.logits
        return replace(layout, proba_prefix=PREFIX, classes=None, label=label, logits=logits)


def _whole_forecasts(rows: Sequence[ListedRow], names: Sequence[str], logits: bool) -> FloatArray:
    """The table of all options, (n, K)."""
    column = {name: k for k, name in enumerate(names)}
    values = np.full((len(rows), len(names)), -np.inf if logits else 0.0)
    for number, row in enumerate(rows):
        own, listed = [column[name] for name in row.options], np.array(list(row.options.values()))
        if not logits:
            values[number] = row.rest / max(1, len(names) - len(own))
            listed[listed == 0] = LEAST_NORMAL
        values[number, own] = listed
    return values


def _columns(rows: Sequence[ListedRow]) -> dict[str, Any]:
    """The truth and the other fields."""
    names = dict.fromkeys(name for row in rows for name in row.about)
    columns = {name: as_column([row.about.get(name) for row in rows]) for name in names}
    return columns | {TRUTH: pa.array([row.truth for row in rows], pa.string())}


def is_list(first: Mapping[str, Any]) -> bool:
    """Whether a line is a row with a list of its own."""
    return isinstance(first.get(FORECAST), (dict, list))


def read_lists(file: JsonLines, other: str | None, classes: Sequence[str]) -> ListedRows:
    """Lines such as ``{"id": 7, "truth": "flu", "forecast": {"flu": 0.7, "cold": 0.3}}``, or in order only.

    `other` is the class of everything that a list does not name.
    """
    rows, outside, order_only = list[ListedRow](), 0, None
    for line, values in file.objects():
        try:
            row = _row(line, values, other)
            is_order = isinstance(values[FORECAST], list)
            if order_only is not None and is_order != order_only:
                words = ("an order", "probabilities")[:: 1 if is_order else -1]
                raise LineError(
                    "holds {} where other lines hold {}".format(*words), "write the same on every line"
                )
            if other is None and row.truth not in (None, *row.options) and (is_order or not row.rest):
                fix = "name a class for truths that lists do not name (--other NAME)"
                raise LineError(f"has the truth {row.truth!r}, which its list does not name", fix)
        except LineError as error:
            raise error.at(file, line) from None
        if other is not None and row.truth not in (None, *row.options):
            row, outside = replace(row, truth=other), outside + 1
        order_only = is_order
        rows.append(row)
    names = classes if other is None else (*classes, other)
    about: dict[str, Any] = {"logits": bool(order_only), "order_only": bool(order_only), "other": other}
    about["done"] = _done(file.path, len(rows), bool(order_only), outside, other)
    return ListedRows.of(file, rows, names, **about)


def _row(line: int, values: dict[str, Any], other: str | None) -> ListedRow:
    truth = next((values[name] for name in TRUTHS if values.get(name) is not None), None)
    if not isinstance(truth, (str, int, type(None))):
        raise LineError(f"has the {TRUTH} {truth!r:.40}", "write the name of the true option")
    forecast = values.get(FORECAST)
    if not forecast or not isinstance(forecast, (dict, list)):
        raise LineError(f"has no {FORECAST}", "write names with their probabilities, or names in order")
    options = _ranked(forecast, other) if isinstance(forecast, list) else _likely(forecast, other)
    about = {key: value for key, value in values.items() if key != TRUTH and not isinstance(value, (dict, list))}
    return ListedRow(line, None if truth is None else str(truth), options, about)


def _ranked(names: list[Any], other: str | None) -> dict[str, float]:
    """Logits that fall along the list, so steeply that no prices change the order; the bucket comes last."""
    options = [str(name) for name in names]
    if not all(isinstance(name, (str, int)) for name in names) or len(set(options)) < len(options):
        raise LineError(f"holds the list {names!r:.80}", "list names, each once")
    options += [] if other is None or other in options else [other]
    return {name: -STEP * rank for rank, name in enumerate(options)}


def _likely(forecast: dict[str, Any], other: str | None) -> dict[str, float]:
    """Probabilities, and what they leave for the bucket."""
    for name, value in forecast.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
            raise LineError(f"gives {name!r} the value {value!r:.40}", "write a number")
    options = {name: float(value) for name, value in forecast.items()}
    if other is not None:
        options[other] = options.get(other, 0.0) + max(0.0, 1 - math.fsum(options.values()))
    return options


def _done(path: str, n_rows: int, order_only: bool, outside: int, other: str | None) -> tuple[Done, ...]:
    """What was made of the rows."""
    done = []
    if order_only:
        sentence = f"{path} lists options in order only: scored by that order, as at known costs (alpha = inf)"
        done.append(Done("order only", n_rows, sentence, path))
    if outside:
        sentence = f"{outside:,} of {n_rows:,} truths in {path} counted as {other!r}, being outside their lists"
        done.append(Done("truths to other", outside, sentence, path))
    return tuple(done)
