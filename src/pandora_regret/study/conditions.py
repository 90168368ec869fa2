"""The conditions of the study: how forecasts are changed, what costs the simulated search pays, who comes to it.

A condition is made of plain values, so that a study's file can state it, and its parts can be combined at will:
temperatures x costs x tests x prevalence. Random numbers depend on the seed and on what they are for (a model's
name, a number of draws), never on what else is in the study: another model or condition changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal, TypeAlias, cast

import numpy as np

from pandora_regret.core.costs import available_costs
from pandora_regret.core.imperfect import Tests, expected_expenditure
from pandora_regret.core.inputs import (
    LARGEST,
    SMALLEST,
    Fields,
    FloatArray,
    InputError,
    InputTypeError,
    IntArray,
    SearchName,
    by_name,
    read_choice,
    read_costs,
    read_count,
    read_forecast,
    read_labels,
    read_number,
    read_positive,
)
from pandora_regret.core.kernels.engine import in_threads, realised_costs
from pandora_regret.core.kernels.reference import BROKEN_AT_RANDOM
from pandora_regret.core.priors import Exponential, LogNormal, Prior, Uniform
from pandora_regret.core.priors.names import check_prior
from pandora_regret.core.records import check_keys
from pandora_regret.inference.keyed import keyed_generator
from pandora_regret.workup import Workup, workup_cost

ClassNames: TypeAlias = tuple[str, ...] | tuple[int, ...]  # names, or numbers where there are none
PerClass: TypeAlias = float | Sequence[float] | Mapping[str, float]  # one for all classes, or one for each

FIELD_CHOICES: dict[str, dict[str, str]] = {
    "temperature": {
        "all": "of all classes",
        "distractors": "of all but the true class, whose probability is kept",
    },
    "per": {"model": "one temperature for all forecasts of a model", "instance": "one for each of them"},
    "typical": {
        "clinical": "costs scatter around the clinical ones",
        "drawn": "the draws themselves are the costs",
    },
    "reading": {
        "mean_of_taus": "models are ranked under each cost vector, and agreement is averaged",
        "mean_of_costs": "costs are averaged over cost vectors, and models are ranked once",
        "per_instance": "every instance has cost vectors of its own, and models are ranked once",
    },
    "prevalence": {"equal": "all classes occur equally often"},
}
PERFECT = {"sensitivity": 1.0, "false_positive_rate": 0.0, "confirmatory_cost": 0.0}  # of tests
NEEDS: dict[str, Fields] = {  # by what they mean nothing without: fields, and what they then must be
    "prior": {"typical": "clinical", "reading": "mean_of_taus", "generator": None},
    "search": PERFECT,
}
GENERATORS: dict[str, Callable[[int], np.random.Generator | np.random.RandomState]] = {
    "default": np.random.default_rng,
    "legacy": np.random.RandomState,
}


@dataclass(frozen=True)
class Condition:
    """Under what circumstances models are compared.

    Parameters
    ----------
    name, title
        A short name, and one for people.
    temperature
        None, "all" or "distractors": whether forecasts are sharpened or blurred by a random temperature
        ``T = exp(sigma z)``, z standard normal: all of them, ``p' ~ p^(1/T)``, or only those of the
        wrong classes, which go on sharing ``1 - p_i``.
    sigma
        How far temperatures scatter.
    per
        "model": a model has one temperature. "instance": it has another for every instance.
    floor
        The least probability that a forecast may give a class: what is below is raised to it, and the row divided
        by its sum, as somebody would who must not call anything impossible. 0 leaves forecasts as they are.
    prior
        None: the search pays the clinical costs. A prior, which a table may name ("gamma:2"): costs are drawn from
        it, the same for all models.
    typical
        "clinical": drawn costs have the clinical ones as their means. "drawn": the draws are the costs.
    draws
        How many cost vectors to draw; with "per_instance", for each instance.
    reading
        How many drawn cost vectors make one agreement. "mean_of_taus": each is shared by all instances, models are
        ranked under each of them, and tau is averaged. "mean_of_costs": each is shared, but what models cost is
        averaged over them first, and ranked once. "per_instance": every instance draws its own, models are ranked
        once. With one draw the first two are the same.
    generator
        None: draws depend on the study's seed. "legacy:42" or "default:42": on NumPy's ``RandomState(42)`` or
        ``default_rng(42)``; with the uniform prior they are the numbers that its method `uniform` gives.
    search
        None: tests are perfect. "single_pass", "restarts" or "adaptive": they are not, and what is paid is the
        expected expenditure of that search.
    sensitivity, false_positive_rate, confirmatory_cost
        Of imperfect tests, as in `Tests`: one for all classes, one per class, or named by class.
    workup
        None: a search. The path of a work-up file, or the name of a shipped pathway file, whose shared steps are
        then paid once: what is paid is what the whole work-up costs at the costs it states. Or one for each data
        set of a study, by the data set's name.
    prevalence
        None: instances count as they come. "equal", or one positive number per class or named by class: they are
        weighted so that the classes occur in these proportions, while forecasts stay as they are.

    Examples
    --------
    >>> Condition("cool", temperature="all", sigma=0.5).heading
    'cool'
    >>> Condition("warm", temperature="some")
    Traceback (most recent call last):
    pandora_regret.core.inputs.errors.InputError: temperature is 'some': pass one of 'all' (of all classes), ...
    """

    name: str
    title: str = ""
    temperature: Literal["all", "distractors"] | None = None
    sigma: float = 1.0
    per: Literal["model", "instance"] = "model"
    floor: float = 0.0
    prior: Prior | None = None
    typical: Literal["clinical", "drawn"] = "clinical"
    draws: int = 100
    reading: Literal["mean_of_taus", "mean_of_costs", "per_instance"] = "mean_of_taus"
    generator: str | None = None
    search: SearchName | None = None
    sensitivity: PerClass = 1.0
    false_positive_rate: PerClass = 0.0
    confirmatory_cost: PerClass = 0.0
    prevalence: Literal["equal"] | Sequence[float] | Mapping[str, float] | None = None
    workup: str | Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        chosen = {
            "temperature": self.temperature,
            "per": self.per,
            "typical": self.typical,
            "reading": self.reading,
            "prevalence": self.prevalence if isinstance(self.prevalence, str) else None,
        }
        for name, choice in chosen.items():
            if choice is not None:
                read_choice(choice, name, FIELD_CHOICES[name])
        if self.sigma != 0:
            read_positive(self.sigma, "sigma")
        read_number(self.floor, "floor", lambda least: 0 <= least < 0.5, "it must be 0 or more, and below 0.5")
        read_count(self.draws, "draws")
        if self.generator is not None:
            named_generator(self.generator)
        problem = next(self._problems(), None)
        if problem is not None:
            raise problem.replace(place=f"condition {self.name!r}")

    def _problems(self) -> Iterator[InputError]:
        """What makes no sense together."""
        if self.prior is None:
            of_prior = {"typical": self.typical, "reading": self.reading, "generator": self.generator}
            yield from _meaningless("prior", of_prior)
        if self.search is None:
            of_tests = {
                "sensitivity": self.sensitivity,
                "false_positive_rate": self.false_positive_rate,
                "confirmatory_cost": self.confirmatory_cost,
            }
            yield from _meaningless("search", of_tests)
        if self.reading == "per_instance" and self.search:
            same = "imperfect tests, which are the same for all instances"
            problem = f"has reading='per_instance' and {same}"
            fix = "leave search out, or choose another reading"
            yield InputError(problem, argument="reading", value=self.reading, fix=fix)
        if self.workup and (self.prior or self.search):
            problem = "has a work-up, which says what its steps cost and tell"
            fix = "leave prior and search out"
            yield InputError(problem, argument="workup", value=self.workup, fix=fix)

    @property
    def heading(self) -> str:
        """What people call it: its title, or its name where it has none."""
        return self.title or self.name

    @property
    def unit(self) -> str:
        """What the search pays in: "money", or the unit of the "draws"."""
        return "draws" if self.typical == "drawn" else "money"

    @property
    def rankings(self) -> int:
        """How many times models are ranked by what they cost."""
        return self.draws if self.prior is not None and self.reading == "mean_of_taus" else 1

    def of_data(self, name: str) -> Condition:
        """The condition with the work-up of one data set."""
        if not isinstance(self.workup, Mapping):
            return self
        if name not in self.workup:
            problem = f"has no work-up for {name!r}"
            place = f"condition {self.name!r}"
            fix = f"it has {', '.join(self.workup)}"
            raise InputError(problem, argument="workup", place=place, value=name, fix=fix)
        return replace(self, workup=self.workup[name])

    def changed(self, truth: IntArray, proba: FloatArray, models: Sequence[str], seed: int) -> FloatArray:
        """The forecasts of some models, (B, N, K), at their temperatures and raised to the floor."""
        if self.temperature is None:
            return floored(proba, self.floor)
        scale = self._temperatures(len(truth), models, seed)
        if self.temperature == "all":
            return floored(tempered(proba, scale), self.floor)
        return floored(tempered_distractors(truth, proba, scale), self.floor)

    def _temperatures(self, n_rows: int, models: Sequence[str], seed: int) -> FloatArray:
        """``exp(sigma z)`` of each model, (B, 1, 1), or of each instance, (B, N, 1): one z whatever sigma is."""
        n_drawn = n_rows if self.per == "instance" else 1
        z = [keyed_generator(seed, "temperature", model).standard_normal(n_drawn) for model in models]
        return np.asarray(np.exp(self.sigma * np.stack(z))[:, :, None])

    def cost_draws(
        self, clinical: FloatArray | None, classes: ClassNames, seed: int, instances: int = 1
    ) -> FloatArray:
        """The cost vectors that searches pay, one after the other, (D, K), or each instance's own, (D, N, K)."""
        typical = self._typical(clinical, classes)
        has_own = self.reading == "per_instance"
        if self.workup is not None or self.prior is None:
            return typical[None]
        rng = keyed_generator(seed, "costs") if self.generator is None else named_generator(self.generator)
        prior = self.prior.for_classes(classes)
        drawn = prior.sample(self.draws * (instances if has_own else 1), len(classes), rng)
        if self.generator is not None and self.prior == Uniform():
            drawn = 1 - drawn  # exactly the generator's numbers: the prior took 1 - U, so that no test is free
        if has_own:
            drawn = drawn.reshape(self.draws, instances, len(classes))
        if self.typical != "drawn":
            drawn = drawn * (typical / prior.mean)
        return np.clip(drawn, SMALLEST, LARGEST)

    def typical_costs(self, clinical: FloatArray | None, classes: ClassNames) -> FloatArray:
        """What somebody who chooses a model beforehand expects a test to cost: effective costs, if it may fail."""
        typical = self._typical(clinical, classes)
        return typical if self.search is None else self._tests(typical, classes).effective_cost

    def bills(self, truth: IntArray, proba: FloatArray, costs: FloatArray, classes: ClassNames) -> FloatArray:
        """What every row's search costs under each cost vector, (D, n).

        Rows are the instances of one model after the other, so an instance's own costs come back for each of them.
        """
        if isinstance(self.workup, Mapping):
            problem = "has a work-up for each data set"
            place = f"condition {self.name!r}"
            raise InputError(problem, argument="workup", place=place, fix="choose one by of_data")
        if self.workup is not None:
            workup = _read_workup(self.workup)
            names_of_classes = np.array(classes)
            names = names_of_classes[truth]
            paid = workup_cost(names, proba, workup, labels=names_of_classes, per_instance=True)
            return np.array([paid])
        if self.search is None:
            return search_bills(truth, proba, costs)
        bill = partial(expected_expenditure, search=self.search, per_instance=True)
        tests = [self._tests(drawn, classes) for drawn in costs]
        parts = in_threads(  # NumPy lets other threads run
            lambda rows: [bill(truth[rows], proba[rows], drawn) for drawn in tests], len(truth), proba.size
        )
        return np.concatenate(parts, axis=1)

    def weights(self, truth: IntArray, classes: ClassNames) -> FloatArray:
        """How much each instance counts, (N,), on average 1; a class without instances cannot count."""
        if self.prevalence is None:
            return np.ones(len(truth))
        if isinstance(self.prevalence, str):  # "equal"
            wanted = np.ones(len(classes))
        else:
            wanted = read_costs(self.prevalence, classes, argument="prevalence")
        occurs = np.bincount(truth, minlength=len(classes))
        share = np.divide(wanted, occurs, out=np.zeros(len(classes)), where=occurs > 0)[truth]
        return np.asarray(share * (len(truth) / share.sum()))

    def _typical(self, clinical: FloatArray | None, classes: ClassNames) -> FloatArray:
        """The clinical costs, or the means of the costs drawn, (K,); a work-up states its own."""
        if self.prior is not None:
            check_prior(self.prior, len(classes), "the forecasts")
        if self.typical == "drawn" and self.prior is not None:
            return np.full(len(classes), self.prior.for_classes(classes).mean)
        if self.workup is not None and clinical is None:
            return np.ones(len(classes))
        if clinical is None:
            problem = "needs the cost of testing each class"
            place = f"condition {self.name!r}"
            raise InputError(problem, argument="costs", place=place, fix="pass costs=..., one per class")
        return clinical

    def _tests(self, costs: FloatArray, classes: ClassNames) -> Tests:
        return Tests(
            costs,
            np.asarray(by_name(self.sensitivity, classes, "tests")),
            np.asarray(by_name(self.false_positive_rate, classes, "tests")),
            np.asarray(by_name(self.confirmatory_cost, classes, "tests")),
        )


