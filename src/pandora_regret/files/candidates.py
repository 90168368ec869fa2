"""JSON lines whose rows have options of their own: lists of candidates, orders alone, samples of language models.

Lists become whole forecasts. What the probabilities of a list leave goes evenly to the classes that it does not
name. Where they leave nothing, the row does not have the others as options: they have probability 0, and an option
that is listed with probability 0 becomes the smallest positive number, so that it stays ahead of them.

Samples are what lm-evaluation-harness logs of multiple-choice tasks: log-likelihoods of options as forecasts.
A line has ``doc_id``, ``doc``, ``target``, ``arguments`` and ``filtered_resps``. There is one request per option:
its arguments are the context and the option's text, its response is the pair (log-likelihood, whether greedy
decoding would say it). Newer versions write all of these as text, and arguments as objects, ``gen_args_0`` of
``arg_0`` and ``arg_1``. The options are called A, B, C, ... by their
places.
"""

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.core.inputs import (
    LARGEST,
    LEAST_NORMAL,
    TOLERANCE,
    Fields,
    InputError,
    IntArray,
    Names,
    noted,
    quoted,
)
from pandora_regret.files.columns import Rows, kinds_of, with_labels
from pandora_regret.files.layout import Dialect
from pandora_regret.files.roles import LABEL
from pandora_regret.files.source import (
    AllDone,
    FileError,
    Limit,
    Source,
    TableInMemory,
    check_names,
)
from pandora_regret.files.text import ONE_PER_LINE, JsonLines, arrow_table, written_otherwise
from pandora_regret.text import counted

FORECAST = "forecast"
TRUTH = "truth"
SCORED = frozenset({"label", "score"})
PREFIX = f"{FORECAST}:"
TRUTHS = (TRUTH, *LABEL.usual)  # what the field of the true option may be called
STEP = 10_000.0  # between the logits of neighbours in an order: more than any two prices differ, in logarithms
SAMPLE_FIELDS = frozenset({"doc_id", "target", "filtered_resps"})
ONE_TRUTH = "tasks with one true option per row can be scored"
OBJECTS_PER_BYTE = 32  # bytes of Python's objects for one of a line, as measured
CORRECT = "acc"  # the field that says whether the likeliest option was the true one


class Row(NamedTuple):
    """One line."""

    truth: str | None  # the name of an option; of a sample, the target
    options: dict[str, float]  # probabilities or logits of those that it lists
    facts: Fields  # other fields: ids, weights, groups
    readings: tuple[int | None, ...] = ()  # the number of a sample's true option: by number, text or outcome


Records = Mapping[str, Fields]  # values by name, by the place of a row, such as " line 3"


@dataclass(frozen=True)
class ListedRows(TableInMemory):
    """Rows with lists of their own, as a table of all options: NaN where a row does not list one."""

    named: Names = ()  # the options that some row lists

    def completed(self, truth: IntArray, values: Any, rows: Rows) -> tuple[IntArray, Any]:
        """The truths and whole forecasts of rows.

        A truth that its list does not name becomes the class of all such, or has to be possible.
        """
        absent = np.isnan(values)
        row_numbers = np.arange(len(truth))
        if rows.reading.logits:
            values[absent] = -np.inf
        else:
            rest = 1 - np.nansum(values, axis=1)  # for what is not listed; nothing where that is wrong or nearly 0
            rest[(rest <= TOLERANCE) | (np.nanmin(values, axis=1) < 0)] = 0.0
            share = rest / np.maximum(1, absent.sum(axis=1))
            stated = np.where(values == 0, LEAST_NORMAL, values)
            values = np.where(absent, share[:, None], stated)
        outside = (truth >= 0) & absent[row_numbers, truth]
        if self.other is not None:
            truth = np.where(outside, rows.reading.classes.index(self.other), truth)
        else:
            impossible = outside & (values[row_numbers, truth] <= 0)
            problem = "has the truth {!r}, which its list does not name"
            fix = "name a class for truths that lists do not name (--other NAME)"
            rows.tell("label", impossible, None, problem, fix, np.array(rows.reading.classes, dtype=object)[truth])
        return truth, values.T


