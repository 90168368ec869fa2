"""Whether a metric meets the paper's desiderata, by a numerical search for violations.

A metric is a black box, so every probe hands it a whole population in which each class occurs. Forecasts are
whole thousandths and never zero: what is printed is the violation itself, not a rounded picture of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, InputError, InputTypeError, IntArray, read_count, read_number
from pandora_regret.core.priors import Exponential, Gamma, LogNormal, Prior, Uniform
from pandora_regret.core.scores import expected_search_cost
from pandora_regret.text import DisplayTable

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn

MetricFunction: TypeAlias = Callable[[IntArray, FloatArray], float | np.floating]  # of y_true and y_proba

N_PARTS = 1000  # forecasts are multiples of 1/N_PARTS
MOST_CLASSES = 10  # with more, forecasts without ties become rare among multiples of 1/N_PARTS
CLEARLY_MORE = 1.01  # searches whose costs differ by less are not held against a metric
CLEARLY_OTHER = 0.05  # a rival forecast differs from the truth by at least this much somewhere
OTHER_PRIORS: dict[str, Prior] = {  # as files spell them: alignment is counted by each
    "uniform": Uniform(),
    "exponential": Exponential(),
    "gamma:2": Gamma(2.0),
    "lognormal:0.5": LogNormal(0.5),
    "lognormal:1": LogNormal(1.0),
}
ROUNDING = 1e-7  # relative: scores that differ by less are equal, also for metrics in single precision


def desiderata(
    metric: MetricFunction,
    *,
    greater_is_better: bool = False,
    n_classes: int = 4,
    trials: int = 300,
    seed: int | Generator = 0,
    prior: Prior | None = None,
) -> Desiderata:
    """Decision alignment, propriety and order sensitivity of any metric, each with a violation if one is found.

    - **Decision alignment**: of two forecasters for the same instances, the metric prefers the one whose search
      costs less. A violation prefers, or cannot tell from the other, a forecaster whose `expected_search_cost`
      is clearly higher. Every pair among `trials` random forecasters is compared. Costs are expected under
      `prior`: under the uniform one, `expected_search_cost` is Pandora's Regret on another scale, which therefore
      cannot but agree with it. How well the metric agrees with costs of other kinds is counted beside the verdict,
      by `OTHER_PRIORS`; there no metric but that prior's own agrees always.
    - **Propriety**: a population of groups, each with its own label frequencies; no forecast scores better than
      these frequencies. **Strict propriety**: none that is clearly different scores as well, either.
    - **Within-instance order sensitivity**: the truth keeps its probability while one distractor gives some of
      its own to another. If the receiver thereby passes the truth, the score gets worse, and worse than if
      a receiver of the same amount had passed nobody. Wherever in the order the truth stands.

    Parameters
    ----------
    metric
        Called as ``metric(y_true, y_proba)`` with column numbers (N,) and probabilities (N, K).
    greater_is_better
        Whether a higher value is a better one, as for accuracy.
    n_classes
        K, from 4 (order sensitivity needs the truth and three others) to 10.
    trials
        How many forecasts each search tries, about.
    seed
        The same seed gives the same verdicts and examples.
    prior
        Of the costs in decision alignment; `Uniform()` unless given, as in Pandora's Regret.

    Returns
    -------
    Desiderata
        A verdict for each, with a counterexample where one was found; `print` shows them.

    References
    ----------
    Flores et al. (2026), Section 2.3 [flores26]_.

    Examples
    --------
    >>> from pandora_regret import pandora_regret
    >>> print(desiderata(pandora_regret))
    pandora_regret
      decision alignment: holds (no violation in 44850 trials)
      propriety: holds (no violation in 300 trials)
      strict propriety: holds (no violation in 300 trials)
      within-instance order sensitivity: holds (no violation in 300 trials)
      costs by which alignment is measured
        uniform: 100.0 % of pairs in the right order, at worst 1.00 times the cost preferred
        exponential: 94.5 % of pairs in the right order, at worst 1.17 times the cost preferred
        gamma:2: 98.4 % of pairs in the right order, at worst 1.07 times the cost preferred
        lognormal:0.5: 99.3 % of pairs in the right order, at worst 1.04 times the cost preferred
        lognormal:1: 93.2 % of pairs in the right order, at worst 1.21 times the cost preferred
    >>> def confidence(y_true, y_proba):
    ...     return -y_proba.max(axis=1).mean()
    >>> bool(desiderata(confidence).propriety)
    False
    """
    if not callable(metric):
        raise InputTypeError(
            argument="metric", value=metric, fix="pass a function of (y_true, y_proba) that returns a number"
        )
    k = read_count(n_classes, "n_classes", least=4)
    trials = read_count(trials, "trials", least=2)
    if k > MOST_CLASSES:
        fix = f"violations are searched for with {MOST_CLASSES} classes at most"
        raise InputError(argument="n_classes", value=k, fix=fix)
    search = _ViolationSearch(metric, 1 if greater_is_better else -1, k, trials, np.random.default_rng(seed))
    measured_by = Uniform() if prior is None else prior
    aligned, by_prior = search.alignment(measured_by)
    proper, strictly_proper = search.propriety()
    return Desiderata(
        getattr(metric, "__name__", type(metric).__name__),
        aligned,
        proper,
        strictly_proper,
        search.order_sensitivity(),
        by_prior,
    )


def _same(a: FloatArray | float, b: FloatArray | float) -> NDArray[np.bool_]:
    """Which numbers differ by rounding at most."""
    return np.asarray(np.isclose(a, b, rtol=ROUNDING, atol=1e-12))


def _whole_parts(rows: FloatArray) -> FloatArray:
    """Positive whole numbers that sum to N_PARTS in every row, near N_PARTS times the given probabilities."""
    edges = np.rint(np.cumsum(rows, axis=1) * (N_PARTS - rows.shape[1]))
    return np.asarray(1 + np.diff(edges, axis=1, prepend=0))


def _search_costs(tables: list[FloatArray], prior: Prior) -> FloatArray:
    """What searches by each of some forecasters, (K, K), are expected to cost, where each class is true once."""
    y = np.arange(len(tables[0]))
    stacked = expected_search_cost(np.tile(y, len(tables)), np.vstack(tables), prior=prior, per_instance=True)
    return np.asarray(np.reshape(stacked, (len(tables), -1)).mean(axis=1))


def _agreement_with(name: str, prior: Prior, tables: list[FloatArray], preferred: NDArray[np.bool_]) -> Alignment:
    """How far what a metric prefers, (T, T), agrees with expected costs under a prior."""
    costs = _search_costs(tables, prior)
    differ = costs[:, None] * CLEARLY_MORE < costs
    worst = (costs[:, None] / costs)[preferred].max(initial=1.0)
    return Alignment(name, int(differ.sum()), float(preferred[differ].mean()), float(worst))


@dataclass(frozen=True)
class _ViolationSearch:
    """The search for violations: a metric, +1 if higher values of it are better or else -1, and how to look."""

    metric: MetricFunction
    sign: int
    k: int
    trials: int
    rng: Generator

    def score(self, y_true: IntArray, y_proba: FloatArray) -> float:
        """What the metric says; it may change what it is handed."""
        return read_number(self.metric(y_true.copy(), y_proba.copy()), "what metric returned")

    def gain(self, y: IntArray, first: FloatArray, second: FloatArray) -> float:
        """How much better the second forecast scores than the first; 0 if rounding explains it."""
        a = self.score(y, first)
        b = self.score(y, second)
        return 0.0 if _same(a, b) else self.sign * (b - a)

    def violation(self, why: str, y: IntArray, **forecasts: FloatArray) -> Violation:
        """Forecasts with their scores."""
        return Violation(why, y, forecasts, {name: self.score(y, table) for name, table in forecasts.items()})

    def random_rows(self, n: int) -> FloatArray:
        """Forecasts from vague to nearly certain."""
        draw = self.rng.dirichlet
        return np.vstack([draw(np.full(self.k, self.rng.choice([0.3, 1.0, 3.0]))) for _ in range(n)])

    def untied_parts(self) -> FloatArray:
        """A forecast in parts of 1/N_PARTS, no two of them equal: how a metric breaks ties is not at issue."""
        while True:
            parts = _whole_parts(self.random_rows(1))
            if len(np.unique(parts)) == self.k:
                return parts.ravel()

    def alignment(self, prior: Prior) -> tuple[Verdict, tuple[Alignment, ...]]:
        """Whether the metric prefers the forecaster whose search costs less; and how often, by other costs too."""
        tables = [_whole_parts(self.random_rows(self.k)) / N_PARTS for _ in range(self.trials)]
        y = np.arange(self.k)
        losses = np.array([-self.sign * self.score(y, table) for table in tables])
        tied = _same(losses[:, None], losses)
        preferred = (losses[:, None] < losses) & ~tied
        is_listed = repr(prior) in map(repr, OTHER_PRIORS.values())
        priors = OTHER_PRIORS if is_listed else {repr(prior): prior, **OTHER_PRIORS}
        by_prior = tuple(_agreement_with(name, other, tables, preferred) for name, other in priors.items())
        reversal = self._misjudged(tables, prior, preferred, "A is preferred")
        violation = reversal or self._misjudged(tables, prior, tied, "A and B are not told apart")
        return Verdict("decision alignment", self.trials * (self.trials - 1) // 2, violation), by_prior

    def _misjudged(
        self, tables: list[FloatArray], prior: Prior, judged: NDArray[np.bool_], judgement: str
    ) -> Violation | None:
        """Of the pairs A, B that were judged so, (T, T), the one where A's search costs the most times B's."""
        costs = _search_costs(tables, prior)
        ratios = costs[:, None] / costs * judged
        a, b = np.unravel_index(np.argmax(ratios), ratios.shape)
        if ratios[a, b] <= CLEARLY_MORE:
            return None
        why = f"{judgement}, but A's search costs {costs[a]:.3f} and B's {costs[b]:.3f}"
        return self.violation(why, np.arange(self.k), A=tables[a], B=tables[b])

    def propriety(self) -> tuple[Verdict, Verdict]:
        """Whether no forecast beats the true frequencies, and whether none does as well."""
        rivalries = list(islice(self.rivalries(), self.trials))
        gains = np.array([self.gain(*rivalry) for rivalry in rivalries])
        y, honest, other = rivalries[gains.argmax()]
        most = gains.max()
        violation = None
        if most >= 0:
            why = f"another forecast {'beats' if most > 0 else 'scores the same as'} the true frequencies"
            violation = self.violation(why, y, honest=honest, other=other)
        better = violation if most > 0 else None
        return Verdict("propriety", self.trials, better), Verdict("strict propriety", self.trials, violation)

    def rivalries(self) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Three groups of N_PARTS instances, each with its label frequencies, forecast honestly and not: endless.

        One would not do: macro-F1 is honest about a single group, but lies about one for the sake of another.
        """
        while True:
            counts = np.vstack([self.untied_parts() for _ in range(3)])
            y = np.repeat(np.tile(np.arange(self.k), 3), counts.ravel().astype(np.intp))
            truth = counts / N_PARTS
            noise = self.random_rows(len(truth))
            everybody = truth.mean(axis=0)
            one_group_off = np.vstack([noise[:1], truth[1:]])
            shifted = 0.8 * truth + 0.2 * noise
            base_rates = np.broadcast_to(everybody, truth.shape)
            for odd in (noise, one_group_off, shifted, truth**2, np.sqrt(truth), truth / everybody, base_rates):
                rival = _whole_parts(odd / odd.sum(axis=1, keepdims=True)) / N_PARTS
                if np.abs(rival - truth).max() >= CLEARLY_OTHER:
                    yield y, np.repeat(truth, N_PARTS, axis=0), np.repeat(rival, N_PARTS, axis=0)

    def order_sensitivity(self) -> Verdict:
        """Whether a truth that falls behind scores worse, and worse than if nothing but its rivals had changed."""
        name = "within-instance order sensitivity"
        y = np.arange(self.k)
        unweighed = None
        for place, before, demoted, kept in islice(self.demotions(), self.trials):
            why = f"the truth falls from place {place + 1} to {place + 2}, its probability unchanged, "
            if self.gain(y, demoted, before) <= 0:
                why += "and the score gets no worse"
                return Verdict(name, self.trials, self.violation(why, y, before=before, demoted=demoted))
            if unweighed is None and self.gain(y, demoted, kept) <= 0:
                why += "and a shift of the same size that changes no order is no better"
                unweighed = self.violation(why, y, before=before, demoted=demoted, kept=kept)
        return Verdict(name, self.trials, unweighed)

    def demotions(self) -> Iterator[tuple[int, FloatArray, FloatArray, FloatArray]]:
        """A place, and three tables, (K, K), that differ in one instance's forecast only: without end.

        Before, the truth stands at this place, from 0, and a rival next behind it. Demoted: the rival received
        from a donor, a class further behind, twice as much as it lacked, and is now ahead of the truth. Kept: a
        bystander received that instead, and passed nobody.
        """
        unit = np.eye(self.k)
        while True:
            parts = self.untied_parts()
            order = np.argsort(-parts)
            place = int(self.rng.integers(self.k - 2))
            truth, rival, *behind = order[place:]
            donor = self.rng.choice(behind)
            bystander = self.rng.choice(np.setdiff1d(order, [truth, rival, donor]))
            amount = 2 * (parts[truth] - parts[rival])
            demoted = parts + amount * (unit[rival] - unit[donor])
            kept = parts + amount * (unit[bystander] - unit[donor])
            order_if_demoted = [*order[:place], rival, truth, *behind]
            if _falls(kept[order]) and _falls(demoted[order_if_demoted]):
                tables = np.repeat(_whole_parts(self.random_rows(self.k))[None], 3, axis=0)
                tables[:, truth] = parts, demoted, kept
                yield place, *(tables / N_PARTS)


