"""What a study asks of a zoo, whatever kind it is, and of a data set: whose models predict it, and its costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

import numpy as np

from pandora_regret.core.inputs import FloatArray, InputError, Names, read_costs
from pandora_regret.files.prices import PriceList
from pandora_regret.study.store import Plain, Prediction, Target

FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
STUDY = "study.toml"  # in a study's output folder, a copy of its file
ORIGIN = "origin.txt"  # and the folder in which that file lay
RESULTS = "results.json"  # and what was found
TAKEN = (STUDY, ORIGIN, RESULTS)  # beside them lies a folder for each data set


@dataclass(frozen=True)
class Outcome:
    """What became of one model: a prediction, or the reason why there is none."""

    name: str
    prediction: Prediction | None = None
    failure: str | None = None


class Zoo(Protocol):
    """Models that predict the same instances."""

    @property
    def most_jobs(self) -> int | None:
        """How many processes may predict at once: 0 is this one, None as many as asked for."""

    def target(self) -> Target:
        """The instances that every model predicts."""

    def names(self) -> list[str]:
        """The models, always in the same order."""

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """The names split into those that one process should do together; not asked where `most_jobs` is 0."""

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """The outcome of each model; one that fails does not stop the others."""

    def about(self) -> Plain:
        """Settings and library versions, to be kept with the predictions."""


@dataclass(frozen=True)
class DataSet:
    """One data set of a study: its models, and what its tests cost."""

    name: str
    zoo: Zoo
    costs: PriceList | Mapping[str, float] | None = None  # by class; None: every test costs the same
    currency: str | None = None
    leave_out: Names = ()  # names of models, or patterns, that are neither run nor ranked

    def __post_init__(self) -> None:
        check_folder_name(self.name)

    def costs_of(self, classes: Sequence[str]) -> FloatArray:
        """In the order of the classes, matched by name, (K,)."""
        if self.costs is None:
            return np.ones(len(classes))
        if isinstance(self.costs, PriceList):  # which may have prices of other classes, too
            return self.costs.for_classes(classes).costs
        return read_costs(self.costs, classes, argument=f"costs of data set {self.name!r}")


def check_folder_name(name: str) -> None:
    """An error unless a data set's folder can have this name on every system, beside the study's own files."""
    if FORBIDDEN.search(name) or name.casefold() in TAKEN:
        fix = "it must be a name that a folder can have everywhere"
        raise InputError(argument="name", value=name, fix=fix)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these, or fits one of these patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def kept_models(models: Iterable[str], leave_out: Iterable[str]) -> list[str]:
    """The models that are not among those that a study leaves out, names or patterns."""
    patterns = tuple(leave_out)
    return [model for model in models if not matches(model, patterns)]
