"""Samples that lm-evaluation-harness logs of multiple-choice tasks: log-likelihoods of options as forecasts.

A line has ``doc_id``, ``doc``, ``target``, ``arguments`` and ``filtered_resps``. There is one request per option:
its arguments are the context and the option's text, its response is the pair (log-likelihood, whether greedy
decoding would say it). Newer versions write all of these as text, and arguments as objects, ``gen_args_0`` of
``arg_0`` and ``arg_1``. A task with several filters repeats its rows. The options are called A, B, C, ... by their
places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from pandora_regret.files.json_lines import JsonLines, LineError, ListedRow, ListedRows
from pandora_regret.files.problems import FileError
from pandora_regret.inputs import Done

FIELDS = frozenset({"doc_id", "target", "filtered_resps"})
ONE_TRUTH = "tasks with one true option per row can be scored"
CORRECT = "acc"  # the field that says whether the likeliest option was the true one


@dataclass(frozen=True)
class LoggedSample:
    """One line."""

    line: int
    scores: tuple[float, ...]  # log-likelihoods of the options
    texts: tuple[str, ...]  # of the options; empty where they are not logged
    target: str
    correct: bool | None  # as the harness saw it
    about: Mapping[str, Any]

    def truth(self, reading: str) -> int | None:
        """The true option if the target is its number or its text; or as the harness saw the outcome.

        None where that cannot be, also because the harness saw another outcome.
        """
        likeliest, target = self.scores.index(max(self.scores)), self.target.strip()
        if reading == "outcome":  # the likeliest if that was correct, else the other of two
            if self.correct is None or not (self.correct or len(self.scores) == 2):
                return None
            return likeliest if self.correct else 1 - likeliest
        if reading == "number":
            number = self.target.strip("[] ")
            truth = int(number) if number.isdecimal() and int(number) < len(self.scores) else None
        else:
            truth = self.texts.index(target) if self.texts.count(target) == 1 else None
        return truth if self.correct in (None, likeliest == truth) else None


def is_sample(first: Mapping[str, Any]) -> bool:
    """Whether a line is a sample of the harness."""
    return first.keys() >= FIELDS


def read_samples(file: JsonLines, classes: Sequence[str]) -> ListedRows:
    """The rows of the first filter."""
    samples, filters, skipped = [], dict[Any, None](), 0
    for line, values in file.objects():
        filters.setdefault(values.get("filter"))
        if values.get("filter") != next(iter(filters)):
            skipped += 1
            continue
        try:
            samples.append(_sample(line, values))
        except LineError as error:
            raise error.at(file, line) from None
    rows = [
        ListedRow(each.line, letter(truth), {letter(k): x for k, x in enumerate(each.scores)}, each.about)
        for each, truth in zip(samples, _truths(file, samples), strict=True)
    ]
    words = f"{file.path} read as samples of lm-evaluation-harness: log-likelihoods of options are the forecasts"
    done = [Done("format", len(rows), words, file.path)]
    if skipped:
        others = f"{skipped:,} rows of filters other than {next(iter(filters))!r} left out of {file.path}"
        done.append(Done("rows left out", skipped, others, file.path))
    return ListedRows.of(file, rows, classes, logits=True, done=tuple(done))


def letter(number: int) -> str:
    """What the option at a place is called: A to Z, then by number."""
    return ascii_uppercase[number] if number < len(ascii_uppercase) else str(number + 1)


def _sample(line: int, values: Mapping[str, Any]) -> LoggedSample:
    scores, requests = _scores(values["filtered_resps"]), _requests(values.get("arguments"))
    if scores is None or values["target"] is None:
        problem = "holds no log-likelihoods of options" if scores is None else "has no target"
        raise LineError(problem, "samples of multiple-choice tasks can be scored, generated text cannot")
    if max(scores) > 0:
        raise LineError(f"has the log-likelihood {max(scores):g}", "logarithms of probabilities are at most 0")
    correct = values.get(CORRECT)
    if correct not in (None, 0, 1):
        raise LineError(f"has {CORRECT} {correct!r:.20}, as tasks with several true options do", ONE_TRUTH)
    texts, half = tuple(text for _, text in requests), len(requests) // 2
    if half and texts[:half] == texts[half:] and not any(context for context, _ in requests[half:]):
        scores, texts = scores[: len(scores) // 2], texts[:half]  # the same options once more, without context
    doc = values.get("doc")
    fields = doc.items() if isinstance(doc, dict) else ()
    about = {f"doc.{key}": value for key, value in fields if isinstance(value, (str, int, float))}
    return LoggedSample(
        line,
        scores,
        texts if len(texts) == len(scores) else (),
        str(values["target"]),
        None if correct is None else bool(correct),
        {"id": values["doc_id"], **about},
    )


def _scores(responses: Any) -> tuple[float, ...] | None:
    """The log-likelihood of every option, or None where responses are something else."""
    try:
        scores = tuple(float(score) for score, is_greedy in responses)
    except (TypeError, ValueError, OverflowError):
        return None
    return scores if len(scores) > 1 and not any(map(math.isnan, scores)) else None


def _requests(arguments: Any) -> list[tuple[str, str]]:
    """The context of each request, and what it asks the likelihood of."""
    requests = arguments.values() if isinstance(arguments, dict) else arguments
    try:
        parts = [list(each.values() if isinstance(each, dict) else each) for each in requests]
        return [(str(part[0]), str(part[1]).strip()) for part in parts]
    except (TypeError, IndexError):
        return []


def _truths(file: JsonLines, samples: Sequence[LoggedSample]) -> list[int]:
    """The true options: targets are their numbers or texts, whichever agree with the harness in all rows."""
    readings = [[each.truth(reading) for each in samples] for reading in ("number", "text")]
    fitting = [truths for truths in readings if None not in truths]
    if not fitting:  # as where contexts differ, not options
        fitting = [truths for truths in [[each.truth("outcome") for each in samples]] if None not in truths]
    if fitting and fitting[0] == fitting[-1]:
        return [truth for truth in fitting[0] if truth is not None]
    if fitting:
        problem, fix = (
            "has targets that may be numbers or texts of options, which differ",
            ("log the samples with the metric acc, which tells"),
        )
        raise FileError(problem, path=file.path, fix=fix)
    furthest = max(readings, key=lambda truths: (*truths, None).index(None))
    wrong = samples[furthest.index(None)]
    problem = f"has the target {wrong.target!r:.80}, which is not the number or text of one option"
    raise LineError(problem, ONE_TRUTH).at(file, wrong.line)
