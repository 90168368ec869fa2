"""JSON lines whose rows have options of their own: lists of candidates, orders alone, samples of language models.

Lists become whole forecasts. What the probabilities of a list leave goes evenly to the classes that it does not
name. Where they leave nothing, the row does not have the others as options: they have probability 0, and an option
that is listed with probability 0 becomes the smallest positive number, so that it stays ahead of them.

Samples are what lm-evaluation-harness logs of multiple-choice tasks: log-likelihoods of options as forecasts.
A line has ``doc_id``, ``doc``, ``target``, ``arguments`` and ``filtered_resps``. There is one request per option:
its arguments are the context and the option's text, its response is the pair (log-likelihood, whether greedy
decoding would say it). Newer versions write all of these as text, and arguments as objects, ``gen_args_0`` of
``arg_0`` and ``arg_1``. A task with several filters repeats its rows. The options are called A, B, C, ... by their
places.
"""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import pyarrow as pa

from pandora_regret.files.columns import explained, kinds_of
from pandora_regret.files.layout import Dialect, some
from pandora_regret.files.roles import LABEL
from pandora_regret.files.source import FileError, Source, TableInMemory
from pandora_regret.files.text import ONE_PER_LINE, JsonLines, table_of, written_otherwise
from pandora_regret.inputs import Done, FloatArray, InputError
from pandora_regret.inputs.numbers import LARGEST, LEAST_NORMAL

FORECAST, TRUTH = "forecast", "truth"
PREFIX = f"{FORECAST}:"
TRUTHS = (TRUTH, *LABEL.usual)  # what the field of the true option may be called
STEP = 10_000.0  # between the logits of neighbours in an order: more than any two prices differ, in logarithms
CLOSE = 0.01  # sums that are off 1 by at most this are left to who checks probabilities
SAMPLE_FIELDS = frozenset({"doc_id", "target", "filtered_resps"})
ONE_TRUTH = "tasks with one true option per row can be scored"
CORRECT = "acc"  # the field that says whether the likeliest option was the true one


class Row(NamedTuple):
    """One line."""

    truth: Any  # the name of an option, or None; of a sample, the target
    options: Mapping[str, float]  # probabilities or logits of those that it lists
    about: dict[str, Any]  # other fields: ids, weights, groups
    is_order: bool = False
    texts: tuple[str, ...] = ()  # of a sample's options, where they are logged
    correct: bool | None = (
        None  # of a sample: whether the likeliest option was the true one, as the harness saw it
    )


@dataclass(frozen=True)
class ListedRows(TableInMemory):
    """Rows with lists of their own, as a table of all options."""

    listed: FloatArray = field(default_factory=lambda: np.empty((0, 0)), compare=False, repr=False)  # nan: not
    options: tuple[str, ...] = ()  # the columns of what is listed

    def over(self, options: tuple[str, ...]) -> Self:
        """The same rows over these options, which include all that the rows list."""
        place = {name: k for k, name in enumerate(options)}
        values = np.full((len(self.listed), len(options)), np.nan)
        values[:, [place[name] for name in self.options]] = self.listed
        absent = np.isnan(values)
        if self.layout.get("logits"):
            values[absent] = -np.inf
        else:
            values[values == 0] = LEAST_NORMAL
            share = left_over(self.listed) / np.maximum(1, absent.sum(axis=1))
            values = np.where(absent, share[:, None], values)
        names = [name for name in self.table.column_names if not name.startswith(PREFIX)]
        columns = dict(zip(names, self.table.select(names).columns, strict=True))
        forecasts = zip(options, np.ascontiguousarray(values.T), strict=True)
        table = pa.table(columns | {f"{PREFIX}{name}": column for name, column in forecasts})
        return replace(self, kinds=kinds_of(table.schema), table=table)


def left_over(listed: FloatArray) -> FloatArray:
    """What probabilities leave for options that are not listed, (n,); 0 where they are wrong or nearly 1."""
    rest = 1 - np.nansum(listed, axis=1)
    return np.where((rest > CLOSE) & (np.nanmin(listed, axis=1) >= 0), rest, 0.0)


def open_json(path: str, head: bytes, said: Dialect, classes: Sequence[str] | None, location: str = "") -> Source:
    """JSON lines: a table, or rows with lists of their own, as the first line tells."""
    file, sample, _ = JsonLines.begun(path, head, said, location)
    file = replace(file, done=written_otherwise(path, file.encoding))
    try:
        first = msgspec.json.decode(sample.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict):
        return file.with_kinds(sample)
    if first.keys() >= SAMPLE_FIELDS:
        return _read_samples(file, classes or ())
    if isinstance(first.get(FORECAST), (dict, list)):
        return _read_lists(file, said.other, classes or ())
    return file.with_kinds(sample)