def open_json(
    path: str, head: bytes, dialect: Dialect, classes: Sequence[str] | None, location: str, limit: Limit
) -> Source:
    """JSON lines: a table, or rows with lists of their own, as the first line tells."""
    file, sample, _ = JsonLines.begun(path, head, dialect, location)
    file = replace(file, done=written_otherwise(path, file.encoding))
    rows = [values for _, values in file.objects(file.records(io.BytesIO(sample)))]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise FileError("has no rows", path, ONE_PER_LINE)
    is_sample = rows[0].keys() >= SAMPLE_FIELDS
    if is_sample or field_of_lists(rows[0]):
        lines = _counted(file, limit)
        objects = file.objects(lines, each_once=True)
        records = {f" line {line}": values for line, values in objects}
        if is_sample:
            return _read_samples(file, records, classes or ())
        return read_lists(file, records, dialect.other, classes or ())
    check_names(names, path)
    return replace(file, kinds=kinds_of(arrow_table(rows, names)))


def _counted(file: JsonLines, limit: Limit) -> Iterator[tuple[int, bytes]]:
    """The lines of a file whose rows are all held, as long as they may be."""
    size = 0
    for _, (number, line) in file.rows():
        size += len(line)
        limit.check(OBJECTS_PER_BYTE * size)
        yield number, line


def field_of_lists(values: Fields) -> str | None:
    """The field that holds a row's candidates: `forecast`, or labels with scores, as text classifiers write."""
    if isinstance(values.get(FORECAST), (dict, list)):
        return FORECAST
    return next((name for name, value in values.items() if isinstance(value, list) and _pairs(value)), None)


def _pairs(value: Any) -> list[tuple[Any, Any]] | None:
    """Names with their values, of a mapping or of ``[{"label": ..., "score": ...}, ...]``; None if it is neither.

    A list of scores may stand in a list of its own.
    """
    if isinstance(value, dict):
        return list(value.items())
    entries = value[0] if len(value) == 1 and isinstance(value[0], list) else value
    if not entries:
        return None
    for entry in entries:
        if not isinstance(entry, dict) or not entry.keys() >= SCORED:
            return None
    return [(entry["label"], entry["score"]) for entry in entries]


def _rows(path: str, records: Records, read: Callable[[Fields], Row]) -> dict[str, Row]:
    """What is read of each record; whatever is wrong is said with its place."""
    rows = dict[str, Row]()
    for place, values in records.items():
        try:
            rows[place] = read(values)
        except InputError as error:
            raise FileError(error.problem, path, error.fix, place) from None
    return rows


def _over_all_options(
    file: Source,
    rows: dict[str, Row],
    first: Sequence[str],
    done: AllDone,
    logits: bool,
    order_only: bool = False,
    other: str | None = None,
) -> ListedRows:
    """The rows of a file as a table of all options, those in `first` before the others.

    Truths that no row lists are options, too, unless the class `other` stands for them.
    """
    lines = rows.values()
    named = tuple(dict.fromkeys(chain.from_iterable(row.options for row in lines)))
    options = tuple(dict.fromkeys((*first, *named)))
    if other is None:
        options = with_labels(options, dict.fromkeys(row.truth for row in lines))
    if len(options) < 2:
        raise FileError(f"names the options {quoted(options)}", file.path, "list at least two options")
    records = []
    for row in lines:
        forecast = {f"{PREFIX}{name}": value for name, value in row.options.items()}
        records.append(row.facts | {TRUTH: row.truth} | forecast)
    facts = chain.from_iterable(row.facts for row in lines)
    columns = dict.fromkeys((*facts, TRUTH, *(f"{PREFIX}{name}" for name in options)))
    table = arrow_table(records, columns)
    return ListedRows(
        file.path,
        kinds_of(table.schema),
        done=(*file.done, *done),
        layout={"proba_prefix": PREFIX, "classes": None, "label": TRUTH, "logits": logits},
        order_only=order_only,
        other=other,
        table=table,
        row_places=list(rows),
        named=named,
    )


