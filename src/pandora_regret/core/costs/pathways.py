"""Diagnostic pathways: files of fees and probabilities, and so what testing each class costs, or draws of that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar, overload

import numpy as np
from msgspec import Meta

from pandora_regret.core.atomic import Place
from pandora_regret.core.inputs import (
    Fields,
    FloatArray,
    InputError,
    Names,
    check_costs,
    did_you_mean,
    read_choice,
    read_count,
    read_number,
    read_positive,
    read_seed,
)
from pandora_regret.core.priors import Empirical
from pandora_regret.core.records import check_keys, check_one_of, fail, from_plain, path, read_toml
from pandora_regret.text import typed

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn

RANGE_CONCENTRATION = 6  # of a chance known by its range: the Beta distribution of project planning (PERT)

T = TypeVar("T")
PriceOrDraws: TypeAlias = float | FloatArray  # or a chance: one, or one for each draw
PriceByItem: TypeAlias = dict[str, PriceOrDraws]  # by fee item
Name = Annotated[str, Meta(min_length=1)]
Year = Annotated[int, Meta(ge=1900, le=2999)]
Probability = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True)
class Item:
    """A fee: what one unit of something costs, and who says so."""

    amount: Annotated[float, Meta(ge=0)]
    name: str = ""
    unit: str = ""
    code: str = ""
    source: str = ""  # "" where nobody says so
    year: Year | None = None


@dataclass(frozen=True)
class Payment:
    """What a pathway pays: so many units of an item, or so many times another pathway."""

    item: str | None = None
    pathway: str | None = None
    quantity: Annotated[float, Meta(gt=0)] = 1.0

    def __post_init__(self) -> None:
        check_one_of(item=self.item, pathway=self.pathway)

    @property
    def name(self) -> str:
        """The name of the item or pathway."""
        return self.item or self.pathway or ""

    def __str__(self) -> str:
        times = "" if self.quantity == 1 else f"{self.quantity:.12g} × "
        return times + self.name.replace("_", " ")


@dataclass(frozen=True)
class Step(Payment):
    """A payment that happens with some probability; where it does not, another payment may take its place."""

    probability: Probability | None = None  # None: always
    otherwise: Payment | None = None
    trials: Annotated[int, Meta(ge=1, le=10**9)] | None = None  # on which the probability was observed
    low: Probability | None = None  # or its range
    high: Probability | None = None
    source: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        beside = {"trials": self.trials, "low": self.low, "high": self.high, "otherwise": self.otherwise}
        for key, value in beside.items():
            if self.probability is None and value is not None:
                fix = "add probability = ..., or take it out"
                raise InputError("has no probability beside it", argument=key, fix=fix)
        if self.low is None and self.high is None:
            return
        if self.trials is not None:
            fix = "state the uncertainty in one way"
            raise InputError("stands beside low or high", argument="trials", fix=fix)
        if self.low is None or self.high is None:
            argument = "low" if self.low is None else "high"
            raise InputError("is missing", argument=argument, fix="a range has both ends")
        if not self.low < self.chance < self.high:
            fix = f"it must lie between low ({self.low:g}) and high ({self.high:g})"
            raise InputError(argument="probability", value=self.chance, fix=fix)

    @property
    def chance(self) -> float:
        """How often it happens."""
        return 1.0 if self.probability is None else self.probability

    @property
    def followed(self) -> str | None:
        """The name of the pathway that is followed once and always, whose own steps can stand in its place."""
        is_once_and_always = self.quantity == 1 and self.chance == 1
        return self.pathway if is_once_and_always else None

    def __str__(self) -> str:
        words = super().__str__()
        if self.chance == 1:
            return words
        how_often = f"{100 * self.chance:.12g} %"
        if self.otherwise is not None:
            how_often += f", otherwise {self.otherwise}"
        return f"{words} ({how_often})"

    def draw(self, draws: int, rng: Generator, trials: int | None) -> float | FloatArray:
        """Probabilities that might be the true one; their mean is the stated one.

        Of `trials` observed cases, the Bayesian bootstrap: Beta(p n, (1 - p) n). Of a range, a Beta distribution
        stretched over it. The argument `trials` holds where the file says nothing; without it, p is certain.
        """
        low = self.low or 0.0
        high = self.high or 1.0
        concentration = RANGE_CONCENTRATION if self.high is not None else self.trials or trials
        if concentration is None or not 0 < self.chance < 1:
            return self.chance
        mean = (self.chance - low) / (high - low)
        return low + (high - low) * rng.beta(mean * concentration, (1 - mean) * concentration, draws)

    @overload
    def paid(self, chance: float) -> Iterator[tuple[Payment, float]]: ...
    @overload
    def paid(self, chance: PriceOrDraws) -> Iterator[tuple[Payment, PriceOrDraws]]: ...
    def paid(self, chance: PriceOrDraws) -> Iterator[tuple[Payment, PriceOrDraws]]:
        """Each payment and how often it is made, for one chance or an array of them."""
        yield self, chance * self.quantity
        if self.otherwise is not None:
            yield self.otherwise, (1 - chance) * self.otherwise.quantity


@dataclass(frozen=True)
class Hypothesis:
    """A class, the pathway that tests for it, and the cost that was published for it, if any."""

    name: Name
    pathway: str
    published: float | None = None


@dataclass(frozen=True, repr=False)
class Pathways:
    """What testing each class costs, and why: made by `load_costs`.

    See Also
    --------
    load_costs : What reads it from a file.

    References
    ----------
    Flores et al. (2026), Appendix E [flores26]_.

    Examples
    --------
    >>> from pandora_regret.core.costs import load_costs
    >>> pathways = load_costs("dermamnist")
    >>> pathways.classes[4], pathways.costs["melanoma"], pathways.published["melanoma"]
    ('melanoma', 383.775, 383.77)
    """

    title: str
    setting: str
    notes: str
    currency: str
    items: dict[str, Item]
    pathways: dict[str, tuple[Step, ...]]  # each after those it contains
    hypotheses: tuple[Hypothesis, ...]  # in label order

    def __post_init__(self) -> None:
        check_costs(np.array(list(self.costs.values())), "costs", self.classes)

    def __repr__(self) -> str:
        facts = [f"{len(self.hypotheses)} classes"]
        if self.title:
            facts.insert(0, repr(self.title))
        if self.currency:
            facts.append(self.currency)
        return f"Pathways({', '.join(facts)})"

    @property
    def classes(self) -> Names:
        """The classes' names in label order, for use as ``labels=``."""
        return tuple(hypothesis.name for hypothesis in self.hypotheses)

    @property
    def costs(self) -> dict[str, float]:
        """The cost of each class in label order, for use as ``costs=``."""
        spent = self.spent()
        return {
            hypothesis.name: round_money(sum(spent[hypothesis.pathway].values())) for hypothesis in self.hypotheses
        }

    @property
    def published(self) -> dict[str, float]:
        """The costs as they were published, rounded by their authors; empty where the file states none."""
        return {
            hypothesis.name: hypothesis.published
            for hypothesis in self.hypotheses
            if hypothesis.published is not None
        }

    def breakdown(self, name: str) -> dict[str, float]:
        """How much each fee item contributes to the cost of a class.

        Examples
        --------
        >>> from pandora_regret.core.costs import load_costs
        >>> for item, amount in load_costs("dermamnist").breakdown("basal cell carcinoma").items():
        ...     print(f"{item:16}{amount:8}")
        visit              75.15
        shave_biopsy       95.53
        histopathology     70.14
        """
        return {key: round_money(amount) for key, amount in self.spent()[self._pathway(name)].items()}

    def spent(
        self, chance_of: Callable[[Step], PriceOrDraws] = lambda step: step.chance
    ) -> dict[str, PriceByItem]:
        """By every pathway on each fee item; each step is asked for its chance once."""
        spent: dict[str, PriceByItem] = {}
        for name, steps in self.pathways.items():  # each after those it contains
            total: PriceByItem = {}
            payments = chain.from_iterable(step.paid(chance_of(step)) for step in steps)
            for payment, times in payments:
                parts: PriceByItem = {}
                if payment.item is None:
                    parts = spent[payment.name]
                else:
                    parts[payment.item] = self.items[payment.item].amount
                for key, amount in parts.items():
                    total[key] = total.get(key, 0) + times * amount
            spent[name] = total
        return spent

    def describe(self, name: str) -> str:
        """The pathway of a class in words: its steps in order, and how often each happens unless always.

        Examples
        --------
        >>> from pandora_regret.core.costs import load_costs
        >>> load_costs("dermamnist").describe("benign keratosis")
        'visit + melanoma workup (10 %)'
        """
        words: dict[str, str] = {}
        for pathway, steps in self.pathways.items():  # each after those it contains
            words[pathway] = " + ".join(words[step.followed] if step.followed else str(step) for step in steps)
        return words[self._pathway(name)]

    def _pathway(self, name: str) -> str:
        pathways = {hypothesis.name: hypothesis.pathway for hypothesis in self.hypotheses}
        return pathways[read_choice(name, "name", pathways)]

    def scaled(self, factor: float, *, currency: str | None = None) -> Pathways:
        """Pathways like these, every fee multiplied, and perhaps in another currency.

        What was published of the old costs does not hold for the new ones, and is dropped.

        Examples
        --------
        >>> from pandora_regret.core.costs import load_costs
        >>> load_costs("octmnist").scaled(0.5).costs["normal"]
        74.82
        """
        times = read_positive(factor, "factor")
        items = {key: replace(item, amount=item.amount * times) for key, item in self.items.items()}
        return self._repriced(items, self.currency if currency is None else currency)

    def inflated(self, rate: float, *, to_year: int) -> Pathways:
        """These pathways at the prices of another year: each fee grows from its own year on, at one rate.

        Parameters
        ----------
        rate
            Of inflation per year: 0.03 means 3 %.
        to_year
            The year whose prices are wanted; fees of a later year are deflated.

        Examples
        --------
        >>> from pandora_regret.core.costs import load_costs
        >>> load_costs("octmnist").inflated(0.1, to_year=2028).costs["normal"]
        181.0644
        """
        fix = "it must be finite and above -1; 0.03 means 3 % per year"
        yearly = np.float64(read_number(rate, "rate", lambda number: -1 < number < np.inf, fix))
        year = read_count(to_year, "to_year", least=1900)
        items = {}
        for key, item in self.items.items():
            if item.year is None:
                fix = "state year in the file, for the item or once for all"
                raise InputError(f"item {key!r} has no year to start from", argument="to_year", place="", fix=fix)
            with np.errstate(over="ignore"):
                amount = float(item.amount * (1 + yearly) ** (year - item.year))
            items[key] = replace(item, amount=amount, year=year)
        return self._repriced(items, self.currency)

    def _repriced(self, items: dict[str, Item], currency: str) -> Pathways:
        unpublished = tuple(replace(hypothesis, published=None) for hypothesis in self.hypotheses)
        return replace(self, items=items, currency=currency, hypotheses=unpublished)

    def empirical(
        self, draws: int = 1000, *, seed: int | Generator | None = None, trials: int | None = None
    ) -> Empirical:
        """Costs as a prior: each draw takes probabilities that might be the true ones and works out all classes.

        A pathway that several classes share is drawn once per draw, so that their costs move together. A
        probability known from `trials` cases is resampled by the Bayesian bootstrap, one known by a range from
        a Beta distribution over it; the mean is the stated probability, and so the mean cost is `costs`.

        Parameters
        ----------
        draws
            How many cost vectors to draw.
        seed
            Of the draws: the same seed gives the same prior.
        trials
            How many observed cases to assume behind a probability whose uncertainty the file does not state;
            without it, such a probability is certain.

        Examples
        --------
        >>> from pandora_regret.core.costs import load_costs
        >>> prior = load_costs("octmnist").empirical(2000, seed=0, trials=20)
        >>> prior
        Empirical(2000 samples of 4 costs)
        >>> prior.mean.round(1)
        array([343.9, 343.9, 186.7, 149.6])
        """
        n_draws = read_count(draws, "draws")
        rng = read_seed(seed)
        assumed = None if trials is None else read_count(trials, "trials")
        spent = self.spent(lambda step: step.draw(n_draws, rng, assumed))
        costs = [sum(spent[hypothesis.pathway].values()) for hypothesis in self.hypotheses]
        if not any(map(np.ndim, costs)):
            fix = (
                "pass trials=..., how many observed cases to assume behind each, "
                "or state trials, or low and high, in the file"
            )
            raise InputError(f"no probability of {self!r} is uncertain", argument="trials", place="", fix=fix)
        return Empirical(np.stack(np.broadcast_arrays(*costs), axis=1), labels=self.classes)


