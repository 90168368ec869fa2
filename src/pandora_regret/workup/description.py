"""What a work-up is: classes, steps that inform about them, ways to stop; and which exact method it allows.

The method is told from the structure, whoever wrote it in whatever form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import chain, permutations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pandora_regret.core.atomic import Place, write_atomically
from pandora_regret.core.costs import Pathways
from pandora_regret.core.costs.pathways import shared_steps
from pandora_regret.core.inputs import FloatArray, InputError, Names
from pandora_regret.core.records import fail, path, read_toml, to_toml
from pandora_regret.text import counted
from pandora_regret.workup.format import Pair, Stop, WorkupStep, read_workup

Method = Literal["search", "hierarchy", "forest", "graph"]
MOST_SHARED = 6  # steps that others need together: all their orders are looked at


@dataclass(frozen=True, init=False, repr=False)
class Workup:
    """Tests that inform about several classes, what must come before them, and ways to stop.

    Arguments are what the TOML file holds under the same keys (docs/reference/formats.md), in dictionaries.

    Parameters
    ----------
    classes
        The names of the classes; forecasts without names have their columns in this order.
    steps
        Tables by name: `cost` (or fee `items`), `requires`, and what the step tells: `confirms` a class,
        `tells_apart` classes (or "all"), is `positive_for` classes with `sensitivity` and `specificity`, or has
        `outcomes` with their probabilities per class. A step that tells nothing is a visit.
    about
        Everything else under the file's keys. `hierarchy`: nested tables of costs; each level is searched until
        one of its tests answers, then the next. `stops`: ways to end before a class is confirmed, with a `loss`,
        or `wrong` for naming a class that is not the truth. `confirm`: whether the truth must be confirmed by a
        test; otherwise being the only class left is enough. `budget`: the most that a case may cost in steps.
        `unresolved`: without `stops`, what it loses once no class can be found any more. `rounds`: the `fee` of
        every round, and which steps can be ordered `together` in one. `items`, `title`, `currency` and so on.

    See Also
    --------
    plan_workup : The best next step for one case.
    workup_cost : The score of many forecasts.

    Examples
    --------
    >>> workup = Workup(
    ...     classes=["melanoma", "nevus", "keratosis"],
    ...     steps={
    ...         "dermoscopy": {"cost": 52, "positive_for": ["melanoma"], "sensitivity": 0.9, "specificity": 0.8},
    ...         "biopsy": {"cost": 384, "tells_apart": "all"},
    ...     },
    ...     stops={"watch": {"loss": {"melanoma": 20000, "others": 30}}},
    ... )
    >>> workup
    Workup(3 classes, 2 steps, 1 way to stop; method='graph')
    """

    classes: Names
    sets: tuple[tuple[int, tuple[int, ...]], ...]  # classes that are sets of causes, and these
    cases: tuple[float, ...]  # (K,) how many of each class there were, or what share; all 0 where it is not said
    steps: tuple[WorkupStep, ...]
    requires: tuple[tuple[Pair, ...], ...]  # the numbers of the steps that each requires, and of their outcomes
    stops: tuple[Stop, ...]
    confirm: bool
    budget: float | None
    unresolved: tuple[float, ...]
    fee: float
    together: Names
    title: str
    notes: str
    currency: str
    source: str
    document: dict[str, Any] = field(compare=False)  # what the file says, as it is written

    def __init__(self, classes: Any, steps: Any = None, **about: Any) -> None:
        self._read({"classes": classes, "steps": steps, **about}, "Workup")

    @classmethod
    def load(cls, path: Place) -> Workup:
        """Read and check a TOML file."""
        workup = cls.__new__(cls)
        workup._read(read_toml(path, "pass the path of a TOML file"), str(path))
        return workup

    def _read(self, document: Mapping[str, Any], file: str) -> None:
        """All that a document says; `file` is what error messages call it."""
        try:
            self.__dict__.update(read_workup(document))
            check_possible(self)
        except InputError as error:
            raise error.within(file) from None

    @classmethod
    def from_pathways(cls, pathways: Place | Pathways) -> Workup:
        """A pathway file as it really is: what classes' pathways begin with is paid once, not once per class.

        Classes whose pathways are the same are told apart by the same step.

        Examples
        --------
        >>> for step in Workup.from_pathways("dermamnist").steps:
        ...     print(f"{step.name:22}{step.cost:9.4f}", *step.requires)
        visit                   75.1500
        basal_cell_carcinoma   165.6700 visit
        benign_keratosis        30.8625 visit
        melanoma               308.6250 visit
        """
        return cls(**shared_steps(pathways))

    @classmethod
    def learn(cls, records: Any, label: str, costs: Any = None, **options: Any) -> Workup:
        """From records of past cases, as `learn_workup` does."""
        from pandora_regret.workup.learn import learn_workup

        return learn_workup(records, label, costs, **options)

    def save(self, path: Place) -> Path:
        """Write a TOML file that `load` reads."""
        return write_atomically(path, to_toml(self.document).encode())

    def __repr__(self) -> str:
        stops = f", {counted(len(self.stops), 'way')} to stop" if self.stops else ""
        steps = counted(len(self.steps), "step")
        return f"Workup({len(self.classes)} classes, {steps}{stops}; method={self.method!r})"

    @property
    def method(self) -> Method:
        """Which exact method applies: "search", "hierarchy", "forest" or "graph"."""
        return self.structure[0]

    @cached_property
    def structure(self) -> tuple[Method, Any]:
        """The fastest exact method, and what it needs: the levels of a hierarchy, or each step's parents."""
        if not self.confirm or self.budget is not None or self.fee:
            return "graph", None
        levels = None
        if (self.costs > 0).all() and not self.stops:
            levels = hierarchy(self, (), range(len(self.classes)))
        if levels and sum(map(len, levels)) == len(self.steps):
            return ("hierarchy" if len(levels) > 1 else "search"), levels
        constant = all(not stop.names_class and len({*stop.losses}) == 1 for stop in self.stops)
        parents = forests(self) if constant else None
        return ("graph", None) if parents is None else ("forest", parents)

    @property
    def shares(self) -> dict[str, float]:
        """What share of the cases each class is."""
        if not any(self.cases):
            fix = "say how many cases of each class there are, or give a forecast"
            raise InputError("are missing, or all 0", argument="cases", fix=fix)
        return {name: n / sum(self.cases) for name, n in zip(self.classes, self.cases, strict=True)}

    @cached_property
    def costs(self) -> FloatArray:
        """What each step costs, (M,)."""
        return np.array([step.cost for step in self.steps])

    @cached_property
    def step_index(self) -> Mapping[str, int]:
        """The number of each step."""
        return {step.name: index for index, step in enumerate(self.steps)}

    @cached_property
    def before(self) -> list[set[Pair]]:
        """As `requires`, of all that must have come before each step, directly or not."""
        before = [set(pairs) for pairs in self.requires]
        for step in TopologicalSorter(dict(enumerate(map(dict, before)))).static_order():
            before[step].update(*(before[earlier] for earlier, _ in self.requires[step]))
        return before

    def likelihood(self, results: Iterable[Pair]) -> Any:
        """How likely each class makes some outcomes of steps, (K,); None, any outcome, is certain."""
        rows: list[Any] = [self.steps[step].chances[outcome] for step, outcome in results if outcome is not None]
        return np.prod([np.ones(len(self.classes)), *rows], axis=0)

    @property
    def endings(self) -> tuple[Stop, ...]:
        """The ways to stop; where there are none, what is left if nothing can be done."""
        return self.stops or (Stop("unresolved", self.unresolved),)