def read_lists(file: Source, records: Records, other: str | None, classes: Sequence[str]) -> ListedRows:
    """Rows such as ``{"id": 7, "truth": "flu", "forecast": {"flu": 0.7, "cold": 0.3}}``, or in order only.

    `other` is the class of everything that a list does not name.
    """
    path = file.path
    first = next(iter(records.values()))
    key = field_of_lists(first) or FORECAST
    order_only = _pairs(first[key]) is None
    rows = _rows(path, records, partial(_row, key=key, order_only=order_only))
    lists = [row.options for row in rows.values()]
    if order_only:
        sentence = f"{path} lists options in order only: scored by that order, as at known costs (alpha = inf)"
        done = noted("order only", len(rows), sentence, path)
    else:
        n = sum(math.fsum(options.values()) < 1 - TOLERANCE for options in lists)
        to = "spread evenly over the classes that they do not name" if other is None else f"given to {other!r}"
        done = noted("rest of lists", n, f"what {counted(n, 'list')} of {path} leave is {to}", path)
    if other is not None:  # it has the probability that is left, or comes last
        classes = (*classes, other)
        for options in lists:
            rest = max(0.0, 1 - math.fsum(options.values())) + options.get(other, 0.0)
            options[other] = options.get(other, -STEP * len(options)) if order_only else rest
    return _over_all_options(file, rows, classes, done, order_only, order_only, other)


def _row(values: Fields, key: str, order_only: bool) -> Row:
    """Probabilities; or logits that fall along a list, so steeply that no prices change the order."""
    truth = next((values[name] for name in TRUTHS if values.get(name) is not None), None)
    if not isinstance(truth, (str, int, type(None))):
        raise InputError(f"has the {TRUTH} {truth!r:.40}", fix="write the name of the true option")
    forecast = values.get(key)
    if not forecast or not isinstance(forecast, (dict, list)):
        raise InputError(f"has no {key}", fix="write names with their probabilities, or names in order")
    pairs = _pairs(forecast)
    if (pairs is None) != order_only:
        problem = "holds an order where other lines hold probabilities"
        if order_only:
            problem = "holds probabilities where other lines hold an order"
        raise InputError(problem, fix="write the same on every line")
    if pairs is None:
        pairs = [(name, -STEP * rank) for rank, name in enumerate(forecast)]
    options = dict[str, float]()
    for name, value in pairs:
        if not isinstance(name, (str, int)) or str(name) in options:
            raise InputError(f"holds the list {forecast!r:.80}", fix="list names, each once")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
            raise InputError(f"gives {name!r} the value {value!r:.40}", fix="write a number")
        options[str(name)] = float(value)
    facts = Fields()
    for name, value in values.items():
        if name != TRUTH and not isinstance(value, (dict, list)):
            facts[name] = value
    return Row(None if truth is None else str(truth), options, facts)


