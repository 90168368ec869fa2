"""Whether the parts of a comparison that was read fit each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pandora_regret.inputs import InputError

if TYPE_CHECKING:
    from pandora_regret.compare.result import Comparison, ModelResult

TERMS = ("miscalibration", "discrimination", "uncertainty")  # of a decomposition


def check_agreement(comparison: Comparison) -> None:
    """Every list is as long as what it is about, and every name is that of a model; else an `InputError`."""
    for place, fits, problem in _expectations(comparison):
        if not fits:
            raise InputError(problem, place=f"the comparison's {place}", fix="write it again")


def _expectations(comparison: Comparison) -> Iterator[tuple[str, bool, str]]:
    """What is looked at, whether it is as it must be, and what is wrong with it otherwise."""
    data, names = comparison.data, [model.name for model in comparison.models]
    n_classes, keys = len(data.classes), {metric.key for metric in comparison.metrics}
    yield "list of models", bool(names), "is empty"
    yield "models", len(set(names)) == len(names), "share a name"
    yield "data.classes", 2 <= n_classes == len(data.class_weights), "are fewer than 2, or not as many as weights"
    yield "data.class_weights", min(data.class_weights, default=0.0) >= 0, "are negative"
    yield "interval.level", 0 < comparison.interval.level < 1, "is not between 0 and 1"
    yield "metrics", "expected_cost" in keys and len(keys) == len(comparison.metrics), "lack one, or repeat one"
    for key in keys:
        yield f"ranks.{key}", len(comparison.ranks.get(key, ())) == len(names), "are not one per model"
    for typical in (comparison.costs.typical, *(scenario.typical for scenario in comparison.scenarios)):
        fits = typical is None or (len(typical) == n_classes and min(typical) > 0)
        yield "typical costs", fits, "are not one positive number per class"
    fits = comparison.sample is None or comparison.sample.fits(names, n_classes)
    yield "sample", fits and (comparison.sample is None or comparison.costs.typical is not None), "does not fit"
    for gap in comparison.differences:
        yield "differences", {gap.model, gap.against} <= set(names), "name a model that is not there"
    for group in (group for breakdown in comparison.by for group in breakdown.groups):
        fits = [model.name for model in group.models] == names and group.leader in names
        yield "by", fits and group.weight >= 0, "does not list the models as they are, or has a negative weight"
    verdict, tests = comparison.verdict, [each.test for each in comparison.break_even]
    yield "verdict", verdict.leader in names and bool(verdict.sentences), "names no model, or says nothing"
    yield "break_even", set(tests) <= set(data.classes), "names a test that is not there"
    crossings = [crossing for each in comparison.break_even for crossing in (each.below, each.above) if crossing]
    prices = [*(each.stated for each in comparison.break_even), *(crossing.price for crossing in crossings)]
    yield "break_even", all(price > 0 for price in prices), "holds a price that is not positive"
    for alpha in comparison.alphas:
        yield "alphas", alpha == "inf" or (isinstance(alpha, float) and alpha >= 0), "hold what is no alpha"
    for number, model in enumerate(comparison.models):
        for part, fits, problem in _expectations_of_model(comparison, model, keys):
            yield f"models[{number}].{part}", fits, problem


def _expectations_of_model(
    comparison: Comparison, model: ModelResult, keys: set[str]
) -> Iterator[tuple[str, bool, str]]:
    n_classes, costs = len(comparison.data.classes), model.pair_costs
    yield "scores", keys <= set(model.scores), "lack a metric"
    yield "scores.expected_cost.value", model.scores["expected_cost"].value is not None, "is missing"
    square = {len(costs), *map(len, costs)}
    yield "pair_costs", not costs or square == {n_classes}, "are not one row and column per class"
    yield "by_class", len(model.by_class) in (0, n_classes), "is not one entry per class"
    yield "by_class", all(each.weight >= 0 for each in model.by_class), "holds a negative weight"
    yield "calibration", all(each.weight >= 0 for each in model.calibration), "holds a negative weight"
    yield "alphas", len(model.alphas) == len(comparison.alphas), "are not one per alpha"
    yield "scenarios", len(model.scenarios) == len(comparison.scenarios), "are not one per scenario"
    terms = TERMS if model.decomposition is None else model.decomposition
    yield "decomposition", set(TERMS) <= set(terms), "lacks a term"
