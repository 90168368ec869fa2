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

import numpy as np
import pyarrow as pa

from pandora_regret.files.columns import explained, kinds_of
from pandora_regret.files.layout import Dialect, some
from pandora_regret.files.roles import LABEL
from pandora_regret.files.source import Fields, FileError, Names, Source, TableInMemory, check_names
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

    truth: str | None  # the name of an option; of a sample, the target
    options: Mapping[str, float]  # probabilities or logits of those that it lists
    about: Fields  # other fields: ids, weights, groups
    readings: tuple[
        int | None, ...
    ] = ()  # of a sample: its true option, if targets are numbers, texts, or neither


@dataclass(frozen=True)
class ListedRows(TableInMemory):
    """Rows with lists of their own, as a table of all options."""

    rows: Sequence[Mapping[str, float]] = field(default=(), compare=False, repr=False)  # what each lists

    def over(self, options: Names) -> Self:
        """The same rows over these options, which include all that the rows list."""
        place = {name: k for k, name in enumerate(options)}
        values = np.full((len(self.rows), len(options)), np.nan)
        for number, row in enumerate(self.rows):
            values[number, [place[name] for name in row]] = list(row.values())
        absent = np.isnan(values)
        if self.layout.get("logits"):
            values[absent] = -np.inf
        else:
            share = left_over(values) / np.maximum(1, absent.sum(axis=1))
            values = np.where(absent, share[:, None], np.where(values == 0, LEAST_NORMAL, values))
        columns = {name: self.table[name] for name in self.table.column_names if not name.startswith(PREFIX)}
        columns |= {
            f"{PREFIX}{name}": of for name, of in zip(options, np.ascontiguousarray(values.T), strict=True)
        }
        table = pa.table(columns)
        return replace(self, kinds=kinds_of(table.schema), table=table)


def left_over(listed: FloatArray) -> FloatArray:
    """What probabilities leave for options that are not listed, (n,); 0 where they are wrong or nearly 1."""
    rest = 1 - np.nansum(listed, axis=1)
    return np.where((rest > CLOSE) & (np.nanmin(listed, axis=1) >= 0), rest, 0.0)


def open_json(path: str, head: bytes, said: Dialect, classes: Sequence[str] | None, location: str = "") -> Source:
    """JSON lines: a table, or rows with lists of their own, as the first line tells."""
    from msgspec.json import decode

    file, sample, _ = JsonLines.begun(path, head, said, location)
    file = replace(file, done=written_otherwise(path, file.encoding))
    try:
        first = decode(sample.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict) and first.keys() >= SAMPLE_FIELDS:
        return _read_samples(file, classes or ())
    if isinstance(first, dict) and isinstance(first.get(FORECAST), (dict, list)):
        return _read_lists(file, said.other, classes or ())
    rows = [values for _, values in file.objects(file.records(io.BytesIO(sample)))]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise FileError("has no rows", path, ONE_PER_LINE)
    check_names(names, path)
    return replace(file, kinds=kinds_of(table_of(rows, names).schema))


def _rows(file: JsonLines, read: Callable[[Fields], Row | None]) -> dict[int, Row]:
    """What is read of each line, by its number; whatever is wrong is said with it."""
    rows = dict[int, Row]()
    with explained(file.path, "text"), file.stream() as stream:
        for line, values in file.objects(file.records(io.BufferedReader(stream)), each_once=True):
            try:
                row = read(values)
            except InputError as error:
                raise FileError(error.problem, file.path, error.fix, f" line {line}") from None
            if row is not None:
                rows[line] = row
    if not rows:
        raise FileError("has no rows", file.path, ONE_PER_LINE)
    return rows