def _rows(file: JsonLines, read: Callable[[dict[str, Any]], Row | None]) -> dict[int, Row]:
    """What is read of each line, by its number; whatever is wrong is said with it."""
    rows = dict[int, Row]()
    with explained(file.path, "text"), file.stream() as stream:
        for line, values in file.objects(io.BufferedReader(stream, 1 << 20), each_once=True):
            try:
                row = read(values)
            except InputError as error:
                raise _error(file, line, error.problem, error.fix) from None
            if row is not None:
                rows[line] = row
    if not rows:
        raise FileError("has no rows", file.path, ONE_PER_LINE)
    return rows


def _error(file: JsonLines, line: int, problem: str, fix: str | None) -> FileError:
    return FileError(problem, file.path, fix, f" line {line}")


def _table(
    file: JsonLines, rows: dict[int, Row], truths: Sequence[str | None], classes: Sequence[str], **about: Any
) -> ListedRows:
    """The table of all options; `classes` come first, then the others as they appear."""
    named = (name for row in rows.values() for name in row.options)
    options = tuple(dict.fromkeys((*classes, *named, *(truth for truth in truths if truth is not None))))
    if len(options) < 2:
        raise FileError(f"names the options {some(options)}", file.path, "list at least two options")
    place, listed = {name: k for k, name in enumerate(options)}, np.full((len(rows), len(options)), np.nan)
    for number, row in enumerate(rows.values()):
        listed[number, [place[name] for name in row.options]] = list(row.options.values())
    others = [row.about for row in rows.values()]
    table = table_of(others, dict.fromkeys(name for each in others for name in each))
    columns = dict(zip(table.column_names, table.columns, strict=True)) | {TRUTH: pa.array(truths, pa.string())}
    about["layout"] = {"proba_prefix": PREFIX, "classes": None, "label": TRUTH} | about["layout"]
    about |= {"row_places": [f" line {line}" for line in rows], "table": pa.table(columns)}
    return ListedRows(file.path, {}, listed=listed, options=options, **about).over(options)


def _read_lists(file: JsonLines, other: str | None, classes: Sequence[str]) -> ListedRows:
    """Lines such as ``{"id": 7, "truth": "flu", "forecast": {"flu": 0.7, "cold": 0.3}}``, or in order only.

    `other` is the class of everything that a list does not name.
    """
    rows = _rows(file, lambda values: _row(values, other))
    order_only = next(iter(rows.values())).is_order
    outside = 0
    for line, row in rows.items():
        if row.is_order != order_only:
            words = ("an order", "probabilities")[:: 1 if row.is_order else -1]
            problem = "holds {} where other lines hold {}".format(*words)
            raise _error(file, line, problem, "write the same on every line")
        if row.truth not in (None, *row.options):
            outside += 1
            if other is None and (order_only or not left_over(np.array([[*row.options.values()]]))[0]):
                problem = f"has the truth {row.truth!r}, which its list does not name"
                raise _error(file, line, problem, "name a class for truths that lists do not name (--other NAME)")
    done, truths = [*file.done], [row.truth for row in rows.values()]
    if order_only:
        sentence = (
            f"{file.path} lists options in order only: scored by that order, as at known costs (alpha = inf)"
        )
        done.append(Done("order only", len(rows), sentence, file.path))
    if other is not None:
        classes = (*classes, other)
        truths = [row.truth if row.truth in (None, *row.options) else other for row in rows.values()]
        sentence = (
            f"{outside:,} of {len(rows):,} truths in {file.path} counted as {other!r}, being outside their lists"
        )
        done += [Done("truths to other", outside, sentence, file.path)] if outside else []
    layout = {"logits": True} if order_only else {}
    about: dict[str, Any] = {"order_only": order_only, "other": other, "layout": layout, "done": tuple(done)}
    return _table(file, rows, truths, classes, **about)


def _row(values: dict[str, Any], other: str | None) -> Row:
    truth = next((values[name] for name in TRUTHS if values.get(name) is not None), None)
    if not isinstance(truth, (str, int, type(None))):
        raise InputError(f"has the {TRUTH} {truth!r:.40}", fix="write the name of the true option")
    forecast = values.get(FORECAST)
    if not forecast or not isinstance(forecast, (dict, list)):
        raise InputError(f"has no {FORECAST}", fix="write names with their probabilities, or names in order")
    is_order = isinstance(forecast, list)
    options = _ranked(forecast, other) if isinstance(forecast, list) else _likely(forecast, other)
    about = {key: value for key, value in values.items() if key != TRUTH and not isinstance(value, (dict, list))}
    return Row(None if truth is None else str(truth), options, about, is_order)


def _ranked(names: list[Any], other: str | None) -> dict[str, float]:
    """Logits that fall along the list, so steeply that no prices change the order; the bucket comes last."""
    options = [str(name) for name in names]
    if not all(isinstance(name, (str, int)) for name in names) or len(set(options)) < len(options):
        raise InputError(f"holds the list {names!r:.80}", fix="list names, each once")
    options += [] if other is None or other in options else [other]
    return {name: -STEP * rank for rank, name in enumerate(options)}


