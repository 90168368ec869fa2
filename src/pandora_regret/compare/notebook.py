"""A comparison in a few lines: the verdict, and what each model costs."""

from __future__ import annotations

from pandora_regret.compare.result import Comparison, ModelResult
from pandora_regret.text import Table, count, money, money_between, percent

MOST_MODELS = 20
HEADER = ("Model", "Cost per case", "Against the best", "Of it avoidable", "Chance to be cheapest")


def overview(comparison: Comparison) -> Table:
    """The verdict's sentences, and one row per model, the cheapest first."""
    shown = comparison.models[:MOST_MODELS]
    hidden = len(comparison.models) - len(shown)
    data, level = comparison.data, 100 * comparison.interval.level
    about = f"{count(data.rows)} cases, {len(data.classes)} classes; {level:g} % intervals"
    more = f"; {hidden} more expensive models left out" if hidden else ""
    rows = [_row(comparison, model) for model in shown]
    return Table(HEADER, rows, comparison.verdict.sentences, [about + more])


def _row(comparison: Comparison, model: ModelResult) -> tuple[str, ...]:
    unit, cost = comparison.costs.currency, model.scores["expected_cost"]
    chance = model.probability_best
    return (
        model.name,
        money_between(model.cost, cost.low, cost.high, unit),
        _against_best(comparison, model),
        money(model.cost - model.unavoidable, unit),
        "" if chance is None else percent(chance),
    )


def _against_best(comparison: Comparison, model: ModelResult) -> str:
    best, unit = comparison.best.name, comparison.costs.currency
    gaps = (gap for gap in comparison.differences if (gap.model, gap.against) == (best, model.name))
    gap = next(gaps, None)
    if gap is None:
        return ""
    return "+" + money_between(-gap.difference, gap.more.low, gap.more.high, unit)
