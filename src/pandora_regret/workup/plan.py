"""One case: what to do next, why, and the whole tree of what may follow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, InputError, read_choice, read_probabilities
from pandora_regret.kernels.reference import probabilities
from pandora_regret.text import Shown, Table, money
from pandora_regret.workup.description import MOST_STATES, Workup
from pandora_regret.workup.scores import class_columns
from pandora_regret.workup.solvers import Advised, Alternative, PlanNode, Solver, optimal_solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = {
    "optimal": "least expected cost",
    "greedy": "one step ahead by chance of being done",
    "information": "one step ahead by entropy",
}


@dataclass(frozen=True, repr=False)
class WorkupPlan(Shown):
    """What to do next for one case, what else could be done, and the tree of what may follow."""

    next: str
    expected_cost: float
    alternatives: tuple[Alternative, ...]  # the best first
    tree: PlanNode
    cost_by_class: dict[str, float]  # what the plan costs if a class is the truth
    found: dict[str, str | None]
    currency: str  # "" where the work-up has none
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"WorkupPlan(next={self.next!r}, expected_cost={self.expected_cost:.6g})"

    def __str__(self) -> str:
        return self.to_text()

    def _table(self) -> Table:
        rows = [
            (one.name, money(one.cost, self.currency), money(one.expected_cost, self.currency))
            for one in self.alternatives
        ]
        header = ["What can be done now", "It costs", "Expected cost from here"]
        return Table(header, rows, self.to_text().splitlines())

    def _frame(self) -> list[dict[str, Any]]:
        """The alternatives."""
        columns = ("name", "kind", "cost", "expected_cost", "extra")
        return [{key: getattr(one, key) for key in columns} for one in self.alternatives]

    def to_text(self) -> str:
        """A few lines for people."""
        from pandora_regret.workup.drawing import as_text

        return as_text(self)

    def to_svg(self) -> str:
        """The tree as a picture that needs no other file."""
        from pandora_regret.workup.drawing import as_svg

        return as_svg(self)

    def draw(self, ax: Axes | None = None) -> Axes:
        """The tree in matplotlib, on the current axes unless others are given."""
        from pandora_regret.workup.drawing import draw_tree

        return draw_tree(self, ax)

    def save_svg(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture of the tree to a file."""
        from pandora_regret.atomic import write_atomically

        return write_atomically(path, lambda file: file.write(self.to_svg().encode()))


def plan_workup(
    y_proba: Any,
    workup: Workup,
    found: Mapping[str, str | None] | None = None,
    *,
    method: Literal["optimal", "greedy", "information"] = "optimal",
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    limit: int = MOST_STATES,
) -> WorkupPlan:
    """What to do next for one case, and why.

    Parameters
    ----------
    y_proba
        One forecast: probabilities of K classes, or a mapping from classes to probabilities. It is what was
        believed before the findings.
    workup
        What can be done, and what it costs.
    found
        Outcomes of steps made so far: ``{"dermoscopy": "suspicious"}``; a visit has the outcome None. What these
        steps require counts as done too.
    method
        "optimal" costs least. "greedy" and "information" look one step ahead, for comparison: advice for one
        case, not a proper score (a greedy search of the groups {0, 1}, {0, 2}, {1, 3} costs 1.75 with the honest
        uniform forecast, and 1.50 with (.2, .2, .3, .3)).
    labels, logits, normalise
        As in `pandora_regret`.
    limit
        The most states to look at.

    Returns
    -------
    WorkupPlan
        The best step, what it costs from here, alternatives, and the tree of what may follow; `print` shows it.

    See Also
    --------
    workup_cost : The score of many forecasts.
    plan_search : Where each test tells about one class.

    References
    ----------
    Horn (1972), on steps that must come before others [horn72]_.

    Examples
    --------
    >>> workup = Workup(
    ...     ["melanoma", "nevus"],
    ...     {"dermoscopy": {"cost": 50, "positive_for": ["melanoma"], "sensitivity": 0.9, "specificity": 0.8},
    ...      "biopsy": {"cost": 400, "tells_apart": "all"}},
    ...     stops={"watch": {"loss": {"melanoma": 9000, "nevus": 0}}},
    ... )
    >>> plan = plan_workup({"melanoma": 0.2, "nevus": 0.8}, workup)
    >>> plan.next, round(plan.expected_cost, 1)
    ('dermoscopy', 366.0)
    >>> plan_workup({"melanoma": 0.2, "nevus": 0.8}, workup, {"dermoscopy": "positive"}).next
    'biopsy'
    """
    read_choice(method, "method", METHODS)
    p, found = _read_case(y_proba, workup, labels, logits, normalise), dict(found or {})
    optimal = method == "optimal"
    solver: Solver = optimal_solver(workup, p, found, limit) if optimal else Advised(workup, p, found, method)
    if not (p * solver.likelihood).any():
        raise InputError(f"found is {found}: the forecast holds this to be impossible.")
    tree, costs = solver.grow(solver.start, solver.likelihood, 1.0)
    alternatives = (
        []
        if tree.kind == "done"
        else sorted(solver.alternatives(), key=lambda one: (one.expected_cost, one.name != tree.name))
    )
    by_class = {name: float(cost) for name, cost in zip(workup.classes, costs, strict=True) if np.isfinite(cost)}
    return WorkupPlan(
        tree.name, tree.expected_cost, tuple(alternatives), tree, by_class, found, workup.currency, method
    )


def _read_case(y_proba: Any, workup: Workup, labels: Any, logits: bool, normalise: bool) -> FloatArray:
    if hasattr(y_proba, "keys") and np.ndim(y_proba) < 2:  # a mapping, or a row of a pandas frame
        y_proba, labels = [chance for _, chance in y_proba.items()], list(y_proba.keys())
    if np.ndim(y_proba) != 1:
        raise InputError(
            f"y_proba has shape {np.shape(y_proba)}: pass one forecast, shape (K,), such as y_proba[0]."
        )
    forecast = read_probabilities(
        np.asarray(y_proba, dtype=float)[None], labels=labels, logits=logits, normalise=normalise
    )
    return np.asarray(probabilities(next(forecast.blocks()))[0, class_columns(forecast, workup)])