def _likely(forecast: dict[str, Any], other: str | None) -> dict[str, float]:
    """Probabilities, and what they leave for the bucket."""
    for name, value in forecast.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
            raise InputError(f"gives {name!r} the value {value!r:.40}", fix="write a number")
    options = {name: float(value) for name, value in forecast.items()}
    if other is not None:
        options[other] = options.get(other, 0.0) + max(0.0, 1 - math.fsum(options.values()))
    return options


def _read_samples(file: JsonLines, classes: Sequence[str]) -> ListedRows:
    """The rows of the first filter."""
    filters: Counter[str] = Counter()

    def read(values: dict[str, Any]) -> Row | None:
        filters[str(values.get("filter"))] += 1
        return _sample(values) if len(filters) == 1 else None

    rows = _rows(file, read)
    truths = [list(row.options)[truth] for row, truth in zip(rows.values(), _truths(file, rows), strict=True)]
    words = f"{file.path} read as samples of lm-evaluation-harness: log-likelihoods of options are the forecasts"
    done = [*file.done, Done("format", len(rows), words, file.path)]
    if skipped := filters.total() - len(rows):
        others = f"{skipped:,} rows of filters other than {next(iter(filters))!r} left out of {file.path}"
        done.append(Done("rows left out", skipped, others, file.path))
    return _table(file, rows, truths, classes, layout={"logits": True}, done=tuple(done))


def _sample(values: Mapping[str, Any]) -> Row:
    try:
        scores = [float(score) for score, is_greedy in values["filtered_resps"]]
    except (TypeError, ValueError, OverflowError):
        scores = []
    if len(scores) < 2 or any(map(math.isnan, scores)) or values["target"] is None:
        problem = "has no target" if values["target"] is None else "holds no log-likelihoods of options"
        raise InputError(problem, fix="samples of multiple-choice tasks can be scored, generated text cannot")
    if max(scores) > 0:
        raise InputError(
            f"has the log-likelihood {max(scores):g}", fix="logarithms of probabilities are at most 0"
        )
    correct = values.get(CORRECT)
    if correct not in (None, 0, 1):
        raise InputError(f"has {CORRECT} {correct!r:.20}, as tasks with several true options do", fix=ONE_TRUTH)
    requests = _requests(values.get("arguments"))
    texts, half = tuple(text for _, text in requests), len(requests) // 2
    if half and texts[:half] == texts[half:] and not any(context for context, _ in requests[half:]):
        scores, texts = scores[: len(scores) // 2], texts[:half]  # the same options once more, without context
    doc = values.get("doc")
    fields = doc.items() if isinstance(doc, dict) else ()
    about = {f"doc.{key}": value for key, value in fields if isinstance(value, (str, int, float))}
    names = (ascii_uppercase[k] if k < len(ascii_uppercase) else str(k + 1) for k in range(len(scores)))
    return Row(
        str(values["target"]).strip(),
        dict(zip(names, scores, strict=True)),
        {"id": values["doc_id"], **about},
        texts=texts if len(texts) == len(scores) else (),
        correct=None if correct is None else bool(correct),
    )


def _requests(arguments: Any) -> list[tuple[str, str]]:
    """The context of each request, and what it asks the likelihood of."""
    requests = arguments.values() if isinstance(arguments, dict) else arguments
    try:
        parts = [list(each.values() if isinstance(each, dict) else each) for each in requests]
        return [(str(part[0]), str(part[1]).strip()) for part in parts]
    except (TypeError, IndexError):
        return []


def _truths(file: JsonLines, rows: dict[int, Row]) -> list[int]:
    """The true options: targets are their numbers or texts, whichever agree with the harness in all rows."""
    readings = [[_truth(row, reading) for row in rows.values()] for reading in ("number", "text", "outcome")]
    fitting = [truths for truths in readings[:2] if None not in truths]
    fitting = fitting or [truths for truths in readings[2:] if None not in truths]  # as where contexts differ
    if fitting and fitting[0] == fitting[-1]:
        return [truth for truth in fitting[0] if truth is not None]
    if fitting:
        problem = "has targets that may be numbers or texts of options, which differ"
        raise FileError(problem, file.path, "log the samples with the metric acc, which tells")
    furthest = max((*truths, None).index(None) for truths in readings[:2])
    line, row = list(rows.items())[furthest]
    problem = f"has the target {row.truth!r:.80}, which is not the number or text of one option"
    raise _error(file, line, problem, ONE_TRUTH)


def _truth(row: Row, reading: str) -> int | None:
    """The true option if the target is its number or its text; or as the harness saw the outcome.

    None where that cannot be, also because the harness saw another outcome.
    """
    scores = list(row.options.values())
    likeliest = scores.index(max(scores))
    if reading == "outcome":  # the likeliest if that was correct, else the other of two
        told = row.correct is not None and (row.correct or len(scores) == 2)
        return (likeliest if row.correct else 1 - likeliest) if told else None
    if reading == "number":
        number = row.truth.strip("[] ")
        truth = int(number) if number.isdecimal() and int(number) < len(scores) else None
    else:
        truth = row.texts.index(row.truth) if row.texts.count(row.truth) == 1 else None
    return truth if row.correct in (None, likeliest == truth) else None
