"""Pathways as values: what is paid, how often, and so what testing each class costs, on average or by draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.random import Generator

from pandora_regret.inputs import FloatArray, InputError, read_count, read_positive, read_seed
from pandora_regret.inputs.costs import check_costs
from pandora_regret.inputs.numbers import read_number
from pandora_regret.priors import Empirical
from pandora_regret.records import check_one_of

RANGE_CONCENTRATION = 6  # of a chance known by its range: the Beta distribution of project planning (PERT)

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
    """So many units of an item, or so many times another pathway."""

    item: str | None = None
    pathway: str | None = None
    quantity: Annotated[float, Meta(gt=0)] = 1.0

    def __post_init__(self) -> None:
        check_one_of(self, "item", "pathway")

    @property
    def name(self) -> str:
        """Of the item or pathway."""
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
        for key in ("trials", "low", "high", "otherwise") if self.probability is None else ():
            if getattr(self, key) is not None:
                fix = "add probability = ..., or take it out"
                raise InputError("has no probability beside it", argument=key, fix=fix)
        if self.low is None and self.high is None:
            return
        if self.trials is not None:
            fix = "state the uncertainty in one way"
            raise InputError("stands beside low or high", argument="trials", fix=fix)
        if self.low is None or self.high is None:
            missing = "low" if self.low is None else "high"
            raise InputError("is missing", argument=missing, fix="a range has both ends")
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
        return self.pathway if self.quantity == 1 == self.chance else None

    def __str__(self) -> str:
        words = super().__str__()
        if self.chance == 1:
            return words
        return f"{words} ({100 * self.chance:.12g} %{f', otherwise {self.otherwise}' if self.otherwise else ''})"

    def draw(self, draws: int, rng: Generator, trials: int | None) -> float | FloatArray:
        """Probabilities that might be the true one; their mean is the stated one.

        Of `trials` observed cases, the Bayesian bootstrap: Beta(p n, (1 - p) n). Of a range, a Beta distribution
        stretched over it. The argument `trials` holds where the file says nothing; without it, p is certain.
        """
        low, high, trials = self.low or 0.0, self.high or 1.0, self.trials or trials
        concentration = RANGE_CONCENTRATION if self.high is not None else trials
        if concentration is None or not 0 < self.chance < 1:
            return self.chance
        mean = (self.chance - low) / (high - low)
        return low + (high - low) * rng.beta(mean * concentration, (1 - mean) * concentration, draws)

    def paid(self, chance: Any) -> Iterator[tuple[Payment, Any]]:
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
    >>> from pandora_regret.costs import load_costs
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

    def __repr__(self) -> str:
        about = [repr(self.title)] * bool(self.title) + [f"{len(self.hypotheses)} classes", self.currency]
        return f"Pathways({', '.join(filter(None, about))})"

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names in label order, for use as ``labels=``."""
        return tuple(hypothesis.name for hypothesis in self.hypotheses)

    @property
    def costs(self) -> dict[str, float]:
        """The cost of each class in label order, for use as ``costs=``."""
        spent = self.spent()
        return {one.name: rounded(sum(spent[one.pathway].values())) for one in self.hypotheses}

    @property
    def published(self) -> dict[str, float]:
        """The costs as they were published, rounded by their authors; empty where the file states none."""
        return {one.name: one.published for one in self.hypotheses if one.published is not None}

    def breakdown(self, name: str) -> dict[str, float]:
        """How much each fee item contributes to the cost of a class.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> for item, amount in load_costs("dermamnist").breakdown("basal cell carcinoma").items():
        ...     print(f"{item:16}{amount:8}")
        visit              75.15
        shave_biopsy       95.53
        histopathology     70.14
        """
        return {key: rounded(amount) for key, amount in self.spent()[self._pathway(name)].items()}

    def spent(self, chance_of: Callable[[Step], Any] = lambda step: step.chance) -> dict[str, dict[str, Any]]:
        """By every pathway on each fee item; each step is asked for its chance once."""
        spent: dict[str, dict[str, Any]] = {}
        for name, steps in self.pathways.items():  # each after those it contains
            total = spent[name] = {}
            for step in steps:
                for payment, times in step.paid(chance_of(step)):
                    item = payment.item
                    parts = spent[payment.name] if item is None else {item: self.items[item].amount}
                    for key, amount in parts.items():
                        total[key] = total.get(key, 0) + times * amount
        return spent

    def describe(self, name: str) -> str:
        """The pathway of a class in words: its steps in order, and how often each happens unless always.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> load_costs("dermamnist").describe("benign keratosis")
        'visit + melanoma workup (10 %)'
        """
        words: dict[str, str] = {}
        for pathway, steps in self.pathways.items():  # each after those it contains
            words[pathway] = " + ".join(words[step.followed] if step.followed else str(step) for step in steps)
        return words[self._pathway(name)]

    def _pathway(self, name: str) -> str:
        pathways = {one.name: one.pathway for one in self.hypotheses}
        if name not in pathways:
            problem = f"is {name!r}, which is not among the classes {list(pathways)}"
            raise InputError(problem, argument="name", value=name)
        return pathways[name]

    def scaled(self, factor: float, *, currency: str | None = None) -> Pathways:
        """The same pathways with every fee multiplied, and perhaps in another currency.

        What was published of the old costs does not hold for the new ones, and is dropped.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> load_costs("octmnist").scaled(0.5).costs["normal"]
        74.82
        """
        times = read_positive(factor, "factor")
        items = {key: replace(item, amount=item.amount * times) for key, item in self.items.items()}
        return replace(self._repriced(items), currency=self.currency if currency is None else currency)

    def inflated(self, rate: float, *, to_year: int) -> Pathways:
        """The same pathways at the prices of another year: each fee grows from its own year on, at one rate.

        Parameters
        ----------
        rate
            Of inflation per year: 0.03 means 3 %.
        to_year
            The year whose prices are wanted; fees of a later year are deflated.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> load_costs("octmnist").inflated(0.1, to_year=2028).costs["normal"]
        181.0644
        """
        fix = "it must be finite and above -1; 0.03 means 3 % per year"
        yearly = np.float64(read_number(rate, "rate", lambda number: -1 < number < np.inf, fix))
        year, items = read_count(to_year, "to_year", least=1900), {}
        for key, item in self.items.items():
            if item.year is None:
                fix = "state year in the file, for the item or once for all"
                raise InputError(f"item {key!r} has no year to start from", argument="to_year", place="", fix=fix)
            with np.errstate(over="ignore"):
                amount = float(item.amount * (1 + yearly) ** (year - item.year))
            items[key] = replace(item, amount=amount, year=year)
        return self._repriced(items)

    def _repriced(self, items: dict[str, Item]) -> Pathways:
        unpublished = tuple(replace(hypothesis, published=None) for hypothesis in self.hypotheses)
        repriced = replace(self, items=items, hypotheses=unpublished)
        check_costs(np.array(list(repriced.costs.values())), "costs", self.classes)
        return repriced

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
        >>> from pandora_regret.costs import load_costs
        >>> prior = load_costs("octmnist").empirical(2000, seed=0, trials=20)
        >>> prior
        Empirical(2000 samples of 4 costs)
        >>> prior.mean.round(1)
        array([343.9, 343.9, 186.7, 149.6])
        """
        n_draws, rng = read_count(draws, "draws"), read_seed(seed)
        assumed = None if trials is None else read_count(trials, "trials")
        spent = self.spent(lambda step: step.draw(n_draws, rng, assumed))
        costs = [sum(spent[hypothesis.pathway].values()) for hypothesis in self.hypotheses]
        if not any(map(np.ndim, costs)):
            fix = (
                "pass trials=..., how many observed cases to assume behind each, "
                "or state trials, or low and high, in the file"
            )
            raise InputError(f"no probability of {self!r} is uncertain", argument="trials", place="", fix=fix)
        samples = np.stack([np.broadcast_to(cost, n_draws) for cost in costs], axis=1)
        return Empirical(samples, labels=self.classes)


def rounded(amount: float) -> float:
    """An amount of money as a person would add it up: without the noise in the last digits of binary fractions."""
    return float(f"{amount:.14g}")
