"""What a search for violations found: verdicts, and the examples that prove them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray


@dataclass(frozen=True)
class Violation:
    """Forecasts of the same instances that a metric judges wrongly."""

    why: str
    y_true: IntArray  # (N,)
    forecasts: Mapping[str, FloatArray]  # by name, (N, K)
    scores: Mapping[str, float]  # by the same names: what the metric says

    def __str__(self) -> str:
        header = ["truth", *(f"{name}: {self.scores[name]:.4g}" for name in self.forecasts)]
        lines = [header, *self._groups()]
        widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.why, *(line.rstrip() for line in table)])

    def _groups(self) -> Iterator[list[str]]:
        """Instances that every forecast treats alike share a line."""
        joint = np.hstack(list(self.forecasts.values()))
        _, first, group = np.unique(joint, axis=0, return_index=True, return_inverse=True)
        for number in np.argsort(first):
            rows = group.ravel() == number
            numbers = (table[first[number]] for table in self.forecasts.values())
            yield [_tally(self.y_true[rows]), *(" ".join(f"{p:.3f}" for p in row) for row in numbers)]


@dataclass(frozen=True)
class Verdict:
    """Whether a desideratum survived the search for violations: true or false in an `if`.

    Surviving is evidence, not proof; a violation is proof.
    """

    desideratum: str
    trials: int
    violation: Violation | None = None

    def __bool__(self) -> bool:
        return self.violation is None

    def __str__(self) -> str:
        if self.violation is None:
            return f"{self.desideratum}: holds (no violation in {self.trials} trials)"
        example = str(self.violation).replace("\n", "\n    ")
        return f"{self.desideratum}: FAILS\n    {example}"


@dataclass(frozen=True)
class Desiderata:
    """The paper's three demands on a metric, and plain propriety, each with its verdict."""

    metric: str
    decision_alignment: Verdict
    propriety: Verdict
    strict_propriety: Verdict
    order_sensitivity: Verdict

    def __iter__(self) -> Iterator[Verdict]:
        yield from (self.decision_alignment, self.propriety, self.strict_propriety, self.order_sensitivity)

    def __str__(self) -> str:
        return "\n".join([self.metric, *(f"  {verdict}".replace("\n", "\n  ") for verdict in self)])


def _tally(labels: IntArray) -> str:
    """The labels of some instances: "2", or "3 of 0, 1 of 2"."""
    classes, counts = np.unique(labels, return_counts=True)
    if len(labels) == 1:
        return str(classes[0])
    return ", ".join(f"{count} of {label}" for label, count in zip(classes, counts, strict=True))
