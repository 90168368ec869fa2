"""One case: what to do next, why, and what may follow; in a work-up, or in a search with one test per class."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.atomic import Place, write_atomically
from pandora_regret.core.imperfect.expenditure import order_of_tests, predicted_bills, searched
from pandora_regret.core.inputs import (
    ByClass,
    Fields,
    FloatArray,
    InputError,
    SearchName,
    Tests,
    completed,
    read_case,
    read_choice,
    read_count,
    read_number,
    read_tests,
)
from pandora_regret.core.kernels.reference import probabilities
from pandora_regret.core.records import to_plain
from pandora_regret.text import Displayable, DisplayTable, money
from pandora_regret.workup.description import Workup
from pandora_regret.workup.follow import cost_by_class, cost_interval
from pandora_regret.workup.planner import Planner
from pandora_regret.workup.runbook import page, runbook
from pandora_regret.workup.scores import check_workup, class_columns
from pandora_regret.workup.solver import Alternative, ClosedSolver, GraphSolver, Solver
from pandora_regret.workup.states import Findings, match_findings
from pandora_regret.workup.tree import PlanNode, PlanStep
from pandora_regret.workup.words import (
    PlanCost,
    alternatives_table,
    search_table,
    tree_svg,
    workup_in_words,
)

PLAN_METHODS = {"auto": "whichever suits", "graph": "every state", "planner": "within bounds, in the time given"}
MOST_STEPS = 10  # in a notebook
QUICK = 5_000  # states of a graph that is compiled at once


@dataclass(frozen=True, repr=False)
class Plan(Displayable):
    """What to do next for one case, and what may follow.

    `plan_workup` and `plan_search` both make one. A search is a line, its `steps`; a work-up has a `tree` and
    alternatives, and its `steps` lead up to where the tree branches.
    """

    next: Any  # the first step, the class to test for, a way to stop, or "done"
    expected_cost: float
    steps: tuple[PlanStep, ...]
    low: float | None = None  # where rates were learned: the 95 % credible interval of the expected cost
    high: float | None = None
    alternatives: tuple[Alternative, ...] = ()  # the best first
    tree: PlanNode | None = None
    cost_by_class: dict[str, float] | None = None  # what the plan costs if a class is the truth that may be
    found: dict[str, str | None] | None = None
    currency: str = ""  # where the work-up has one
    method: str = "search"  # how it was found: the exact method of a work-up, "planner", or the kind of search
    title: str = ""  # of a work-up that has one
    lower_bound: float | None = None  # of a work-up, what no plan can beat: the expected cost where it is optimal

    def to_dict(self) -> Fields:
        """Plain values, for JSON."""
        return to_plain(self)

    def __repr__(self) -> str:
        return f"Plan(next={self.next!r}, expected_cost={self.expected_cost:.6g})"

    def __str__(self) -> str:
        return super().__str__() if self.tree is None else self.to_text()

    def _table(self) -> DisplayTable:
        """The steps of a search, the alternatives of a work-up."""
        if self.tree is None:
            return self.listed(MOST_STEPS)
        return alternatives_table(self.alternatives, self.currency, self.to_text().splitlines())

    def listed(self, most: int | None) -> DisplayTable:
        """The first steps of a search: what is likely, what is paid and how far a case has come by then."""
        return search_table(self.steps, most, self.currency, [self.to_text()])

    def _frame(self) -> list[Fields]:
        """The steps of a search, the alternatives of a work-up, one row each."""
        if self.tree is None:
            return [asdict(step) for step in self.steps]
        return [
            {
                "name": option.name,
                "kind": option.kind,
                "cost": option.cost,
                "expected_cost": option.expected_cost,
                "extra": option.extra,
            }
            for option in self.alternatives
        ]

    def to_text(self) -> str:
        """What to do next, what may come of it, and what else could be done."""
        if self.tree is None:
            return f"Expected cost: {money(self.expected_cost, self.currency)}."
        return workup_in_words(self.tree, self.alternatives, self._cost)

    @property
    def is_optimal(self) -> bool:
        """Whether no plan can cost less, but for rounding."""
        return self._cost.is_optimal

    @property
    def _cost(self) -> PlanCost:
        return PlanCost(self.expected_cost, self.low, self.high, self.lower_bound, self.currency)

    def draw(self) -> str:
        """The tree as a picture that needs no other file: SVG, no wider than a page.

        Branches that are reached in less than 1 % of cases are counted, not drawn.
        """
        return tree_svg(self._tree(), self.currency)

    def save(self, path: Place) -> Path:
        """Write the tree to a file, by the ending of its name.

        Parameters
        ----------
        path
            ``.svg``: the picture. ``.csv``: a table with one row per step or ending. ``.json``: a protocol that
            `PlanNode.load` reads. ``.md``: a runbook in Markdown, with a Mermaid chart. ``.html``: a page to click
            through, which needs no network.

        Returns
        -------
        Path
            The file.
        """
        tree = self._tree()
        title = self.title or "What to do next"
        writers: dict[str, Callable[[], str]] = {
            ".svg": self.draw,
            ".csv": tree.to_csv,
            ".json": tree.to_json,
            ".md": lambda: runbook(tree, self._cost, title),
            ".html": lambda: page(tree, self._cost, title),
        }
        ending = Path(path).suffix.lower()
        if ending not in writers:
            fix = f"end it in {', '.join(writers)}"
            raise InputError(f"is {str(path)!r}", argument="path", value=str(path), fix=fix)
        content = writers[ending]().encode()
        return write_atomically(path, content)

    def _tree(self) -> PlanNode:
        """The tree of a work-up; an error for a search."""
        if self.tree is None:
            fix = "plot_search_trace draws it"
            raise InputError("the plan of a search is a line, not a tree", argument="plan", place="", fix=fix)
        return self.tree


def plan_search(
    y_proba: ByClass | None,
    costs: ByClass | None = None,
    *,
    tests: Tests | None = None,
    search: SearchName = "single_pass",
    steps: int | None = None,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> Plan:
    """The optimal order of tests for one forecast, step by step.

    Parameters
    ----------
    y_proba
        One forecast: probabilities of K classes, or a mapping from classes to probabilities.
    costs
        What the test of each class costs, shape (K,) or named by class.
    tests
        Instead of `costs`: tests that may miss their class or raise false alarms.
    search
        What happens when no test finds the truth, as in `imperfect_order`; perfect tests need one pass.
    steps
        How many tests to list: K, one pass, unless given.
    labels, logits, normalise
        As in `pandora_regret`.

    Returns
    -------
    Plan
        The steps, and what they are expected to cost in all; `print` shows a table.

    See Also
    --------
    plan_workup : For tests that tell about several classes.
    plot_search_trace : As a picture.

    Examples
    --------
    >>> plan = plan_search({"melanoma": 0.2, "nevus": 0.8}, costs={"melanoma": 384.0, "nevus": 75.0})
    >>> [(step.test, step.total_cost, step.done) for step in plan.steps]
    [('nevus', 75.0, 0.8), ('melanoma', 459.0, 1.0)]
    >>> plan.expected_cost
    151.8
    """
    forecast = read_case(y_proba, labels, logits, normalise)
    if (costs is None) == (tests is None):
        problem = "pass either costs, for tests that are always right, or tests, and not both"
        raise InputError(problem, argument="tests", place="")
    used = read_tests(tests if costs is None else Tests(cost=costs, labels=forecast.labels), forecast)
    n_steps = forecast.n_classes if steps is None else read_count(steps, "steps")
    block = next(forecast.blocks())
    order = order_of_tests(search, block, used, n_steps)[0]
    along = searched(probabilities(block)[0], order, used).tolist()
    line = tuple(PlanStep(forecast.labels[k], *values) for k, values in zip(order, along, strict=True))
    expected = float(predicted_bills(block, used, search)[0])
    return Plan(line[0].test, expected, line, method=search)


def plan_workup(
    y_proba: ByClass | None,
    workup: Workup,
    found: Mapping[str, str | None] | None = None,
    *,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    method: Literal["auto", "graph", "planner"] = "auto",
    seconds: float = 1.0,
    limit: int | None = None,
) -> Plan:
    """The plan of least expected cost for one case, and what may follow.

    Parameters
    ----------
    y_proba
        One forecast: probabilities of K classes, or a mapping from classes to probabilities, in which classes that
        are not named have 0 if the others sum to 1. None: they are as likely as among the work-up's `cases`.
    workup
        What can be done, and what it costs.
    found
        Outcomes of steps made so far: ``{"dermoscopy": "suspicious"}``; a visit has the outcome None. What these
        steps require counts as done too.
    labels, logits, normalise
        As in `pandora_regret`.
    method
        "graph" looks at every state there is. "planner" looks at those that matter, for as long as it may: its
        plan costs what it says, and it says what no plan can beat. "auto" takes a closed form where there is one,
        the graph where it is small, else the planner.
    seconds
        How long the planner may search.
    limit
        The most states to look at: a graph that has more is refused, the planner stops there.

    Returns
    -------
    Plan
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
    check_workup(workup)
    read_number(seconds, "seconds", lambda number: number > 0, "it must be positive")
    read_choice(method, "method", PLAN_METHODS)
    p = read_belief(y_proba, workup, labels, logits, normalise)
    findings = match_findings(workup, found or {})
    solver = choose_solver(method, workup, p, findings, seconds, limit)
    tree = solver.grow(solver.start, solver.likelihood)
    alternatives = [] if tree.kind == "done" else solver.alternatives(tree)
    low, high = cost_interval(workup, tree, None if y_proba is None else p, findings)
    return Plan(
        next=tree.name,
        expected_cost=tree.expected_cost,
        steps=steps_in_line(tree),
        low=low,
        high=high,
        alternatives=tuple(alternatives),
        tree=tree,
        cost_by_class=cost_by_class(workup, tree),
        found=findings,
        currency=workup.currency,
        title=workup.title,
        method=solver.name,
        lower_bound=solver.least(tree.expected_cost),
    )


