"""Which cases the files of several models share, what is true of them, and what else is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pandora_regret.candidates.reading import true_names
from pandora_regret.candidates.searched import CaseLists
from pandora_regret.core.inputs import InputError, Remark, matched, remark_on
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.problems import Problems
from pandora_regret.files.ranked.rows import RankedRows
from pandora_regret.files.ranked.truth import TruthFile
from pandora_regret.text import counted


def called_as_in_truth(rows: RankedRows, truth: TruthFile) -> RankedRows:
    """Cases called like their files, without the ending that all of them share, where the truth has none with it.

    PhEval writes PMID_1_case-pheval_disease_result.tsv for the case PMID_1_case.
    """
    if any(name in truth.names for name in rows.ids):
        return rows
    first = rows.ids[0]
    for place, mark in enumerate(first):
        ending = first[place:]
        if mark in "-_." and all(name.endswith(ending) for name in rows.ids):
            shortened = [name.removesuffix(ending) for name in rows.ids]
            if any(name in truth.names for name in shortened):
                sentence = f"{ending!r} left off the names of {counted(len(shortened), 'file')} of {rows.name}"
                remarks = remark_on("endings of files", len(shortened), sentence, rows.name)
                return replace(rows, ids=shortened, remarks=rows.remarks + remarks)
    return rows


def check_same_truths(models: Sequence[RankedRows], problems: Problems) -> None:
    """Tell where two files do not agree on what is true of a case."""
    first = models[0]
    for rows in models[1:]:
        cases = list(dict.fromkeys([*_disagreements(first, rows), *_disagreements(rows, first)]))
        if cases:
            problem = f"has another truth of case {cases[0]!r} than {first.path}"
            fix = "correct it, or say with --truth what is true"
            error = FileError(problem, rows.path, fix, argument="truth", value=cases[0])
            problems.in_file("truth", error, len(cases), (first.path, rows.path))


def _disagreements(first: RankedRows, other: RankedRows) -> list[str]:
    """The cases of which the first says what the other denies.

    By names, they deny what they do not name; by hits, what they list as false.
    """
    if first.truths is not None and other.truths is not None:
        differing: list[str] = []
        for case, truth in first.truths.items():
            if case in other.truths and set(true_names(truth)) != set(true_names(other.truths[case])):
                differing.append(case)
        return differing
    if first.is_true is None or other.is_true is None or first.has_row_names or other.has_row_names:
        return []
    case_of_id = {name: number for number, name in enumerate(other.ids)}
    code_of_name = {name: code for code, name in enumerate(other.names)}
    true_rows = np.flatnonzero(first.is_true)
    keys_of_true: list[int] = []
    for row in true_rows.tolist():
        case_number = case_of_id.get(first.ids[first.case[row]])
        code = code_of_name.get(first.names[first.codes[row]])
        if case_number is not None and code is not None:
            keys_of_true.append(case_number * len(other.names) + code)
    keys = other.case * len(other.names) + other.codes
    is_said = np.isin(keys, np.array(keys_of_true, dtype=np.intp)) & (other.codes >= 0)
    denied = np.setdiff1d(keys[is_said & ~other.is_true], keys[is_said & other.is_true])
    return [other.ids[case] for case in np.unique(denied // max(1, len(other.names))).tolist()]


def common_cases(
    models: Sequence[RankedRows], truth: TruthFile | None, common_rows: bool, problems: Problems
) -> tuple[list[str], tuple[Remark, ...]]:
    """The cases on which models are compared, and what was left out.

    Where a file of truths says which cases there are, those that a model does not list are empty lists.
    """
    if truth is not None:
        remarks: tuple[Remark, ...] = ()
        for rows in models:
            lacking = len(truth.names) - len(set(rows.ids) & truth.names.keys())
            sentence = f"{counted(lacking, 'case')} of the truth that {rows.name} does not list counted as misses"
            remarks += remark_on("cases not listed", lacking, sentence, rows.name)
        return list(truth.names), remarks
    everywhere = set(models[0].ids)
    anywhere = set(models[0].ids)
    for rows in models[1:]:
        everywhere &= set(rows.ids)
        anywhere |= set(rows.ids)
    if len(everywhere) < len(anywhere) and not common_rows:
        for rows in models:
            lacking_ids = sorted(anywhere - set(rows.ids))
            if lacking_ids:
                problem = f"has no case {lacking_ids[0]!r}, which another file has"
                fix = "use the cases that all have (--common-rows), or say with --truth which cases there are"
                error = FileError(problem, rows.path, fix, argument="id", value=lacking_ids[0])
                problems.in_file("ids", error, len(lacking_ids), (rows.path,))
    n_left_out = len(anywhere) - len(everywhere)
    sentence = (
        f"left out {counted(n_left_out, 'case')} that {'is' if n_left_out == 1 else 'are'} missing from a file"
    )
    return [name for name in models[0].ids if name in everywhere], remark_on("rows left out", n_left_out, sentence)


def true_names_of(
    ids: Sequence[str], models: Sequence[RankedRows], lists: Mapping[str, CaseLists], truth: TruthFile | None
) -> list[list[str]]:
    """The names that are true of each case: as a file says, or as the hits of all models do."""
    by_id = truth.names if truth is not None else models[0].truths
    if by_id is not None:
        return [true_names(by_id.get(name, [])) for name in ids]
    if any(rows.has_row_names for rows in models):
        return [[] for _ in ids]
    names: list[dict[str, None]] = [{} for _ in ids]
    for candidates in lists.values():
        for case, true_here in enumerate(candidates.true_names()):
            names[case].update(dict.fromkeys(true_here))
    for rows in models:
        for case, name in enumerate(ids):
            names[case].update(dict.fromkeys(rows.unlisted.get(name, ())))
    return [list(listed) for listed in names]


def fact_of_cases(
    column: str, ids: Sequence[str], models: Sequence[RankedRows], truth: TruthFile | None
) -> list[str | None]:
    """What a column says of each case: of the file of truths, or of the first file that has it."""
    if truth is not None and truth.facts.get(column):
        return [truth.facts[column].get(name) for name in ids]
    for rows in models:
        for name, texts in rows.facts.items():
            if matched([column], [name]):
                by_id = dict(zip(rows.ids, texts, strict=True))
                return [by_id.get(name) for name in ids]
    raise InputError(f"no file has a column {column!r}", place="", value=column, fix="name one that a file has")
