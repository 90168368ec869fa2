"""What the page's tables hold: the dearest wrong tests, the dearest classes, and one case worked by two models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pandora_regret.compare import Comparison
from pandora_regret.inputs import FloatArray
from pandora_regret.report.charts import Facts
from pandora_regret.search import search_order

MOST_PAIRS = 10  # of wrong tests
MOST_CLASSES = 24  # of a matrix of wrong tests in the page's data; more would not go into a small file
MOST_CLASSES_LISTED = 100  # one below the other
MOST_COLUMNS = 4  # models side by side
MOST_STEPS = 8  # of a worked case, before the middle is left out


def wrong_tests(models: Sequence[Facts], classes: Sequence[str]) -> Facts:
    """The dearest wrong tests of the cheapest models; empty where a page saved its numbers without them."""
    models = models[:MOST_COLUMNS]
    if not all(model["pair_costs"] for model in models):
        return {}
    spent = np.nan_to_num(
        np.array([model["pair_costs"] for model in models], dtype=np.float64)
    )  # None becomes nan
    spent = spent.reshape(len(models), -1)
    dearest = [n for n in np.argsort(-spent.max(axis=0), kind="stable")[:MOST_PAIRS] if spent[:, n].any()]
    largest = spent.max(initial=0.0) or 1.0
    pairs = [(classes[n // len(classes)], classes[n % len(classes)]) for n in dearest]
    return {
        "rows": [
            {"truth": truth, "tested": tested, "cells": [_cell(value, largest) for value in spent[:, n].tolist()]}
            for (truth, tested), n in zip(pairs, dearest, strict=True)
        ],
        "others": int((spent.any(axis=0)).sum()) - len(dearest),
        "rest": (spent.sum(axis=1) - spent[:, dearest].sum(axis=1)).tolist(),
        "total": spent.sum(axis=1).tolist(),
    }


def _cell(value: float, largest: float) -> Facts:
    return {"value": value, "width": round(100 * value / largest, 3)}


def dearest_classes(by_class: Sequence[Facts]) -> list[Facts]:
    """The classes whose cases cost the most together, in their own order; all of them where they are not many."""
    spent = [-(row["weight"] * (row["expected_cost"] or 0.0)) for row in by_class]
    kept = np.sort(np.argsort(spent, kind="stable")[:MOST_CLASSES_LISTED])
    return [by_class[k] for k in kept]


def tests_that_matter(models: Sequence[Facts], flips: Sequence[Facts | None]) -> list[int]:
    """Classes in the order of the price panel.

    First those whose price can change who is cheapest; then by what testing for them wrongly costs the cheapest
    model.
    """
    table = models[0]["pair_costs"]
    spent = np.nan_to_num(np.array(table, dtype=np.float64)).sum(axis=0) if table else np.zeros(len(flips))
    changes = [flip is not None and ("below" in flip or "above" in flip) for flip in flips]
    return sorted(range(len(flips)), key=lambda k: (not changes[k], -spent[k]))


def worked_case(comparison: Comparison) -> Facts | None:
    """A case that the cheapest model finds sooner than the next: what both test, in order, until they have it.

    Of all such cases, the one whose saving is nearest to their mean. None without cases, prices or a second model.
    """
    sample, prices = comparison.sample, comparison.costs.typical
    if sample is None or prices is None or len(comparison.models) < 2:
        return None
    costs, truth = np.array(prices), sample.truths()
    names = [model.name for model in comparison.models[:2]]
    forecasts = [sample.probabilities(name) for name in names]
    orders = [search_order(forecast, costs) for forecast in forecasts]
    paid = [_paid(order, truth, costs) for order in orders]
    saved = np.where(paid[1] > paid[0], paid[1] - paid[0], np.nan)
    row = int(np.nanargmin(np.abs(saved - np.nanmean(saved)))) if np.isfinite(saved).any() else 0
    plans = zip(names, forecasts, orders, strict=True)
    return {
        "row": row,
        "truth": comparison.data.classes[truth[row]],
        "plans": [
            {"model": name, **_plan(forecast[row], order[row].tolist(), int(truth[row]), costs)}
            for name, forecast, order in plans
        ],
    }


def _paid(order: Any, truth: Any, costs: FloatArray) -> FloatArray:
    """What each row's search pays until it has found the truth, (rows,)."""
    spent = np.cumsum(costs[order], axis=1)
    return np.asarray(spent[order == truth[:, None]])


def _plan(forecast: FloatArray, order: list[int], truth: int, costs: FloatArray) -> Facts:
    """The steps up to the truth; of very many, the middle is left out and counted."""
    until = order[: order.index(truth) + 1]
    spent = np.cumsum(costs[until]).tolist()
    steps = [
        {"class": k, "number": n + 1, "chance": float(forecast[k]), "cost": float(costs[k]), "found": k == truth}
        for n, k in enumerate(until)
    ]
    skipped = len(steps) - MOST_STEPS if len(steps) > MOST_STEPS else 0
    return {
        "first": steps[: MOST_STEPS - 1] if skipped else steps,
        "skipped": skipped,
        "last": steps[-1:] if skipped else [],
        "spent": spent[-1],
        "never": len(order) - len(until),
    }
