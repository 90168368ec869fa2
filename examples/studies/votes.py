"""Does it matter for choosing a model whether truths are votes or the label of most votes? Two zoos, one script.

python examples/studies/votes.py TABLES_STUDY FLUSIGHT_STUDY FLUSIGHT_FOLDER   writes docs/study/votes.json

Digits: three annotators look at every case. Each names the true digit with probability 0.7 and otherwise one of
the others, drawn from the mean forecast of the zoo, so they err towards what the case looks like. Searches pay for
the true digit.
FluSight: every category was measured twice, as first released and as revised since, which are two votes.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from pandora_regret import search_cost
from pandora_regret.metrics import METRICS
from pandora_regret.study import FilesZoo, Store, reopen

STORED = Path(__file__).parents[2] / "docs" / "study" / "votes.json"
KEYS = ("pandora_regret", "clipped_log_loss", "brier", "accuracy", "macro_f1_all")
ANNOTATORS, SKILL, REPEATS, SEED = 3, 0.7, 20, 42


def simulated_votes(truth: Any, mean_forecast: Any, rng: np.random.Generator) -> Any:
    """How many annotators named each class, (N, K)."""
    n, k = mean_forecast.shape
    others = np.where(np.arange(k) == truth[:, None], 0.0, mean_forecast)
    shares = (others / others.sum(axis=1, keepdims=True)).cumsum(axis=1)
    mistaken = (rng.random((ANNOTATORS, n, 1)) > shares[:, :-1]).sum(axis=2)
    named = np.where(rng.random((ANNOTATORS, n)) < SKILL, truth, mistaken)
    return np.eye(k)[named].sum(axis=0)


def agreement_with(costs: Any, truths: Any, proba: Any) -> dict[str, float]:
    """|tau| of each metric, computed with these truths, and costs."""
    by_metric = {key: [METRICS[key](truths, table) for table in proba] for key in KEYS}
    return {key: float(abs(kendalltau(values, costs).statistic)) for key, values in by_metric.items()}


def costs_of(truths: Any, proba: Any, prices: Any) -> Any:
    """What searches cost by each model, the mean over orders of ties, as in the studies."""
    return [search_cost(truths, table, prices, ties="average") for table in proba]


def digits(folder: Path) -> dict[str, Any]:
    """The mean over repetitions of the annotators' work."""
    store = Store.open(folder / "digits")
    [prices] = [data.costs_of(store.classes) for data in reopen(folder).data if data.name == "digits"]
    truth, proba = store.truth, store.probabilities(store.models)
    paid, rng = costs_of(truth, proba, prices), np.random.default_rng(SEED)
    tables = [simulated_votes(truth, proba.mean(axis=0), rng) for _ in range(REPEATS)]
    by_truth: dict[str, Callable[[Any], Any]] = {
        "votes": lambda votes: votes,
        "majority": lambda v: v.argmax(axis=1),
    }
    found = {name: [agreement_with(paid, of(votes), proba) for votes in tables] for name, of in by_truth.items()}
    wrong = np.mean([(votes.argmax(axis=1) != truth).mean() for votes in tables])
    right_votes = np.mean([votes[np.arange(len(truth)), truth].mean() / ANNOTATORS for votes in tables])
    means = {
        name: {key: np.mean([one[key] for one in repeats]) for key in KEYS} for name, repeats in found.items()
    }
    return {
        "models": len(store.models),
        "annotators": ANNOTATORS,
        "skill": SKILL,
        "repeats": REPEATS,
        "votes_right": round(float(right_votes), 4),
        "majority_wrong": round(float(wrong), 4),
        "tau": {"truth": agreement_with(paid, truth, proba), **means},
    }


def flusight(folder: Path, data: Path) -> dict[str, Any]:
    """Models ranked by searches for the category as first released, as revised, and for both as votes."""
    import pandas as pd

    store = Store.open(folder / "FluSight")
    [prices] = [each.costs_of(store.classes) for each in reopen(folder).data]
    files = reopen(folder).data[0].zoo
    assert isinstance(files, FilesZoo)
    zoo = pd.read_parquet(str(files.paths))
    cells = zoo[zoo["model"] == zoo["model"].iloc[0]]["id"].str.split(" ", expand=True)
    released = pd.read_parquet(data / "truth_cells.parquet").astype({"location": str, "reference_date": str})
    first = released.set_index(["reference_date", "horizon", "location"])["y_first_release"]
    keys = zip(cells[0], cells[1].astype(int), cells[2], strict=True)
    names = first.astype(object).reindex(list(keys)).to_numpy()
    known = pd.notna(names)
    early = np.array([store.classes.index(name) for name in names[known]])
    late, proba = store.truth[known], store.probabilities(store.models)[:, known]
    votes = np.eye(len(store.classes))[early] + np.eye(len(store.classes))[late]
    costs = {"released": costs_of(early, proba, prices), "revised": costs_of(late, proba, prices)}
    costs["votes"] = costs_of(votes, proba, prices)
    return {
        "rows": int(known.sum()),
        "differ": round(float((early != late).mean()), 4),
        "cheapest": {name: store.models[int(np.argmin(values))] for name, values in costs.items()},
        "rankings_released_and_revised": float(kendalltau(costs["released"], costs["revised"]).statistic),
        "rankings_votes_and_revised": float(kendalltau(costs["votes"], costs["revised"]).statistic),
        "tau": {"votes": agreement_with(costs["votes"], votes, proba)},
    }


def main() -> None:
    tables, flu, data = map(Path, sys.argv[1:4])
    found = {"digits": digits(tables), "flusight": flusight(flu, data)}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
