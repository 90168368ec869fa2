"""Rows that each have options of their own: lists of candidates with their probabilities, or in order only."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pandora_regret.files.arrow import kinds_of
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.errors import FileError
from pandora_regret.files.in_memory import TableInMemory
from pandora_regret.files.layout import Layout, some
from pandora_regret.files.roles import LABEL
from pandora_regret.files.text import TextFile
from pandora_regret.inputs import Done, IntArray
from pandora_regret.inputs.numbers import LARGEST

FORECAST, TRUTH = "forecast", "truth"
PREFIX = f"{FORECAST}:"
TRUTHS = (TRUTH, *LABEL.usual)  # what the field of the true option may be called
STEP = 10_000.0  # between the logits of neighbours in an order: more than any two prices differ, in logarithms
CLOSE = 0.01  # sums that are off 1 by at most this are left to who checks probabilities


@dataclass(frozen=True)
class ListedRow:
    """One row, with the options that it has."""

    line: int  # of the file
    truth: str | None  # which need not be known to ask for an order
    options: Mapping[str, float]  # probabilities or logits
    about: Mapping[str, Any] = field(default_factory=dict)  # other fields: ids, weights, groups


@dataclass(frozen=True)
class ListedRows(TableInMemory):
    """Rows with options of their own, as a table of all options; one that a row lacks is impossible there."""

    absent: NDArray[np.bool_] = field(default_factory=lambda: np.empty((0, 0), bool), compare=False, repr=False)
    lines: Sequence[int] = field(default=(), compare=False, repr=False)
    logits: bool = False

    @classmethod
    def of(cls, file: TextFile, rows: Sequence[ListedRow], classes: Sequence[str], **about: Any) -> Self:
        """The table of some rows; `classes` come first, then the others as they appear."""
        if not rows:
            raise FileError("has no rows", path=file.path, fix="write one object per line")
        names = list(dict.fromkeys((*classes, *(name for row in rows for name in row.options))))
        if len(names) < 2:
            raise FileError(f"names the options {some(names)}", path=file.path, fix="list at least two options")
        values, absent = _values(rows, names, -np.inf if about.get("logits") else 0.0)
        columns = _columns(rows) | {f"{PREFIX}{name}": values[:, k] for k, name in enumerate(names)}
        table = pa.table(columns)
        about |= {"done": (*file.done, *about.pop("done", ())), "lines": [row.line for row in rows]}
        return cls(file.path, kinds_of(table.schema), table=table, absent=absent, **about)

    def in_layout(self, layout: Layout) -> Layout:
        """Which columns are forecasts, and of what kind, is no question here."""
        label = layout.label or TRUTH
        logits = layout.logits or self.logits
        return replace(layout, proba_prefix=PREFIX, classes=None, label=label, logits=logits)

    def lacks(self, rows: range | IntArray) -> NDArray[np.bool_]:
        return self.absent[rows.start : rows.stop] if isinstance(rows, range) else self.absent[rows]

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """The lines on which rows stand."""
        return {row: f" line {self.lines[row]}" for row in rows}


def _values(
    rows: Sequence[ListedRow], names: Sequence[str], impossible: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The table of all options, and which of them each row lacks, (n, K) both."""
    column = {name: k for k, name in enumerate(names)}
    values, absent = np.full((len(rows), len(names)), impossible), np.ones((len(rows), len(names)), dtype=bool)
    for number, row in enumerate(rows):
        own = [column[name] for name in row.options]
        values[number, own], absent[number, own] = list(row.options.values()), False
    return values, absent


def _columns(rows: Sequence[ListedRow]) -> dict[str, Any]:
    """The truth and the other fields, as text where they are now this, now that."""
    names = dict.fromkeys(name for row in rows for name in row.about)
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.about.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError):
            columns[name] = pa.array([None if value is None else str(value) for value in values])
    return columns | {TRUTH: pa.array([row.truth for row in rows])}


def is_list(first: Mapping[str, Any]) -> bool:
    """Whether a line is a row with options of its own."""
    return isinstance(first.get(FORECAST), (dict, list))


def read_lists(file: TextFile, said: Dialect, classes: Sequence[str]) -> ListedRows:
    """Lines such as ``{"id": 7, "truth": "flu", "forecast": {"flu": 0.7, "cold": 0.3}}``, or in order only."""
    reader = _ListReader(file, said.other)
    rows = [reader.read(number, values) for number, values in objects_of(file)]
    names = classes if said.other is None else (*classes, said.other)
    about = {"logits": bool(reader.order_only), "order_only": bool(reader.order_only), "other": said.other}
    return ListedRows.of(file, rows, names, done=reader.done(len(rows)), **about)


