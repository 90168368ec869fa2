"""What a work-up says, in a few lines: for whoever wrote the file, to see that it was understood."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pandora_regret.core.inputs import InputError, Names
from pandora_regret.text import listed, money
from pandora_regret.workup.description import Workup
from pandora_regret.workup.plan import plan_workup
from pandora_regret.workup.policies import GraphPolicy, exact_policy
from pandora_regret.workup.scores import workup_cost, workup_entropy

METHODS = {
    "search": "a search with definitive tests: closed form for every prior of costs",
    "hierarchy": "a hierarchy of searches: closed form for every prior of costs",
    "forest": "definitive tests that may share steps or be given up: Horn's algorithm",
    "graph": "the state graph",
    "planner": "none, for there are too many states to score by it; pandora next plans one case within bounds",
}


@dataclass(frozen=True)
class Summary:
    """What was understood of a work-up."""

    title: str
    currency: str  # "" where the work-up has none
    classes: Names
    steps: Names  # one line each
    stops: Names
    method: str
    states: int | None  # of the state graph, where it is used
    least: dict[str, float]  # what someone who knew the class would pay; empty where that is not known exactly
    uninformed: float  # what is expected to be paid if all classes are equally likely

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """For people."""
        amount, likely = money(self.uninformed, self.currency), "all classes are equally likely"
        last = f"If {likely}, at most {amount} is expected."
        if self.least:
            least = _range(self.least.values(), self.currency)
            last = f"Someone who knew the truth would pay {least}; if {likely}, {amount} is expected."
        states = "" if self.states is None else f" ({self.states:,} states)"
        lines = [
            *([self.title] if self.title else []),
            f"{len(self.classes)} classes: {listed(self.classes)}.",
            f"{len(self.steps)} steps:",
            *(f"  {line}" for line in self.steps),
            f"Ways to stop: {listed(self.stops)}." if self.stops else "No way to stop: the truth is found.",
            f"Exact method: {METHODS[self.method]}{states}.",
            last,
        ]
        return "\n".join(lines)


def summarise(workup: Workup) -> Summary:
    """What a work-up says.

    Parameters
    ----------
    workup
        The work-up.

    Returns
    -------
    Summary
        Classes, steps, the exact method, the number of states, the range of costs; `to_text` says it in words.
    """
    method: str = workup.method
    n_classes, least, states = len(workup.classes), dict[str, float](), None
    alike = np.full((1, n_classes), 1 / n_classes)
    try:
        policy = exact_policy(workup)
    except InputError:  # too many states
        method, uninformed = "planner", plan_workup(alike[0], workup).expected_cost
    else:
        uninformed = float(workup_entropy(alike, workup))
        paid = workup_cost(list(workup.classes), np.eye(n_classes), workup, per_instance=True)
        least = dict(zip(workup.classes, paid.tolist(), strict=True))
        states = len(policy.graph.states) if isinstance(policy, GraphPolicy) else None
    steps, stops = [], []
    for step in workup.steps:
        told = [workup.classes[k] for k in step.confirmed if k is not None]
        shown = f"confirms {listed(told)}" if told and step.is_certain else f"shows {listed(step.outcomes)}"
        after = f", after {listed(step.requires)}" if step.requires else ""
        shown = f", {shown}" if len(step.outcomes) > 1 else ""
        steps.append(f"{step.name}: {money(step.cost, workup.currency)}{after}{shown}")
    for stop in workup.stops:
        loss = _range(stop.losses, workup.currency)
        words = f"names a class: {loss} if it is wrong" if stop.names_class else f"loses {loss}"
        stops.append(f"{stop.name} ({words})")
    about = (workup.title, workup.currency, workup.classes, tuple(steps), tuple(stops))
    return Summary(*about, method, states, least, uninformed)


def _range(amounts: Collection[float], currency: str) -> str:
    least, most = (money(pick(amounts), currency) for pick in (min, max))
    return least if least == most else f"{least} to {most}"