def _meaningless(needed: str, stated: Fields) -> Iterator[InputError]:
    """What is stated in a condition, by name, but means nothing without the prior or the search that is needed."""
    for name, value in stated.items():
        if not np.array_equal(value, NEEDS[needed][name]):
            problem = f"has {name}={value!r} but no {needed}"
            yield InputError(problem, argument=name, value=value, fix=f"give a {needed}")


@lru_cache(16)
def _read_workup(workup: str) -> Workup:
    """The work-up of a file, or of the pathways that come with the package under this name."""
    return Workup.from_pathways(workup) if workup in available_costs() else Workup.load(workup)


def tempered(proba: FloatArray, temperature: float | FloatArray) -> FloatArray:
    """``p^(1/T)``, normalised; impossible classes stay impossible.

    Examples
    --------
    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(3)
    array([[0.941, 0.059]])
    """
    from scipy.special import softmax

    with np.errstate(divide="ignore"):
        return np.asarray(softmax(np.log(proba) / temperature, axis=-1))


def floored(proba: FloatArray, least: float) -> FloatArray:
    """Probabilities raised to `least` where they are below it, and rows divided by their sums.

    Examples
    --------
    >>> floored(np.array([[0.9, 0.1, 0.0]]), 0.1).round(3)
    array([[0.818, 0.091, 0.091]])
    """
    if least == 0:
        return proba
    raised = np.maximum(proba, least)
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def tempered_distractors(truth: IntArray, proba: FloatArray, temperature: float | FloatArray) -> FloatArray:
    """The truth's probability as it was, the rest shared by the other classes at another temperature.

    Where no other class has any probability but there is some to share, they share it equally.

    Examples
    --------
    >>> tempered_distractors(np.array([0]), np.array([[0.5, 0.4, 0.1]]), 0.5).round(3)
    array([[0.5  , 0.471, 0.029]])
    """
    is_truth = truth[:, None] == np.arange(proba.shape[-1])
    distractors = np.where(is_truth, 0.0, proba)
    distractors = np.where(distractors.any(axis=-1, keepdims=True), distractors, ~is_truth)
    left = np.maximum(1 - np.where(is_truth, proba, 0.0).sum(axis=-1, keepdims=True), 0.0)
    return np.where(is_truth, proba, left * tempered(distractors, temperature))


