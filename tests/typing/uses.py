"""What users write, with the types that it has: mypy and pyright check this file, and `test_uses` runs it."""

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

import pandora_regret as pr
from pandora_regret.calibrate import Recalibration, RecalibrationMap
from pandora_regret.core.search import Simulation
from pandora_regret.files import open_predictions
from pandora_regret.inference.estimate import Estimate
from pandora_regret.monitor import MonitorSummary, UpdateCounts
from pandora_regret.workup import Plan, Replay, replay_workup

Floats = NDArray[np.float64]

CLASSES = ["flu", "cold", "covid"]
COSTS = {"flu": 20.0, "cold": 5.0, "covid": 30.0}
TRUTH = ["flu", "cold", "covid", "flu"] * 10
TABLE = np.tile([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]], (10, 1))


def scores_are_floats() -> None:
    """A score is a float; with per_instance=True it is an array, and with a variable either."""
    assert_type(pr.pandora_regret([0, 1], [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]), float)
    assert_type(pr.pandora_regret(TRUTH, TABLE, labels=CLASSES, alpha=0.5), float)
    assert_type(pr.pandora_regret(TRUTH, TABLE, labels=CLASSES, per_instance=False), float)
    assert_type(pr.pandora_regret(TRUTH, TABLE, labels=CLASSES, per_instance=True), Floats)
    assert_type(pr.beta_score(TRUTH, TABLE, labels=CLASSES, max_costs=COSTS), float)
    assert_type(pr.beta_score(TRUTH, TABLE, labels=CLASSES, max_costs=[1, 2, 3], per_instance=True), Floats)
    assert_type(pr.excess_search_burden(TRUTH, TABLE, labels=CLASSES), float)
    assert_type(pr.excess_search_burden(TRUTH, TABLE, labels=CLASSES, per_instance=True), Floats)
    assert_type(pr.expected_search_cost(TRUTH, TABLE, labels=CLASSES, costs=COSTS), float)
    assert_type(
        pr.expected_search_cost(TRUTH, TABLE, labels=CLASSES, prior=pr.Gamma(2.0), per_instance=True), Floats
    )
    assert_type(pr.search_cost(TRUTH, TABLE, COSTS, labels=CLASSES, ties="average"), float)
    assert_type(pr.search_cost(TRUTH, TABLE, COSTS, labels=CLASSES, per_instance=True), Floats)
    assert_type(pr.search_entropy(TABLE, labels=CLASSES, costs=COSTS), float)
    assert_type(pr.search_entropy(TABLE, per_instance=True), Floats)
    assert_type(pr.search_divergence(TABLE, TABLE), float)
    assert_type(pr.search_divergence(TABLE, TABLE, per_instance=True), Floats)
    for wanted in (True, False):
        assert_type(pr.pandora_regret(TRUTH, TABLE, labels=CLASSES, per_instance=wanted), float | Floats)


def tables_of_every_kind() -> None:
    """Lists, arrays and frames; labels, series and votes; logits, weights."""
    pandas_frame = pd.DataFrame(TABLE, columns=CLASSES)
    polars_frame = pl.DataFrame(TABLE, schema=CLASSES)
    assert_type(pr.pandora_regret(pd.Series(TRUTH), pandas_frame), float)
    assert_type(pr.pandora_regret(pl.Series(TRUTH), polars_frame), float)
    assert_type(pr.pandora_regret(TABLE, TABLE.astype(np.float32)), float)  # votes
    assert_type(pr.pandora_regret(np.array(TRUTH), np.log(TABLE), labels=CLASSES, logits=True), float)
    assert_type(pr.pandora_regret(TRUTH, TABLE, labels=CLASSES, sample_weight=np.ones(len(TRUTH))), float)
    assert_type(pr.expected_search_cost(TRUTH, pandas_frame, costs=pd.Series(COSTS)), float)


