"""Plans in words and pictures: what to do next, what may come of it, and what else could be done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

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
from pandora_regret.workup.learn import RecordCounts, UseOfTest, records_of
from pandora_regret.workup.solver import Alternative
from pandora_regret.workup.tree import PlanNode, PlanStep

FILLS = {"step": "#dbe9f6", "stop": "#fbe3d3", "done": "#e3f0e5"}
WORTH_NAMING = 0.005  # classes less likely than this are not worth a word
WORTH_A_BOX = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1)  # branches less likely than this are not worth a box
MOST_BOXES = 28  # on a page: where there are more, less likely branches are left out
MOST_CLASSES = 3  # that are named where a plan stops
MOST_LIKELIEST = 5  # classes that are named before the next step
MOST_IN_LINE = 6  # steps of a search that are named
MOST_ALTERNATIVES = 2
MOST_DIGITS_MORE = 2  # of amounts whose differences are small
FEW_TIMES_MADE = 10
MOST_FEW = 5  # tests that were made in few cases of a class, which are named


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

    def amount(self, amount: float, extras: Sequence[float] = ()) -> str:
        """An amount with the digits that the expected cost has, so that differences add up.

        There are up to two more where a difference that is shown beside it would be rounded to nothing.
        """
        decimals = decimals_for(self.expected or amount)
        smallest = min((extra for extra in extras if extra > 0), default=inf)
        for _ in range(MOST_DIGITS_MORE):
            if round(smallest, decimals) == 0:
                decimals += 1
        if is_currency(self.currency) and decimals == 1:
            decimals = 2  # cents
        return fixed(amount, decimals, *affixes(self.currency))

    def sentence(self, since: str = "from here") -> str:
        """What the plan is expected to cost, from here or from wherever is said, and whether that is optimal."""
        cost = self.amount(self.expected)
        if self.low is not None:
            cost = money_between(self.expected, self.low, self.high, self.currency)
        if self.lower_bound is None or self.is_optimal:
            return f"Expected cost {since}: {cost}. Optimal."
        return f"Expected cost {since}: {cost}; no plan can cost less than {self.amount(self.lower_bound)}."


@dataclass(frozen=True)
class SearchLine:
    """A part of a tree in which every step either ends it or leads to the next one."""

    steps: tuple[PlanNode, ...]
    last: PlanNode | None  # what is done if none of them ends it; None where one of them always does


def search_line(node: PlanNode) -> SearchLine | None:
    """The search that a tree is from some point on; None where it branches, or is a single step."""
    steps = list[PlanNode]()
    last: PlanNode | None = node
    while last is not None and last.kind == "step":
        going_on = [child for child in last.branches.values() if child.kind != "done"]
        if len(going_on) > 1:
            return None
        steps.append(last)
        last = going_on[0] if going_on else None
    return SearchLine(tuple(steps), last) if len(steps) > 1 else None


def node_in_words(node: PlanNode, currency: str) -> str:
    """What is done at one point of a tree."""
    if node.kind == "step":
        return f"{node.name} ({stated_price(node.cost, currency)})"
    if node.kind == "done":
        certain = [name for name, chance in node.posterior.items() if chance >= WORTH_NAMING]
        return f"done: {certain[0]}" if len(certain) == 1 else "done"
    return f"stop: {node.name} (these are {likeliest_in_words(node.posterior, MOST_CLASSES)})"


def likeliest_in_words(posterior: Mapping[str, float], most: int) -> str:
    """The likeliest classes with their probabilities."""
    likely = [(name, chance) for name, chance in posterior.items() if chance >= WORTH_NAMING]
    likely.sort(key=lambda pair: -pair[1])
    return ", ".join(f"{percent(chance)} {name}" for name, chance in likely[:most])


def line_in_words(line: SearchLine, currency: str) -> str:
    """A search in one line: its first step with the cost, what follows, and what is done if nothing is found."""
    first, *others = line.steps
    names = [step.name for step in others[:MOST_IN_LINE]]
    n_more = len(others) - len(names)
    more = f" and {n_more} more" if n_more else ""
    text = f"{node_in_words(first, currency)}, then {', '.join(names)}{more}"
    if line.last is not None:
        text += f"; after these {len(line.steps)} {line.last.name}"
    return text


def rest_in_words(node: PlanNode, currency: str) -> str:
    """What is done from a point of a tree on: a whole search, or the next step."""
    line = search_line(node)
    if line is not None:
        return line_in_words(line, currency)
    ending = ", then done" if node.ends_at_once else ""
    return f"{node_in_words(node, currency)}{ending}"


def workup_in_words(tree: PlanNode, alternatives: Sequence[Alternative], cost: PlanCost) -> str:
    """The plan of a work-up: what is likely, what to do next, what may come of it, and what else could be done."""
    lines = list[str]()
    likeliest = likeliest_in_words(tree.posterior, MOST_LIKELIEST)
    if tree.kind != "done" and likeliest:
        n_more = sum(chance >= WORTH_NAMING for chance in tree.posterior.values()) - MOST_LIKELIEST
        more = f" and {n_more} more" if n_more > 0 else ""
        lines.append(f"Likeliest: {likeliest}{more}.")
    lines += [*next_lines(tree, cost.currency), cost.sentence()]
    others = [option for option in alternatives if not option.begins(tree)][:MOST_ALTERNATIVES]
    if others:
        known = "" if cost.is_optimal else ", as far as this search knows"
        extras = [option.extra for option in others]
        options = [alternative_in_words(option, cost, extras) for option in others]
        lines.append(f"Alternatives{known}: {', '.join(options)}.")
    return "\n".join(lines)


def alternative_in_words(option: Alternative, cost: PlanCost, extras: Sequence[float]) -> str:
    """Another step, and how much more it costs; in all, too, unless the plan's cost is rounded by its interval."""
    more = f"+{cost.amount(option.extra, extras)}"
    if cost.low is not None:
        return f"{option.name} {more}"
    return f"{option.name} {cost.amount(option.expected_cost, extras)} ({more})"


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
        lines.append(f"  {outcome:{width}} ({chance}) -> {rest_in_words(after, currency)}")
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
    """The tree from top to bottom, indented, on about a page; branches that are rarely reached are counted."""
    boxes = list[Box]()
    for rare in WORTH_A_BOX:
        boxes.clear()
        _add_boxes(tree, currency, rare, boxes)
        if len(boxes) <= MOST_BOXES:
            break
    title = f"Next: {node_in_words(tree, currency)}; expected {money(tree.expected_cost, currency)}"
    return outline_svg(boxes, title)