def _falls(parts: FloatArray) -> bool:
    """Whether positive numbers fall strictly."""
    return bool((np.diff(parts) < 0).all() and parts[-1] > 0)


@dataclass(frozen=True)
class Violation:
    """Forecasts of the same instances that a metric judges wrongly."""

    why: str
    y_true: IntArray  # (N,)
    forecasts: Mapping[str, FloatArray]  # by name, (N, K)
    scores: Mapping[str, float]  # by the same names: what the metric says

    def __str__(self) -> str:
        names = [f"{name}: {self.scores[name]:.4g}" for name in self.forecasts]
        header = ["truth", *names]
        truths = defaultdict[tuple[str, ...], Counter[int]](Counter)
        for row, truth in enumerate(self.y_true.tolist()):  # those that every forecast treats alike share a line
            shown = [_as_decimals(table[row]) for table in self.forecasts.values()]
            truths[tuple(shown)][truth] += 1
        lines = []
        for forecasts, counts in truths.items():
            tally = ", ".join(f"{n} of {truth}" for truth, n in sorted(counts.items()))
            if counts.total() == 1:
                [truth] = counts
                tally = str(truth)
            lines.append([tally, *forecasts])
        return DisplayTable(header, lines, [self.why], words=len(header)).to_text()


def _as_decimals(forecast: FloatArray) -> str:
    """A forecast, (K,), with three decimals each."""
    return " ".join(f"{probability:.3f}" for probability in forecast)


