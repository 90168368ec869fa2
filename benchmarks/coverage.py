"""How often intervals of 95 % hold the truth, on simulated populations whose truth is known.

Each row of the table must cover at least 92 %, or warn in at least 95 % of its samples that its interval is not to
be trusted; rows marked clean may warn in at most 2 %. Run with ``python benchmarks/coverage.py``: a few minutes on
two cores; ``--quick`` takes a third of the samples. ``--out docs/evidence/coverage.json`` stores the shares that
docs/concepts/verdict.md shows. Intervals of a study are those of study_coverage.py.
"""

from __future__ import annotations

if __name__ == "coverage":  # numba looks for the package of that name, and finds this file beside other benchmarks
    raise ImportError("this is a benchmark, not the package `coverage`")

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from incident import FAULT, Incident

from pandora_regret import Comparison, ComparisonOptions, Workup, compare, expected_search_cost, plan_workup
from pandora_regret.calibrate import decompose, recalibrate
from pandora_regret.workup import PlanNode, Replay
from pandora_regret.workup.replay import RecordedOutcomes, replay_tree

ROWS, REPLICATES, SAMPLES = 60, 400, 300
POPULATION = 200_000
MAPS = 400  # of which the mean saving is that of the procedure
COVERS, WARNS, CLEAN, REJECTS = 0.92, 0.95, 0.02, 0.06
IN_TESTS = (1.0, 1.0, 1.0)  # what `compare` counts in where there are no prices
P_VALUES = "p < .05 of equal models, n = 20"


class Interval(NamedTuple):
    """One interval of one sample, the number it is to hold, and whether it came with a warning."""

    low: float
    high: float
    truth: float
    warned: bool = False


Draw = Callable[[np.random.Generator, int], dict[str, Any]]  # of so many rows: arguments of `compare`


def softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def drawn(rng: np.random.Generator, probabilities: np.ndarray) -> np.ndarray:
    """One class per row of probabilities."""
    below = probabilities.cumsum(axis=1) < rng.random((len(probabilities), 1))
    return below.sum(axis=1).clip(max=probabilities.shape[1] - 1)


# Populations


def two_models(
    rng: np.random.Generator, n: int, noise: tuple[float, float] = (0.4, 0.8), classes: int = 3
) -> dict[str, Any]:
    """Two models that see the truth through more or less noise."""
    signal = 1.5 * rng.normal(size=(n, classes))
    one, other = (softmax(signal + s * rng.normal(size=(n, classes))) for s in noise)
    return {"y_true": drawn(rng, softmax(signal)), "models": {"one": one, "other": other}}


def sparse(rng: np.random.Generator, n: int, share: float = 0.05) -> dict[str, Any]:
    """The same, but the second model differs from the first in a share of rows only."""
    sample = two_models(rng, n)
    one, other = sample["models"].values()
    sample["models"]["other"] = np.where(rng.random((n, 1)) < share, other, one)
    return sample


def fifty_classes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """One model, and tests that cost 5 to 500: few cases make up most of the cost."""
    sample = two_models(rng, n, classes=50)
    return sample | {"models": {"one": sample["models"]["one"]}, "costs": np.geomspace(5, 500, 50)}


def clusters(rng: np.random.Generator, n: int, unequal: bool = False) -> dict[str, Any]:
    """Four rows per group, or 1 to 10, that have most of their signal and noise in common."""
    together = np.arange(n) // 4
    if unequal:
        together = np.repeat(np.arange(n), rng.choice([1, 2, 10], n, p=[0.6, 0.3, 0.1]))[:n]
    parts = [0.8 * rng.normal(size=(n, 3))[together] + 0.6 * rng.normal(size=(n, 3)) for _ in range(3)]
    truth = drawn(rng, softmax(1.5 * parts[0]))
    one, other = (softmax(1.5 * parts[0] + s * part) for s, part in zip((0.4, 0.8), parts[1:], strict=True))
    return {"y_true": truth, "models": {"one": one, "other": other}, "groups": together}


