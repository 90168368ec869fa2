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

import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from pandora_regret.files.columns import Rows, explained, kinds_of, numbers_of
from pandora_regret.files.layout import Dialect
from pandora_regret.files.roles import LABEL
from pandora_regret.files.source import Fields, FileError, Names, Source, TableInMemory, check_names
from pandora_regret.files.text import ONE_PER_LINE, JsonLines, table_of, written_otherwise
from pandora_regret.inputs import Done, FloatArray, InputError, IntArray
from pandora_regret.inputs.names import quoted
from pandora_regret.inputs.numbers import LARGEST, LEAST_NORMAL
from pandora_regret.inputs.tables import TOLERANCE
from pandora_regret.text import counted

FORECAST, TRUTH = "forecast", "truth"
SCORED = frozenset({"label", "score"})
PREFIX = f"{FORECAST}:"
TRUTHS = (TRUTH, *LABEL.usual)  # what the field of the true option may be called
STEP = 10_000.0  # between the logits of neighbours in an order: more than any two prices differ, in logarithms
NOTHING: Mapping[str, str] = MappingProxyType({})
ROUNDED = 0.01  # how far off 100 rounding may bring a sum of percentages, as a share
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
    listed: Any = field(default=None, compare=False, repr=False)  # (rows, options), whether it lists it

    def over(self, options: Names, meant: Mapping[str, str] = NOTHING) -> Self:
        """The same rows over these options, which include all that the rows list, or what that is `meant` for."""
        place = {name: k for k, name in enumerate(options)}
        rows = [{meant.get(name, name): value for name, value in row.items()} for row in self.rows]
        values = np.full((len(rows), len(options)), np.nan)
        for number, row in enumerate(rows):
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
        return replace(self, kinds=kinds_of(table.schema), table=table, rows=rows, listed=~absent)

    def settled_truth(self, truth: IntArray, rows: Rows) -> IntArray:
        """A truth that its list does not name becomes the class of all such, or has to be possible."""
        outside = (truth >= 0) & ~self.listed[np.asarray(rows.numbers), truth]
        if self.other is not None:
            return np.where(outside, rows.classes.index(self.other), truth)
        if outside.any():
            options = np.stack(rows.forecasts([f"{PREFIX}{name}" for name in rows.classes]), axis=1)
            impossible = outside & (options[np.arange(len(truth)), truth] <= 0)
            problem = "has the truth {!r}, which its list does not name"
            fix = "name a class for truths that lists do not name (--other NAME)"
            rows.tell("label", impossible, None, problem, fix, np.array(rows.classes, dtype=object)[truth])
        return truth


def left_over(listed: FloatArray) -> FloatArray:
    """What probabilities leave for options that are not listed, (n,); 0 where they are wrong or nearly 1."""
    rest = 1 - np.nansum(listed, axis=1)
    return np.where((rest > TOLERANCE) & (np.nanmin(listed, axis=1) >= 0), rest, 0.0)


