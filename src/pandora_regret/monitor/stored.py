"""The state of a monitor as plain data, and priors by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pandora_regret.inputs import InputError
from pandora_regret.priors import Prior
from pandora_regret.priors.names import PRIORS
from pandora_regret.records import from_plain, to_plain


@dataclass(frozen=True)
class Stored:
    """What JSON holds of a monitor."""

    schema: str
    library: str
    classes: tuple[str | int, ...]
    prior: str
    typical_costs: tuple[float, ...] | None  # for people; the next line is what is read
    base_costs: tuple[float, ...] | None
    level: float
    run_length: float
    lag: int
    compares: bool
    paid: dict[str, Any]
    promised: dict[str, Any]
    waiting: dict[str, Any]
    seen: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_dict(cls, state: Any, schema: str) -> Self:
        """The state again, or a sentence that says what is wrong with it."""
        named = state.get("schema") if isinstance(state, Mapping) else None
        if named != schema:
            problem = f"has the schema {named!r}, not {schema!r}"
            raise InputError(problem, argument="state", fix="pass what Monitor.state() returned")
        stored = from_plain(cls, state, "state")
        if stored.base_costs is not None and len(stored.base_costs) != len(stored.classes):
            raise InputError("does not fit the classes", place="state.base_costs", fix="the state is damaged")
        return stored


def read_prior_name(name: str) -> Prior:
    """The prior of that name."""
    kind, _, number = name.partition(":")
    try:
        known = PRIORS[kind]
        return known.make(float(number)) if number else known.make()
    except (KeyError, TypeError, ValueError):
        fix = "pass the prior that the monitor was begun with"
        raise InputError(f"{name} cannot be made from its name", argument="prior", place="", fix=fix) from None
