"""What a work-up says, in a few lines: for whoever wrote the file, to see that it was understood."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pandora_regret.text import listed, money
from pandora_regret.workup.description import Workup
from pandora_regret.workup.format import Stop, WorkupStep
from pandora_regret.workup.graph import MOST_STATES
from pandora_regret.workup.plan import plan_workup
from pandora_regret.workup.policies import GraphPolicy, exact_policy
from pandora_regret.workup.scores import workup_cost, workup_entropy
from pandora_regret.workup.states import StateSpace

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
    classes: tuple[str, ...]
    steps: tuple[str, ...]  # one line each
    stops: tuple[str, ...]
    method: str
    states: int | None  # of the state graph, where it is used
    least: dict[str, float]  # what someone who knew the class would pay; empty where that is not known exactly
    uninformed: float  # what is expected to be paid if all classes are equally likely

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """For people."""
        least, most = (money(pick(self.least.values(), default=0.0), self.currency) for pick in (min, max))
        knowing = f"Someone who knew the truth would pay {least if least == most else f'{least} to {most}'}; "
        states = "" if self.states is None else f" ({self.states:,} states)"
        stops = [f"Ways to stop: {listed(self.stops)}."] if self.stops else ["No way to stop: the truth is found."]
        lines = [
            *([self.title] if self.title else []),
            f"{len(self.classes)} classes: {listed(self.classes)}.",
            f"{len(self.steps)} steps:",
            *(f"  {line}" for line in self.steps),
            *stops,
            f"Exact method: {METHODS[self.method]}{states}.",
            f"{f'{knowing}if' if self.least else 'If'} all classes are equally likely, "
            f"{'' if self.least else 'at most '}{money(self.uninformed, self.currency)} is expected.",
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
    n_classes, space = len(workup.classes), StateSpace(workup)
    alike, least, states = np.full((1, n_classes), 1 / n_classes), dict[str, float](), None
    if workup.method == "graph" and space.most_states(space.start()[0], MOST_STATES) > MOST_STATES:
        method, uninformed = "planner", plan_workup(alike[0], workup).expected_cost
    else:
        method, uninformed = workup.method, float(workup_entropy(alike, workup))
        paid = workup_cost(list(workup.classes), np.eye(n_classes), workup, per_instance=True)
        least = dict(zip(workup.classes, paid.tolist(), strict=True))
        policy = exact_policy(workup)
        states = len(policy.graph.states) if isinstance(policy, GraphPolicy) else None
    steps, stops = (
        (_step_line(step, workup) for step in workup.steps),
        (_stop_line(s, workup) for s in workup.stops),
    )
    about = (workup.title, workup.currency, workup.classes)
    return Summary(*about, tuple(steps), tuple(stops), method, states, least, uninformed)


def _stop_line(stop: Stop, workup: Workup) -> str:
    least, most = (money(loss, workup.currency) for loss in (min(stop.losses), max(stop.losses)))
    loss = least if least == most else f"{least} to {most}"
    return f"{stop.name} ({f'names a class: {loss} if it is wrong' if stop.names_class else f'loses {loss}'})"


def _step_line(step: WorkupStep, workup: Workup) -> str:
    told = [workup.classes[k] for k in step.confirmed if k is not None]
    parts = [f"{step.name}: {money(step.cost, workup.currency)}"]
    if step.requires:
        parts.append(f"after {listed(step.requires)}")
    if len(step.outcomes) > 1:
        parts.append(
            f"shows {listed(step.outcomes)}" if not told or not step.is_certain else f"confirms {listed(told)}"
        )
    return ", ".join(parts)
