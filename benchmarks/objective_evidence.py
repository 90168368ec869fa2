"""Which objective should calibrators have: the search cost that people pay, or log loss?

Run with ``python benchmarks/objective_evidence.py DATA OUT.json``; DATA is a folder that holds tabular/ (see
training_evidence.py), "-" leaves those tables out. Models of the study's zoo forecast rows that were held out.
Maps are fitted for either objective on a half of these rows and judged by the search cost of the other half, both
ways round, at unequal prices and at equal ones. Stored is what every case costs, raw and by either objective.
The stored result has vector scaling besides, from when it could be fitted for search cost as well.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from pandora_regret import expected_search_cost
from pandora_regret.calibrate import TemperatureScaling
from pandora_regret.calibrate.recalibration import deal
from pandora_regret.study.zoos.tables import TableZoo

MODELS = (
    "naive Bayes",
    "neighbours 10",
    "logistic C=1",
    "logistic C=0.01 sharpened T=0.3",
    "logistic C=0.1 flattened T=3",
    "tree depth=6",
    "forest 20",
    "histogram boosting 10",
    "linear discriminant",
)
BUNDLED = {"digits": 2.0, "wine": 2.0, "iris": 1.0, "breast_cancer": 2.0}  # noise, in standard deviations
TABLES = ("uci_dermatology.csv", "soybean.arff", "uci_steel.csv", "uci_Cardio.csv")
OBJECTIVES = ("search", "log_loss")
MOST_ROWS = (400, 1600)  # of a table; half of them fit a map


def main(data: str, out: str) -> None:
    cases = []
    for zoo in zoos(data):
        for case in cases_of(zoo):
            cases.append(case)
            print(json.dumps(case), flush=True)
    write(cases, Path(out))


def write(cases: list[dict[str, Any]], out: Path) -> None:
    """One line per case, and the summary first."""
    lines = ",\n".join(json.dumps(case) for case in cases)
    about = json.dumps({"models": MODELS, "summary": summary(cases)}, indent=1)
    out.write_text(f'{about[:-2]},\n "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(about)


def zoos(data: str) -> Iterator[TableZoo]:
    for most in MOST_ROWS:
        for name, noise in BUNDLED.items():
            yield TableZoo(data=name, noise=noise, models=MODELS, max_rows=most)
        for name in TABLES if data != "-" else ():
            yield TableZoo(data=str(Path(data) / "tabular" / name), models=MODELS, max_rows=most)


def cases_of(zoo: TableZoo) -> Iterator[dict[str, Any]]:
    truth, classes = zoo.target().truth, zoo.target().classes
    unequal = np.random.default_rng(0).permutation(np.geomspace(75, 384, len(classes)))
    prices = {"unequal": unequal, "equal": np.full(len(classes), 100.0)}
    order, half = np.random.default_rng(0).permutation(len(truth)), np.empty(len(truth), dtype=int)
    half[order] = deal(truth[order], 2)
    for outcome in zoo.predict(zoo.names()):
        forecasts = np.asarray(outcome.prediction.values, dtype=np.float64)
        for named, costs in prices.items():
            begun = time.perf_counter()
            raw, *mapped = costs_of(forecasts, truth, half, costs)
            about = {"data": Path(zoo.data).stem, "model": outcome.name, "prices": named, "method": "temperature"}
            about |= {"most_rows": zoo.max_rows}
            cost = dict(zip(("raw", *OBJECTIVES), (round(each, 4) for each in (raw, *mapped)), strict=True))
            yield about | {"rows": len(truth), "seconds": round(time.perf_counter() - begun, 2)} | cost


def costs_of(forecasts: np.ndarray, truth: np.ndarray, half: np.ndarray, costs: np.ndarray) -> list[float]:
    """The search cost of the forecasts as they are, and recalibrated out of fold for each objective."""
    tables = [forecasts]
    for objective in OBJECTIVES:
        table, labels = np.empty_like(forecasts), range(len(costs))
        for inside in (half == 0, half == 1):
            calibrator = TemperatureScaling(objective=objective, costs=costs, labels=labels)
            table[inside] = calibrator.fit(forecasts[~inside], truth[~inside]).predict_proba(forecasts[inside])
        tables.append(table)
    return [float(expected_search_cost(truth, table, costs=costs)) for table in tables]


def summary(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By rows and prices: what log loss costs more than the search objective, in percent, and how sure that is.

    The standard error is between data sets, whose models see the same rows.
    """
    rows = []
    for most, prices in product(MOST_ROWS, ("unequal", "equal")):
        about = {"most_rows": most, "method": "temperature", "prices": prices}
        some = [case for case in cases if about.items() <= case.items()]
        excess = {name: [] for name in {case["data"] for case in some}}
        for case in some:
            excess[case["data"]].append(100 * (case["log_loss"] / case["search"] - 1))
        means = np.array([np.mean(of) for of in excess.values()])
        error = float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None
        every = np.concatenate(list(excess.values()))
        row = about | {"cases": len(some), "data_sets": len(means)}
        row |= {"log_loss_costs_more_percent": float(means.mean()), "standard_error": error}
        row |= {"median_percent": float(np.median(every))}
        saved = {name: float(np.mean([100 * (1 - c[name] / c["raw"]) for c in some])) for name in OBJECTIVES}
        row |= {"log_loss_at_least_as_good": float((every <= 1e-9).mean()), "saved_percent": saved}
        rows.append(row)
    return rows


if __name__ == "__main__":
    main(*sys.argv[1:])