def weighted(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Weights of which the largest few of 60 hold half of all."""
    return two_models(rng, n) | {"sample_weight": rng.lognormal(0, 1.5, n)}


def rare_class(
    rng: np.random.Generator, n: int, shares: tuple[float, ...], prices: tuple[float, ...]
) -> dict[str, Any]:
    """A class that is rare, and whose test is expensive; the second model is noisier, or bolder."""
    k, truth = len(shares), rng.choice(len(shares), n, p=shares)
    one, other = (
        softmax(np.log(shares) + 1.5 * np.eye(k)[truth] + s * rng.normal(size=(n, k))) for s in (0.5, 1.0)
    )
    return {"y_true": truth, "models": {"one": one, "other": other}, "costs": prices}


def accurate(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """A model that is right in 98 % of cases."""
    truth = rng.integers(0, 3, n)
    named = np.where(rng.random(n) < 0.98, truth, (truth + 1) % 3)
    return {"y_true": truth, "models": {"one": 0.7 * np.eye(3)[named] + 0.1}}


def named_classes(rng: np.random.Generator, n: int, shares: tuple[float, ...]) -> dict[str, Any]:
    """Three of four cases are named rightly, the others by the classes' shares."""
    truth, guess = rng.choice(len(shares), (2, n), p=shares)
    named = np.where(rng.random(n) < 0.75, truth, guess)
    return {"y_true": truth, "models": {"one": 0.7 * np.eye(len(shares))[named] + 0.3 / len(shares)}}


def equal_models(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return two_models(rng, n, noise=(0.6, 0.6))


def patients(rng: np.random.Generator, n: int, images: int = 20) -> dict[str, Any]:
    """One model, on so many images of each patient; patients differ in what they have and in how hard they are."""
    patient = np.arange(n) // images
    n_patients = int(patient[-1]) + 1
    frequencies = rng.dirichlet([2.0, 1.5, 1.5], n_patients)[patient]
    skill = np.clip(0.75 + 0.2 * rng.normal(size=n_patients), 0.05, 0.99)[patient]
    truth = drawn(rng, frequencies)
    named = np.where(rng.random(n) < skill, truth, rng.integers(0, 3, n))
    return {"y_true": truth, "models": {"one": 0.7 * np.eye(3)[named] + 0.1}, "groups": patient}


# What is asked of a sample


def scored(y_true: np.ndarray, models: dict[str, np.ndarray], groups: np.ndarray, bootstrap: int) -> Comparison:
    """What `pandora score --group` says of the only model."""
    import pyarrow as pa

    from pandora_regret.files import Layout, ModelFiles, open_models
    from pandora_regret.files.formats import source_of
    from pandora_regret.stream import score_stream

    names = [f"class {k}" for k in range(models["one"].shape[1])]
    columns = dict(zip(names, models["one"].T, strict=True))
    columns |= {"label": np.array(names)[y_true], "patient": groups}
    layout = Layout(classes=tuple(names), group="patient")
    [predictions] = open_models([ModelFiles((source_of(pa.table(columns), "one"),), layout)])
    return score_stream(predictions, bootstrap=bootstrap)


def cost(result: Comparison) -> Any:
    return next(model for model in result.models if model.name == "one").scores["expected_cost"]


def score(result: Comparison, key: str) -> Any:
    return result.best.scores[key]


def difference(result: Comparison) -> Any:
    return result.differences[0]


def signed(gap: Any) -> tuple[float, float]:
    """Limits of what model "one" costs more than "other"."""
    return (gap.low, gap.high) if gap.model == "one" else (-gap.high, -gap.low)


@dataclass(frozen=True)
class Row:
    """A row of the table: a population, and the estimate whose interval is checked."""

    title: str
    draw: Draw
    estimate: Callable[[Comparison], Any]
    truth: Callable[[dict[str, Any]], float]  # from a sample as large as the population
    clean: bool = False
    times: float = 1  # as many samples, for a row that is close to the limit, or slow
    n: int = ROWS
    ask: Callable[..., Comparison] = compare

    def intervals(self, rng: np.random.Generator, truth: float, bootstrap: int) -> list[Interval]:
        """Of one sample."""
        estimate = self.estimate(self.ask(**self.draw(rng, self.n), bootstrap=bootstrap))
        if estimate.low is None:  # one row has nearly all the weight: no interval is an honest one
            return [Interval(-math.inf, math.inf, truth, True)]
        low, high = signed(estimate) if hasattr(estimate, "against") else (estimate.low, estimate.high)
        return [Interval(low, high, truth, estimate.warning is not None)]


def mean_cost(sample: dict[str, Any], name: str = "one") -> float:
    table = sample["models"][name]
    return float(expected_search_cost(sample["y_true"], table, costs=sample.get("costs", [1.0] * table.shape[1])))


def mean_difference(sample: dict[str, Any]) -> float:
    return mean_cost(sample) - mean_cost(sample, "other")


def true_accuracy(sample: dict[str, Any]) -> float:
    return 0.98


def true_f1(sample: dict[str, Any]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(sample["y_true"], sample["models"]["one"].argmax(axis=1), average="macro"))


TWO_CLASSES = partial(two_models, classes=2)
RARE = partial(rare_class, shares=(0.97, 0.03), prices=(10.0, 300.0))
RARER = partial(rare_class, shares=(0.4975, 0.4975, 0.005), prices=(1.0, 1.0, 500.0))
TABLE = [
    Row("mean cost", two_models, cost, mean_cost, clean=True),
    Row("paired difference", two_models, difference, mean_difference, clean=True),
    Row("mean cost, two classes", TWO_CLASSES, cost, mean_cost, clean=True),
    Row("paired difference, two classes", TWO_CLASSES, difference, mean_difference, clean=True),
    Row("difference, models differ in 5 % of rows", sparse, difference, mean_difference),
    Row("difference, models differ in 10 % of rows", partial(sparse, share=0.1), difference, mean_difference),
    Row(
        "difference, models differ in 3 % of rows, n = 300",
        partial(sparse, share=0.03),
        difference,
        mean_difference,
        n=300,
    ),
    Row("difference, 15 clusters of 4", clusters, difference, mean_difference, clean=True),
    Row("difference, clusters of 1 to 10", partial(clusters, unequal=True), difference, mean_difference),
    Row("difference, very unequal weights", weighted, difference, mean_difference),
    Row("mean cost, very unequal weights", weighted, cost, mean_cost, times=3),
    Row("mean cost, a class of 0.5 % priced x 500", RARER, cost, mean_cost),
    Row("difference, a class of 3 % priced x 30, n = 300", RARE, difference, mean_difference, n=300),
    Row("mean cost, 50 classes priced 5 to 500, n = 30", fifty_classes, cost, mean_cost, times=2, n=30),
    Row("accuracy .98", accurate, partial(score, key="accuracy"), true_accuracy, clean=True),
    Row(
        "macro-F1, even classes",
        partial(named_classes, shares=(0.4, 0.3, 0.3)),
        partial(score, key="macro_f1"),
        true_f1,
        clean=True,
    ),
    Row(
        "macro-F1, rare classes",
        partial(named_classes, shares=(0.9, 0.06, 0.04)),
        partial(score, key="macro_f1"),
        true_f1,
    ),
    Row(
        "macro-F1 by `score`, 8 clusters of 20",
        patients,
        partial(score, key="macro_f1"),
        true_f1,
        n=160,
        ask=scored,
    ),
    Row(
        "macro-F1 by `score`, 15 clusters of 20",
        patients,
        partial(score, key="macro_f1"),
        true_f1,
        n=300,
        ask=scored,
    ),
]


# The rest of the table, which is not one estimate of one comparison


def bins(rng: np.random.Generator, bootstrap: int, sharpness: float, cheapest: bool) -> list[Interval]:
    """Of calibrated forecasts (sharpness 1) or bolder ones, the cost that their own probabilities imply."""
    signal = softmax(1.5 * rng.normal(size=(ROWS, 3)))
    table = softmax(sharpness * np.log(signal))
    parts = compare(
        drawn(rng, signal), {"one": table}, options=ComparisonOptions(bootstrap=bootstrap)
    ).best.calibration
    if sharpness == 1:
        return [Interval(p.low, p.high, p.predicted) for p in (parts[:1] if cheapest else parts)]
    truths = implied_costs(signal, table, len(parts))
    return [Interval(p.low, p.high, truth) for p, truth in zip(parts, truths, strict=True)]


def implied_costs(signal: np.ndarray, table: np.ndarray, n_bins: int) -> list[float]:
    """What each bin of forecasts costs on average over truths drawn with the probabilities `signal`."""
    cost = partial(expected_search_cost, y_proba=table, costs=IN_TESTS, per_instance=True)
    every = np.stack([cost(np.full(ROWS, k)) for k in range(3)], axis=1)
    order = np.argsort((table * every).sum(axis=1), kind="stable")
    return [float((signal * every)[rows].sum(axis=1).mean()) for rows in np.array_split(order, n_bins)]


def discrimination(rng: np.random.Generator, bootstrap: int) -> list[Interval]:
    """Of forecasts that know nothing: 0."""
    truth, table = rng.choice(3, 300, p=[0.5, 0.3, 0.2]), softmax(rng.normal(size=(300, 3)))
    term = decompose(truth, table).discrimination
    return [Interval(term.low, term.high, 0.0)]


def bold(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Truths, and forecasts that are too bold."""
    signal = 1.5 * rng.normal(size=(n, 3))
    return drawn(rng, softmax(signal)), softmax(2 * signal)


class Saving(NamedTuple):
    """Recalibrating by a method on so many cases, at the prices of three tests."""

    method: str
    n: int = ROWS
    costs: tuple[float, ...] = IN_TESTS
    by_compare: bool = False

    def truth(self) -> float:
        """What it saves on new cases, on average over what the map learned from."""
        truth, table = bold(np.random.default_rng(99), 20_000)
        paid = []
        for seed in range(MAPS):
            map_ = recalibrate(*bold(np.random.default_rng([5, seed]), self.n), method=self.method, folds=2).map
            paid.append(expected_search_cost(truth, map_.predict_proba(table), costs=self.costs))
        return float(expected_search_cost(truth, table, costs=self.costs) - np.mean(paid))


def saving(rng: np.random.Generator, bootstrap: int, how: Saving, truth: float) -> list[Interval]:
    """Of recalibrating: its interval is that of the procedure."""
    truths, table = bold(rng, how.n)
    if how.by_compare:
        options = ComparisonOptions(bootstrap=bootstrap, recalibrate=how.method)
        best = compare(truths, {"one": table}, costs=how.costs, options=options).best
        saved = best.recalibrated.saved
    else:
        saved = recalibrate(truths, table, method=how.method, costs=how.costs).saved
    return [Interval(saved.low, saved.high, truth, saved.warning is not None)]


OTHERS: dict[str, tuple[Callable[..., list[Interval]], int]] = {  # and one sample in how many
    "bins of the cost-calibration plot": (partial(bins, sharpness=1.0, cheapest=False), 4),
    "the cheapest bin": (partial(bins, sharpness=1.0, cheapest=True), 1),
    "bins of overconfident forecasts": (partial(bins, sharpness=2.0, cheapest=False), 4),
    "decomposition: discrimination of useless forecasts, n = 300": (discrimination, 3),
}

UNEVEN = (300.0, 40.0, 10.0)
SAVINGS = {
    "saving of temperature scaling": Saving("temperature"),
    "saving of temperature scaling, n = 40": Saving("temperature", 40),
    "saving of temperature scaling, tests priced 300, 40 and 10, n = 40": Saving("temperature", 40, UNEVEN),
    "saving of temperature scaling, tests priced 300, 40 and 10, n = 100": Saving("temperature", 100, UNEVEN),
    "saving of vector scaling": Saving("vector"),
    "saving of temperature scaling by `compare`, n = 40": Saving("temperature", 40, by_compare=True),
    "saving of temperature scaling by `compare`, tests priced 300, 40 and 10, n = 40": Saving(
        "temperature", 40, UNEVEN, by_compare=True
    ),
}


def rejected(rng: np.random.Generator, bootstrap: int) -> list[Interval]:
    """Whether equal models are told apart, 20 cases: an interval that misses stands for a p-value below 5 %."""
    gap = compare(**equal_models(rng, 20), options=ComparisonOptions(bootstrap=bootstrap)).differences[0]
    return [Interval(0.0, 1.0, -1.0 if gap.p_value < 0.05 else 0.5)]


class Blanks(NamedTuple):
    """Records of incidents that follow a plan, of which a share of the outcomes is blanked at random."""

    n_cases: int
    share: float


REPLAYS = {
    "replay, complete records, n = 300": Blanks(300, 0.0),
    "replay, a fifth of the outcomes blanked, n = 300": Blanks(300, 0.2),
    "replay, a fifth of the outcomes blanked, n = 1,000": Blanks(1_000, 0.2),
    "replay, half of the outcomes blanked, n = 300": Blanks(300, 0.5),
}


@cache
def learned_plan() -> tuple[Workup, PlanNode]:
    """The incident's work-up, and its plan; states are counted, so that the plan is the same on every machine."""
    workup = Incident.drawn().workup()
    tree = plan_workup(None, workup, method="planner", seconds=1e9, limit=300).tree
    if tree is None:
        raise TypeError("the plan of a work-up has a tree")
    return workup, tree


def replayed(rng: np.random.Generator, how: Blanks) -> Replay:
    """New records, replayed."""
    workup, tree = learned_plan()
    records = Incident.drawn().records(how.n_cases, rng, how.share)
    truth = np.array([workup.classes.index(name) for name in records.pop(FAULT)])
    return replay_tree(RecordedOutcomes(workup, records, truth), tree, 0.95)


def long_run_cost() -> float:
    """What cases pay that follow the plan: the mean of many with complete records."""
    paid = replayed(np.random.default_rng(1), Blanks(POPULATION, 0.0)).paid
    if paid.value is None:
        raise ValueError("complete records say what was paid")
    return paid.value


def replay(rng: np.random.Generator, bootstrap: int, how: Blanks, truth: float) -> list[Interval]:
    """What cases have paid, or that it cannot be told."""
    paid = replayed(rng, how).paid
    if paid.low is None or paid.high is None:
        return [Interval(-math.inf, math.inf, truth, warned=True)]
    return [Interval(paid.low, paid.high, truth, bool(paid.warning))]


# Measuring


@dataclass(frozen=True)
class Share:
    """Of many samples, how often something happened."""

    value: float
    n: int

    @property
    def error(self) -> float:
        return math.sqrt(max(self.value * (1 - self.value), 1 / self.n) / self.n)

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.3f}"

    def stored(self) -> dict[str, float]:
        return {"value": self.value, "error": self.error, "samples": self.n}


class Line(NamedTuple):
    """A row of the table: shares by what they are of, and whether they are what was promised."""

    title: str
    shares: dict[str, Share]  # of "analytic", "bootstrap", "warns"
    holds: bool

    def printed(self) -> Line:
        cells = (str(self.shares.get(name, "")) for name in ("analytic", "bootstrap", "warns"))
        print(f"| {self.title} | {' | '.join(cells)} | {'ok' if self.holds else 'MISSED'} |", flush=True)
        return self


def sampled(work: Callable[..., list[Interval]], bootstrap: int, seeds: range) -> list[list[Interval]]:
    """Some samples; each has a generator of its own."""
    return [work(np.random.default_rng([7, seed]), bootstrap=bootstrap) for seed in seeds]


def measured(
    pool: ProcessPoolExecutor, work: Callable[..., list[Interval]], bootstrap: int, samples: int
) -> tuple[Share, Share]:
    """How often intervals hold the truth, and how often they come with a warning."""
    parts = [range(start, min(start + 25, samples)) for start in range(0, samples, 25)]
    results = [s for part in pool.map(partial(sampled, work, bootstrap), parts) for s in part]
    every = [interval for sample in results for interval in sample]
    held = np.mean([i.low <= i.truth <= i.high for i in every])
    return Share(float(held), len(results)), Share(float(np.mean([i.warned for i in every])), len(results))


def verdict(covers: Share, warns: Share, clean: bool) -> bool:
    """Whether a row keeps the promise."""
    return (covers.value >= COVERS or warns.value >= WARNS) and not (clean and warns.value > CLEAN)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the samples")
    parser.add_argument("--only", default="", help="rows whose title contains this")
    parser.add_argument("--out", type=Path, help="a JSON file for the shares")
    options = parser.parse_args()
    samples, lines = SAMPLES // 3 if options.quick else SAMPLES, []
    print("| case, n = 60 | analytic | bootstrap | warns | |\n|---|---|---|---|---|")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        lines += [report(pool, *row) for row in rows(samples, options.only)]
        lines += replays(pool, samples, options.only)
        if options.only in P_VALUES:
            lines.append(p_values(pool, samples))
    if options.out:
        stored = [{"case": line.title} | {n: s.stored() for n, s in line.shares.items()} for line in lines]
        options.out.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return not all(line.holds for line in lines)


def rows(samples: int, only: str) -> Iterator[tuple[str, Callable[..., list[Interval]], bool, int]]:
    """What is measured, of titles that contain `only`: title, work, whether clean, and how many samples."""
    for row in TABLE:
        if only in row.title:
            truth = row.truth(row.draw(np.random.default_rng(1), POPULATION))
            yield row.title, partial(row.intervals, truth=truth), row.clean, int(row.times * samples)
    for title, (work, part) in OTHERS.items():
        if only in title:
            yield title, work, False, samples // part
    for title, how in SAVINGS.items():
        if only in title:
            yield title, partial(saving, how=how, truth=how.truth()), False, samples


def report(
    pool: ProcessPoolExecutor, title: str, work: Callable[..., list[Interval]], clean: bool, samples: int
) -> Line:
    """Measure and print one row."""
    by_method = [measured(pool, work, bootstrap, samples) for bootstrap in (0, REPLICATES)]
    holds = all(verdict(covers, warns, clean) for covers, warns in by_method)
    (analytic, warns), (bootstrapped, _) = by_method
    return Line(title, {"analytic": analytic, "bootstrap": bootstrapped, "warns": warns}, holds).printed()


def replays(pool: ProcessPoolExecutor, samples: int, only: str) -> Iterator[Line]:
    """What `pandora workup replay` says of incidents, of titles that contain `only`."""
    chosen = {title: how for title, how in REPLAYS.items() if only in title}
    truth = long_run_cost() if chosen else 0.0
    for title, how in chosen.items():
        covers, warns = measured(pool, partial(replay, how=how, truth=truth), 0, samples)
        is_clean = how.share == 0
        yield Line(title, {"analytic": covers, "warns": warns}, verdict(covers, warns, is_clean)).printed()


def p_values(pool: ProcessPoolExecutor, samples: int) -> Line:
    """Equal models at n = 20 are told apart in at most 6 % of samples."""
    covers = [measured(pool, rejected, bootstrap, 2 * samples)[0] for bootstrap in (0, REPLICATES)]
    analytic, bootstrapped = (Share(1 - share.value, share.n) for share in covers)
    shares = {"analytic": analytic, "bootstrap": bootstrapped}
    return Line(P_VALUES, shares, bootstrapped.value <= REJECTS).printed()


if __name__ == "__main__":
    sys.exit(main())