def read_belief(
    y_proba: ByClass | None, workup: Workup, labels: ArrayLike | None, logits: bool, normalise: bool
) -> FloatArray:
    """How likely each class of a work-up is, (K,): by a forecast, or as among its cases where that is None."""
    case: Any = workup.shares if y_proba is None else y_proba
    is_mapping = hasattr(case, "keys") and np.ndim(case) < 2
    if is_mapping and not logits:
        case = completed({str(name): chance for name, chance in case.items()}, workup.classes)
    forecast = read_case(case, labels, logits, normalise)
    [row] = probabilities(next(forecast.blocks()))
    return np.asarray(row[class_columns(forecast, workup)], np.float64)


def choose_solver(
    method: str, workup: Workup, p: FloatArray, found: Findings, seconds: float, limit: int | None
) -> Solver:
    """A closed form where there is one, the state graph where it is small, else the planner; or as asked."""
    if method == "graph":
        return GraphSolver(workup, p, found, seconds, limit=limit)
    if method == "planner":
        return Planner(workup, p, found, seconds, limit=limit)
    if workup.method != "graph":
        return ClosedSolver(workup, p, found, seconds, limit=limit)
    try:
        return GraphSolver(workup, p, found, seconds, limit=min(limit or QUICK, QUICK))
    except InputError:  # too many states; the planner says what else may be wrong
        return Planner(workup, p, found, seconds, limit=limit)


def steps_in_line(tree: PlanNode) -> tuple[PlanStep, ...]:
    """The steps of a tree as long as only one of the outcomes of each goes on."""
    node: PlanNode | None = tree
    total = 0.0
    steps = list[PlanStep]()
    while node is not None and node.kind == "step":
        going_on = [child for child in node.branches.values() if child.kind != "done"]
        chance_going_on = sum(child.chance for child in going_on)
        total += node.cost
        ends_here = 1 - chance_going_on / node.chance
        steps.append(PlanStep(node.name, ends_here, node.cost, total, 1 - chance_going_on))
        node = going_on[0] if len(going_on) == 1 else None
    return tuple(steps)