def round_money(amount: PriceOrDraws) -> float:
    """An amount of money as a person would add it up: without the noise in the last digits of binary fractions."""
    return float(f"{amount:.14g}")


def available_costs() -> Names:
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
    shipped = _shipped().get(name_or_path) if isinstance(name_or_path, str) else None
    fix = f"pass the path of a pathway file, or one of {', '.join(available_costs())}"
    document = read_toml(shipped or name_or_path, fix)
    try:
        return _checked(read_version_1(PathwayFile, document))
    except InputError as error:
        raise error.within(str(name_or_path)) from None


def _shipped() -> dict[str, Traversable]:
    """The shipped files by name; they may lie in a zip archive, so they are no paths."""
    folder = files("pandora_regret.core.costs") / "data"
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


def read_version_1(kind: type[T], document: Fields) -> T:
    """A document as a value of a dataclass; one of another format version may differ in everything else."""
    if (version := document.get("format_version", 1)) != 1:
        fail("format_version", f"is {version!r:.60}", "this release reads version 1 only", version)
    check_keys(kind, document, "")
    return from_plain(kind, document, "")


def _checked(file: PathwayFile) -> Pathways:
    """Names that exist and differ, pathways that are all used, and costs as published, for all classes or none."""
    for name, steps in file.pathways.items():
        check_payments(steps, path("pathways", name), file.items, file.pathways)
    _check_classes(file)
    items = {  # where a fee states no name, source or year of its own, its key and the file's hold
        key: replace(item, name=item.name or key, source=item.source or file.source, year=item.year or file.year)
        for key, item in file.items.items()
    }
    result = Pathways(file.title, file.setting, file.notes, file.currency, items, _in_order(file), file.classes)
    _check_published(result)
    return result