def search_bills(truth: IntArray, proba: FloatArray, costs: FloatArray) -> FloatArray:
    """The cost of every row's search under every cost vector (D, K), the mean over orders of ties: (D, n).

    Where instances have costs of their own, (D, N, K), rows are those of one model after the other, n = B N.

    Examples
    --------
    >>> costs = np.array([[10.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    >>> search_bills(np.array([0, 2]), np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]), costs)
    array([[13.,  3.],
           [ 1.,  3.]])
    """
    forecast = replace(read_forecast(truth, proba).check(), alike=len(costs))
    bills = []
    for drawn in costs:
        prices = drawn
        if costs.ndim == 3:
            prices = np.tile(drawn, (len(truth) // len(drawn), 1))
        parts = realised_costs(forecast.with_costs(prices), BROKEN_AT_RANDOM)
        bills.append(np.concatenate([of_rows for _, of_rows in parts]))
    return np.array(bills)


def named_generator(name: str) -> np.random.Generator:
    """The generator of NumPy that "legacy:42" or "default:42" names."""
    kind, _, seed = str(name).partition(":")
    try:
        generator = GENERATORS[kind](int(seed))
    except (KeyError, ValueError):
        fix = "pass 'default:SEED' (default_rng) or 'legacy:SEED' (RandomState), SEED from 0 to 4294967295"
        raise InputError(argument="generator", value=name, fix=fix) from None
    return cast(np.random.Generator, generator)  # priors call methods that both have


PAPER_CONDITIONS = ("clinical", "well_specified", "random_temperature", "random_distractor_temperature")

CONDITIONS: dict[str, Condition] = {
    condition.name: condition
    for condition in (
        Condition("clinical", "Clinical"),
        Condition("well_specified", "Well Specified", prior=Uniform(), typical="drawn"),
        Condition("random_temperature", "Random Temperature", temperature="all"),
        Condition("random_distractor_temperature", "Random Distractor Temperature", temperature="distractors"),
        Condition("exponential_costs", "Exponential Costs", prior=Exponential()),
        Condition("noisy_costs", "Noisy Costs", prior=LogNormal(0.5)),
        Condition("imperfect_tests", "Imperfect Tests", search="adaptive", sensitivity=0.8),
        Condition("equal_prevalence", "Equal Prevalence", prevalence="equal"),
    )
}


ConditionLike: TypeAlias = Condition | str | Mapping[str, object]  # a condition, its name, or a table


def read_condition(condition: object) -> Condition:
    """A condition, its name, or a table: a new one, or a known one's name and what is different.

    Parameters
    ----------
    condition
        A `Condition`, a name, or a table.

    Returns
    -------
    Condition
        The condition, checked.

    Examples
    --------
    >>> read_condition({"name": "random_temperature", "sigma": 0.25}).title
    'Random Temperature'
    """
    if isinstance(condition, Condition):
        return condition
    table = {"name": condition} if isinstance(condition, str) else condition
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        problem = f"a condition must be a Condition, a name or a table with a name, got {condition!r}"
        raise InputTypeError(problem, argument="condition", place="", value=condition)
    usual = CONDITIONS.get(table["name"])
    check_keys(Condition, table, f"condition {table['name']!r}")
    if len(table) == 1 and usual is None:
        fix = f"known conditions are {', '.join(CONDITIONS)}"
        problem = "is not known and says nothing else"
        place = f"condition {table['name']!r}"
        raise InputError(problem, argument="condition", place=place, value=table["name"], fix=fix)
    fields = dict(table)
    if isinstance(fields.get("prior"), str):
        from pandora_regret.files import read_prior_argument

        fields["prior"] = read_prior_argument(fields["prior"])
    return Condition(**fields) if usual is None else replace(usual, **fields)


def read_conditions(conditions: Iterable[object]) -> tuple[Condition, ...]:
    """Conditions, each with its own name.

    Parameters
    ----------
    conditions
        Each as in `read_condition`.

    Returns
    -------
    tuple of Condition
        The conditions, checked.
    """
    read = tuple(read_condition(condition) for condition in conditions)
    if not read_labels([condition.name for condition in read], "conditions"):
        raise InputError("are empty", argument="conditions", fix="name one at least")
    return read
