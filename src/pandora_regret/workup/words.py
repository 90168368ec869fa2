"""Plans in words and pictures: what to do next, what may come of it, and what else could be done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pandora_regret.text import (
    DisplayTable,
    Formats,
    count,
    counted,
    decimals_for,
    fixed,
    listed,
    money,
    money_between,
    percent,
    stated_price,
)
from pandora_regret.text.amounts import affixes, is_currency
from pandora_regret.text.outline import Box, outline_svg
from pandora_regret.workup.description import Workup
from pandora_regret.workup.learn import MOST_LISTED, RecordCounts, UseOfTest, records_of
from pandora_regret.workup.solver import Alternative
from pandora_regret.workup.tree import PlanNode, PlanStep

FILLS = {"step": "#dbe9f6", "stop": "#fbe3d3", "done": "#e3f0e5", "rare": "#f2f2f2"}
LIKELY = 0.005  # classes less likely than this are not worth a word
RARE = 0.01  # branches less likely than this are not worth a box
MOST_CLASSES = 3  # that are named where a plan stops
MOST_ALTERNATIVES = 4
FEW_CASES = 10


@dataclass(frozen=True)
class PlanCost:
    """What a plan is expected to cost, how sure that is, and what no plan can beat."""

    expected: float
    low: float | None  # where rates were learned: the 95 % credible interval
    high: float | None
    lower_bound: float | None  # what no plan can beat; None or the expected cost where the plan is optimal
    currency: str

    @property
    def is_optimal(self) -> bool:
        """Whether no plan can cost less, but for rounding."""
        return self.lower_bound is None or self.lower_bound >= self.expected

    def amount(self, amount: float) -> str:
        """An amount with the digits that the expected cost has, so that differences add up."""
        decimals = decimals_for(self.expected or amount)
        if is_currency(self.currency) and decimals == 1:
            decimals = 2  # cents
        return fixed(amount, decimals, *affixes(self.currency))

    def sentence(self) -> str:
        """What the plan is expected to cost, and whether that is optimal."""
        cost = self.amount(self.expected)
        if self.low is not None:
            cost = money_between(self.expected, self.low, self.high, self.currency)
        if self.lower_bound is None or self.is_optimal:
            return f"Expected cost from here: {cost}. Optimal."
        return f"Expected cost from here: {cost}; no plan can cost less than {self.amount(self.lower_bound)}."


def node_in_words(node: PlanNode, currency: str) -> str:
    """What is done at one point of a tree."""
    if node.kind == "step":
        return f"{node.name} ({stated_price(node.cost, currency)})"
    likely = [(name, chance) for name, chance in node.posterior.items() if chance >= LIKELY]
    likely.sort(key=lambda pair: -pair[1])
    if node.kind == "done":
        return f"done: {likely[0][0]}" if len(likely) == 1 else "done"
    classes = ", ".join(f"{percent(chance)} {name}" for name, chance in likely[:MOST_CLASSES])
    return f"stop: {node.name} (these are {classes})"


def workup_in_words(tree: PlanNode, alternatives: Sequence[Alternative], cost: PlanCost) -> str:
    """The plan of a work-up: what to do next, what may come of it, and what else could be done."""
    lines = [*next_lines(tree, cost.currency), cost.sentence()]
    if cost.is_optimal:  # what others cost at best is not known unless the plan is optimal
        options = [
            f"{option.name} {cost.amount(option.expected_cost)} (+{cost.amount(option.extra)})"
            for option in alternatives
            if option.name != tree.name
        ]
        if options:
            lines.append(f"Alternatives: {', '.join(options[:MOST_ALTERNATIVES])}.")
    return "\n".join(lines)


def next_lines(tree: PlanNode, currency: str) -> list[str]:
    """The next step, up to the first that tells anything, and a line for each of its outcomes."""
    node = tree
    steps = [node_in_words(node, currency)]
    while len(node.branches) == 1:  # a visit tells nothing: what comes after it does
        [node] = node.branches.values()
        steps.append(node_in_words(node, currency))
    lines = [f"Next: {', then '.join(steps)}."]
    width = max(map(len, node.branches), default=0)
    for outcome, after in node.branches.items():
        chance = percent(after.chance / node.chance)
        ending = ", then done" if after.ends_at_once else ""
        lines.append(f"  {outcome:{width}} ({chance}) -> {node_in_words(after, currency)}{ending}")
    return lines


def alternatives_table(alternatives: Sequence[Alternative], currency: str, above: Sequence[str]) -> DisplayTable:
    """What can be done now, under some lines of text."""
    rows = [
        (option.name, stated_price(option.cost, currency), money(option.expected_cost, currency))
        for option in alternatives
    ]
    return DisplayTable(["What can be done now", "It costs", "Expected cost from here"], rows, above)


def search_table(steps: Sequence[PlanStep], most: int | None, currency: str, above: Sequence[str]) -> DisplayTable:
    """The first steps of a search: what is likely, what is paid and how far a case has come by then."""
    formats = Formats((step.cost for step in steps[:most]), currency)

    def price(amount: float) -> str:
        """Minutes or bare numbers stay as they were written."""
        if is_currency(currency):
            return formats.money(amount)
        return f"{amount:,.6g} {currency}".rstrip()

    rows = [
        (
            str(number),
            str(step.test),
            formats.write("share", step.probability),
            price(step.cost),
            price(step.total_cost),
            formats.write("share", step.done),
        )
        for number, step in enumerate(steps[:most], 1)
    ]
    header = ["Step", "Test for", "Probability now", "Cost", "Total so far", "Done by then"]
    n_more = len(steps) - len(rows)
    below = [f"... and {n_more:,} more steps"] if n_more else []
    return DisplayTable(header, rows, above, below, words=2)


def tree_svg(tree: PlanNode, currency: str) -> str:
    """The tree from top to bottom, indented; branches that are rarely reached are counted."""
    boxes = list[Box]()
    _add_boxes(tree, currency, boxes)
    title = f"Next: {node_in_words(tree, currency)}; expected {money(tree.expected_cost, currency)}"
    return outline_svg(boxes, title)


def _add_boxes(
    node: PlanNode, currency: str, boxes: list[Box], depth: int = 0, parent: int = 0, label: str = ""
) -> None:
    """Add the boxes of a node and all that follows.

    Where one branch alone goes on, it is no deeper than what came before: a line of tests is a list.
    """
    number = len(boxes)
    from_here = f"; from here {money(node.expected_cost, currency)}" if node.kind == "step" else ""
    boxes.append(Box(depth, parent, FILLS[node.kind], f"{label}{node_in_words(node, currency)}{from_here}"))
    drawn = {outcome: child for outcome, child in node.branches.items() if child.chance >= RARE}
    n_rare = len(node.branches) - len(drawn)
    if n_rare:
        text = f"{counted(n_rare, 'outcome')} more, in less than 1 % of cases"
        boxes.append(Box(depth + 1, number, FILLS["rare"], text))
    going_on = [child for child in drawn.values() if child.kind == "step"]
    for outcome, child in sorted(drawn.items(), key=lambda pair: pair[1].kind == "step"):
        child_label = ""
        if len(node.branches) > 1:
            child_label = f"{outcome} ({percent(child.chance / node.chance)}): "
        is_line = len(going_on) == 1 and going_on[0] is child
        _add_boxes(child, currency, boxes, depth + (not is_line), number, child_label)


def learned_in_words(workup: Workup) -> Iterator[str]:
    """How many cases there were, how often each test was made, and what rests on few cases; a sentence each."""
    records = records_of(workup)
    classes = [f"{workup.classes[k]} {count(workup.cases[k])}" for k in np.argsort(-np.array(workup.cases))]
    tests = counted(len(records.tests), "test")
    cases = counted(float(sum(workup.cases)), "case")
    yield f"{tests} learned from {cases}: {listed(classes)}."
    n_cases = records.cases.sum()
    for test in records.tests:
        if test.made.sum() < n_cases:
            share = percent(test.made.sum() / n_cases)
            yield f"{test.name} was made in {share} of cases{_doubt(test, records)}."
    if all(test.made.sum() == n_cases for test in records.tests):
        yield "Every test was made in every case."
    few = [
        f"{test.name} for {name} ({count(made)})"
        for test in records.tests
        for name, made in zip(records.causes, test.made, strict=True)
        if made < FEW_CASES
    ]
    if few:
        yield f"Fewer than {FEW_CASES} cases: {listed(few, MOST_LISTED)}."


def _doubt(test: UseOfTest, records: RecordCounts) -> str:
    """For whom a test was made least and most often, if that depends on the class; else nothing."""
    if not test.for_a_reason:
        return ""
    share = test.made / records.cases
    least = f"{records.causes[share.argmin()]} ({percent(share.min())})"
    most = f"{records.causes[share.argmax()]} ({percent(share.max())})"
    return f", less often for {least} than for {most}: its rates may be off"
