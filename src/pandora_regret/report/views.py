"""What a page shows that the comparison does not say in so many words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from math import log10
from typing import Any

import numpy as np

from pandora_regret.compare import Comparison
from pandora_regret.compare.result import BreakEven, Difference, ModelResult
from pandora_regret.compare.words import price_between, recalibrating
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.report.charts import Facts, bump_chart, calibration_plot, cost_bars, group_strips
from pandora_regret.search import search_order
from pandora_regret.text import count, listed, money_between, without_direction_marks

CASES_PER_YEAR = 10_000
LIKE_COST = ("pandora_regret", "excess_burden")  # need the paper, and rank models as costs do
MOST_MODELS = 50  # with every pair of them; a page of 500 would take a browser more than 100 MB
CHEAPEST, COSTLIEST = 40, 10
MOST_PAIRS = 10  # of wrong tests
MOST_CLASSES = 24  # of a matrix of wrong tests in the page's data; more would not go into a small file
MOST_CLASSES_LISTED = 100  # one below the other
MOST_COLUMNS = 4  # models side by side
MOST_STEPS = 8  # of a worked case, before the middle is left out


def select_models(comparison: Comparison, names: Sequence[str] = ()) -> tuple[Comparison, str | None]:
    """The comparison of the models to show, and a sentence about those left out; None where all are shown.

    Ranks, chances and sentences stay those of all models.
    """
    every = [model.name for model in comparison.models]
    unknown = next((name for name in names if name not in every), None)
    if unknown is not None:
        raise InputError(argument="show", value=unknown, fix=f"the models are {listed(every[:8])}")
    if len(every) <= MOST_MODELS:
        return comparison, None
    names_shown = {*every[:CHEAPEST], *every[-COSTLIEST:], *names}
    asked = len(names_shown) - CHEAPEST - COSTLIEST
    parts = [f"the {CHEAPEST} cheapest", f"the {COSTLIEST} most expensive"]
    parts += [f"{asked} that {'was' if asked == 1 else 'were'} asked for"] if asked else []
    sentence = (
        f"Of {count(len(every))} models this page shows {listed(parts)}; pandora compare --json tells of all."
    )
    return _only(comparison, names_shown), sentence


def _only(comparison: Comparison, names: set[str]) -> Comparison:
    """Of a group whose leader is not shown, the cheapest that is shown leads."""
    numbers = [number for number, model in enumerate(comparison.models) if model.name in names]
    breakdowns = []
    for breakdown in comparison.by:
        groups = []
        for group in breakdown.groups:
            models = tuple(group.models[number] for number in numbers)
            costs = {model.name: model.cost.value or 0.0 for model in models}
            leader = group.leader if group.leader in costs else min(costs, key=costs.__getitem__)
            groups.append(replace(group, models=models, leader=leader))
        breakdowns.append(replace(breakdown, groups=tuple(groups)))
    sample = comparison.sample
    return replace(
        comparison,
        models=tuple(comparison.models[number] for number in numbers),
        differences=tuple(gap for gap in comparison.differences if {gap.model, gap.against} <= names),
        ranks={key: tuple(ranks[number] for number in numbers) for key, ranks in comparison.ranks.items()},
        largest_pairs=tuple(pair for pair in comparison.largest_pairs if pair.model in names),
        by=tuple(breakdowns),
        sample=sample and replace(sample, odds={name: sample.odds[name] for name in sample.odds if name in names}),
    )


def views_of(facts: dict[str, Any], comparison: Comparison) -> dict[str, Any]:
    """What the templates show that the comparison does not say in so many words."""
    models, classes, unit = facts["models"], facts["data"]["classes"], comparison.costs.currency
    gaps = {gap.against: gap for gap in comparison.differences if gap.model == comparison.best.name}
    names = [model.name for model in comparison.models]
    prices = {each.test: each for each in comparison.break_even}
    flips = [_flip(prices[name], unit) if name in prices else None for name in classes]
    ranked = sorted(
        (metric for metric in facts["metrics"] if metric["key"] not in LIKE_COST),
        key=lambda metric: metric["key"] != "expected_cost",
    )
    return {
        "bars": cost_bars(models),
        "recalibrated": any(model["recalibrated"] for model in models),
        "certain": any(model["at_stated_prices"] for model in models),
        "against": [gaps[name].more if name in gaps else Estimate(None) for name in names],
        "saving": _saving(list(gaps.values()), unit),
        "live": comparison.sample is not None,
        "tests": tests_that_matter(models, flips),
        "flips": flips,
        "breakdowns": [_breakdown(breakdown, models) for breakdown in facts.get("by", ())],
        "wrong_tests": wrong_tests(models, classes),
        "case": worked_case(comparison),
        "ranked": ranked,
        "all_alike": len({tuple(places) for places in facts["ranks"].values()}) == 1,
        "bumps": bump_chart(models, ranked, facts["ranks"]),
        "panels": [_panel(facts, *each, unit) for each in zip(models, comparison.models, strict=True)],
        "workup": _as_image(facts.get("workup")),
    }


def _saving(gaps: Sequence[Difference], unit: str | None) -> dict[str, Any] | None:
    """What the cheapest model saves in a year against the first that certainly costs more, or else the next."""
    if not gaps:
        return None
    gap = next((gap for gap in gaps if gap.is_settled), gaps[0])
    more = gap.more.mapped(lambda amount: CASES_PER_YEAR * amount)
    yearly = money_between(more.value or 0.0, more.low, more.high, unit)
    return {"against": gap.against, "sentence": f"{gap.model} instead of {gap.against} saves {yearly} per year."}


def _flip(each: BreakEven, unit: str | None) -> dict[str, Any]:
    """The prices of a test at which another model becomes the cheapest."""
    sides, ranges = {}, dict[str, list[str]]()
    for side, crossing in (("below", each.below), ("above", each.above)):
        if crossing is not None:
            place = min(max(50 * (1 + log10(crossing.price / each.stated)), 0.0), 100.0)
            sides[side] = {"price": crossing.price, "place": round(place, 3)}
            at = price_between(crossing, each.stated, unit)
            ranges.setdefault(without_direction_marks(crossing.leader), []).append(f"{side} {at}")
    flips = "; ".join(f"{leader} is cheapest {' and '.join(at)}" for leader, at in ranges.items())
    return {"sentence": flips or "no change", **sides}


def _breakdown(breakdown: Facts, models: Sequence[Facts]) -> dict[str, Any]:
    """Groups of one column under the cheapest models, and under those that a flag is about."""
    flags = [*breakdown["flags"], *(flag for group in breakdown["groups"] for flag in group["flags"])]
    named = [m for m, model in enumerate(models) if any(model["name"] in flag for flag in flags)]
    others = [m for m in range(len(models)) if m not in named]
    shown = sorted([*named[: MOST_COLUMNS + 1], *others][: max(MOST_COLUMNS, len(named[: MOST_COLUMNS + 1]))])
    return group_strips(breakdown, shown)


def _as_image(workup: dict[str, Any] | None) -> dict[str, Any] | None:
    """The work-up with its picture as an image, in which nothing can run, whoever wrote the comparison."""
    if workup is None or not workup["picture"]:
        return workup
    encoded = b64encode(workup["picture"].encode("utf-8", errors="replace")).decode()
    return workup | {"picture": f"data:image/svg+xml;base64,{encoded}"}


def _panel(facts: Facts, model: Facts, result: ModelResult, unit: str | None) -> dict[str, Any]:
    """One model in detail: of very many classes, those whose cases cost the most together, in their own order."""
    spent = [-(row["weight"] * (row["expected_cost"] or 0.0)) for row in model["by_class"]]
    kept = np.sort(np.argsort(spent, kind="stable")[:MOST_CLASSES_LISTED])
    return {
        "model": model,
        "recalibrating": recalibrating(result, unit),
        "calibration": calibration_plot(model["calibration"]),
        "by_class": [model["by_class"][k] for k in kept],
        "left_out": len(spent) - len(kept),
        "sentences": [pair["sentence"] for pair in facts["largest_pairs"] if pair["model"] == model["name"]],
    }


def wrong_tests(models: Sequence[Facts], classes: Sequence[str]) -> Facts:
    """The most expensive wrong tests of the cheapest models; empty where a page saved its numbers without them."""
    models = models[:MOST_COLUMNS]
    if not all(model["pair_costs"] for model in models):
        return {}
    tables = np.array([model["pair_costs"] for model in models], dtype=np.float64)
    spent = np.nan_to_num(tables).reshape(len(models), -1)  # None became nan
    costliest = [n for n in np.argsort(-spent.max(axis=0), kind="stable")[:MOST_PAIRS] if spent[:, n].any()]
    largest = spent.max(initial=0.0) or 1.0
    k = len(classes)
    return {
        "rows": [
            {
                "truth": classes[n // k],
                "tested": classes[n % k],
                "cells": [{"value": x, "width": round(100 * x / largest, 3)} for x in spent[:, n].tolist()],
            }
            for n in costliest
        ],
        "others": int((spent.any(axis=0)).sum()) - len(costliest),
        "rest": (spent.sum(axis=1) - spent[:, costliest].sum(axis=1)).tolist(),
        "total": spent.sum(axis=1).tolist(),
    }


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
    paid = [np.cumsum(costs[order], axis=1)[order == truth[:, None]] for order in orders]
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