def _table(
    file: JsonLines,
    rows: dict[int, Row],
    classes: Sequence[str],
    layout: Fields,
    done: Sequence[Done],
    **about: Any,
) -> ListedRows:
    """The table of all options; `classes` come first, then the others as they appear."""
    named, truths = (name for row in rows.values() for name in row.options), [row.truth for row in rows.values()]
    options = tuple(dict.fromkeys((*classes, *named, *(truth for truth in truths if truth is not None))))
    if len(options) < 2:
        raise FileError(f"names the options {some(options)}", file.path, "list at least two options")
    others = [row.about for row in rows.values()]
    table = table_of(others, dict.fromkeys(name for each in others for name in each))
    columns = {name: table[name] for name in table.column_names} | {TRUTH: pa.array(truths, pa.string())}
    layout = {"proba_prefix": PREFIX, "classes": None, "label": TRUTH} | layout
    about |= {"row_places": [f" line {line}" for line in rows], "rows": [row.options for row in rows.values()]}
    source = ListedRows(file.path, {}, done=tuple(done), layout=layout, table=pa.table(columns), **about)
    return source.over(options)


def _read_lists(file: JsonLines, other: str | None, classes: Sequence[str]) -> ListedRows:
    """Lines such as ``{"id": 7, "truth": "flu", "forecast": {"flu": 0.7, "cold": 0.3}}``, or in order only.

    `other` is the class of everything that a list does not name.
    """
    kinds, outside = list[type](), list[str]()

    def read(values: Fields) -> Row:
        row = _row(values, other)
        kinds.append(type(values[FORECAST]))
        if kinds[-1] != kinds[0]:
            words = ("an order", "probabilities")[:: 1 if kinds[-1] is list else -1]
            problem = "holds {} where other lines hold {}".format(*words)
            raise InputError(problem, fix="write the same on every line")
        if row.truth is None or row.truth in row.options:
            return row
        outside.append(row.truth)
        if other is None and (kinds[0] is list or not left_over(np.array([[*row.options.values()]]))[0]):
            problem = f"has the truth {row.truth!r}, which its list does not name"
            raise InputError(problem, fix="name a class for truths that lists do not name (--other NAME)")
        return row._replace(truth=other or row.truth)

    rows, done, path = _rows(file, read), [*file.done], file.path
    order_only, layout = kinds[0] is list, Fields()
    if order_only:
        layout = {"logits": True}
        sentence = f"{path} lists options in order only: scored by that order, as at known costs (alpha = inf)"
        done.append(Done("order only", len(rows), sentence, path))
    if other is not None:
        classes = (*classes, other)
        counted = f"{len(outside):,} of {len(rows):,} truths in {path} counted as {other!r}"
        bucket = Done("truths to other", len(outside), f"{counted}, being outside their lists", path)
        done += [bucket] if outside else []
    return _table(file, rows, classes, layout, done, order_only=order_only, other=other)


def _row(values: Fields, other: str | None) -> Row:
    truth = next((values[name] for name in TRUTHS if values.get(name) is not None), None)
    if not isinstance(truth, (str, int, type(None))):
        raise InputError(f"has the {TRUTH} {truth!r:.40}", fix="write the name of the true option")
    forecast = values.get(FORECAST)
    if not forecast or not isinstance(forecast, (dict, list)):
        raise InputError(f"has no {FORECAST}", fix="write names with their probabilities, or names in order")
    about = {key: value for key, value in values.items() if key != TRUTH and not isinstance(value, (dict, list))}
    return Row(None if truth is None else str(truth), _options(forecast, other), about)


def _options(forecast: Fields | list[Any], other: str | None) -> dict[str, float]:
    """Probabilities, and what they leave for the bucket.

    Or logits that fall along a list, so steeply that no prices change the order; the bucket comes last.
    """
    if isinstance(forecast, list):
        names = [str(name) for name in forecast]
        if not all(isinstance(name, (str, int)) for name in forecast) or len(set(names)) < len(names):
            raise InputError(f"holds the list {forecast!r:.80}", fix="list names, each once")
        names += [] if other is None or other in names else [other]
        return {name: -STEP * rank for rank, name in enumerate(names)}
    for name, value in forecast.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
            raise InputError(f"gives {name!r} the value {value!r:.40}", fix="write a number")
    options = {name: float(value) for name, value in forecast.items()}
    if other is not None:
        options[other] = options.get(other, 0.0) + max(0.0, 1 - math.fsum(options.values()))
    return options


