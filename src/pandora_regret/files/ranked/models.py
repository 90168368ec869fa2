"""The lists of several models on the same cases, `RankedModels`: what callers of this room ask for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pandora_regret.candidates.searched import CaseLists
from pandora_regret.core.inputs import InputError, Names, Remark, remark_on
from pandora_regret.files.layout import ModelFiles
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.ranked.alignment import (
    called_as_in_truth,
    check_same_truths,
    common_cases,
    fact_of_cases,
    true_names_of,
)
from pandora_regret.files.ranked.layout import FILE_ID, ListLayout
from pandora_regret.files.ranked.lists import lists_of
from pandora_regret.files.ranked.parts import joined_parts
from pandora_regret.files.ranked.reading import names_of_folders, read_rows
from pandora_regret.files.ranked.rows import CaseFacts, RankedRows
from pandora_regret.files.ranked.truth import read_true_names
from pandora_regret.files.source import Source
from pandora_regret.text import counted


@dataclass(frozen=True)
class RankedModels:
    """Several models' lists on the same N cases, in the same order."""

    models: dict[str, CaseLists]
    truths: list[list[str]]  # the names that are true of each case, as far as anybody says them
    facts: CaseFacts
    paths: Names
    remarks: tuple[Remark, ...]

    @property
    def ids(self) -> Names:
        """What the cases are called."""
        return next(iter(self.models.values())).ids


def read_ranked(
    files: Sequence[ModelFiles], layout: ListLayout, prices: Mapping[str, float] | None = None
) -> RankedModels:
    """The lists of all models, joined by the names of cases.

    Parameters
    ----------
    files
        The models' files, as `read_models_argument` names them.
    layout
        Which column is what.
    prices
        By candidate's name, where no column says them; that of "other" is for all names that it does not have.

    Returns
    -------
    RankedModels
        The lists, and what was done to the files.
    """
    ranked = inspect_ranked(files, layout, prices, RAISED)
    assert ranked is not None  # or an error was raised
    return ranked


def inspect_ranked(
    files: Sequence[ModelFiles], layout: ListLayout, prices: Mapping[str, float] | None, problems: Problems
) -> RankedModels | None:
    """The lists of all models as `read_ranked` returns them, or None; `problems` hears what is wrong.

    What could not be read is left out, so that what else is wrong is told, too.
    """
    models = _read_models(files, layout, prices is not None, problems)
    if not models:
        return None
    truth = None if layout.truth is None else read_true_names(layout)
    if truth is None:
        check_same_truths(models, problems)
    elif layout.id == FILE_ID:
        models = [called_as_in_truth(rows, truth) for rows in models]
    ids, remarks = common_cases(models, truth, layout.common_rows, problems)
    lists: dict[str, CaseLists] = {}
    for rows in models:
        candidates = lists_of(rows, truth, prices, layout, problems).of_cases(ids)
        remarks += rows.remarks + _remarks_on_lists(rows, candidates)
        lists[rows.name] = candidates
    return RankedModels(
        models=lists,
        truths=true_names_of(ids, models, lists, truth),
        facts={column: fact_of_cases(column, ids, models, truth) for column in layout.fact_columns},
        paths=tuple(dict.fromkeys(rows.path for rows in models)),
        remarks=remarks,
    )


def _read_models(
    files: Sequence[ModelFiles], layout: ListLayout, by_name: bool, problems: Problems
) -> list[RankedRows]:
    """The rows of all models that have some; `by_name`: prices are by candidates' names."""
    models: list[RankedRows] = []
    unnamed = [_path_of(path) for model in files if model.name is None for path in model.paths]
    name_of_folder = names_of_folders([path for path in unnamed if os.path.isdir(path)])
    for model in files:
        parts: list[RankedRows] = []
        name = model.name
        for part in model.paths:
            path = _path_of(part)
            found = read_rows(path, layout, name or name_of_folder.get(path), by_name, problems)
            if layout.model is None:
                name = found[0].name  # of the first part
            parts += [rows for rows in found if rows.ids]
        models += joined_parts(parts, layout.by_price, problems) if len(model.paths) > 1 else parts
    names = [rows.name for rows in models]
    for name in names:
        if names.count(name) > 1:
            error = InputError(f"two models are called {name}", place="", fix="give each a name: NAME=FILE")
            problems.in_file("model", error)
    return models


def _path_of(file: str | Source) -> str:
    """Where a file lies."""
    return file.path if isinstance(file, Source) else file


def _remarks_on_lists(rows: RankedRows, candidates: CaseLists) -> tuple[Remark, ...]:
    """What was done to a model's lists: names that come twice, empty lists."""
    n_repeated = candidates.n_repeated
    n_empty = int((candidates.lengths == 0).sum())
    repeated = f"{counted(n_repeated, 'candidate')} of {rows.name} named before in the same case left out"
    empty = f"{counted(n_empty, 'empty list')} of {rows.name} counted as misses"
    return (
        *remark_on("candidates named twice", n_repeated, repeated, rows.name),
        *remark_on("empty lists", n_empty, empty, rows.name),
    )
