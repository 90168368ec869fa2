"""Forecasts at other temperatures, and what every instance's search really costs: the study's yardstick."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from pandora_regret.costs import available_costs
from pandora_regret.imperfect import Tests, expected_expenditure
from pandora_regret.inference.keyed import keyed_generator
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.inputs.tests import SearchName
from pandora_regret.kernels.engine import in_threads, worth_compiling
from pandora_regret.kernels.reference import unit_near
from pandora_regret.priors.base import TIE, TIE_IN_SINGLE
from pandora_regret.scores import mean_or_rows
from pandora_regret.search import search_cost
from pandora_regret.workup import Workup
from pandora_regret.workup.policies import as_forecast
from pandora_regret.workup.scores import WorkupRows


def temperature_of(model: str, sigma: float, seed: int) -> float:
    """``exp(sigma z)``, z the model's own; the same z whatever sigma is."""
    return float(np.exp(sigma * keyed_generator(seed, "temperature", model).standard_normal()))


def tempered(proba: FloatArray, temperature: Any) -> FloatArray:
    """``p^(1/T)``, normalised; impossible classes stay impossible.

    Examples
    --------
    >>> tempered(np.array([[0.8, 0.2]]), 0.5).round(3)
    array([[0.941, 0.059]])
    """
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(proba)
        powers = np.exp((logs - logs.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def tempered_distractors(truth: IntArray, proba: FloatArray, temperature: Any) -> FloatArray:
    """The truth's probability as it was, the rest shared by the other classes at another temperature.

    Where no other class has any probability but there is some to share, they share it equally.

    Examples
    --------
    >>> tempered_distractors(np.array([0]), np.array([[0.5, 0.4, 0.1]]), 0.5).round(3)
    array([[0.5  , 0.471, 0.029]])
    """
    is_truth = truth[:, None] == np.arange(proba.shape[-1])
    others = np.where(is_truth, 0.0, proba)
    others = np.where(others.any(axis=-1, keepdims=True), others, ~is_truth)
    left = np.maximum(1 - np.where(is_truth, proba, 0.0).sum(axis=-1, keepdims=True), 0.0)
    return np.where(is_truth, proba, left * tempered(others, temperature))


def search_bills(truth: IntArray, proba: FloatArray, costs: FloatArray) -> FloatArray:
    """The cost of every row's search under every cost vector (D, K), ties by class number: (D, n).

    Where instances have costs of their own, (D, N, K), rows are those of one model after the other, n = B N.

    Examples
    --------
    >>> costs = np.array([[10.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    >>> search_bills(np.array([0, 2]), np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]), costs)
    array([[13.,  3.],
           [ 1.,  3.]])
    """
    if costs.ndim == 3:
        own = (np.tile(drawn, (len(truth) // len(drawn), 1)) for drawn in costs)
        return np.stack([search_cost(truth, proba, drawn, per_instance=True) for drawn in own])
    if not worth_compiling(proba.size * len(costs)):
        return np.stack([search_cost(truth, proba, drawn, per_instance=True) for drawn in costs])
    from pandora_regret.study import ranking_loops

    bills = np.empty((len(costs), len(truth)))
    merit_costs, tie = costs / unit_near(float(costs.max())), TIE_IN_SINGLE if proba.itemsize <= 4 else TIE

    def search(rows: slice) -> None:
        ranking_loops.search_bills(proba[rows], truth[rows], costs, merit_costs, tie, bills[:, rows])

    in_threads(search, len(truth), proba.size * len(costs))
    return bills


def imperfect_bills(truth: IntArray, proba: FloatArray, tests: list[Tests], search: SearchName) -> FloatArray:
    """The expected bill of every row's search with the imperfect tests of every draw: (D, n)."""
    bills = np.empty((len(tests), len(truth)))

    def bill(rows: slice) -> None:
        for spent, drawn in zip(bills, tests, strict=True):
            arguments = truth[rows], proba[rows], drawn
            spent[rows] = expected_expenditure(*arguments, search=search, per_instance=True)

    if worth_compiling(proba.size):
        in_threads(bill, len(truth), proba.size)  # NumPy lets other threads run
    else:
        bill(slice(None))
    return bills


def workup_bills(truth: IntArray, proba: FloatArray, workup: str, classes: tuple[Any, ...]) -> FloatArray:
    """What the whole work-up of every row costs, (1, n), for a work-up file or a shipped pathway file."""
    forecast = replace(as_forecast(proba, truth, np.ones(len(classes))), labels=_labels(classes))
    rows = WorkupRows(_read_workup(workup), forecast)
    return np.asarray(mean_or_rows(forecast, rows.costs(), per_instance=True))[None]


@lru_cache(16)
def _read_workup(workup: str) -> Workup:
    return Workup.from_pathways(workup) if workup in available_costs() else Workup.load(workup)


def _labels(classes: tuple[Any, ...]) -> Any:
    """The classes' names; where they are mere numbers, columns are in the work-up's order."""
    return range(len(classes)) if all(str(name).isdigit() for name in classes) else list(classes)
