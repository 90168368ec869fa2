"""What the page's tables hold: rankings, matrices of wrong tests, and the example of the what-if box."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pandora_regret.report.charts import Facts, heat_step
from pandora_regret.search import search_order

MOST_CLASSES = 24  # of a matrix of wrong tests; more could neither be read nor be sent in a small file
MOST_CLASSES_LISTED = 100  # one below the other


def ranking(values: Sequence[float | None]) -> list[dict[str, Any]]:
    """Models by rising value, undefined ones last; ties share their mean rank and keep their order.

    Examples
    --------
    >>> [(row["model"], row["rank"], row["width"]) for row in ranking([2.0, 1.0, 2.0, None])]
    [(1, 1.0, 50.0), (0, 2.5, 100.0), (2, 2.5, 100.0), (3, 4.0, 0.0)]
    """
    known = np.array([np.inf if value is None else value for value in values], dtype=np.float64)
    largest = max(known[np.isfinite(known)].tolist(), default=0.0) or 1.0
    return [
        {
            "model": int(i),
            "value": values[i],
            "rank": float((known < known[i]).sum() + ((known == known[i]).sum() + 1) / 2),
            "width": round(100 * float(known[i]) / largest, 3) if np.isfinite(known[i]) else 0.0,
        }
        for i in np.argsort(known, kind="stable")
    ]


def at_start(alphas: Sequence[float | str]) -> int:
    """Where the slider starts: at the alpha nearest to 1, Pandora's Regret itself."""
    distances = [abs(float(alpha) - 1.0) for alpha in alphas]
    return distances.index(min(distances))


def wrong_tests(pair_costs: Sequence[Sequence[float | None]], classes: Sequence[str], largest: float) -> Facts:
    """The matrix of wrong tests with its shades; of many classes, those with the most money in row and column.

    Empty where a page saved the numbers without their matrix.
    """
    if not pair_costs:
        return {}
    spent = np.array(pair_costs, dtype=np.float64)  # None becomes nan
    money = np.nan_to_num(spent)
    by_class = money.sum(axis=0) + money.sum(axis=1)
    kept = np.sort(np.argsort(-by_class, kind="stable")[:MOST_CLASSES])
    total = money.sum()
    return {
        "classes": [classes[k] for k in kept],
        "rows": [[_cell(spent[i, j], i == j, largest) for j in kept] for i in kept],
        "left_out": len(classes) - len(kept),
        "share": float(money[np.ix_(kept, kept)].sum() / total) if total else 1.0,
    }


def _cell(value: float, is_truth: bool, largest: float) -> Facts:
    known = None if np.isnan(value) else float(value)
    return {"value": known, "step": heat_step(known, largest), "is_truth": is_truth}


def dearest_classes(by_class: Sequence[Facts]) -> list[Facts]:
    """The classes whose cases cost the most together, in their own order; all of them where they are not many."""
    spent = [-(row["weight"] * (row["expected_cost"] or 0.0)) for row in by_class]
    kept = np.sort(np.argsort(spent, kind="stable")[:MOST_CLASSES_LISTED])
    return [by_class[k] for k in kept]


def largest_pair(models: Sequence[Facts]) -> float:
    """The dearest wrong test of any model, so that shades mean the same in every matrix."""
    return max((cost for model in models for row in model["pair_costs"] for cost in row if cost), default=0.0)


def what_if(class_weights: Sequence[float], typical: Sequence[float] | None) -> dict[str, Any]:
    """The example the what-if box opens with: a forecast of the classes' frequencies, at their typical costs."""
    shares = rounded_shares(class_weights)
    costs = np.ones(len(shares)) if typical is None else np.array(typical, dtype=np.float64)
    order = search_order(shares, costs)
    spent, found = np.cumsum(costs[order]), np.cumsum(shares[order])
    return {
        "forecast": [{"probability": p, "cost": c} for p, c in zip(shares.tolist(), costs.tolist(), strict=True)],
        "steps": [
            {"class": k, "spent": s, "found": f}
            for k, s, f in zip(order.tolist(), spent.tolist(), found.tolist(), strict=True)
        ],
        "expected": float((shares[order] * spent).sum()),
    }


def rounded_shares(weights: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Shares that a person can type: few digits, and still summing to 1 (by largest remainders).

    Examples
    --------
    >>> rounded_shares([1.0, 1.0, 1.0])
    array([0.334, 0.333, 0.333])
    """
    shares = np.array(weights, dtype=np.float64)
    shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(shares), 1 / len(shares))
    parts = 1000 if len(shares) <= 50 else 1_000_000
    whole = np.floor(shares * parts)
    short = parts - int(whole.sum())
    whole[np.argsort(whole - shares * parts, kind="stable")[:short]] += 1
    return whole / parts
