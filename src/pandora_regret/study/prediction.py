"""What passes between a zoo, a store and an analysis: one model's predictions for one data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Protocol

from numpy.typing import NDArray

from pandora_regret.inputs import IntArray


@dataclass(frozen=True)
class Target:
    """What is predicted: the true classes of the instances, as column numbers, and the classes' names."""

    truth: IntArray  # (N,)
    classes: tuple[str, ...]  # (K,)
    groups: IntArray | None = None  # (N,) numbers of groups that belong together, such as one patient's visits


@dataclass(frozen=True)
class Prediction:
    """One model's forecasts."""

    values: NDArray[Any]  # (N, K) probabilities, or logits
    logits: bool
    metadata: dict[str, Any] = field(default_factory=dict)  # parameters, input size, seed, seconds, ...


@dataclass(frozen=True)
class Outcome:
    """What became of one model: a prediction, or the reason why there is none."""

    name: str
    prediction: Prediction | None = None
    failure: str | None = None


class Zoo(Protocol):
    """Models that predict the same instances."""

    in_one_process: bool  # whether one process should see all batches in order, to prepare the next meanwhile

    def target(self) -> Target:
        """The instances that every model predicts."""

    def names(self) -> list[str]:
        """The models, always in the same order."""

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """The names split into those that one worker should do together."""

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """The outcome of each model; one that fails does not stop the others."""

    def about(self) -> dict[str, Any]:
        """Settings and library versions, to be kept with the predictions."""


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these, or fits one of these patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