def _check_classes(file: PathwayFile) -> None:
    """That names of classes differ, their pathways exist, and all or none have a published cost."""
    seen = set[str]()
    any_published = any(entry.published is not None for entry in file.classes)
    for number, entry in enumerate(file.classes):
        place = path("classes", number)
        _check_name(entry.pathway, file.pathways, f"{place}.pathway", "pathways")
        if entry.name in seen:
            fail(f"{place}.name", f"is {entry.name!r} a second time", "each class needs its own name", entry.name)
        seen.add(entry.name)
        if entry.published is None and any_published:
            missing = "is missing, though other classes have one"
            fail(f"{place}.published", missing, "state it for all or for none")


def _check_published(pathways: Pathways) -> None:
    """That costs are as published, but for half a unit in the last digit: publishers differ in how they round."""
    for number, (name, printed) in enumerate(pathways.published.items()):
        digits = min(0, int(Decimal(typed(printed)).as_tuple().exponent))
        cost = pathways.costs[name]
        if abs(cost - printed) > 0.5 * 10.0**digits * (1 + 1e-9):
            differs = f"is {printed:.12g}, but the pathway costs {cost:.12g}"
            fail(f"{path('classes', number)}.published", differs, "correct the figure or the pathway")


def check_payments(steps: tuple[Step, ...], place: str, items: Collection[str], pathways: Collection[str]) -> None:
    """That steps pay for items, or follow pathways, that there are."""
    for number, step in enumerate(steps):
        step_place = path(place, number)
        for payment, where in ((step, step_place), (step.otherwise, f"{step_place}.otherwise")):
            if payment is not None:
                _check_name(payment.item, items, f"{where}.item", "items")
                _check_name(payment.pathway, pathways, f"{where}.pathway", "pathways")


