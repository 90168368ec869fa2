"""Pathways as values: what is paid, how often, and so what testing each class costs, exactly and by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, InputError, read_count, read_positive, read_seed
from pandora_regret.inputs.costs import check_costs
from pandora_regret.inputs.numbers import read_number
from pandora_regret.priors import Empirical

EXACT = Context(prec=100, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])  # whatever the caller's own context is
RANGE_CONCENTRATION = 6  # of a chance known by its range: the Beta distribution of project planning (PERT)


@dataclass(frozen=True)
class Item:
    """A fee: what one unit of something costs, and who says so."""

    key: str
    name: str
    amount: Decimal
    unit: str
    code: str
    source: str  # "" where nobody says so
    year: int | None


@dataclass(frozen=True)
class Chance:
    """How often a step happens, and how well that is known."""

    probability: Decimal
    trials: int | None = None
    low: Decimal | None = None
    high: Decimal | None = None

    def draw(self, draws: int, rng: np.random.Generator, trials: int | None) -> float | FloatArray:
        """Probabilities that might be the true one; their mean is the stated one.

        Of `trials` observed cases, the Bayesian bootstrap: Beta(p n, (1 - p) n). Of a range, a Beta distribution
        stretched over it. The argument `trials` holds where the file says nothing; without it, p is certain.
        """
        p, trials = float(self.probability), self.trials or trials
        if self.low is not None and self.high is not None:
            low, width = float(self.low), float(self.high - self.low)
            return low + width * _beta((p - low) / width, RANGE_CONCENTRATION, draws, rng)
        return _beta(p, trials, draws, rng) if trials else p


def _beta(mean: float, concentration: float, draws: int, rng: np.random.Generator) -> float | FloatArray:
    """Draws of this mean; of what is certain there is nothing to draw."""
    return rng.beta(mean * concentration, (1 - mean) * concentration, draws) if 0 < mean < 1 else mean


@dataclass(frozen=True)
class Payment:
    """So many units of an item, or so many times another pathway."""

    name: str
    is_pathway: bool
    quantity: Decimal

    def __str__(self) -> str:
        times = "" if self.quantity == 1 else f"{self.quantity.normalize():f} × "
        return times + self.name.replace("_", " ")


@dataclass(frozen=True)
class Step:
    """A payment that happens with some chance; where it does not, another payment may take its place."""

    payment: Payment
    chance: Chance
    otherwise: Payment | None
    source: str

    def __str__(self) -> str:
        if self.chance.probability == 1:
            return str(self.payment)
        percent = f"{(100 * self.chance.probability).normalize():f} %"
        return f"{self.payment} ({percent}{f', otherwise {self.otherwise}' if self.otherwise else ''})"

    def paid(self, chance: Any, number: Callable[[Decimal], Any]) -> Iterator[tuple[Payment, Any]]:
        """Each payment and how often it is made, for one chance or an array of them."""
        yield self.payment, chance * number(self.payment.quantity)
        if self.otherwise is not None:
            yield self.otherwise, (1 - chance) * number(self.otherwise.quantity)


@dataclass(frozen=True)
class Pathway:
    """Steps under one name."""

    name: str
    steps: tuple[Step, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the pathways it contains."""
        payments = [payment for step in self.steps for payment in (step.payment, step.otherwise)]
        return tuple(payment.name for payment in payments if payment is not None and payment.is_pathway)


