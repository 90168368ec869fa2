"""Format version 1: what a pathway file may say, and what is wrong with one that says something else."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal, localcontext
from graphlib import CycleError, TopologicalSorter
from typing import Any

from pandora_regret.costs.pathways import EXACT, Chance, Hypothesis, Item, Pathway, Pathways, Payment, Step
from pandora_regret.costs.section import Section, shown
from pandora_regret.inputs.numbers import LARGEST, SMALLEST

FORMAT_VERSION = 1
FILE_KEYS = (
    "format_version",
    "title",
    "setting",
    "notes",
    "currency",
    "source",
    "year",
    "items",
    "pathways",
    "classes",
)
ITEM_KEYS = ("name", "amount", "unit", "code", "source", "year")
PAYMENT_KEYS = ("item", "pathway", "quantity")
STEP_KEYS = (*PAYMENT_KEYS, "probability", "trials", "low", "high", "otherwise", "source")
CLASS_KEYS = ("name", "pathway", "published")


def read_format(document: dict[str, Any], file: str) -> Pathways:
    """The pathways a parsed file describes, checked; `file` is what error messages call it."""
    root = Section(file, "", document)
    _check_version(root)
    root.check_keys(FILE_KEYS)
    items = read_items(root)
    pathways = _read_pathways(root, [item.key for item in items])
    result = Pathways(
        title=root.text("title", ""),
        setting=root.text("setting", ""),
        notes=root.text("notes", ""),
        currency=root.text("currency", ""),
        format_version=FORMAT_VERSION,
        items=items,
        pathways=pathways,
        hypotheses=_read_classes(root, [pathway.name for pathway in pathways]),
    )
    _check_all_used(root, result)
    _check_costs(root, result)
    return result


def _check_version(root: Section) -> None:
    """First of all: a file of another version may differ in everything else."""
    version = root.number("format_version")
    if version != FORMAT_VERSION:
        root.fail("format_version", f"is {shown(version)}", f"this release reads version {FORMAT_VERSION} only")


def read_items(root: Section) -> tuple[Item, ...]:
    """The fees that a file lists."""
    items = root.section("items")
    return tuple(_read_item(key, items.section(key), root) for key in items)


def _read_item(key: str, section: Section, root: Section) -> Item:
    """A fee; where it states no source or year of its own, the file's hold."""
    section.check_keys(ITEM_KEYS)
    amount = section.number("amount")
    if amount < 0:
        section.fail("amount", f"is {shown(amount)}", "a fee cannot be negative")
    return Item(
        key=key,
        name=section.text("name", key),
        amount=amount,
        unit=section.text("unit", ""),
        code=section.text("code", ""),
        source=(section if "source" in section else root).text("source", ""),
        year=read_year(section if "year" in section else root),
    )


def read_year(section: Section) -> int | None:
    """Which year's prices they are, where that is said."""
    return section.whole("year", 1900, 2999) if "year" in section else None


def _read_pathways(root: Section, items: Collection[str]) -> tuple[Pathway, ...]:
    """Every pathway, after those it contains."""
    table = root.section("pathways")
    names = list(table)
    steps = {name: tuple(read_step(step, items, names) for step in table.sections(name)) for name in names}
    pathways = {name: Pathway(name, steps[name]) for name in names}
    try:
        order = list(TopologicalSorter({name: pathways[name].parts for name in names}).static_order())
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        table.fail(circle[0], f"contains itself: {' -> '.join(circle)}", "take one of these steps out")
    return tuple(pathways[name] for name in order)


def read_step(section: Section, items: Collection[str], pathways: Collection[str]) -> Step:
    """A step of a pathway, which pays for items or follows other pathways."""
    section.check_keys(STEP_KEYS)
    otherwise = None
    if "otherwise" in section:
        section.section("otherwise").check_keys(PAYMENT_KEYS)
        otherwise = _read_payment(section.section("otherwise"), items, pathways)
    payment = _read_payment(section, items, pathways)
    return Step(payment, _read_chance(section), otherwise, section.text("source", ""))