def _read_samples(file: JsonLines, classes: Sequence[str]) -> ListedRows:
    """The rows of the first filter; targets are numbers or texts of options, whichever fit in all rows."""
    filters: Counter[str] = Counter()

    def read(values: Fields) -> Row | None:
        filters[str(values.get("filter"))] += 1
        return _sample(values) if len(filters) == 1 else None

    rows = _rows(file, read)
    readings = list(zip(*(row.readings for row in rows.values()), strict=True))
    fitting = [truths for truths in readings[:2] if None not in truths]
    fitting = fitting or [truths for truths in readings[2:] if None not in truths]  # as where contexts differ
    if not fitting:
        line, row = list(rows.items())[max((*truths, None).index(None) for truths in readings[:2])]
        problem = f"has the target {row.truth!r:.80}, which is not the number or text of one option"
        raise FileError(problem, file.path, ONE_TRUTH, f" line {line}")
    if fitting[0] != fitting[-1]:
        problem = "has targets that may be numbers or texts of options, which differ"
        raise FileError(problem, file.path, "log the samples with the metric acc, which tells")
    for (line, row), truth in zip(rows.items(), fitting[0], strict=True):
        rows[line] = row._replace(truth=list(row.options)[truth or 0])
    words = f"{file.path} read as samples of lm-evaluation-harness: log-likelihoods of options are the forecasts"
    done = [*file.done, Done("format", len(rows), words, file.path)]
    if skipped := filters.total() - len(rows):
        others = f"{skipped:,} rows of filters other than {next(iter(filters))!r} left out of {file.path}"
        done.append(Done("rows left out", skipped, others, file.path))
    return _table(file, rows, classes, {"logits": True}, done)


def _sample(values: Mapping[str, Any]) -> Row:
    requests, correct, target = values.get("arguments"), values.get(CORRECT), values["target"]
    try:
        scores = [float(score) for score, is_greedy in values["filtered_resps"]]
    except (TypeError, ValueError, OverflowError):
        scores = []
    try:  # the context of each request, and what it asks the likelihood of
        parts = [list(_items(each)) for each in _items(requests)]
        contexts, texts = [str(part[0]) for part in parts], [str(part[1]).strip() for part in parts]
    except (TypeError, IndexError):
        contexts, texts = [], []
    if len(scores) < 2 or any(map(math.isnan, scores)) or target is None:
        problem = "has no target" if target is None else "holds no log-likelihoods of options"
        raise InputError(problem, fix="samples of multiple-choice tasks can be scored, generated text cannot")
    if max(scores) > 0:
        raise InputError(
            f"has the log-likelihood {max(scores):g}", fix="logarithms of probabilities are at most 0"
        )
    if correct not in (None, 0, 1):
        raise InputError(f"has {CORRECT} {correct!r:.20}, as tasks with several true options do", fix=ONE_TRUTH)
    half = len(texts) // 2
    if half and texts[:half] == texts[half:] and not any(contexts[half:]):
        scores, texts = scores[: len(scores) // 2], texts[:half]  # the same options once more, without context
    doc = values.get("doc")
    fields = doc.items() if isinstance(doc, dict) else ()
    about = {f"doc.{key}": value for key, value in fields if isinstance(value, (str, int, float))}
    names = (ascii_uppercase[k] if k < len(ascii_uppercase) else str(k + 1) for k in range(len(scores)))
    options, target = dict(zip(names, scores, strict=True)), str(target).strip()
    readings = _readings(target, scores, texts if len(texts) == len(scores) else [], correct)
    return Row(target, options, {"id": values["doc_id"], **about}, readings=readings)


def _items(each: Any) -> Any:
    return each.values() if isinstance(each, dict) else each


def _readings(target: str, scores: list[float], texts: list[str], correct: Any) -> tuple[int | None, ...]:
    """The true option if the target is its number, or its text; or as the harness saw the outcome.

    None where that cannot be, also because the harness saw another outcome.
    """
    number, likeliest = target.strip("[] "), scores.index(max(scores))
    by_number = int(number) if number.isdecimal() and int(number) < len(scores) else None
    by_text = texts.index(target) if texts.count(target) == 1 else None
    by_outcome = likeliest if correct else 1 - likeliest if correct == 0 and len(scores) == 2 else None
    fits = (truth if correct in (None, likeliest == truth) else None for truth in (by_number, by_text))
    return *fits, by_outcome