def open_json(path: str, head: bytes, said: Dialect, classes: Sequence[str] | None, location: str = "") -> Source:
    """JSON lines: a table, or rows with lists of their own, as the first line tells."""
    from msgspec.json import decode

    file, sample, _ = JsonLines.begun(path, head, said, location)
    file = replace(file, done=written_otherwise(path, file.encoding))
    try:
        first = decode(sample.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        first = None
    is_sample = isinstance(first, dict) and first.keys() >= SAMPLE_FIELDS
    if is_sample or (isinstance(first, dict) and field_of_lists(first)):
        with explained(path, "text"), file.stream() as stream:
            objects = file.objects(file.records(io.BufferedReader(stream)), each_once=True)
            records = [(f" line {line}", values) for line, values in objects]
        if is_sample:
            return _read_samples(file, records, classes or ())
        return read_lists(file, records, said.other, classes or ())
    rows = [values for _, values in file.objects(file.records(io.BytesIO(sample)))]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise FileError("has no rows", path, ONE_PER_LINE)
    check_names(names, path)
    return replace(file, kinds=kinds_of(table_of(rows, names)))


def field_of_lists(values: Fields) -> str | None:
    """The field that holds a row's candidates: `forecast`, or labels with scores, as text classifiers write."""
    if isinstance(values.get(FORECAST), (dict, list)):
        return FORECAST
    return next((name for name, value in values.items() if _scored_labels(value)), None)


def _scored_labels(value: Any) -> list[Fields] | None:
    """``[{"label": ..., "score": ...}, ...]``, perhaps in a list of its own."""
    value = value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value
    fits = (
        isinstance(value, list)
        and value
        and all(isinstance(each, dict) and each.keys() >= SCORED for each in value)
    )
    return value if fits else None


def _rows(
    path: str, records: Sequence[tuple[str, Fields]], read: Callable[[Fields], Row | None]
) -> dict[str, Row]:
    """What is read of each record, by its place; whatever is wrong is said with it."""
    rows = dict[str, Row]()
    for place, values in records:
        try:
            row = read(values)
        except InputError as error:
            raise FileError(error.problem, path, error.fix, place) from None
        if row is not None:
            rows[place] = row
    if not rows:
        raise FileError("has no rows", path, ONE_PER_LINE)
    return rows


def _table(
    file: Source,
    rows: dict[str, Row],
    classes: Sequence[str],
    layout: Fields,
    done: Sequence[Done],
    **about: Any,
) -> ListedRows:
    """The table of all options; `classes` come first, then others as they appear, then truths that are none."""
    truths = [row.truth for row in rows.values()]
    options = tuple(dict.fromkeys((*classes, *(name for row in rows.values() for name in row.options))))
    if about.get("other") is None:
        labels = dict.fromkeys(truth for truth in truths if truth is not None)
        numbers = numbers_of(labels, options).tolist()
        options += tuple(label for label, number in zip(labels, numbers, strict=True) if number < 0)
    if len(options) < 2:
        raise FileError(f"names the options {quoted(options)}", file.path, "list at least two options")
    others = [row.about for row in rows.values()]
    table = table_of(others, dict.fromkeys(name for each in others for name in each))
    columns = {name: table[name] for name in table.column_names} | {TRUTH: pa.array(truths, pa.string())}
    layout = {"proba_prefix": PREFIX, "classes": None, "label": TRUTH} | layout
    about |= {"row_places": list(rows), "rows": [row.options for row in rows.values()]}
    source = ListedRows(file.path, {}, done=tuple(done), layout=layout, table=pa.table(columns), **about)
    return source.over(options)


def read_lists(
    file: Source, records: Sequence[tuple[str, Fields]], other: str | None, classes: Sequence[str]
) -> ListedRows:
    """Rows such as ``{"id": 7, "truth": "flu", "forecast": {"flu": 0.7, "cold": 0.3}}``, or in order only.

    `other` is the class of everything that a list does not name.
    """
    kinds, key = list[bool](), field_of_lists(records[0][1]) or FORECAST

    def read(values: Fields) -> Row:
        row = _row(values, key)
        kinds.append(isinstance(values[key], list) and _scored_labels(values[key]) is None)
        if kinds[-1] != kinds[0]:
            words = ("an order", "probabilities")[:: 1 if kinds[-1] else -1]
            problem = "holds {} where other lines hold {}".format(*words)
            raise InputError(problem, fix="write the same on every line")
        return row

    rows, done, path = _rows(file.path, records, read), [*file.done], file.path
    order_only, layout = kinds[0], Fields()
    if order_only:
        layout = {"logits": True}
        sentence = f"{path} lists options in order only: scored by that order, as at known costs (alpha = inf)"
        done.append(Done("order only", len(rows), sentence, path))
    elif _are_percentages([row.options.values() for row in rows.values()]):
        shares = {at: {name: value / 100 for name, value in row.options.items()} for at, row in rows.items()}
        rows = {at: row._replace(options=shares[at]) for at, row in rows.items()}
        done.append(Done("percentages", len(rows), f"percentages of {path} divided by 100", path))
    rest = sum(math.fsum(row.options.values()) < 1 - TOLERANCE for row in rows.values())
    if rest and not order_only:
        to = "spread evenly over the classes that they do not name" if other is None else f"given to {other!r}"
        done.append(Done("rest of lists", rest, f"what {counted(rest, 'list')} of {path} leave is {to}", path))
    if other is not None:
        classes = (*classes, other)
        rows = {at: row._replace(options=_with_other(row.options, other, order_only)) for at, row in rows.items()}
    return _table(file, rows, classes, layout, done, order_only=order_only, other=other)


def _are_percentages(lists: Sequence[Iterable[float]]) -> bool:
    """Whether no list sums to more than 100, and some value is more than a probability."""
    values = [list(row) for row in lists]
    largest, least = max(max(row) for row in values), min(min(row) for row in values)
    return least >= 0 and largest > 1 + ROUNDED and max(map(math.fsum, values)) <= 100 * (1 + ROUNDED)


def _row(values: Fields, key: str) -> Row:
    truth = next((values[name] for name in TRUTHS if values.get(name) is not None), None)
    if not isinstance(truth, (str, int, type(None))):
        raise InputError(f"has the {TRUTH} {truth!r:.40}", fix="write the name of the true option")
    forecast = values.get(key)
    if not forecast or not isinstance(forecast, (dict, list)):
        raise InputError(f"has no {key}", fix="write names with their probabilities, or names in order")
    about = {
        name: value for name, value in values.items() if name != TRUTH and not isinstance(value, (dict, list))
    }
    return Row(None if truth is None else str(truth), _options(forecast), about)


def _options(forecast: Fields | list[Any]) -> dict[str, float]:
    """Probabilities; or logits that fall along a list, so steeply that no prices change the order."""
    pairs = _scored_labels(forecast)
    names = [str(each) for each in forecast] if pairs is None else [str(each["label"]) for each in pairs]
    plain = (
        isinstance(forecast, dict) or pairs is not None or all(isinstance(each, (str, int)) for each in forecast)
    )
    if not plain or len(set(names)) < len(names):
        raise InputError(f"holds the list {forecast!r:.80}", fix="list names, each once")
    if pairs is None and isinstance(forecast, list):
        return {name: -STEP * rank for rank, name in enumerate(names)}
    numbers = forecast.values() if isinstance(forecast, dict) else [each["score"] for each in pairs or ()]
    for name, value in zip(names, numbers, strict=True):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
            raise InputError(f"gives {name!r} the value {value!r:.40}", fix="write a number")
    return dict(zip(names, map(float, numbers), strict=True))


def _with_other(options: Mapping[str, float], other: str, order_only: bool) -> dict[str, float]:
    """With the class of all that is not listed, which has the probability that is left, or comes last."""
    if order_only:
        return {**options, other: options.get(other, -STEP * len(options))}
    return {**options, other: options.get(other, 0.0) + max(0.0, 1 - math.fsum(options.values()))}


def _read_samples(file: JsonLines, records: Sequence[tuple[str, Fields]], classes: Sequence[str]) -> ListedRows:
    """The rows of the first filter; targets are numbers or texts of options, whichever fit in all rows."""
    filters: Counter[str] = Counter()

    def read(values: Fields) -> Row | None:
        filters[str(values.get("filter"))] += 1
        return _sample(values) if len(filters) == 1 else None

    rows = _rows(file.path, records, read)
    readings = list(zip(*(row.readings for row in rows.values()), strict=True))
    fitting = [truths for truths in readings[:2] if None not in truths]
    fitting = fitting or [truths for truths in readings[2:] if None not in truths]  # as where contexts differ
    if not fitting:
        place, row = list(rows.items())[max((*truths, None).index(None) for truths in readings[:2])]
        problem = f"has the target {row.truth!r:.80}, which is not the number or text of one option"
        raise FileError(problem, file.path, ONE_TRUTH, place)
    if fitting[0] != fitting[-1]:
        problem = "has targets that may be numbers or texts of options, which differ"
        raise FileError(problem, file.path, "log the samples with the metric acc, which tells")
    for (place, row), truth in zip(rows.items(), fitting[0], strict=True):
        rows[place] = row._replace(truth=list(row.options)[truth or 0])
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