def _check_name(name: str | None, names: Collection[str], place: str, kind: str) -> None:
    """Raise an InputError, with a guess at what was meant, unless a name is absent or among these names."""
    if name is not None and name not in names:
        fail(place, f"is {name!r}, which is not among the {kind}", did_you_mean(name, names), name)


def _in_order(file: PathwayFile) -> dict[str, tuple[Step, ...]]:
    """Every pathway, after those it contains."""
    parts: dict[str, list[str]] = {}
    used = {entry.pathway for entry in file.classes}
    for name, steps in file.pathways.items():
        payments = chain.from_iterable(step.paid(1.0) for step in steps)
        parts[name] = [payment.pathway for payment, _ in payments if payment.pathway is not None]
        used.update(parts[name])
    if unused := [name for name in parts if name not in used]:  # most likely its class was forgotten
        alone = "is used by no class and no other pathway"
        fail(path("pathways", unused[0]), alone, "add the class it belongs to, or take it out")
    try:
        return {name: file.pathways[name] for name in TopologicalSorter(parts).static_order()}
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        fail(path("pathways", circle[0]), f"contains itself: {' -> '.join(circle)}", "take one of these steps out")


NamedSteps: TypeAlias = list[tuple[str, Step]]  # by name; two pathways share one if they agree on the step


