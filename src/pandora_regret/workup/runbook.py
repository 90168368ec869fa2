"""A plan that people can follow: a runbook in Markdown with a Mermaid chart, and a page to click through."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

from pandora_regret.text import money, percent
from pandora_regret.workup.tree import PlanNode
from pandora_regret.workup.words import (
    MOST_CLASSES,
    MOST_LIKELIEST,
    WORTH_A_BOX,
    WORTH_NAMING,
    PlanCost,
    likeliest_in_words,
    node_in_words,
    rest_in_words,
    search_line,
)

RARE_ON_PAGE = 1e-5  # and on the page to click through
MOST_SHOWN = 8  # classes at each point of the page
MARKED = set("\\`*_{}[]<>#!|~$&")  # what Markdown may take for a mark
PLAIN_LETTERS = set(" ().,-/:%+'")  # beside letters and digits, what Mermaid takes as it is within quotation marks
MOST_SECTIONS = 30  # where there are more, less likely branches have none
FEWEST_DIGITS = 5  # of probabilities on the page
AT_THE_START = "at the start"  # what a whole plan costs; each of its points says what it costs from there


@dataclass(frozen=True)
class Section:
    """A point of the tree that has a section of the runbook of its own."""

    number: int
    node: PlanNode


def markdown(text: str) -> str:
    """A text as it is, whatever marks of Markdown it holds."""
    in_one_line = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in MARKED else letter for letter in in_one_line)


def mermaid(text: str) -> str:
    """A text as a label of Mermaid between quotation marks, whatever it holds."""
    return "".join(
        letter if letter.isalnum() or letter in PLAIN_LETTERS else f"#{ord(letter)};"
        for letter in " ".join(text.split())
    )


def runbook(tree: PlanNode, cost: PlanCost, title: str) -> str:
    """A plan in Markdown: a chart, and a section for every point that is reached often enough.

    Parameters
    ----------
    tree
        The plan.
    cost
        What it is expected to cost.
    title
        What it is for.
    """
    for rare in WORTH_A_BOX:
        sections = list(_sections(tree, rare))
        if len(sections) <= MOST_SECTIONS:
            break
    number_of = {id(section.node): section.number for section in sections}
    lines = [f"# {markdown(title)}", "", markdown(cost.sentence(AT_THE_START)), "", "```mermaid", "flowchart TD"]
    for section in sections:
        lines += _chart_lines(section, number_of, cost.currency)
    lines.append("```")
    for section in sections:
        lines += _section_lines(section, number_of, cost.currency)
    return "\n".join(lines) + "\n"


def _sections(tree: PlanNode, rare: float) -> Iterator[Section]:
    """The points that have sections, the first first: steps that are often reached, a whole search as one."""
    waiting = [tree]
    number = 0
    while waiting:
        node = waiting.pop(0)
        number += 1
        yield Section(number, node)
        if search_line(node) is None:
            waiting += [child for child in node.branches.values() if child.kind == "step" and child.chance >= rare]


def _chart_lines(section: Section, number_of: dict[int, int], currency: str) -> Iterator[str]:
    """A box of the chart, and arrows to what follows; endings and rare branches have boxes by themselves."""
    name = f"n{section.number}"
    yield f'  {name}["{section.number}. {mermaid(rest_in_words(section.node, currency))}"]'
    if search_line(section.node) is not None:
        return
    for place, (outcome, child) in enumerate(section.node.branches.items()):
        label = mermaid(f"{outcome} ({percent(child.chance / section.node.chance)})")
        if id(child) in number_of:
            yield f'  {name} -->|"{label}"| n{number_of[id(child)]}'
        else:
            what = _leaf_in_words(child, currency)
            yield f'  {name} -->|"{label}"| {name}o{place}(["{mermaid(what)}"])'


def _leaf_in_words(node: PlanNode, currency: str) -> str:
    """An ending, or that a branch is rare."""
    if node.kind == "step":
        return f"{node_in_words(node, currency)}, then plan again"
    return node.name if node.kind == "stop" else node_in_words(node, currency)


def _section_lines(section: Section, number_of: dict[int, int], currency: str) -> Iterator[str]:
    """What is known at one point, what is done there, and what follows."""
    node = section.node
    yield ""
    yield f"## {section.number}. {markdown(node.name)}"
    yield ""
    yield markdown(f"Likeliest: {likeliest_in_words(node.posterior, MOST_LIKELIEST)}.")
    reached = "every case" if section.number == 1 else f"{percent(node.chance)} of cases"
    yield markdown(f"Reached in {reached}; expected cost from here: {money(node.expected_cost, currency)}.")
    yield ""
    line = search_line(node)
    if line is not None:
        for number, step in enumerate(line.steps, 1):
            yield f"{number}. {markdown(node_in_words(step, currency))}"
        if line.last is not None:
            yield f"{len(line.steps) + 1}. Nothing found: {markdown(line.last.name)}"
        return
    yield f"Do: **{markdown(node_in_words(node, currency))}**. What it shows:"
    yield ""
    for outcome, child in node.branches.items():
        chance = percent(child.chance / node.chance)
        if id(child) in number_of:
            what = f"go to {number_of[id(child)]}, {markdown(child.name)}"
        else:
            what = markdown(_leaf_in_words(child, currency))
            if child.kind == "stop":
                what += f" ({markdown(likeliest_in_words(child.posterior, MOST_CLASSES))})"
        yield f"- **{markdown(outcome)}** ({markdown(chance)}): {what}"


# A page to click through


def page(tree: PlanNode, cost: PlanCost, title: str) -> str:
    """A page without network: click what a step has shown, see what is likely, next, and spent so far."""
    names = list(tree.posterior)
    points = list[list[object]]()
    _add_point(tree, points)
    content = {"names": names, "points": points, "currency": cost.currency}
    # no "<" within a script: whatever names hold, nothing ends it
    embedded = json.dumps(content, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    template = Template(files("pandora_regret.workup").joinpath("runbook.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), summary=escape(cost.sentence(AT_THE_START)), content=embedded)


def _add_point(node: PlanNode, points: list[list[object]]) -> int:
    """Add a point of the tree with all behind it; its number.

    A point is a list: kind, name, cost, chance, expected cost from there on, classes (their numbers and
    probabilities, the likeliest first), and outcomes with the numbers of the points that follow, or -1 where that
    is so rare that it is planned again.
    """
    likely = sorted(enumerate(node.posterior.values()), key=lambda pair: -pair[1])[:MOST_SHOWN]
    classes = [[place, short_number(chance)] for place, chance in likely]
    shown = [pair for pair in classes if pair[1] >= WORTH_NAMING]
    outcomes = list[list[object]]()
    number = len(points)
    points.append(
        [
            node.kind,
            node.name,
            node.cost,
            short_number(node.chance),
            short_number(node.expected_cost),
            shown,
            outcomes,
        ]
    )
    for outcome, child in node.branches.items():
        is_kept = child.chance >= RARE_ON_PAGE or child.kind != "step"
        following = _add_point(child, points) if is_kept else -1
        outcomes.append([outcome, short_number(child.chance / node.chance), following])
    return number


def short_number(value: float) -> float:
    """A number with as many digits as a page needs."""
    return float(f"{value:.{FEWEST_DIGITS}g}")
