"""How often a study's intervals of tau contain the population's, and what choosing by a metric really costs.

Models of a made-up population see two classes through noise; what they cost and how metrics rate them in the long
run is known from a fine grid of that noise. Run with
``python benchmarks/study_coverage.py --out docs/study/coverage.json``; it takes minutes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
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


def draw_models(rng, n, spread):
    """Skill, confidence and bias of some models, (n, 3)."""
    return np.column_stack([rng.uniform(0.6, 0.6 + spread, n), rng.normal(0.5, 0.6, n), rng.normal(0, 0.6, n)])


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


def tau_coverage(resample, samples=200, *, spread=2.0, n_models=20, n_rows=400, replicates=200, seed=0):
    """Whether intervals contained the population's tau, and the estimate: two arrays (samples, metrics).

    The population is what `resample` draws anew: all instances for these models, all models on these instances, or
    all models on all instances.
    """
    rng = np.random.default_rng(seed)
    every_model = draw_models(rng, POPULATION, spread)
    of_all = taus_of(every_model, *all_instances(POPULATION))
    covered, contained = [], []
    for sample in range(samples):
        models, (truth, noise) = draw_models(rng, n_models, spread), draw_instances(rng, POPULATION, n_rows)
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
    return np.array(covered), np.array(contained)


def regrets_of_choosing(samples=100, *, spread=0.3, n_models=20, n_rows=400, replicates=50, seed=0):
    """What a study says that choosing by each metric costs, and what it costs; means over samples, (metrics,)."""
    rng = np.random.default_rng(seed)
    said, true = [], []
    for sample in range(samples):
        models, (truth, noise) = draw_models(rng, n_models, spread), draw_instances(rng, n_models, n_rows)
        table = forecasts(models, truth, noise)
        said.append(agreement(truth, table, **SETTINGS, replicates=replicates, seed=sample).regret_mean[0])
        long_run = [
            search_cost(all_instances(1)[0], one, COSTS) for one in forecasts(models, *all_instances(n_models))
        ]
        true.append([_paid(METRICS[key], truth, table, np.array(long_run)) for key in KEYS])
    return np.mean(said, axis=0), np.mean(true, axis=0)


def _paid(metric, truth, table, long_run):
    """What the model that a metric picks costs in the long run, more than the best."""
    values = np.array([metric(truth, one) for one in table])
    picked = values == (values.min() if metric.better == "lower" else values.max())
    return long_run[picked].mean() - long_run.min()


KINDS = {  # and whether intervals promise to hold there
    "different": ("20 models of different skill, 400 instances", {}, True),
    "alike": ("20 models hard to tell apart, 400 instances", {"spread": 0.3}, True),
    "ties": ("20 models hard to tell apart, 60 instances", {"spread": 0.3, "n_rows": 60}, False),
    "few": ("5 models of different skill, 400 instances", {"n_models": 5}, False),
}


def coverage_of_all(samples):
    """By kind and what is resampled: shares of intervals that contain tau, and the estimate; and tau by metric."""
    shares = {}
    for kind, (title, options, promised) in KINDS.items():
        for resample in ("instances", "models", "both"):
            covered, contained = tau_coverage(resample, samples, **options)
            share, error = covered.mean(), np.sqrt(0.95 * 0.05 / samples)
            holds = share >= 0.92 - error if promised else None
            record(
                f"tau, {title}, resampling {resample}",
                f"covered {share:.3f} +- {error:.3f}",
                "at least .92",
                holds,
            )
            record("... the estimate lies inside", f"{contained.mean():.0%}", "always", bool(contained.all()))
            by_metric = dict(zip(KEYS, covered.mean(axis=0).round(4).tolist(), strict=True))
            about = {"covers": round(float(share), 4), "contains": round(float(contained.mean()), 4)}
            shares.setdefault(kind, {})[resample] = about | {"by_metric": by_metric}
    return shares


def main():
    samples = 40 if "--quick" in sys.argv else 200
    shares = coverage_of_all(samples)
    said, true = regrets_of_choosing(samples // 2)
    for key, one, other in zip(KEYS, said, true, strict=True):
        record(f"regret of choosing by {key}", f"said {one:.2f}, true {other:.2f}", "the same", None)
    if "--out" in sys.argv:
        regrets = {key: [round(float(x), 4) for x in pair] for key, *pair in zip(KEYS, said, true, strict=True)}
        stored = {"samples": samples, "metrics": len(KEYS), "tau": shares, "regret_said_and_true": regrets}
        Path(sys.argv[sys.argv.index("--out") + 1]).write_text(
            json.dumps(stored, indent=1) + "\n", encoding="utf-8"
        )
    return finish()


if __name__ == "__main__":
    sys.exit(main())
