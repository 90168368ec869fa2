"""What a work-up says, in a few lines: for whoever wrote the file, to see that it was understood."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pandora_regret.core.inputs import InputError, Names
from pandora_regret.text import listed, money, stated_price
from pandora_regret.workup.data import Stop, WorkupStep
from pandora_regret.workup.description import Workup
from pandora_regret.workup.plan import plan_workup
from pandora_regret.workup.policies import GraphPolicy, exact_policy
from pandora_regret.workup.scores import workup_cost, workup_entropy

METHODS_IN_WORDS = {
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
        """Classes, steps, ways to stop, the exact method and what is expected to be paid, in lines."""
        stops = f"Ways to stop: {listed(self.stops)}." if self.stops else "No way to stop: the truth is found."
        states = "" if self.states is None else f" ({self.states:,} states)"
        lines = [
            f"{len(self.classes)} classes: {listed(self.classes)}.",
            f"{len(self.steps)} steps:",
            *(f"  {line}" for line in self.steps),
            stops,
            f"Exact method: {METHODS_IN_WORDS[self.method]}{states}.",
            self._expected(),
        ]
        if self.title:
            lines.insert(0, self.title)
        return "\n".join(lines)

    def _expected(self) -> str:
        """What is expected to be paid, and what someone who knew the truth would pay where that is known."""
        amount = money(self.uninformed, self.currency)
        if not self.least:
            return f"If all classes are equally likely, at most {amount} is expected."
        least = _range(self.least.values(), self.currency)
        return (
            f"Someone who knew the truth would pay {least}; "
            f"if all classes are equally likely, {amount} is expected."
        )


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
    n_classes = len(workup.classes)
    alike = np.full((1, n_classes), 1 / n_classes)
    method: str = workup.method
    states = None
    least = dict[str, float]()
    try:
        policy = exact_policy(workup)
    except InputError:  # too many states
        method = "planner"
        uninformed = plan_workup(alike[0], workup).expected_cost
    else:
        uninformed = float(workup_entropy(alike, workup))
        certain = np.eye(n_classes)
        paid = workup_cost(list(workup.classes), certain, workup, per_instance=True)
        least = dict(zip(workup.classes, paid.tolist(), strict=True))
        if isinstance(policy, GraphPolicy):
            states = len(policy.graph.states)
    return Summary(
        title=workup.title,
        currency=workup.currency,
        classes=workup.classes,
        steps=tuple(_step_line(step, workup) for step in workup.steps),
        stops=tuple(_stop_line(stop, workup.currency) for stop in workup.stops),
        method=method,
        states=states,
        least=least,
        uninformed=uninformed,
    )


def _step_line(step: WorkupStep, workup: Workup) -> str:
    """What a step costs, what it requires, and what it may show."""
    line = f"{step.name}: {stated_price(step.cost, workup.currency)}"
    if step.requires:
        line += f", after {listed(step.requires)}"
    if len(step.outcomes) > 1:
        confirmed = [workup.classes[k] for k in step.confirmed if k is not None]
        if confirmed and step.is_certain:
            line += f", confirms {listed(confirmed)}"
        else:
            line += f", shows {listed(step.outcomes)}"
    return line


def _stop_line(stop: Stop, currency: str) -> str:
    """What a way to stop loses."""
    loss = _range(stop.losses, currency)
    words = f"names a class: {loss} if it is wrong" if stop.names_class else f"loses {loss}"
    return f"{stop.name} ({words})"


def _range(amounts: Collection[float], currency: str) -> str:
    """The smallest and the largest of some amounts, as money."""
    least = stated_price(min(amounts), currency)
    most = stated_price(max(amounts), currency)
    return least if least == most else f"{least} to {most}"