def searches() -> None:
    """Orders, costs by pairs of classes, and searches played out."""
    assert_type(pr.search_order({"flu": 0.6, "cold": 0.3, "covid": 0.1}, COSTS), NDArray[np.intp])
    assert_type(pr.search_order(TABLE, COSTS, labels=CLASSES), NDArray[np.intp])
    assert_type(pr.pair_costs(TRUTH, TABLE, labels=CLASSES, costs=COSTS), Floats)
    assert_type(pr.simulate_search(TRUTH, TABLE, labels=CLASSES, draws=10, seed=0), Simulation)


def priors() -> None:
    """Every prior has a mean, a pair loss and samples."""
    known: Sequence[pr.Prior] = [
        pr.Uniform(),
        pr.Fixed(),
        pr.Beta(0.5),
        pr.Exponential(),
        pr.Gamma(2.0),
        pr.LogNormal(0.5, correlation=0.1),
        pr.LogNormal([0.5, 0.2, 0.3]),
        pr.Empirical([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], labels=CLASSES),
    ]
    for prior in known:
        assert_type(prior.pair_loss([0.5, 1.0]), Floats)
        assert_type(prior.sample(5, 3, np.random.default_rng(0)), Floats)
    assert_type(pr.load_costs("octmnist").costs, dict[str, float])
    assert_type(pr.load_costs("octmnist").empirical(10, seed=0, trials=5), pr.Empirical)


def comparisons(folder: Path) -> None:
    """From models to a verdict, a table and a page; from a file to the same."""
    models = {"sharp": TABLE, "vague": np.full_like(TABLE, 1 / 3)}
    options = pr.ComparisonOptions(recalibrate=None)
    result = pr.compare(TRUTH, models, labels=CLASSES, costs=COSTS, currency="USD", options=options)
    assert_type(result, pr.Comparison)
    assert_type(result.best.name, str)
    assert_type(result.models[0].scores["pandora_regret"], Estimate)
    assert_type(result.models[0].scores["pandora_regret"].value, float | None)
    assert_type(pr.write_report(result, folder / "report.html"), Path)
    file = folder / "forecasts.csv"
    pd.DataFrame(TABLE, columns=CLASSES).assign(label=TRUTH).to_csv(file, index=False)
    assert_type(pr.score_stream(open_predictions(file)[0]), pr.Comparison)


def recalibrations() -> None:
    """A map is learned, and applied to new forecasts."""
    recalibration = pr.recalibrate(TRUTH, TABLE, labels=CLASSES, costs=COSTS, folds=4)
    assert_type(recalibration, Recalibration)
    assert_type(recalibration.map, RecalibrationMap)
    assert_type(recalibration.map.predict_proba(TABLE), Floats)


def monitors() -> None:
    """Forecasts and labels come in, and a summary comes out."""
    monitor = pr.Monitor(costs=COSTS)
    assert_type(monitor.update(TRUTH, pd.DataFrame(TABLE, columns=CLASSES)), UpdateCounts)
    assert_type(monitor.summary(), MonitorSummary)


def workups() -> None:
    """Work-ups are described or learned, planned, scored and replayed."""
    past = {"fault": ["pump"] * 8 + ["valve"] * 8, "noise": ["yes"] * 7 + ["no"] * 9}
    workup = pr.learn_workup(past, "fault", {"noise": 1.0}, wrong=10.0)
    assert_type(workup, pr.Workup)
    assert_type(pr.plan_workup({"pump": 0.5, "valve": 0.5}, workup), Plan)
    assert_type(pr.plan_search({"flu": 0.6, "cold": 0.4}, {"flu": 20.0, "cold": 5.0}), Plan)
    assert_type(pr.workup_cost(["pump"], [[0.5, 0.5]], workup), float)
    assert_type(pr.workup_cost(["pump"], [[0.5, 0.5]], workup, per_instance=True), Floats)
    assert_type(pr.workup_regret(["pump"], [[0.5, 0.5]], workup), float)
    assert_type(replay_workup(workup, past, "fault"), Replay)


def errors() -> None:
    """An error carries its parts."""
    try:
        pr.pandora_regret([0], [[0.5, 0.6]])
    except pr.InputError as error:
        assert_type(error.argument, str | None)
        assert_type(error.row, int | None)
        assert_type(error.fix, str | None)
