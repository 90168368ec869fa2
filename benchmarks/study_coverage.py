"""How often a study's intervals of tau contain the population's, and what choosing by a metric really costs.

Models of a made-up population see two classes through noise; what they cost and how metrics rate them in the long
run is known from a fine grid of that noise. Run with
``python benchmarks/study_coverage.py --samples 300 --out docs/study/coverage.json``: a quarter of an hour on one
core; 100 samples unless said.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from scipy.special import softmax
from scipy.stats import norm
from yardstick import finish, record

from pandora_regret import search_cost
from pandora_regret.metrics import METRICS
from pandora_regret.study import agreement

KEYS = ("pandora_regret", "log_loss", "accuracy")
COSTS = (10.0, 2.0)
POSITIVE = 0.3  # the share of the second class
GRID, POPULATION = 1000, 300  # instances and models that stand for all there are
SETTINGS = {"costs": COSTS, "conditions": ["clinical"], "metrics": KEYS}


def draw_models(rng, n, spread, habits=1.0):
    """Skill, confidence and bias of some models, (n, 3); without habits they differ in skill alone."""
    skill = rng.uniform(0.6, 0.6 + spread, n)
    confidence = rng.normal(0.5, 0.6 * habits, n)
    bias = rng.normal(0, 0.6 * habits, n)
    return np.column_stack([skill, confidence, bias])


def forecasts(models, truth, noise):
    """Probabilities (M, N, 2) from what each model sees of each instance."""
    skill, confidence, bias = (models[:, [column]] for column in range(3))
    logit = np.exp(confidence) * (skill * (2 * truth - 1) + noise) + bias
    second = np.clip(1 / (1 + np.exp(-logit)), 1e-12, 1 - 1e-12)
    return np.stack([1 - second, second], axis=2)


def draw_instances(rng, n_models, n_rows):
    """Classes, and noise that models share by half, (M, N)."""
    truth = (rng.random(n_rows) < POSITIVE).astype(int)
    return truth, np.sqrt(0.5) * (rng.normal(size=n_rows) + rng.normal(size=(n_models, n_rows)))


def all_instances(n_models):
    """The same for a grid of all noise in its right shares."""
    counts = round(GRID * (1 - POSITIVE)), round(GRID * POSITIVE)
    noise = np.concatenate([norm.ppf((np.arange(count) + 0.5) / count) for count in counts])
    return np.repeat([0, 1], counts), np.broadcast_to(noise, (n_models, GRID))


def taus_of(models, truth, noise):
    return agreement(truth, forecasts(models, truth, noise), **SETTINGS, replicates=0).tau[0]


def tau_coverage(
    resample, samples=200, *, spread=2.0, habits=1.0, n_models=20, n_rows=400, replicates=200, seed=0
):
    """Whether intervals contained the true tau, and the estimate, (samples, metrics); whether they are trusted.

    The population is what `resample` draws anew: all instances for these models, all models on these instances, or
    all models on all instances.
    """
    rng = np.random.default_rng(seed)
    every_model = draw_models(rng, POPULATION, spread, habits)
    of_all = taus_of(every_model, *all_instances(POPULATION))
    covered, contained, trusted = [], [], []
    for sample in range(samples):
        models = draw_models(rng, n_models, spread, habits)
        truth, noise = draw_instances(rng, POPULATION, n_rows)
        result = agreement(
            truth, forecasts(models, truth, noise[:n_models]), **SETTINGS,
            resample=resample, replicates=replicates, seed=sample,
        )  # fmt: skip
        target = of_all
        if resample != "both":
            one_side = (models, *all_instances(n_models)), (every_model, truth, noise)
            target = taus_of(*one_side[resample == "models"])
        low, high = result.tau_low[0], result.tau_high[0]
        covered.append((low <= target + 1e-12) & (target <= high + 1e-12))
        contained.append((low <= result.tau[0] + 1e-12) & (result.tau[0] <= high + 1e-12))
        trusted.append(result.conditions[0].metrics[0].tau.warning is None)
    return np.array(covered), np.array(contained), np.array(trusted)


POPULATIONS = {  # in which it is known what choosing costs
    "two classes, models alike": {"spread": 0.3},
    "the same, 100 cases": {"spread": 0.3, "n_rows": 100},
    "two classes, models of different skill": {"spread": 2.0},
    "five classes, models alike": {"n_classes": 5, "spread": 0.3},
    "five classes, 12 models, 300 cases": {"n_classes": 5, "spread": 1.0, "n_models": 12, "n_rows": 300},
    "two classes, 100 models alike": {"spread": 0.3, "n_models": 100},
}
LONG_RUN = 4000  # cases that stand for all there are
DEAREST, CHEAPEST = 10.0, 2.0  # tests, and the others in equal steps of ratio between them
SHARES = {2: (0.7, 0.3), 5: (0.4, 0.25, 0.15, 0.1, 0.1)}  # of the classes


def draw_scorers(rng, n_models, n_classes, spread):
    """Models of many classes: skill (M, 1, 1), confidence (M, 1, 1), and biases for classes (M, 1, K)."""
    skill = rng.uniform(0.6, 0.6 + spread, (n_models, 1, 1))
    confidence = np.exp(rng.normal(0.5, 0.6, (n_models, 1, 1)))
    return skill, confidence, rng.normal(0, 0.6, (n_models, 1, n_classes))


def draw_cases(rng, n_models, n_rows, n_classes):
    """True classes, and noise that models share by half, (M, N, K)."""
    truth = rng.choice(n_classes, n_rows, p=SHARES[n_classes])
    shared = rng.normal(size=(n_rows, n_classes))
    return truth, np.sqrt(0.5) * (shared + rng.normal(size=(n_models, n_rows, n_classes)))


def scored(scorers, truth, noise):
    """Their forecasts, (M, N, K)."""
    skill, confidence, bias = scorers
    signal = 2 * skill * np.eye(noise.shape[2])[truth]
    return np.clip(softmax(confidence * (signal + noise) + bias, axis=2), 1e-12, 1)


def true_extra_costs(scorers, truth, table, costs, rng):
    """What the picks of this sample cost more in the long run than that of its bills, and than the cheapest."""
    n_models, n_classes = len(table), table.shape[2]
    later_truth, later_noise = draw_cases(rng, 1, LONG_RUN, n_classes)
    later = scored(scorers, later_truth, np.broadcast_to(later_noise, (n_models, LONG_RUN, n_classes)))
    long_run = np.array([search_cost(later_truth, proba, costs) for proba in later])
    bills = np.array([search_cost(truth, proba, costs) for proba in table])
    by_bills = long_run[np.isclose(bills, bills.min(), rtol=1e-12)].mean()
    paid = []
    for key in KEYS:
        values = np.array([METRICS[key](truth, proba) for proba in table])
        best = values.min() if METRICS[key].better == "lower" else values.max()
        paid.append(long_run[np.isclose(values, best, rtol=1e-12)].mean())
    return np.array(paid) - by_bills, np.array(paid) - long_run.min()


def extra_costs(
    samples=100, *, spread=0.3, n_models=20, n_rows=400, n_classes=2, replicates=200, resample="instances", seed=0
):
    """What studies say that choosing costs, and what it costs.

    Means over samples of what is said and of what is true, (metrics,) each, with the standard error of their
    difference; what the same picks cost more than the cheapest model, which no study says; and of the differences
    to Pandora's Regret the share of intervals that contain the mean of what is true.
    """
    rng = np.random.default_rng(seed)
    costs = np.geomspace(DEAREST, CHEAPEST, n_classes)
    asked = {**SETTINGS, "costs": costs, "replicates": replicates, "resample": resample}
    said, true, to_cheapest, ends = [], [], [], []
    for sample in range(samples):
        scorers = draw_scorers(rng, n_models, n_classes, spread)
        truth, noise = draw_cases(rng, n_models, n_rows, n_classes)
        table = scored(scorers, truth, noise)
        result = agreement(truth, table / table.sum(axis=2, keepdims=True), **asked, seed=sample)
        said.append(result.extra_cost[0])
        ends.append([result.extra_cost_gap_low[0], result.extra_cost_gap_high[0]])
        over_bills, over_cheapest = true_extra_costs(scorers, truth, table, costs, rng)
        true.append(over_bills)
        to_cheapest.append(over_cheapest)
    error = (np.array(said) - true).std(axis=0) / np.sqrt(samples)
    gap = np.mean(true, axis=0) - np.mean(true, axis=0)[0]
    low, high = np.moveaxis(np.array(ends), 1, 0)
    covers = ((low <= gap) & (gap <= high)).mean(axis=0)
    return np.mean(said, axis=0), np.mean(true, axis=0), error, np.mean(to_cheapest, axis=0), covers


KINDS = {  # and whether intervals promise to hold there
    "different": ("20 models of different skill, 400 instances", {}, True),
    "alike": ("20 models hard to tell apart, 400 instances", {"spread": 0.3}, True),
    "twelve": (
        "12 models hard to tell apart, 300 instances",
        {"spread": 0.3, "n_models": 12, "n_rows": 300},
        True,
    ),
    "skill": (
        "12 models that differ in skill alone, 300 instances",
        {"spread": 0.5, "habits": 0.0, "n_models": 12, "n_rows": 300},
        True,
    ),
    "ties": ("20 models hard to tell apart, 60 instances", {"spread": 0.3, "n_rows": 60}, False),
    "few": ("5 models of different skill, 400 instances", {"n_models": 5}, False),
    "many": ("100 models of different skill, 400 instances", {"n_models": 100}, True),
    "many_alike": ("100 models hard to tell apart, 400 instances", {"spread": 0.3, "n_models": 100}, True),
}


def coverage_of_all(samples):
    """By kind and what is resampled: shares of intervals that contain tau, the estimate, or have no warning."""
    shares = {}
    for kind, (title, options, promised) in KINDS.items():
        for resample in ("instances", "models", "both"):
            covered, contained, trusted = tau_coverage(resample, samples, **options)
            share, error = covered.mean(), np.sqrt(0.95 * 0.05 / samples)
            holds = share >= 0.92 - error if promised else None
            record(
                f"tau, {title}, resampling {resample}",
                f"covered {share:.3f} +- {error:.3f}; {trusted.mean():.0%} without a warning",
                "at least .92",
                holds,
            )
            record("... the estimate lies inside", f"{contained.mean():.0%}", "always", bool(contained.all()))
            about = {"covers": round(float(share), 4), "contains": round(float(contained.mean()), 4)}
            about["trusted"] = round(float(trusted.mean()), 4)
            shares.setdefault(kind, {})[resample] = about
    return shares


def extra_costs_of_all(samples):
    """By population and metric: what studies say, what is true, and how far above the cheapest model that is."""
    found = {}
    for title, options in POPULATIONS.items():
        said, true, error, to_cheapest, covers = extra_costs(samples, resample="both", **options)
        by_metric = {}
        for at, key in enumerate(KEYS):
            agrees = abs(said[at] - true[at]) <= 3 * error[at] + 0.1 * abs(true[at])
            record(
                f"extra cost, {title}, {key}",
                f"said {said[at]:.3f}, true {true[at]:.3f}",
                "the same",
                bool(agrees),
            )
            figures = {"said": said[at], "true": true[at], "error": error[at], "to_cheapest": to_cheapest[at]}
            figures["gap_covers"] = covers[at]
            by_metric[key] = {name: round(float(value), 4) for name, value in figures.items()}
        found[title] = by_metric
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100, help="studies of each population")
    parser.add_argument("--out", type=Path, help="a JSON file for the shares")
    options = parser.parse_args()
    samples = options.samples
    stored = {"samples": samples, "metrics": len(KEYS)}
    stored["extra_costs"] = extra_costs_of_all(samples)
    stored["tau"] = coverage_of_all(samples)
    if options.out:
        options.out.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