def objects_of(file: TextFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines that are rows, each with its number, as JSON objects."""
    for number, line in file.lines():
        if not file.is_row(line):
            continue
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            values = json.loads(text, object_pairs_hook=_each_once)
            if b"\\ud" in line.lower():  # half a character may have been escaped
                json.dumps(values, ensure_ascii=False).encode()
        except _NamedTwiceError as error:
            raise _error(file, number, f"names {error.args[0]!r:.80} twice", "name each once") from None
        except (ValueError, RecursionError):
            raise _error(file, number, "is not JSON", "write one object per line") from None
        if not isinstance(values, dict):
            raise _error(file, number, "holds no object", "write one object per line")
        yield number, values


class _NamedTwiceError(ValueError):
    """An object whose values overwrite each other."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _NamedTwiceError(next(name for k, (name, _) in enumerate(pairs) if name in dict(pairs[:k])))
    return values


def _error(file: TextFile, line: int, problem: str, fix: str) -> FileError:
    return FileError(problem, path=file.path, where=f" line {line}", fix=fix)


class _ListReader:
    """Rows of lists, all of one kind, with a bucket for what lists do not name."""

    def __init__(self, file: TextFile, other: str | None) -> None:
        self.file, self.other = file, other
        self.order_only: bool | None = None  # not known before the first row
        self.outside = 0  # truths that went into the bucket

    def read(self, line: int, values: dict[str, Any]) -> ListedRow:
        truth = next((values[name] for name in TRUTHS if values.get(name) is not None), None)
        if not isinstance(truth, (str, int, type(None))):
            self._fail(line, f"has the {TRUTH} {truth!r:.40}", "write the name of the true option")
        options = self._options(line, values.get(FORECAST))
        name = None if truth is None else str(truth)
        if self.other is None:
            self._check_named(line, name, options)
        elif name is not None and name not in options:
            name, self.outside = self.other, self.outside + 1
        about = {key: value for key, value in values.items() if key not in (FORECAST, TRUTH)}
        return ListedRow(line, name, options, {k: v for k, v in about.items() if not isinstance(v, (dict, list))})

    def _options(self, line: int, forecast: Any) -> dict[str, float]:
        if not forecast or not isinstance(forecast, (dict, list)):
            self._fail(line, f"has no {FORECAST}", "write names with their probabilities, or names in order")
        order_only = isinstance(forecast, list)
        if self.order_only is not None and self.order_only != order_only:
            kinds = "an order", "probabilities"
            has, others = kinds if order_only else kinds[::-1]
            self._fail(line, f"holds {has} where other lines hold {others}", "write the same on every line")
        self.order_only = order_only
        return self._ranked(line, forecast) if order_only else self._likely(line, forecast)

    def _ranked(self, line: int, names: list[Any]) -> dict[str, float]:
        """Logits that fall along the list, so steeply that no prices change the order; the bucket comes last."""
        named = [str(name) for name in names]
        if not all(isinstance(name, (str, int)) for name in names) or len(set(named)) < len(named):
            self._fail(line, f"holds the list {names!r:.80}", "list names, each once")
        rest = [] if self.other is None or self.other in named else [self.other]
        return {name: -STEP * rank for rank, name in enumerate([*named, *rest])}

    def _likely(self, line: int, forecast: dict[str, Any]) -> dict[str, float]:
        """Probabilities, and what they leave for the bucket."""
        for name, value in forecast.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
                self._fail(line, f"gives {name!r} the value {value!r:.40}", "write a number")
        options = {name: float(value) for name, value in forecast.items()}
        if self.other is not None:
            rest = max(0.0, 1 - math.fsum(options.values()))
            options[self.other] = options.get(self.other, 0.0) + rest
        return options

    def _check_named(self, line: int, truth: str | None, options: dict[str, float]) -> None:
        if truth is not None and truth not in options:
            fix = "name a class for truths that lists do not name (--other NAME)"
            self._fail(line, f"has the truth {truth!r}, which its list does not name", fix)
        total = math.fsum(options.values())
        if not self.order_only and min(options.values()) >= 0 and total < 1 - CLOSE:
            fix = "name a class for the rest (--other NAME)"
            self._fail(line, f"lists probabilities that sum to {total:.4g}", fix)

    def _fail(self, line: int, problem: str, fix: str) -> None:
        raise _error(self.file, line, problem, fix)

    def done(self, n_rows: int) -> tuple[Done, ...]:
        """What was made of the rows."""
        path, done = self.file.path, []
        if self.order_only:
            said = f"{path} lists options in order only: scored by that order, as at known costs (alpha = inf)"
            done.append(Done("order only", n_rows, said, path))
        if self.outside:
            truths = f"{self.outside:,} of {n_rows:,} truths in {path}"
            said = f"{truths} counted as {self.other!r}, being outside their lists"
            done.append(Done("truths to other", self.outside, said, path))
        return tuple(done)
