"""Ranked lists in commands: from files and options to a comparison."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click
import numpy as np

from pandora_regret import files
from pandora_regret.cli.options import ListOptions, PriceOptions, RowOptions
from pandora_regret.cli.output import bars, bullets, echo, heading, print_json, print_remarks
from pandora_regret.comparison import Comparison, compare_lists
from pandora_regret.comparison.breakdowns import columns_of, values_of
from pandora_regret.comparison.request import USUAL, ComparisonOptions, Provenance
from pandora_regret.core.inputs import FloatArray, InputError, Remark
from pandora_regret.files.ranked import RankedModels, read_ranked
from pandora_regret.text import counted


@dataclass(frozen=True)
class RankedFiles:
    """Files of ranked lists, and what was typed about them."""

    files: tuple[str, ...]
    rows: RowOptions
    lists: ListOptions
    prices: PriceOptions


def read_requested(request: RankedFiles, breakdowns: Sequence[str] = ()) -> RankedModels:
    """The lists in the files."""
    prices = request.prices.read()
    layout = request.lists.layout(request.rows, columns_of(breakdowns))
    price_list = None if prices.price_list is None else prices.price_list.costs
    return read_ranked(files.read_models_argument(request.files, request.rows.layout()), layout, price_list)


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
    """Print what files of ranked lists hold, or the first thing that is wrong with each; the exit code."""
    tables: list[dict[str, object]] = []
    remarks: tuple[Remark, ...] = ()
    for path in request.files:
        try:
            ranked = read_requested(replace(request, files=(path,)))
        except InputError as error:
            problem = {"kind": error.argument or "file", "message": str(error), "count": 1}
            tables.append({"path": path, "name": None, "fine": False, "problems": [problem]})
            continue
        remarks += ranked.remarks
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
    shared_problems: list[dict[str, object]] = []
    fine = all(table["fine"] for table in tables)
    if fine and len(request.files) > 1:
        try:
            read_requested(request)
        except InputError as error:
            message = {"kind": error.argument or "file", "message": str(error), "count": 1}
            shared_problems.append(message | {"paths": request.files})
    fine = fine and not shared_problems
    if as_json:
        findings = {"fine": fine, "remarks": remarks, "shared_problems": shared_problems, "tables": tables}
        print_json(findings, "pandora-validation/2")
    else:
        _print_tables(tables, shared_problems, remarks)
    return 0 if fine else 2


def _print_tables(
    tables: Sequence[dict[str, object]], shared_problems: Sequence[dict[str, object]], remarks: Sequence[Remark]
) -> None:
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
            heading(str(table["path"]), "1 problem", colour="red")
            bullets([str(problem["message"]) for problem in _problems_of(table)], mark="!")
    if shared_problems:
        heading("Together", counted(len(shared_problems), "problem"), colour="red")
        bullets([str(problem["message"]) for problem in shared_problems], mark="!")
    print_remarks(remarks)


def _problems_of(table: dict[str, object]) -> list[dict[str, object]]:
    """The problems of a table."""
    problems = table["problems"]
    return problems if isinstance(problems, list) else []