def as_workup_fields(pathways: Place | Pathways) -> Fields:
    """The work-up of a pathway file, under the keys of a work-up file.

    What the pathways of several classes begin with is a step of its own, paid once.
    """
    source = pathways if isinstance(pathways, Pathways) else load_costs(pathways)
    sources = {item.source for item in source.items.values()}
    return {
        "title": source.title,
        "setting": source.setting,
        "currency": source.currency,
        "source": sources.pop() if len(sources) == 1 else "",
        "classes": list(source.classes),
        "steps": _SharedSteps(source).steps,
    }


class _SharedSteps:
    """The steps of a work-up that does what the pathways say; what several begin with is one step."""

    def __init__(self, source: Pathways) -> None:
        self.source = source
        self.totals: dict[str, float] = {}  # of each pathway
        self.payments: dict[str, NamedSteps] = {}  # of each pathway
        self.steps: dict[str, Fields] = {}
        for pathway, steps in source.pathways.items():  # each after those it contains
            self.totals[pathway] = sum(self._cost(step) for step in steps)
            self.payments[pathway] = self._written_out(steps)
        used = [hypothesis.pathway for hypothesis in source.hypotheses]
        self._grow({pathway: self.payments[pathway] for pathway in used}, None)

    def _cost(self, step: Step) -> float:
        """What a step costs on average, with the pathways that it follows."""
        cost = 0.0
        for payment, times in step.paid(step.chance):
            amount = self.source.items[payment.item].amount if payment.item else self.totals[payment.name]
            cost += times * amount
        return cost

    def _written_out(self, steps: Sequence[Step]) -> NamedSteps:
        """The payments of a pathway; another one that is certain to be followed once stands there step by step."""
        payments: NamedSteps = []
        for step in steps:
            inner = [(step.name, replace(step, source=""))]
            if step.followed:
                inner = self.payments[step.followed]
            if len(inner) == 1:
                inner = [(step.name, inner[0][1])]
            payments += inner
        return payments

    def _grow(self, left: dict[str, NamedSteps], parent: str | None) -> None:
        """Add the steps that follow `parent`, for pathways and the payments still to be made.

        Pathways that go on in the same way do so together.
        """
        branches: dict[Step, dict[str, NamedSteps]] = {}
        for pathway, payments in left.items():
            branches.setdefault(payments[0][1], {})[pathway] = payments
        for branch in branches.values():
            shared = _shared_beginning(list(branch.values()))
            names = list(branch) if len(branch) == 1 else [name for name, _ in shared]
            name = " + ".join(names)
            if name in self.steps:
                name = f"{name} after {parent}"
            ended = [pathway for pathway, payments in branch.items() if len(payments) == len(shared)]
            classes = [hypothesis.name for hypothesis in self.source.hypotheses if hypothesis.pathway in ended]
            self.steps[name] = {
                "cost": round_money(sum(self._cost(step) for _, step in shared)),
                "requires": parent,
                "tells_apart": classes or None,
            }
            rest = {pathway: branch[pathway][len(shared) :] for pathway in branch if pathway not in ended}
            self._grow(rest, name)


def _shared_beginning(pathways: Sequence[NamedSteps]) -> NamedSteps:
    """The payments that all pathways begin with, as the first of them names them."""
    shared = []
    for side_by_side in zip(*pathways, strict=False):
        if len({step for _, step in side_by_side}) > 1:
            break
        shared.append(side_by_side[0])
    return shared