@dataclass(frozen=True)
class Hypothesis:
    """A class, the pathway that tests for it, and the cost that was published for it, if any."""

    name: str
    pathway: str
    published: Decimal | None


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
    format_version: int
    items: tuple[Item, ...]
    pathways: tuple[Pathway, ...]  # each after those it contains
    hypotheses: tuple[Hypothesis, ...]  # in label order

    def __repr__(self) -> str:
        about = [repr(self.title)] * bool(self.title) + [f"{len(self.hypotheses)} classes", self.currency]
        return f"Pathways({', '.join(filter(None, about))})"

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names in label order, for use as ``labels=``."""
        return tuple(hypothesis.name for hypothesis in self.hypotheses)

    @property
    def exact(self) -> dict[str, Decimal]:
        """The cost of each class in label order, without any rounding."""
        with localcontext(EXACT):
            return {name: sum(parts.values(), Decimal(0)) for name, parts in self._breakdowns().items()}

    @property
    def costs(self) -> dict[str, float]:
        """The cost of each class in label order, for use as ``costs=`` or ``typical_costs=``."""
        return {name: float(cost) for name, cost in self.exact.items()}

    @property
    def published(self) -> dict[str, float]:
        """The costs as they were published, rounded by their authors; empty where the file states none."""
        known = [(hypothesis.name, hypothesis.published) for hypothesis in self.hypotheses]
        return {name: float(cost) for name, cost in known if cost is not None}

    def breakdown(self, name: str) -> dict[str, Decimal]:
        """How much each fee item contributes to the cost of a class, exactly.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> for item, amount in load_costs("dermamnist").breakdown("basal cell carcinoma").items():
        ...     print(f"{item:16}{amount:8}")
        visit              75.15
        shave_biopsy       95.53
        histopathology     70.14
        """
        self._check_class(name)
        return self._breakdowns()[name]

    def describe(self, name: str) -> str:
        """The pathway of a class in words: its steps in order, and how often each happens unless always.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> load_costs("dermamnist").describe("benign keratosis")
        'visit + melanoma workup (10 %)'
        """
        self._check_class(name)
        words: dict[str, str] = {}
        for pathway in self.pathways:  # each after those it contains
            words[pathway.name] = " + ".join(words[part] if (part := _whole(s)) else str(s) for s in pathway.steps)
        return words[next(each.pathway for each in self.hypotheses if each.name == name)]

    def _check_class(self, name: str) -> None:
        if name not in self.classes:
            problem = f"is {name!r}, which is not among the classes {list(self.classes)}"
            raise InputError(problem, argument="name", value=name)

    def scaled(self, factor: float, *, currency: str | None = None) -> Pathways:
        """The same pathways with every fee multiplied, and perhaps in another currency.

        What was published of the old costs does not hold for the new ones, and is dropped.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> load_costs("octmnist").scaled(0.5).costs["normal"]
        74.82
        """
        times = _decimal(read_positive(factor, "factor"))
        scaled = self._repriced(lambda item: replace(item, amount=item.amount * times))
        return replace(scaled, currency=self.currency if currency is None else currency)

    def inflated(self, rate: float, *, to_year: int) -> Pathways:
        """The same pathways at the prices of another year: each fee grows from its own year on, at one rate.

        Parameters
        ----------
        rate
            Of inflation a year: 0.03 means 3 %.
        to_year
            The year whose prices are wanted; fees of a later year are deflated.

        Examples
        --------
        >>> from pandora_regret.costs import load_costs
        >>> load_costs("octmnist").inflated(0.1, to_year=2028).exact["normal"]
        Decimal('181.0644')
        """
        yearly, year = _decimal(_read_rate(rate)), read_count(to_year, "to_year", least=1900)

        def at_new_prices(item: Item) -> Item:
            if item.year is None:
                fix = "state year in the file, for the item or once for all"
                raise InputError(
                    f"item {item.key!r} has no year to start from", argument="to_year", place="", fix=fix
                )
            return replace(item, amount=item.amount * (1 + yearly) ** (year - item.year), year=year)

        return self._repriced(at_new_prices)

    def empirical(
        self, draws: int = 1000, *, seed: int | np.random.Generator | None = None, trials: int | None = None
    ) -> Empirical:
        """Costs as a prior: each draw takes probabilities that might be the true ones and works out all classes.

        A pathway that several classes share is drawn once a draw, so that their costs move together. A
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
        uses = self._uses(lambda step: step.chance.draw(n_draws, rng, assumed), float)
        if not any(np.ndim(times) for parts in uses.values() for times in parts.values()):
            fix = (
                "pass trials=..., how many observed cases to assume behind each, "
                "or state trials, or low and high, in the file"
            )
            raise InputError(f"no probability of {self!r} is uncertain", argument="trials", place="", fix=fix)
        return Empirical(self._sampled_costs(uses, n_draws), labels=self.classes)

    def _sampled_costs(self, uses: dict[str, dict[str, Any]], n_draws: int) -> FloatArray:
        """The cost of each class in each draw, (draws, K)."""
        amounts = {item.key: float(item.amount) for item in self.items}
        samples = np.zeros((n_draws, len(self.hypotheses)))
        for column, hypothesis in zip(samples.T, self.hypotheses, strict=True):
            for key, times in uses[hypothesis.pathway].items():
                column += amounts[key] * times
        return samples

    def _breakdowns(self) -> dict[str, dict[str, Decimal]]:
        """How much each item contributes to each class."""
        with localcontext(EXACT):
            uses = self._uses(lambda step: step.chance.probability, Decimal)
            amounts = {item.key: item.amount for item in self.items}
            return {
                hypothesis.name: {key: amounts[key] * times for key, times in uses[hypothesis.pathway].items()}
                for hypothesis in self.hypotheses
            }

    def _uses(
        self, chance_of: Callable[[Step], Any], number: Callable[[Decimal], Any]
    ) -> dict[str, dict[str, Any]]:
        """How many units of each item every pathway uses, each chance asked for once."""
        uses: dict[str, dict[str, Any]] = {}
        for pathway in self.pathways:
            total = uses[pathway.name] = {}
            for step in pathway.steps:
                for payment, times in step.paid(chance_of(step), number):
                    parts = uses[payment.name] if payment.is_pathway else {payment.name: 1}
                    for item, count in parts.items():
                        total[item] = total.get(item, 0) + times * count
        return uses

    def _repriced(self, reprice: Callable[[Item], Item]) -> Pathways:
        with localcontext(EXACT):
            items = tuple(reprice(item) for item in self.items)
        unpublished = tuple(replace(hypothesis, published=None) for hypothesis in self.hypotheses)
        repriced = replace(self, items=items, hypotheses=unpublished)
        check_costs(np.array(list(repriced.costs.values())), "costs", self.classes)
        return repriced


def _whole(step: Step) -> str | None:
    """The name of the pathway that a step follows once and always, whose own steps can stand in its place."""
    always_once = step.payment.is_pathway and step.payment.quantity == 1 == step.chance.probability
    return step.payment.name if always_once else None


def _decimal(number: float) -> Decimal:
    """The decimal a person means by 1.1, not the binary fraction next to it."""
    return Decimal(str(number))


def _read_rate(rate: Any) -> float:
    number = read_number(rate, "rate")
    if not -1 < number < np.inf:
        fix = "it must be finite and above -1; 0.03 means 3 % a year"
        raise InputError(argument="rate", value=number, fix=fix)
    return number