def check_possible(workup: Workup) -> None:
    """No circles, no steps that can never be made, no classes that nothing can confirm."""
    steps, reach = workup.steps, []
    try:
        before_each = workup.before
    except CycleError as error:
        circle = [steps[step].name for step in reversed(error.args[1])]
        problem = f"requires itself ({' -> '.join(circle)}), so it can never be made"
        fail(f"{path('steps', circle[0])}.requires", problem, "take one of these out")
    for step, before in zip(steps, before_each, strict=True):
        required, place = [(b, outcome) for b, outcome in before if outcome is not None], path("steps", step.name)
        chances = workup.likelihood(before)
        ended = workup.confirm and any(steps[b].confirmed[outcome] is not None for b, outcome in required)
        if ended or len(dict(required)) < len(required) or not chances.any():
            problem = "asks for outcomes that no case has at once, or that end the work-up"
            fail(f"{place}.requires", problem, "the step can never be made")
        least = step.cost + sum(steps[b].cost for b in dict(before)) + workup.fee
        if workup.budget is not None and least > workup.budget:
            problem = f"costs {least:g} with all that it requires, more than the budget of {workup.budget:g}"
            fail(f"{place}.cost", problem, "the step can never be made")
        reach.append({k for k in step.confirmed if k is not None and chances[k] > 0})
    if not workup.stops:
        check_can_end(workup, reach)


