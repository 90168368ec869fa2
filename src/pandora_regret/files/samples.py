"""Samples of language models as tables: what lm-evaluation-harness logs of multiple-choice tasks.

Log-likelihoods of options are the forecasts. A line has ``doc_id``, ``doc``, ``target``, ``arguments`` and
``filtered_resps``. There is one request per option: its arguments are the context and the option's text, its
response is the pair (log-likelihood, whether greedy decoding would say it). Newer versions write all of these as
text, and arguments as objects, ``gen_args_0`` of ``arg_0`` and ``arg_1``. The options are called A, B, C, ... by
their places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from string import ascii_uppercase

from pandora_regret.core.inputs import Fields, InputError, remark_on
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.lists import ListRecords, ListRow, option_table, rows_of_records
from pandora_regret.files.source import Source, SourceInMemory

SAMPLE_FIELDS = frozenset({"doc_id", "target", "filtered_resps"})
ONE_TRUTH = "tasks with one true option per row can be scored"
CORRECT = "acc"  # the field that says whether the likeliest option was the true one


def read_samples(file: Source, records: ListRecords, classes: Sequence[str]) -> SourceInMemory:
    """The truths are targets as numbers or texts of options, whichever fit in all rows."""
    path = file.path
    rows = rows_of_records(path, records, _sample)
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
    return option_table(file, rows, classes, remark_on("format", len(rows), words, path), logits=True)


def _sample(values: Fields) -> ListRow:
    """One sample of a multiple-choice task: its options are A, B, C, ..., their log-likelihoods the forecasts."""
    scores, contexts, texts = _requests(values)
    target = values.get("target")
    if not 2 <= len(scores) == len(texts) or any(map(math.isnan, scores)) or target is None:
        problem = "has no target" if target is None else "holds no log-likelihoods of options"
        argument = "y_true" if target is None else "y_proba"
        fix = "samples of multiple-choice tasks can be scored, generated text cannot"
        raise InputError(problem, argument=argument, fix=fix)
    if max(scores) > 0:
        problem = f"has the log-likelihood {max(scores):g}"
        fix = "logarithms of probabilities are at most 0"
        raise InputError(problem, argument="y_proba", value=max(scores), fix=fix)
    correct = values.get(CORRECT)
    if correct not in (None, 0, 1):
        problem = f"has {CORRECT} {correct!r:.20}, as tasks with several true options do"
        raise InputError(problem, argument="y_true", column=CORRECT, value=correct, fix=ONE_TRUTH)
    half = len(texts) // 2
    if half and texts[:half] == texts[half:] and not any(contexts[half:]):  # once more, without context
        scores = scores[:half]
        texts = texts[:half]
    numbers = (str(k + 1) for k in range(len(ascii_uppercase), len(scores)))
    options = dict(zip((*ascii_uppercase, *numbers), scores, strict=False))
    target = str(target).strip()
    return ListRow(target, options, _facts_of_sample(values), _truth_readings(target, scores, texts, correct))


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


def _items(container: object) -> Iterable[object]:
    """What a mapping or a list holds; a TypeError of anything else."""
    if isinstance(container, dict):
        return container.values()
    if isinstance(container, Iterable):
        return container
    raise TypeError(container)


def _truth_readings(target: str, scores: list[float], texts: list[str], correct: object) -> tuple[int | None, ...]:
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
