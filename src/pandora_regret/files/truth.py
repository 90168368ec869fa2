"""The truth in a file of its own, whose rows are found by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch, ids_written_otherwise
from pandora_regret.files.columns import Rows, numbers_of
from pandora_regret.files.roles import ID, KEPT, LABEL, VOTES
from pandora_regret.files.source import Fields
from pandora_regret.inputs import Done
from pandora_regret.text import counted


@dataclass(frozen=True)
class Truth:
    """What is true of each case, and what else is known of it: weights, groups, values to break down by."""

    rows: Batch  # without forecasts; its classes are the labels that occur
    lenient: bool = False  # whether cases may be missing
    done: tuple[Done, ...] = ()  # what was recognised in the file

    @property
    def path(self) -> str:
        """The file."""
        return self.rows.path

    @cached_property
    def _position(self) -> dict[Any, int]:
        assert self.rows.ids is not None
        return {name: row for row, name in enumerate(self.rows.ids.tolist())}

    def never_forecast(self, batches: Sequence[Batch]) -> tuple[Done, ...]:
        """The cases that no model forecasts, counted."""
        n = len(
            self._position.keys()
            - {name for batch in batches for name in (batch.ids if batch.ids is not None else [])}
        )
        sentence = f"{counted(n, 'case')} of {self.path} that no model forecasts left out"
        return (Done("truths left out", n, sentence, self.path),) if n else ()

    def of(self, ids: NDArray[Any], rows: Rows) -> Fields:
        """What is known of rows, by the names of the fields of `Batch`; cases that it lacks are told."""
        at = np.array([self._position.get(name, -1) for name in ids.tolist()], dtype=np.intp)
        if not self.lenient and (at < 0).any():
            about: Fields = {"fix": "complete it, or leave such rows out (--common-rows)", "argument": "id"}
            about |= ids_written_otherwise(ids, self.rows.ids, rows.source.path)
            problem = f"has the id {{!r}}, which {self.path.replace('{', '{{').replace('}', '}}')} lacks"
            rows.tell("id", at < 0, None, problem, values=ids, **about)
        known = self.rows.take(at)
        parts = ((role.field, getattr(known, role.field)) for role in KEPT)
        fields: Fields = {name: part for name, part in parts if part is not None}
        if self.rows.votes is not None:
            fields[VOTES.field] = fields[VOTES.field][:, numbers_of(rows.classes, self.rows.classes)]
        truth = np.append(rows.class_numbers(self.rows.classes, by_place=False), -1)[known.truth]
        labels = np.array([*self.rows.classes, None], dtype=object)[known.truth]
        rows.no_such_class((truth < 0) & (at >= 0) & (known.truth >= 0), None, labels)
        return fields | {LABEL.field: np.where(at < 0, -1, truth), ID.field: ids}
