"""Ranked lists in commands: from files and options to a comparison."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import click
import numpy as np

from pandora_regret import files
from pandora_regret.cli.options import ListOptions, PriceOptions, RowOptions
from pandora_regret.cli.output import bars, bullets, echo, heading, print_json, print_remarks
from pandora_regret.cli.problems import print_shared_problems, problems_as_dicts, sentence_of_problem
from pandora_regret.comparison import Comparison, compare_lists
from pandora_regret.comparison.breakdowns import columns_of, values_of
from pandora_regret.comparison.request import USUAL, ComparisonOptions, Provenance
from pandora_regret.core.inputs import FloatArray, InputError, Remark
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.ranked.models import RankedModels, inspect_ranked
from pandora_regret.text import counted


@dataclass(frozen=True)
class RankedFiles:
    """Files of ranked lists, and what was typed about them."""

    files: tuple[str, ...]
    rows: RowOptions
    lists: ListOptions
    prices: PriceOptions
    are_parts: bool = False  # whether several files hold cases of the same models


def read_requested(request: RankedFiles, breakdowns: Sequence[str] = ()) -> RankedModels:
    """The lists in the files."""
    ranked = _inspect_requested(request, RAISED, breakdowns)
    assert ranked is not None  # or an error was raised
    return ranked


def _inspect_requested(
    request: RankedFiles, problems: Problems, breakdowns: Sequence[str] = ()
) -> RankedModels | None:
    """The lists in the files, where `problems` hears what is wrong; None without any."""
    prices = request.prices.read()
    layout = request.lists.layout(request.rows, columns_of(breakdowns))
    price_list = None if prices.price_list is None else prices.price_list.costs
    if request.are_parts and len(request.files) > 1:
        models = [files.ModelFiles(request.files, request.rows.layout())]
    else:
        models = files.read_models_argument(request.files, request.rows.layout())
    return inspect_ranked(models, layout, price_list, problems)


def _inspected(request: RankedFiles) -> tuple[RankedModels | None, list[files.Problem]]:
    """The lists in some files, as far as they can be read, and all that is wrong with them."""
    problems = files.CollectedProblems()
    ranked = None
    try:
        ranked = _inspect_requested(request, problems)
    except InputError as error:
        path = error.path if isinstance(error, files.FileError) else request.files[0]
        is_other_file = path not in request.files
        problems.in_file(error.argument or "file", error, paths=(path,) if is_other_file else ())
    return ranked, problems.problems


def compare_ranked(
    request: RankedFiles,
    options: ComparisonOptions = USUAL,
    breakdowns: Sequence[str] = (),
    worth: str = "1%",
) -> Comparison:
    """The comparison of the lists in files."""
    prices = request.prices.read()
    if prices.workup is not None:
        raise click.UsageError("--workup and ranked lists do not go together.")
    price_list = prices.price_list
    currency = prices.unit or None
    source = None
    if price_list is not None:
        currency = prices.unit or price_list.unit
        source = price_list.source
    elif request.lists.price is not None:
        currency = prices.unit
        source = f"the column {request.lists.price}"
    with bars() as progress:
        progress.start("reading", total=1)
        ranked = read_requested(request, breakdowns)
        progress.start("comparing", total=1)
        columns = {name: np.array(ranked.facts[name]) for name in columns_of(breakdowns)}
        group = request.rows.group
        weight = request.rows.weight
        return compare_lists(
            ranked.models,
            miss=request.lists.miss,
            until=request.lists.until,
            prior=prices.prior,
            truths=ranked.truths,
            currency=currency,
            source=source,
            sample_weight=None if weight is None else _weights(ranked, weight),
            groups=None if group is None else ranked.facts[group],
            by=values_of(breakdowns, columns) or None,
            worth=worth,
            options=options,
            provenance=Provenance(
                files=tuple(map(os.path.basename, request.files)),
                remarks=ranked.remarks,
                prior=request.prices.prior,
            ),
        )


def _weights(ranked: RankedModels, column: str) -> FloatArray:
    """A column of weights, as numbers."""
    numbers = []
    for row, text in enumerate(ranked.facts[column]):
        try:
            numbers.append(float(text or ""))
        except ValueError:
            fix = "write a number for every case"
            raise InputError(argument="weight", row=row, value=text, fix=fix) from None
    return np.array(numbers)


def validate_lists(request: RankedFiles, as_json: bool) -> int:
    """Print what files of ranked lists hold, or all that is wrong with each; the exit code."""
    tables: list[dict[str, object]] = []
    sentences: dict[str, list[str]] = {}  # what is wrong, by file
    remarks: tuple[Remark, ...] = ()
    for path in request.files:
        ranked, problems = _inspected(replace(request, files=(path,)))
        if ranked is None or problems:
            found = problems_as_dicts(problems, "rows", "places")
            tables.append({"path": path, "name": None, "fine": False, "problems": found})
            sentences[path] = [sentence_of_problem(problem) for problem in problems]
            continue
        remarks += ranked.remarks
        tables += _tables_of(ranked, path)
    shared_problems: list[files.Problem] = []
    fine = all(table["fine"] for table in tables)
    if fine and len(request.files) > 1:
        _, shared_problems = _inspected(request)
    fine = fine and not shared_problems
    if as_json:
        shared = problems_as_dicts(shared_problems, "paths")
        findings = {"fine": fine, "remarks": remarks, "shared_problems": shared, "tables": tables}
        print_json(findings, "pandora-validation/2")
    else:
        _print_tables(tables, sentences)
        if shared_problems:
            print_shared_problems(shared_problems)
        print_remarks(remarks)
    return 0 if fine else 2


def _tables_of(ranked: RankedModels, path: str) -> list[dict[str, object]]:
    """What a file holds, model by model, as JSON."""
    tables: list[dict[str, object]] = []
    n_truths = np.array([len(names) for names in ranked.truths])
    for name, candidates in ranked.models.items():
        table: dict[str, object] = {
            "path": path,
            "name": name,
            "fine": True,
            "cases": candidates.n_cases,
            "candidates": candidates.n_candidates,
            "missed": int(candidates.is_missed.sum()),
            "several_truths": int((np.maximum(n_truths, candidates.n_true) > 1).sum()),
            "problems": [],
        }
        tables.append(table)
    return tables


def _print_tables(tables: Sequence[dict[str, object]], sentences: Mapping[str, list[str]]) -> None:
    """Every file with what it holds, or what is wrong with it, for people."""
    for table in tables:
        if table["fine"]:
            heading(f"{table['path']}: {table['name']}", "fine", colour="green")
            parts = [
                f"{table['cases']} cases",
                f"{table['candidates']} candidates",
                f"{table['missed']} lists without a true candidate",
                f"{table['several_truths']} with several truths",
            ]
            echo(", ".join(parts))
        else:
            path = str(table["path"])
            heading(path, counted(len(sentences[path]), "problem"), colour="red")
            bullets(sentences[path], mark="!")