def _add_boxes(
    node: PlanNode,
    currency: str,
    rare: float,
    boxes: list[Box],
    depth: int = 0,
    parent: int = 0,
    label: str = "",
) -> None:
    """Add the boxes of a node and all that follows; a search is one box, unless it is all there is."""
    number = len(boxes)
    from_here = f"; from here {money(node.expected_cost, currency)}" if node.kind == "step" else ""
    line = search_line(node)
    if line is not None and number:
        boxes.append(Box(depth, parent, FILLS["step"], f"{label}{line_in_words(line, currency)}{from_here}"))
        return
    drawn = {outcome: child for outcome, child in node.branches.items() if child.chance >= rare}
    n_rare = len(node.branches) - len(drawn)
    left_out = f"; {counted(n_rare, 'outcome')} more, under {percent(rare)} of cases" if n_rare else ""
    text = f"{label}{node_in_words(node, currency)}{from_here}{left_out}"
    boxes.append(Box(depth, parent, FILLS[node.kind], text))
    going_on = [child for child in drawn.values() if child.kind == "step"]
    for outcome, child in sorted(drawn.items(), key=lambda pair: pair[1].kind == "step"):
        child_label = ""
        if len(node.branches) > 1:
            child_label = f"{outcome} ({percent(child.chance / node.chance)}): "
        is_line = len(going_on) == 1 and going_on[0] is child
        _add_boxes(child, currency, rare, boxes, depth + (not is_line), number, child_label)


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
            yield f"{test.name} was made in {share} of cases{_selective_use(test, records)}."
    if all(test.made.sum() == n_cases for test in records.tests):
        yield "Every test was made in every case."
    few = [
        f"{test.name} for {name} ({count(made)})"
        for test in records.tests
        for name, made in zip(records.causes, test.made, strict=True)
        if made < FEW_TIMES_MADE
    ]
    if few:
        yield f"Fewer than {FEW_TIMES_MADE} cases: {listed(few, MOST_FEW)}."


def _selective_use(test: UseOfTest, records: RecordCounts) -> str:
    """For whom a test was made least and most often, if that depends on the class; else nothing."""
    if not test.for_a_reason:
        return ""
    share = test.made / records.cases
    least = f"{records.causes[share.argmin()]} ({percent(share.min())})"
    most = f"{records.causes[share.argmax()]} ({percent(share.max())})"
    return f", less often for {least} than for {most}: its rates may be off"