@dataclass(frozen=True)
class Verdict:
    """Whether a desideratum survived the search for violations: true or false in an `if`.

    Surviving is evidence, not proof; a violation is proof.
    """

    desideratum: str
    trials: int
    violation: Violation | None = None

    def __bool__(self) -> bool:
        return self.violation is None

    def __str__(self) -> str:
        if self.violation is None:
            return f"{self.desideratum}: holds (no violation in {self.trials} trials)"
        example = str(self.violation).replace("\n", "\n    ")
        return f"{self.desideratum}: FAILS\n    {example}"


@dataclass(frozen=True)
class Alignment:
    """How far a metric agrees with the expected costs of searches under one prior."""

    prior: str
    pairs: int  # of forecasters whose searches differ in cost by more than 1 %
    share: float  # of them, in which the metric prefers the cheaper search
    worst: float  # how many times as much as the other a search that it prefers costs at worst; 1 at least

    def __str__(self) -> str:
        return (
            f"{self.prior}: {100 * self.share:.1f} % of pairs in the right order, "
            f"at worst {self.worst:.2f} times the cost preferred"
        )


@dataclass(frozen=True)
class Desiderata:
    """The paper's three demands on a metric, and plain propriety, each with its verdict.

    Decision alignment is judged by costs of one prior; `by_prior` says how far the metric agrees with others.
    """

    metric: str
    decision_alignment: Verdict
    propriety: Verdict
    strict_propriety: Verdict
    order_sensitivity: Verdict
    by_prior: tuple[Alignment, ...]

    def __iter__(self) -> Iterator[Verdict]:
        yield self.decision_alignment
        yield self.propriety
        yield self.strict_propriety
        yield self.order_sensitivity

    def __str__(self) -> str:
        verdicts = [f"  {verdict}".replace("\n", "\n  ") for verdict in self]
        by_prior = [f"    {alignment}" for alignment in self.by_prior]
        return "\n".join([self.metric, *verdicts, "  costs by which alignment is measured", *by_prior])
