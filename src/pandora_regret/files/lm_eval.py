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

from pandora_regret.files.candidates import ListedRow, ListedRows, objects_of
from pandora_regret.files.errors import FileError
from pandora_regret.files.text import TextFile
from pandora_regret.inputs import Done

FIELDS = frozenset({"doc_id", "target", "filtered_resps"})
ONE_TRUTH = "tasks with one true option per row can be scored"
CORRECT = "acc"  # the field that says whether the likeliest option was the true one


@dataclass(frozen=True)
class LoggedSample:
    """One line."""

    line: int
    id: Any
    scores: tuple[float, ...]  # log-likelihoods of the options
    texts: tuple[str, ...]  # of the options; empty where they are not logged
    target: str
    correct: bool | None  # as the harness saw it
    about: Mapping[str, Any]

    @property
    def by_number(self) -> int | None:
        """The true option if the target is its number."""
        text = self.target.strip("[] ")
        return int(text) if text.isdecimal() and int(text) < len(self.scores) else None

    @property
    def by_text(self) -> int | None:
        """The true option if the target is its text."""
        target = self.target.strip()
        return self.texts.index(target) if self.texts.count(target) == 1 else None

    @property
    def by_outcome(self) -> int | None:
        """The true option as the harness saw it: the likeliest if that was correct, else the other of two."""
        if self.correct is None or not (self.correct or len(self.scores) == 2):
            return None
        return self.likeliest if self.correct else 1 - self.likeliest

    @property
    def likeliest(self) -> int:
        """The option of the highest log-likelihood; of several, the first."""
        return self.scores.index(max(self.scores))

    def fits(self, truth: int | None) -> bool:
        """Whether the harness may have meant this option."""
        return truth is not None and self.correct in (None, self.likeliest == truth)


def is_sample(first: Mapping[str, Any]) -> bool:
    """Whether a line is a sample of the harness."""
    return first.keys() >= FIELDS


def read_samples(file: TextFile, classes: Sequence[str]) -> ListedRows:
    """The rows of the first filter."""
    samples, filters, skipped = [], dict[Any, None](), 0
    for line, values in objects_of(file):
        filters.setdefault(values.get("filter"))
        if values.get("filter") != next(iter(filters)):
            skipped += 1
        else:
            samples.append(_sample(file, line, values))
    truths = _truths(file, samples)
    rows = [
        ListedRow(each.line, letter(truth), {letter(k): x for k, x in enumerate(each.scores)}, each.about)
        for each, truth in zip(samples, truths, strict=True)
    ]
    return ListedRows.of(file, rows, classes, logits=True, done=_done(file, len(rows), list(filters), skipped))


def letter(number: int) -> str:
    """What the option at a place is called: A to Z, then by number."""
    return ascii_uppercase[number] if number < len(ascii_uppercase) else str(number + 1)


def _done(file: TextFile, n_rows: int, filters: Sequence[Any], skipped: int) -> tuple[Done, ...]:
    said = f"{file.path} read as samples of lm-evaluation-harness: log-likelihoods of options are the forecasts"
    done = (Done("format", n_rows, said, file.path),)
    if not skipped:
        return done
    others = f"{skipped:,} rows of filters other than {filters[0]!r} left out of {file.path}"
    return (*done, Done("rows left out", skipped, others, file.path))


def _sample(file: TextFile, line: int, values: Mapping[str, Any]) -> LoggedSample:
    scores, texts = _scores(values["filtered_resps"]), _texts(values.get("arguments"))
    if scores is None or values["target"] is None:
        problem = "holds no log-likelihoods of options" if scores is None else "has no target"
        fix = "samples of multiple-choice tasks can be scored, generated text cannot"
        raise FileError(problem, path=file.path, where=f" line {line}", fix=fix)
    if max(scores) > 0:
        problem, fix = f"has the log-likelihood {max(scores):g}", "logarithms of probabilities are at most 0"
        raise FileError(problem, path=file.path, where=f" line {line}", value=max(scores), fix=fix)
    if _is_doubled(values.get("arguments"), texts):  # the same options once more, without context
        scores, texts = scores[: len(scores) // 2], texts[: len(texts) // 2]
    doc = values.get("doc")
    fields = doc.items() if isinstance(doc, dict) else ()
    about = {f"doc.{key}": value for key, value in fields if isinstance(value, (str, int, float))}
    correct = values.get(CORRECT)
    if correct not in (None, 0, 1):
        problem, fix = f"has {CORRECT} {correct!r:.20}, as tasks with several true options do", ONE_TRUTH
        raise FileError(problem, path=file.path, where=f" line {line}", fix=fix)
    said = None if correct is None else bool(correct)
    texts = texts if len(texts) == len(scores) else ()
    return LoggedSample(
        line, values["doc_id"], scores, texts, str(values["target"]), said, {"id": values["doc_id"], **about}
    )


def _scores(responses: Any) -> tuple[float, ...] | None:
    """The log-likelihood of every option, or None where responses are something else."""
    try:
        scores = tuple(float(score) for score, is_greedy in responses)
    except (TypeError, ValueError, OverflowError):
        return None
    return scores if len(scores) > 1 and not any(map(math.isnan, scores)) else None


def _texts(arguments: Any) -> tuple[str, ...]:
    """What each request asks the likelihood of: its second argument."""
    requests = arguments.values() if isinstance(arguments, dict) else arguments
    try:
        parts = [list(each.values() if isinstance(each, dict) else each) for each in requests]
        return tuple(str(part[1]).strip() for part in parts)
    except (TypeError, IndexError):
        return ()


def _is_doubled(arguments: Any, texts: Sequence[str]) -> bool:
    """Whether every option was asked for a second time without its context, as mutual information needs."""
    half = len(texts) // 2
    if not half or texts[:half] != texts[half:]:
        return False
    requests = list(arguments.values() if isinstance(arguments, dict) else arguments)
    return all(not str(next(iter(each.values() if isinstance(each, dict) else each))) for each in requests[half:])


def _truths(file: TextFile, samples: Sequence[LoggedSample]) -> list[int]:
    """The true options: targets are their numbers or texts, whichever agree with the harness in all rows."""
    readings = {
        "number": [each.by_number if each.fits(each.by_number) else None for each in samples],
        "text": [each.by_text if each.fits(each.by_text) else None for each in samples],
    }
    fitting = [truths for truths in readings.values() if None not in truths]
    if not fitting:  # as where contexts differ, not options
        fitting = [truths for truths in [[each.by_outcome for each in samples]] if None not in truths]
    if fitting and (len(fitting) == 1 or fitting[0] == fitting[1]):
        return [truth for truth in fitting[0] if truth is not None]
    if fitting:
        raise FileError(
            "has targets that may be numbers or texts of options, which differ",
            path=file.path,
            fix="log the samples with the metric acc, which tells",
        )
    furthest = max(readings.values(), key=lambda truths: (*truths, None).index(None))
    wrong = samples[furthest.index(None)]
    problem = f"has the target {wrong.target!r:.80}, which is not the number or text of one option"
    raise FileError(problem, path=file.path, where=f" line {wrong.line}", fix=ONE_TRUTH)