def check_can_end(workup: Workup, confirmable: list[set[int]]) -> None:
    """No class that would never be found, where there is no way to stop; each step's classes that it can confirm.

    Where a class need not be confirmed, it is found when it is the only one left: for every other class there must
    be an outcome that it may have, and the other may not.
    """
    if workup.confirm:
        for k, name in enumerate(workup.classes):
            if k not in set().union(*confirmable):
                fix = "add a step that confirms it, a way to stop, or confirm = false"
                fail("classes", f"contains {name!r}, which nothing can ever confirm", fix)
        return
    n_classes = len(workup.classes)
    told_apart = np.eye(n_classes, dtype=bool)  # (K, K): whether a class may have an outcome that another may not
    for step, before in zip(workup.steps, workup.before, strict=True):
        makeable = workup.likelihood(before) > 0
        for row in np.array(step.chances):
            told_apart |= np.outer((row > 0) & makeable, row == 0)
    for k, other in np.argwhere(~told_apart).tolist():
        problem = f"contains {workup.classes[k]!r}, which nothing can ever tell from {workup.classes[other]!r}"
        fail("classes", problem, "add a step that tells them apart, or a way to stop")


Level = dict[int, frozenset[int]]  # steps that are searched, and the classes that each asks for


def hierarchy(workup: Workup, requires: tuple[Pair, ...], classes: Iterable[int]) -> list[Level] | None:
    """The levels below an outcome, each of which covers its classes without overlap; None if that is not so.

    The first are the steps that require exactly this, then come those that require one outcome of each.
    A step that confirms nothing says in which of two parts the truth lies, and only one of them is searched on.
    """
    level, below = Level(), list[Level]()
    for index, step in enumerate(workup.steps):
        if workup.requires[index] != requires:
            continue
        level[index] = step.settles
        if not _is_leaf(step):
            wanted = {pair for some in workup.requires for pair in some if pair[0] == index}
            outcome = wanted.pop()[1] if len(wanted) == 1 else None
            if outcome is None or not step.is_certain or step.confirmed != (None, None):
                return None
            level[index] = frozenset(np.flatnonzero(step.chances[outcome]).tolist())
            inner = hierarchy(workup, ((index, outcome),), level[index])
            if inner is None:
                return None
            below += inner
    return [level, *below] if sorted(chain(*level.values())) == sorted(classes) else None


def _is_leaf(step: WorkupStep) -> bool:
    """Whether a step confirms some classes, one per outcome, and tells nothing about the others."""
    return bool(step.settles) and step.is_certain and step.confirmed.count(None) <= 1


def forests(workup: Workup) -> list[list[int]] | None:
    """For each step the one that must come before it, or -1, where steps settle disjoint sets of classes.

    Steps that another needs together are made in some order: each order is a forest, in which they are a chain.
    """
    steps, settled = workup.steps, sorted(chain(*(step.settles for step in workup.steps)))
    if (
        any(step.outcomes != ("done",) and not _is_leaf(step) for step in steps)
        # an outcome that confirms nothing is as good as any: with the others the work-up ends
        or any(o is not None and steps[b].confirmed[o] is not None for some in workup.requires for b, o in some)
        or settled != (sorted(set(settled)) if workup.stops else [*range(len(workup.classes))])
    ):
        return None
    before = [set(dict(some)) for some in workup.before]
    last = [needed - set().union(*(before[one] for one in needed)) for needed in before]
    shared = set().union(*(needed for needed, ends in zip(before, last, strict=True) if len(ends) > 1))
    if len(shared) > MOST_SHARED:
        return None
    forests = []
    for order in permutations(shared):
        places = Counter({step: place for place, step in enumerate(order)})
        if all(places[one] < places[step] for step in order for one in before[step] & shared):
            parents = [max(needed, key=places.__getitem__, default=-1) for needed in last]
            for step, parent in zip(order, (-1, *order), strict=False):
                parents[step] = parent
            forests.append(parents)
    return forests
