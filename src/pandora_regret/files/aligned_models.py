"""Several models read together: all of their rows, the same cases in the same order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import CLASSES_TAKEN_AS_0, FloatArray, Forecast, InputError, remark_on
from pandora_regret.files.alignment import align, common_rows
from pandora_regret.files.batch import Batch, ModelFacts, NameArray, check_labelled, unlabelled_left_out
from pandora_regret.files.predictions import Predictions, read_all_models
from pandora_regret.files.recognise import Remarks
from pandora_regret.text import counted, listed

ArrayT = TypeVar("ArrayT", bound=NDArray[np.generic])


@dataclass(frozen=True)
class AlignedModels:
    """Models on the same n rows and K classes. What any of their files says of the rows is said of all."""

    names: list[str]
    batches: list[Batch]
    remarks: Remarks  # what was done to the files

    @property
    def ids(self) -> NameArray | None:
        """The rows' ids, (n,)."""
        return _first_stated([batch.ids for batch in self.batches])

    @property
    def groups(self) -> NameArray | None:
        """What rows belong to, (n,)."""
        return _first_stated([batch.groups for batch in self.batches])

    @property
    def weights(self) -> FloatArray | None:
        """The rows' weights, (n,)."""
        return _first_stated([batch.weights for batch in self.batches])

    @property
    def costs(self) -> FloatArray | None:
        """What each row's own tests cost, (n, K)."""
        return _first_stated([batch.costs for batch in self.batches])

    @property
    def by(self) -> dict[str, NDArray[np.object_]]:
        """The values to break results down by, (n,) each; a column may stand in any of the files."""
        columns: dict[str, NDArray[np.object_]] = {}
        for batch in reversed(self.batches):
            columns |= batch.by or {}
        return columns

    def forecasts(self) -> dict[str, Forecast]:
        """The models' forecasts, all with the weights of the rows."""
        forecasts = {}
        for name, batch in zip(self.names, self.batches, strict=True):
            forecasts[name] = replace(batch, weights=self.weights).with_relative_weights().forecast()
        return forecasts


def _first_stated(arrays: Sequence[ArrayT | None]) -> ArrayT | None:
    """The first array that is there; where several are, they say the same."""
    return next((array for array in arrays if array is not None), None)


def read_aligned_models(
    opened: Sequence[Predictions], common: bool = False, progress: Callable[[], object] = lambda: None
) -> AlignedModels:
    """All rows of models on the same rows and classes, and what was done to get there.

    Parameters
    ----------
    opened
        From `open_models`.
    common
        Whether rows that not all have are left out.
    progress
        Called after each model.

    Returns
    -------
    AlignedModels
        The models by their names, and their rows.
    """
    names = unique_names(opened)
    batches = list[Batch]()
    truth = opened[0].truth
    for batch in read_all_models(opened):
        batches.append(batch)
        progress()
    remarks = () if truth is None else _truths_left_out(truth, batches)
    if common:
        batches, left_out = common_rows(batches, names, truth)
        remarks += left_out
    batches = align(batches, names)
    if any(model.layout.blank_labels for model in opened):
        batches, n_unlabelled = _labelled_in_any(batches, opened[0].path if truth is None else truth.path)
        remarks += unlabelled_left_out(n_unlabelled)
    orders = [name for name, model in zip(names, opened, strict=True) if model.order_only]
    with_probabilities = [name for name in names if name not in orders]
    if orders and with_probabilities:
        why = f"because {listed(orders)} {'has' if len(orders) == 1 else 'have'} no probabilities"
        sentence = f"{listed(with_probabilities)} scored by order alone, too, {why}"
        remarks += remark_on("order only", len(with_probabilities), sentence)
    remarks += tuple(dict.fromkeys(chain.from_iterable(model.remarks for model in opened)))
    for name, model, batch in zip(names, opened, batches, strict=True):
        remarks += (*batch.changes.remarks(name), *_zeros(name, model, batch))
    return AlignedModels(names, batches, remarks)


def _labelled_in_any(batches: Sequence[Batch], path: str) -> tuple[list[Batch], int]:
    """The cases that have a true class in at least one file, (n,) each, and how many have none.

    A label that is blank in one file is taken from another.
    """
    truth = np.max([batch.truth for batch in batches], axis=0)
    known = np.flatnonzero(truth >= 0)
    n_unlabelled = len(truth) - len(known)
    if not any((batch.truth < 0).any() for batch in batches):
        return list(batches), 0
    check_labelled(n_unlabelled, len(truth), path)
    completed = [batch if batch.votes is not None else replace(batch, truth=truth) for batch in batches]
    return [batch.take(known) for batch in completed], n_unlabelled


def _truths_left_out(truth: Batch, batches: Sequence[Batch]) -> Remarks:
    """How many cases of the truth's own file no model forecasts."""
    without_forecast = set(np.asarray(truth.ids).tolist())
    for batch in batches:
        without_forecast.difference_update(np.asarray(batch.ids).tolist())
    n = len(without_forecast)
    sentence = f"left out {counted(n, 'case')} of {truth.path} that no model forecasts"
    return remark_on("truths left out", n, sentence, truth.path)


def unique_names(opened: Sequence[Predictions | ModelFacts]) -> list[str]:
    """Each model's own name; those that two files share are told apart by their files."""
    times = Counter(model.name for model in opened)
    names = []
    for model in opened:
        if times[model.name] == 1:
            names.append(model.name)
        elif model.only is None:
            names.append(model.path)
        else:
            names.append(f"{model.name} ({model.path})")
    for name, n in Counter(names).items():
        if n > 1:
            fix = "give each file once"
            raise InputError("is given twice", argument="files", place=name, value=name, fix=fix)
    return names


def _zeros(name: str, model: Predictions, batch: Batch) -> Remarks:
    """The classes that were taken as probability 0 because a file lacks them, and how often they are true."""
    absent = [name for name, column in model.columns.column_of.items() if not column and not model.is_list]
    n = int(np.isin(batch.truth, [batch.classes.index(label) for label in absent]).sum())
    sentence = f"{name} has no {listed(absent)}: taken as probability 0, the truth of {counted(n, 'case')}"
    return remark_on(CLASSES_TAKEN_AS_0, len(absent), sentence, name)
