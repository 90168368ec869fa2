"""Models on the same rows: read, perhaps cut to what all have, aligned, and what was done to get there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pandora_regret.files.alignment import align, common_rows, orders_too
from pandora_regret.files.batch import Batch
from pandora_regret.files.predictions import Predictions, read_models
from pandora_regret.inputs import Done, Forecast, InputError
from pandora_regret.text import counted, listed


@dataclass(frozen=True)
class Together:
    """Models on the same rows."""

    models: dict[str, Predictions]
    batches: list[Batch]
    done: tuple[Done, ...]  # what was done to the files

    def of_rows(self, what: str) -> Any:
        """What any of the files says of the rows; where several do, they say the same."""
        return next((part for part in (getattr(batch, what) for batch in self.batches) if part is not None), None)

    @property
    def by(self) -> dict[str, Any]:
        """The values to break results down by; a column may stand in any of the files."""
        return {name: values for batch in reversed(self.batches) for name, values in (batch.by or {}).items()}

    def forecasts(self) -> dict[str, Forecast]:
        """The models' forecasts, all with the weights of the rows."""
        weighted = (replace(batch, weights=self.of_rows("weights")) for batch in self.batches)
        pairs = zip(self.models.items(), weighted, strict=True)
        return {name: batch.forecast(model.logits) for (name, model), batch in pairs}


def read_together(
    opened: Sequence[Predictions], common: bool = False, progress: Callable[[], object] = lambda: None
) -> Together:
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
    Together
        The models by their names, and their rows.
    """
    names, batches, left_out = unique_names(opened), list[Batch](), tuple[Done, ...]()
    for batch in read_models(opened):
        batches.append(batch)
        progress()
    truth = opened[0].truth
    if truth is not None:
        left_out += truth.never_forecast(batches)
    if common:
        batches, rows = common_rows(batches, names)
        left_out += rows
    batches = align(batches, names)
    of_models = list(zip(names, opened, batches, strict=True))
    heads = dict.fromkeys(each for one in opened for each in one.done)
    done = (*left_out, *orders_too(batches, names), *heads)
    done += tuple(
        each for name, one, batch in of_models for each in (*batch.changes.done(name), *_zeros(name, one, batch))
    )
    return Together(dict(zip(names, opened, strict=True)), batches, done)


def unique_names(opened: Sequence[Predictions]) -> list[str]:
    """Each model's own name; those that two files share are told apart by their files."""
    times = Counter(one.name for one in opened)
    paths = [one.path if one.only is None else f"{one.name} ({one.path})" for one in opened]
    names = [one.name if times[one.name] == 1 else path for one, path in zip(opened, paths, strict=True)]
    if twice := next((name for name, n in Counter(names).items() if n > 1), None):
        raise InputError(f"{twice} is given twice: give each file once.")
    return names


def _zeros(name: str, model: Predictions, batch: Batch) -> tuple[Done, ...]:
    """The classes that were taken as probability 0 because a file lacks them, and how often they are true."""
    buckets = {source.other for source, _ in batch.origins}
    absent = [each for each, column in model.columns.column_of.items() if not column and each not in buckets]
    n = int(np.isin(batch.truth, [batch.classes.index(each) for each in absent]).sum())
    sentence = (
        f"{name} has no {listed(absent)}: taken as probability 0, the truth of {counted(n, 'case')}"
        if absent
        else ""
    )
    return (Done("classes taken as 0", len(absent), sentence, name),) if absent else ()
