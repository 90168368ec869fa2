"""Protocols that people wrote down as decision trees: forecasts choose among these, and the score stays proper.

Each protocol is reduced to what it costs if a class is the truth, one row of a matrix; scoring is one matrix
product. It is also the way past the limit of the state graph.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pandora_regret.costs.section import Section, parse_toml
from pandora_regret.inputs import FloatArray, InputError, InputTypeError, IntArray
from pandora_regret.records import did_you_mean
from pandora_regret.workup.description import Workup, WorkupStep, read_bytes
from pandora_regret.workup.policies import Pairs, Policy
from pandora_regret.workup.reference import AS_GOOD

UNRESOLVED, REST = "unresolved", "otherwise"


class Menu(Policy):
    """A fixed set of protocols for one work-up: made by `Workup.menu`.

    Examples
    --------
    >>> workup = Workup(["a", "b"], {"look": {"cost": 3, "confirms": "a"}, "probe": {"cost": 5, "confirms": "b"}})
    >>> menu = workup.menu({"probe first": {"step": "probe", "then": {"no": {"step": "look"}}}})
    >>> menu.costs_by_class(workup.costs)
    array([[8., 5.]])
    """

    method = "menu"

    def __init__(self, workup: Workup, names: tuple[str, ...], uses: FloatArray, losses: FloatArray) -> None:
        super().__init__(workup)
        self.names = names
        self.uses = uses  # (protocols, K, M): how often each step is made if a class is the truth
        self.losses = losses  # (protocols, K)

    @property
    def title(self) -> str:  # type: ignore[override]
        """How many there are to choose from."""
        return f"a menu of {len(self.names)} protocols"

    @property
    def policy(self) -> Menu:
        """Itself: a menu can be scored wherever a work-up can."""
        return self

    def costs_by_class(self, costs: FloatArray) -> FloatArray:
        """What each protocol costs if each class is the truth, (protocols, K), where steps cost so much, (M,)."""
        return np.asarray(self.uses @ (costs + self.workup.fee) + self.losses)

    def choice(self, p: FloatArray, costs: FloatArray | None = None) -> IntArray:
        """The number of the protocol that each forecast, (n, K), expects to cost least; the first of equals."""
        expected = p @ self.costs_by_class(self.workup.costs if costs is None else costs).T
        as_good = expected <= expected.min(axis=1, keepdims=True) * AS_GOOD
        return np.asarray(np.argmax(as_good, axis=1), dtype=np.intp)

    def paid(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        """The row of the matrix that each forecast chooses."""
        return np.asarray(self.costs_by_class(costs)[self.choice(p, costs)[pairs.rows], pairs.truths])


def read_menu(workup: Workup, protocols: Any) -> Menu:
    """The menu of some protocols, from a mapping or a TOML file, checked."""
    file = "protocols"
    if isinstance(protocols, (str, os.PathLike)):
        file = str(protocols)
        document = Section(file, "", parse_toml(read_bytes(protocols), file))
        document.check_keys(("protocols",))
        protocols = document.section("protocols").entries
    if not isinstance(protocols, Mapping) or not protocols:
        raise InputTypeError(
            f"protocols must map names to trees, or be the path of a TOML file, got {protocols!r:.200}."
        )
    read = [_Protocol(workup).read(Section(file, str(name), dict(tree))) for name, tree in protocols.items()]
    return Menu(
        workup,
        tuple(map(str, protocols)),
        np.array([one.uses for one in read]),
        np.array([one.losses for one in read]),
    )


@dataclass
class _Protocol:
    """What a tree uses and loses, added up branch by branch."""

    workup: Workup
    uses: FloatArray = field(init=False)  # (K, M)
    losses: FloatArray = field(init=False)  # (K,)

    def read(self, tree: Section) -> _Protocol:
        self.uses = np.zeros((len(self.workup.classes), len(self.workup.steps)))
        self.losses = np.zeros(len(self.workup.classes))
        self._follow(tree, np.ones(len(self.workup.classes)), {})
        return self

    def _follow(self, tree: Section, chance: FloatArray, made: dict[str, str]) -> None:
        """Add one node and all below it; `chance` is how likely each class is to come here."""
        tree.check_keys(("step", "then") if "step" in tree else ("stop", "class"))
        if "step" not in tree:
            self._stop(tree, chance)
            return
        step = self._step(tree, made)
        self.uses[:, self.workup.step_index[step.name]] += chance
        then = tree.section("then") if "then" in tree else Section(tree.file, tree.path("then"), {})
        then.check_keys((*step.outcomes, REST))
        for outcome, row, confirmed in zip(step.outcomes, step.chances, step.confirmed, strict=True):
            here = chance * row
            ended = confirmed is not None if self.workup.confirm else np.count_nonzero(here) == 1
            if not here.any() or ended:
                continue
            key = outcome if outcome in then else REST
            if key not in then:
                tree.fail(
                    "then", f"says nothing about {outcome!r}: add a tree, or {REST!r} for all that is not named."
                )
            self._follow(then.section(key), here, made | {step.name: outcome})

    def _step(self, tree: Section, made: dict[str, str]) -> WorkupStep:
        name = tree.name_among("step", self.workup.step_index, "steps")
        step = self.workup.steps[self.workup.step_index[name]]
        if name in made:
            tree.fail("step", f"is {name!r} a second time: a step is made once.")
        for one in step.requires:
            if one.step not in made or one.outcome not in (None, made[one.step]):
                tree.fail("step", f"is {name!r}, which requires {one}: make that step before.")
        spent = sum(self.workup.steps[self.workup.step_index[one]].cost + self.workup.fee for one in (*made, name))
        if self.workup.budget is not None and spent > self.workup.budget * AS_GOOD:
            tree.fail("step", f"is {name!r}, by which {spent:g} is spent: the budget is {self.workup.budget:g}.")
        return step

    def _stop(self, tree: Section, chance: FloatArray) -> None:
        stops = {stop.name: stop for stop in self.workup.stops}
        name = tree.text("stop")
        if name == UNRESOLVED and not stops:
            self.losses += chance * self.workup.unresolved
            return
        if name not in stops:
            tree.fail("stop", f"is {name!r}, no way to stop: {did_you_mean(name, stops or [UNRESOLVED])}")
        lost = np.array(stops[name].losses)
        if stops[name].names_class:
            lost[self.workup.classes.index(tree.name_among("class", self.workup.classes, "classes"))] = 0.0
        elif "class" in tree:
            raise InputError(
                f"{tree.file}: {tree.path('class')} says nothing: the way to stop {name!r} names no class."
            )
        self.losses += chance * lost
