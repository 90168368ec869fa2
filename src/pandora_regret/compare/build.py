"""compare: the door, the measurements, how sure they are, and what it all says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.calibrate.decomposition import TERMS, decompose_forecast
from pandora_regret.calibrate.maps import METHODS
from pandora_regret.compare.break_even import Priced, break_even
from pandora_regret.compare.conclusion import conclude, costs_of_workup, read_interval
from pandora_regret.compare.embedded import embed
from pandora_regret.compare.estimates import Measurements
from pandora_regret.compare.grouping import SMALLEST_GROUP, read_by
from pandora_regret.compare.measure import FOLDS, BySearch, ByWorkup, measure, recalibrated, typical_case
from pandora_regret.compare.result import (
    BreakEven,
    Comparison,
    Costs,
    IntervalMethod,
)
from pandora_regret.compare.sample import (
    Sample,
    all_as_orders,
    are_stated,
    as_tuple,
    check_same_order,
    in_tests,
    read_models,
    read_sample,
    read_scenarios,
    read_typical,
)
from pandora_regret.compare.subgroups import broken_down
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inputs import Forecast, InputError, InputTypeError, Labels, Table, read_choice
from pandora_regret.metrics import comparison_metrics, workup_metrics
from pandora_regret.priors import Prior
from pandora_regret.priors.names import prior_of_orders, spelled_prior
from pandora_regret.scores import priced
from pandora_regret.workup import Workup


def compare(
    y_true: Labels | None,
    models: Mapping[str, Table | Forecast],
    *,
    prior: Prior | None = None,
    costs: Any = None,
    typical_costs: Any = None,
    currency: str | None = None,
    source: str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    groups: Any = None,
    ids: Any = None,
    bootstrap: int = 0,
    level: float = 0.95,
    seed: int = 0,
    scenarios: Any = None,
    recalibrate: str | None = "temperature",
    decompose: bool = False,
    workup: Workup | None = None,
    by: Any = None,
    smallest_group: int = SMALLEST_GROUP,
    progress: Callable[[], object] = lambda: None,
) -> Comparison:
    """Several models on the same instances: what each one's search costs, how sure that is, and what it saves.

    Parameters
    ----------
    y_true
        True classes, shape (N,), or votes, shape (N, K), as in `pandora_regret`. Intervals count cases, not votes.
    models
        Forecasts by name, each (N, K): arrays, or frames whose columns are matched by name. Where each is a
        `Forecast` that was read before, with its truth, `y_true` is None.
    prior, costs, typical_costs
        What tests cost, as in `expected_search_cost`.
    currency
        The unit of costs: a code such as "USD", a symbol, or "min". Where nothing says what tests cost, results
        count tests.
    source
        Where the costs come from, in words.
    labels, sample_weight, logits, normalise
        As in `pandora_regret`; what `normalise` did is counted in the result's `done`.
    groups
        What rows belong together, shape (N,), as a patient's images do. Errors are then summed within groups
        (the sandwich estimator), and the bootstrap draws whole groups.
    ids
        The rows' names, shape (N,), each once: with them the bootstrap does not depend on the rows' order.
    bootstrap
        Replicates; 0 for intervals by linearisation, from Student's t with one degree of freedom less than there
        are instances, or groups.
    level
        Of the intervals.
    seed
        Of the bootstrap, or else of the 20,000 normal draws behind the probability of being best.
    scenarios
        Other typical costs by name, under which all models are priced too: one per class, or a mapping of those
        that change, ``{"cheap CT": {"appendicitis": 300}}``.
    recalibrate
        How each model is recalibrated, row by row with a map that other rows fitted for log loss, to see what that
        would save: "temperature", "vector" or "matrix" scaling, or None for not at all.
    decompose
        Whether to split each model's cost into miscalibration, discrimination and uncertainty, too, which takes
        longer; see `pandora_regret.calibrate.decompose`.
    workup
        A work-up to compare models by, instead of a search: costs are then what it says, known unless a prior is
        given, and "expected_cost" is `workup_cost`.
    by
        Columns to break the result down by, (N,) each: a frame, or a mapping such as
        ``{"site": site, "age:10": age, "age:18|65": age, "site*sex": (site, sex)}``. See
        `pandora_regret.compare.grouping`. This is about where a model fails; `groups` is about which rows belong
        together.
    smallest_group
        Groups of fewer cases (or `groups`, where those are given) are pooled as "other".
    progress
        Called when a model is measured, and when all is done.

    Returns
    -------
    Comparison
        Every model's scores with intervals, differences and ranks, the verdict, and what it rests on; `print`
        shows a table, `to_dict` is for programs.

    See Also
    --------
    write_report : The same as a page.
    score_stream : One model, of any number of rows.

    Notes
    -----
    The number of tests is the truth's place in the order of the search at the mean costs, and the realised cost
    is what that search pays; ties go by class number. P-values are of paired differences in expected cost,
    adjusted by Holm's method for all pairs. Some twenty numbers per instance and model are held in memory.

    References
    ----------
    Holm (1979), on p-values of many pairs [holm79]_.
    Efron (1987), on bootstrap intervals [efron87]_.
    Gutmann and Maymin (1987), on why choosing the best needs no correction [gutmann87]_.

    Examples
    --------
    >>> sharp, vague = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3]]
    >>> result = compare([0, 1], {"vague": vague, "sharp": sharp}, typical_costs=[90, 60, 30], currency="USD")
    >>> [model.name for model in result.models], round(result.best.cost, 2)
    (['sharp', 'vague'], 76.47)
    >>> result.verdict.kind, result.verdict.cases_needed
    ('undecided', 2)
    """
    forecasts = read_models(y_true, models, labels, sample_weight, logits, normalise)
    check_same_order(models, by, y_true=y_true, sample_weight=sample_weight, groups=groups, ids=ids)
    done = tuple(each for name, forecast in forecasts.items() for each in forecast.rescaled.done(name))
    interval = read_interval(level, bootstrap, seed)
    forecasts, orders = all_as_orders(forecasts, workup)
    one, unit = next(iter(forecasts.values())), _read_text(currency, "currency")
    method = None if recalibrate is None else read_choice(recalibrate, "recalibrate", METHODS)
    method = None if orders else method
    question = read_by(by, one.n_cases, smallest_group)
    sample, part = read_sample(one, ids, groups), None
    classes, origin = tuple(str(label) for label in one.labels), _read_text(source, "source")
    way: BySearch | ByWorkup
    if workup is None:
        stated = are_stated(prior, costs, typical_costs)
        typical_costs = typical_costs if stated else in_tests(one.n_classes)
        prior, one = priced(one, prior_of_orders(prior) if orders else prior, costs, typical_costs)
        way, metrics = BySearch(prior), comparison_metrics(orders)
        typical = read_typical(one, prior, typical_costs)
        other_costs = read_scenarios(scenarios, typical, prior, one, stated=stated)
        charged = Costs(unit or ("" if stated else None), spelled_prior(prior), as_tuple(typical), origin)
    else:
        check_alone(costs=costs, typical_costs=typical_costs, scenarios=scenarios, decompose=decompose)
        way, metrics, other_costs, stated = ByWorkup(workup, prior), workup_metrics(workup, prior), [], False
        typical, charged = way.least_costs(one), costs_of_workup(workup, prior, unit, origin)
        part = typical_case(workup, classes, sample.by_class(sample.truth, 1.0, len(classes)))
    forecasts = {name: forecast.with_costs(one.costs) for name, forecast in forecasts.items()}
    rows = {name: sample.of(forecast) for name, forecast in forecasts.items()}
    measured, terms = [], {}
    for name, forecast in rows.items():
        under = [sample.of(forecasts[name].with_costs(base)) for _, base in other_costs]
        later = recalibrated(forecast, sample, method, interval.seed)
        measured.append(measure(name, forecast, way, metrics, later, under))
        if decompose and not orders:
            terms[name] = _decomposed(forecasts[name], way.prior, interval, sample)
        progress()
    measured.sort(key=lambda model: sample.mean(model.rows["expected_cost"]))
    in_mean = typical if typical.ndim == 1 else typical.mean(axis=0)
    known = Measurements(measured, sample, metrics, classes, interval, in_mean, charged.currency, method)
    result = conclude(
        tuple(replace(model, decomposition=terms.get(model.name)) for model in known.results()),
        known.data,
        charged,
        interval,
        metrics,
        differences=known.differences(),
        both_recalibrated=known.both_recalibrated(),
        ranks=known.ranks(),
        scenarios=tuple(scenario for scenario, _ in other_costs),
        workup=part,
        break_even=_break_even(known, rows, way.prior) if stated else (),
    )
    embedded = embed(rows, sample, way.prior, typical, interval.seed) if workup is None else None
    result = broken_down(replace(result, sample=embedded, done=done), known, question)
    progress()
    return result


def _break_even(known: Measurements, rows: Mapping[str, Forecast], prior: Prior) -> tuple[BreakEven, ...]:
    """Where prices of single tests change the cheapest model; orders have no such."""
    if any(forecast.order_only for forecast in rows.values()):
        return ()
    models = [Priced(each.name, rows[each.name], each.rows["expected_cost"]) for each in known.models]
    own = known.class_weights / known.class_weights.sum() * known.typical
    spent = own + np.mean([model.pairs.sum(axis=0) for model in known.models], axis=0)
    return break_even(models, prior, known.sample, known.interval.level, known.classes, known.typical, spent)


def _decomposed(
    forecast: Forecast, prior: Prior, interval: IntervalMethod, sample: Sample
) -> dict[str, Estimate] | None:
    """What the cost is made up of; of one row, or one group, nothing can be learnt."""
    folds, cases = min(FOLDS, len(sample.keys)), forecast.cases(sample.cases)
    if folds < 2:
        return None
    about = (folds, interval.seed, interval.level)
    parts = decompose_forecast(cases, prior, "auto", *about, groups=sample.groups)
    return {name: getattr(parts, name) for name in TERMS}


def check_alone(**options: Any) -> None:
    """A work-up says what steps cost; what else is about the costs of tests cannot stand beside it."""
    for name, value in options.items():
        if value is not None and value is not False:
            fix = "leave one of them out: the work-up says what its steps cost"
            raise InputError(f"stands beside a work-up, and is about the tests of a search: {fix}", argument=name)


def _read_text(value: Any, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputTypeError(f"{name} must be text, or None, got {value!r:.80}.")
    return value