def _read_payment(section: Section, items: Collection[str], pathways: Collection[str]) -> Payment:
    quantity = section.number("quantity", 1)
    if quantity <= 0:
        section.fail("quantity", f"is {shown(quantity)}", "it must be positive; use probability for what is rare")
    if ("item" in section) == ("pathway" in section):
        problem = "stands beside pathway" if "item" in section else "is missing, and so is pathway"
        section.fail("item", problem, "a step names one of the two")
    if "item" in section:
        return Payment(section.name_among("item", items, "items"), False, quantity)
    return Payment(section.name_among("pathway", pathways, "pathways"), True, quantity)


def _read_chance(section: Section) -> Chance:
    for key in ("trials", "low", "high", "otherwise"):
        if key in section and "probability" not in section:
            section.fail(key, "has no probability beside it", "add probability = ..., or take it out")
    chance = Chance(_read_probability(section, "probability", 1))
    if "trials" in section:
        return _read_trials(section, chance)
    return _read_range(section, chance) if "low" in section or "high" in section else chance


def _read_probability(section: Section, key: str, default: int | None = None) -> Decimal:
    value = section.number(key, default)
    if not 0 <= value <= 1:
        section.fail(key, f"is {shown(value)}", "a probability lies in [0, 1]")
    return value


def _read_trials(section: Section, chance: Chance) -> Chance:
    if "low" in section or "high" in section:
        section.fail("trials", "stands beside low or high", "state the uncertainty in one way")
    return Chance(chance.probability, trials=section.whole("trials", 1, 10**9))


def _read_range(section: Section, chance: Chance) -> Chance:
    low, high = _read_probability(section, "low"), _read_probability(section, "high")
    if not low < chance.probability < high:
        section.fail(
            "probability",
            f"is {shown(chance.probability)}",
            f"it must lie between low ({shown(low)}) and high ({shown(high)})",
        )
    return Chance(chance.probability, low=low, high=high)


def _read_classes(root: Section, pathways: Collection[str]) -> tuple[Hypothesis, ...]:
    sections = root.sections("classes")
    if len(sections) < 2:
        root.fail("classes", "lists one class", "a search needs at least two")
    hypotheses: dict[str, Hypothesis] = {}
    for section in sections:
        hypothesis = _read_class(section, pathways)
        if hypothesis.name in hypotheses:
            section.fail("name", f"is {hypothesis.name!r} a second time", "each class needs its own name")
        hypotheses[hypothesis.name] = hypothesis
    _check_all_published(sections)
    return tuple(hypotheses.values())


def _read_class(section: Section, pathways: Collection[str]) -> Hypothesis:
    section.check_keys(CLASS_KEYS)
    published = section.number("published") if "published" in section else None
    return Hypothesis(section.text("name"), section.name_among("pathway", pathways, "pathways"), published)


def _check_all_published(sections: tuple[Section, ...]) -> None:
    """A published cost vector is whole, or it is none."""
    lacking = [section for section in sections if "published" not in section]
    if 0 < len(lacking) < len(sections):
        lacking[0].fail("published", "is missing, though other classes have one", "state it for all or for none")


def _check_all_used(root: Section, result: Pathways) -> None:
    """A pathway that leads nowhere: most likely its class was forgotten."""
    used = {hypothesis.pathway for hypothesis in result.hypotheses}
    used.update(part for pathway in result.pathways for part in pathway.parts)
    for name in root.section("pathways"):
        if name not in used:
            fix = "add the class it belongs to, or take it out"
            root.section("pathways").fail(name, "is used by no class and no other pathway", fix)


def _check_costs(root: Section, result: Pathways) -> None:
    """Every class costs something, and what was published if that is stated."""
    exact = result.exact
    for section, hypothesis in zip(root.sections("classes"), result.hypotheses, strict=True):
        cost = exact[hypothesis.name]
        if not SMALLEST <= cost <= LARGEST:
            problem = f"leads {hypothesis.name!r} to a cost of {cost:.6g}"
            section.fail("pathway", problem, f"it must be a positive number from {SMALLEST:g} to {LARGEST:g}")
        if hypothesis.published is not None and not _rounds_to(cost, hypothesis.published):
            problem = f"is {shown(hypothesis.published)}, but the pathway costs {shown(cost)}"
            section.fail("published", problem, "correct the figure or the pathway")


def _rounds_to(cost: Decimal, published: Decimal) -> bool:
    """Half a unit in the last published digit, either way: publishers differ in how they round a tie."""
    with localcontext(EXACT):
        last_digit = Decimal((0, (1,), int(published.as_tuple().exponent)))
        return abs(cost - published) <= last_digit / 2
