"""Pathway files: finding one by name or path, and what is wrong with one that cannot be used."""

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from pandora_regret.atomic import Place
from pandora_regret.costs.pathways import Hypothesis, Item, Pathways, Step, Year
from pandora_regret.inputs import InputError, InputTypeError
from pandora_regret.inputs.names import did_you_mean
from pandora_regret.inputs.numbers import LARGEST, SMALLEST
from pandora_regret.records import check_keys, fail, from_plain, parse_toml, path


def available_costs() -> tuple[str, ...]:
    """The names of the shipped pathway files.

    Returns
    -------
    tuple of str
        Names that `load_costs` takes.

    Examples
    --------
    >>> available_costs()
    ('dermamnist', 'octmnist', 'pump_fault')
    """
    return tuple(sorted(_shipped()))


def load_costs(name_or_path: Place) -> Pathways:
    """Read a pathway file, check it, and work out what testing each class costs.

    Parameters
    ----------
    name_or_path
        The name of a shipped file (see `available_costs`), or the path of a file of your own. A shipped name
        comes first; for a file of your own with that name, write ``./name``.

    Returns
    -------
    Pathways
        Costs by class, their currency, and the steps behind them.

    References
    ----------
    Flores et al. (2026), Appendix E [flores26]_.
    Centers for Medicare & Medicaid Services (2026), the fees [cms2026pfs]_.

    Examples
    --------
    >>> load_costs("octmnist").costs
    {'CNV': 343.913, 'DME': 343.913, 'drusen': 186.71, 'normal': 149.64}
    """
    given: Any = name_or_path
    if not isinstance(given, (str, os.PathLike)):
        problem = f"must be a name or a path, got {given!r:.200}"
        raise InputTypeError(problem, argument="name_or_path", value=given)
    shipped = _shipped().get(name_or_path) if isinstance(name_or_path, str) else None
    try:
        content = (shipped or Path(name_or_path)).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        name, reason = str(name_or_path), getattr(error, "strerror", None) or error
        problem = f"is not a file that can be read ({reason}), nor the name of a shipped one"
        fix = f"pass the path of a pathway file, or one of {', '.join(available_costs())}"
        raise InputError(problem, argument="name_or_path", value=name, place=repr(name), fix=fix) from None
    name = shipped.name if shipped else str(name_or_path)
    document = parse_toml(content, name)
    try:
        check_version(document)
        check_keys(PathwayFile, document, "")
        return _checked(from_plain(PathwayFile, document, ""))
    except InputError as error:
        raise error.within(name) from None


def _shipped() -> dict[str, Traversable]:
    """The shipped files by name; they may lie in a zip archive, so they are no paths."""
    folder = files("pandora_regret.costs") / "data"
    return {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}


@dataclass(frozen=True)
class PathwayFile:
    """Format version 1, as it is written."""

    format_version: Literal[1]
    items: dict[str, Item]
    pathways: dict[str, Annotated[tuple[Step, ...], Meta(min_length=1)]]
    classes: Annotated[tuple[Hypothesis, ...], Meta(min_length=2)]
    title: str = ""
    setting: str = ""
    notes: str = ""
    currency: str = ""
    source: str = ""
    year: Year | None = None


def check_version(document: dict[str, Any]) -> None:
    """First of all: a file of another version may differ in everything else."""
    if (version := document.get("format_version", 1)) != 1:
        fail("format_version", f"is {version!r:.60}", "this release reads version 1 only", version)


def _checked(file: PathwayFile) -> Pathways:
    """Names that exist and differ, pathways that are all used, and costs as published, for all classes or none."""
    pathways = _in_order(file)
    used = {payment.name for steps in pathways.values() for step in steps for payment, _ in step.paid(1.0)}
    names = [one.name for one in file.classes]
    for number, one in enumerate(file.classes):
        place = path("classes", number)
        _check_name(one.pathway, pathways, f"{place}.pathway", "pathways")
        if one.name in names[:number]:
            fail(f"{place}.name", f"is {one.name!r} a second time", "each class needs its own name", one.name)
        if one.published is None and any(other.published is not None for other in file.classes):
            missing = "is missing, though other classes have one"
            fail(f"{place}.published", missing, "state it for all or for none")
    used |= {one.pathway for one in file.classes}
    if unused := [name for name in file.pathways if name not in used]:  # most likely its class was forgotten
        alone = "is used by no class and no other pathway"
        fail(path("pathways", unused[0]), alone, "add the class it belongs to, or take it out")
    items = {  # where a fee states no name, source or year of its own, its key and the file's hold
        key: replace(one, name=one.name or key, source=one.source or file.source, year=one.year or file.year)
        for key, one in file.items.items()
    }
    result = Pathways(file.title, file.setting, file.notes, file.currency, items, pathways, file.classes)
    for number, (one, cost) in enumerate(zip(file.classes, result.costs.values(), strict=True)):
        place = path("classes", number)
        if not SMALLEST <= cost <= LARGEST:
            fix = f"it must be a number from {SMALLEST:g} to {LARGEST:g}"
            fail(f"{place}.pathway", f"leads {one.name!r} to a cost of {cost:.6g}", fix, cost)
        # half a unit in the last published digit, either way: publishers differ in how they round a tie
        digits = min(0, int(Decimal(repr(one.published or 0)).normalize().as_tuple().exponent))
        if one.published is not None and abs(cost - one.published) > 0.5 * 10.0**digits * (1 + 1e-9):
            differs = f"is {one.published:.12g}, but the pathway costs {cost:.12g}"
            fail(f"{place}.published", differs, "correct the figure or the pathway")
    return result


def check_payments(steps: tuple[Step, ...], place: str, items: Collection[str], pathways: Collection[str]) -> None:
    """That steps pay for items, or follow pathways, that there are."""
    for number, step in enumerate(steps):
        here = path(place, number)
        for payment, where in ((step, here), (step.otherwise, f"{here}.otherwise")):
            if payment is not None:
                _check_name(payment.item, items, f"{where}.item", "items")
                _check_name(payment.pathway, pathways, f"{where}.pathway", "pathways")


def _check_name(name: str | None, names: Collection[str], place: str, what: str) -> None:
    if name is not None and name not in names:
        fail(place, f"is {name!r}, which is not among the {what}", did_you_mean(name, names), name)


def _in_order(file: PathwayFile) -> dict[str, tuple[Step, ...]]:
    """Every pathway, after those it contains."""
    parts: dict[str, list[str]] = {}
    for name, steps in file.pathways.items():
        check_payments(steps, path("pathways", name), file.items, file.pathways)
        payments = [payment for step in steps for payment in (step, step.otherwise)]
        parts[name] = [one.pathway for one in payments if one is not None and one.pathway is not None]
    try:
        return {name: file.pathways[name] for name in TopologicalSorter(parts).static_order()}
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        fail(path("pathways", circle[0]), f"contains itself: {' -> '.join(circle)}", "take one of these steps out")