def _read_samples(file: Source, records: Records, classes: Sequence[str]) -> ListedRows:
    """The truths are targets as numbers or texts of options, whichever fit in all rows."""
    path = file.path
    rows = _rows(path, records, _sample)
    *by_target, by_outcome = zip(*(row.readings for row in rows.values()), strict=True)
    fitting = [truths for truths in by_target if None not in truths]
    if not fitting and None not in by_outcome:  # as where contexts differ
        fitting = [by_outcome]
    if not fitting:
        place, row = list(rows.items())[max((*truths, None).index(None) for truths in by_target)]
        problem = f"has the target {row.truth!r:.80}, which is not the number or text of one option"
        raise FileError(problem, path, ONE_TRUTH, place)
    if fitting[0] != fitting[-1]:
        problem = "has targets that may be numbers or texts of options, which differ"
        raise FileError(problem, path, "log the samples with the metric acc, which tells")
    for (place, row), truth in zip(rows.items(), fitting[0], strict=True):
        rows[place] = row._replace(truth=[*row.options][truth])
    words = f"{path} read as samples of lm-evaluation-harness: log-likelihoods of options are the forecasts"
    return _over_all_options(file, rows, classes, noted("format", len(rows), words, path), logits=True)


def _sample(values: Fields) -> Row:
    """One sample of a multiple-choice task: its options are A, B, C, ..., their log-likelihoods the forecasts."""
    scores, contexts, texts = _requests(values)
    target = values.get("target")
    if not 2 <= len(scores) == len(texts) or any(map(math.isnan, scores)) or target is None:
        problem = "has no target" if target is None else "holds no log-likelihoods of options"
        raise InputError(problem, fix="samples of multiple-choice tasks can be scored, generated text cannot")
    if max(scores) > 0:
        problem = f"has the log-likelihood {max(scores):g}"
        raise InputError(problem, fix="logarithms of probabilities are at most 0")
    correct = values.get(CORRECT)
    if correct not in (None, 0, 1):
        raise InputError(f"has {CORRECT} {correct!r:.20}, as tasks with several true options do", fix=ONE_TRUTH)
    half = len(texts) // 2
    if half and texts[:half] == texts[half:] and not any(contexts[half:]):  # once more, without context
        scores = scores[:half]
        texts = texts[:half]
    numbers = (str(k + 1) for k in range(len(ascii_uppercase), len(scores)))
    options = dict(zip((*ascii_uppercase, *numbers), scores, strict=False))
    target = str(target).strip()
    return Row(target, options, _facts_of_sample(values), _readings(target, scores, texts, correct))


def _requests(values: Fields) -> tuple[list[float], list[str], list[str]]:
    """The score of each option, the context of each request and its option's text; none if one is unreadable."""
    try:
        scores = [float(score) for score, is_greedy in values["filtered_resps"]]
        parts = [list(_items(request)) for request in _items(values["arguments"])]
        contexts = [str(part[0]) for part in parts]
        texts = [str(part[1]).strip() for part in parts]
    except (TypeError, ValueError, KeyError, IndexError, OverflowError):
        return [], [], []
    return scores, contexts, texts


def _facts_of_sample(values: Fields) -> Fields:
    """The id of a sample, and the numbers and texts of its document as columns ``doc.name``."""
    facts: Fields = {"id": values["doc_id"]}
    document = values.get("doc")
    if isinstance(document, dict):
        for key, value in document.items():
            if isinstance(value, (str, int, float)):
                facts[f"doc.{key}"] = value
    return facts


def _items(container: Any) -> Any:
    """What a mapping or a list holds."""
    return container.values() if isinstance(container, dict) else container


def _readings(target: str, scores: list[float], texts: list[str], correct: Any) -> tuple[int | None, ...]:
    """The true option if the target is its number, or its text; or as the harness saw the outcome.

    None where that cannot be, also because the harness saw another outcome.
    """
    likeliest = scores.index(max(scores))
    by_number = None
    number = target.strip("[] ")
    if number.isdecimal() and int(number) < len(scores):
        by_number = int(number)
    by_text = texts.index(target) if texts.count(target) == 1 else None
    by_outcome = None
    if correct:
        by_outcome = likeliest
    elif correct == 0 and len(scores) == 2:
        by_outcome = 1 - likeliest
    if by_number is not None and correct not in (None, likeliest == by_number):
        by_number = None
    if by_text is not None and correct not in (None, likeliest == by_text):
        by_text = None
    return by_number, by_text, by_outcome
