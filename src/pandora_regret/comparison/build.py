"""compare: the door, the measurements, how sure they are, and what it all says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.calibrate import recalibration
from pandora_regret.calibrate.maps import METHODS
from pandora_regret.comparison.break_even import break_even
from pandora_regret.comparison.charge import Charge, charge_for_search, charge_for_workup, listed_costs
from pandora_regret.comparison.conclude import conclude, without_verdict
from pandora_regret.comparison.embedded import EmbeddedSample, NotEmbedded, embed
from pandora_regret.comparison.estimates import (
    COST,
    FOLDS,
    RECALIBRATED,
    Measured,
    Measurements,
    Sample,
    measure,
    read_sample,
    typical_case,
)
from pandora_regret.comparison.grouping import (
    SMALLEST_GROUP,
    CutValues,
    broken_down,
    columns_of,
    read_by,
    values_of,
)
from pandora_regret.comparison.request import Worth, read_interval, read_worth
from pandora_regret.comparison.result import (
    STATED,
    BreakEven,
    Comparison,
    Data,
    IntervalMethod,
    Scenario,
)
from pandora_regret.core.inputs import (
    ByClass,
    Done,
    Forecast,
    Frame,
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    Table,
    check_row_order,
    is_frame,
    read_choice,
    read_count,
    read_forecast,
)
from pandora_regret.core.priors import Prior
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import Limits
from pandora_regret.inference.joint import Figure
from pandora_regret.optional import import_optional
from pandora_regret.workup import Workup


@dataclass(frozen=True)
class _Task:
    """What is measured, and how: all of it checked."""

    forecasts: dict[str, Forecast]  # of each model, with the costs of the search
    sample: Sample
    charge: Charge
    interval: IntervalMethod
    worth: Worth
    recalibration: str | None  # the method, or None for not at all
    decomposes: bool
    breakdowns: list[list[CutValues]]
    smallest_group: int


@dataclass(frozen=True)
class _Found:
    """All that was measured of the models."""

    measurements: Measurements
    basis: Measurements  # what the verdict is about: models as they are, or recalibrated
    margin: float  # the least difference in cost per case that is worth acting on
    recalibrated: dict[str, Forecast]  # of each model, the rows of the sample; empty where none was recalibrated
    decompositions: dict[str, dict[str, Estimate]]  # of each model, by term; empty where they were not asked for


def compare(
    y_true: Labels | None,
    models: Mapping[str, Table | Forecast],
    *,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    currency: str | None = None,
    source: str | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    groups: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    seed: int = 0,
    scenarios: Mapping[str, ByClass] | None = None,
    recalibrate: str | None = "temperature",
    decompose: bool = False,
    workup: Workup | None = None,
    by: Mapping[str, Labels] | Frame | None = None,
    smallest_group: int = SMALLEST_GROUP,
    worth: float | str = "1%",
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
    prior, costs
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
        `pandora_regret.comparison.grouping`. This is about where a model fails; `groups` is about which rows
        belong together.
    smallest_group
        Groups of fewer cases (or `groups`, where those are given) are pooled as "other".
    worth
        The least difference in cost per case that is worth acting on: an amount, or a share of the lowest cost,
        "1%". The verdict, groups and break-even prices are held against it.
    progress
        Called when a model is measured, and when all is done.

    Returns
    -------
    Comparison
        Every model's scores with intervals, differences and ranks, the verdict, and what it rests on; `print`
        shows a table, `to_dict` is for programs.

    See Also
    --------
    compare_frames : The same of frames that are joined by a column of ids.
    write_report : The same as a page.
    score_stream : One model, of any number of rows.

    Notes
    -----
    The number of tests is the truth's place in the order of the search at the mean costs, and the realised cost
    is what that search pays; both are means over the orders of tests that tie. P-values are of paired
    differences in expected cost, adjusted by Holm's method for all pairs. Some twenty numbers per instance and
    model are held in memory.

    References
    ----------
    Holm (1979), on p-values of many pairs [holm79]_.
    Efron (1987), on bootstrap intervals [efron87]_.
    Gutmann and Maymin (1987), on why choosing the best needs no correction [gutmann87]_.

    Examples
    --------
    >>> sharp, vague = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3]]
    >>> result = compare([0, 1], {"vague": vague, "sharp": sharp}, costs=[90, 60, 30], currency="USD")
    >>> [model.name for model in result.models], round(result.best.cost, 2)
    (['sharp', 'vague'], 76.47)
    >>> result.verdict.kind, result.verdict.cases_needed
    ('undecided', 5316)
    """
    forecasts = read_models(
        y_true, models, labels, sample_weight=sample_weight, logits=logits, normalise=normalise
    )
    check_same_order(models, by, y_true=y_true, sample_weight=sample_weight, groups=groups, ids=ids)
    _check_texts(currency=currency, source=source)
    first = next(iter(forecasts.values()))
    orders = [name for name, forecast in forecasts.items() if forecast.order_only]
    sample = read_sample(first, ids, groups)
    can_learn = not orders and len(sample.keys) > 1  # nothing can be learnt from orders, or from one row or group
    decomposes = decompose and can_learn
    method = None if recalibrate is None else read_choice(recalibrate, "recalibrate", METHODS)
    if workup is None:
        charge = charge_for_search(
            first.labels, first.n_cases, prior, costs, currency, source, by_order=bool(orders), scenarios=scenarios
        )
    else:
        _check_workup_alone(orders, costs=costs, scenarios=scenarios, decompose=decomposes or None)
        charge = charge_for_workup(workup, first, prior, currency, source)
    task = _Task(
        forecasts=_with_costs(forecasts, charge, order_only=bool(orders)),
        sample=sample,
        charge=charge,
        interval=read_interval(level, bootstrap, seed),
        worth=read_worth(worth),
        recalibration=method if can_learn else None,
        decomposes=decomposes,
        breakdowns=read_by(by, first.n_cases),
        smallest_group=read_count(smallest_group, "smallest_group", least=2),
    )
    found = _measure_models(task, progress)
    result = broken_down(_concluded(task, found), found.basis, task.breakdowns, task.smallest_group)
    result = _without_verdict_on_two_truths(result, forecasts)
    progress()
    return result


def compare_frames(
    truth: Table,
    models: Mapping[str, Table],
    *,
    id: str,
    label: str | None = None,
    sample_weight: str | None = None,
    groups: str | None = None,
    by: str | Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    logits: bool = False,
    normalise: bool = False,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    currency: str | None = None,
    source: str | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    seed: int = 0,
    scenarios: Mapping[str, ByClass] | None = None,
    recalibrate: str | None = "temperature",
    decompose: bool = False,
    workup: Workup | None = None,
    smallest_group: int = SMALLEST_GROUP,
    worth: float | str = "1%",
    progress: Callable[[], object] = lambda: None,
) -> Comparison:
    """`compare` of frames whose rows are joined by a column of ids: one has the truth, the others a model each.

    Parameters
    ----------
    truth
        A frame (pandas, polars or pyarrow) of N rows with the ids, the true classes, and the columns that
        `sample_weight`, `groups` and `by` name.
    models
        Frames by the models' names, each with the ids and a column of forecasts for each class.
    id
        The column by which rows are joined; it is in every frame.
    label
        The column of true classes; "y_true", "label" or "target" unless said.
    sample_weight, groups
        Columns of weights, and of what rows belong together, such as a patient.
    by
        Columns to break the result down by, as in ``"site"`` or ``["site", "age:10", "site*sex"]``.
    labels
        The classes, K names; without them every column of numbers that is nothing else must be a class.
    logits, normalise
        As in `compare`, of all models.
    prior, costs, currency, source, bootstrap, level, seed, scenarios, recalibrate, decompose, workup
        As in `compare`.
    smallest_group, worth, progress
        As in `compare`.

    Returns
    -------
    Comparison
        As of `compare`; its `done` says what was done to the frames.

    See Also
    --------
    compare : The same of arrays, or frames whose rows are in one order.

    Examples
    --------
    >>> import pandas as pd
    >>> truth = pd.DataFrame({"case": [7, 8], "label": ["flu", "cold"]})
    >>> net = pd.DataFrame({"case": [8, 7], "flu": [0.2, 0.9], "cold": [0.8, 0.1]})
    >>> result = compare_frames(truth, {"net": net}, id="case", costs=[90, 60])
    >>> result.data.rows, result.best.name
    (2, 'net')
    """
    import_optional("pyarrow", extra="cli")
    from pandora_regret.files import Layout, ModelFiles, open_models, read_together
    from pandora_regret.files.formats import source_of

    _check_frames(truth, models, id)
    breakdowns = [by] if isinstance(by, str) else list(by or ())
    layout = Layout(
        id=id,
        truth=source_of(truth, "truth"),
        label=label,
        weight=sample_weight,
        group=groups,
        by=columns_of(breakdowns),
        classes=None if labels is None else tuple(str(name) for name in labels),
        logits=logits,
        normalise=normalise,
    )
    files = [ModelFiles((source_of(frame, str(name)),), layout, str(name)) for name, frame in models.items()]
    joined = read_together(open_models(files))
    result = compare(
        None,
        joined.forecasts(),
        prior=prior,
        costs=costs,
        currency=currency,
        source=source,
        groups=joined.of_rows("groups"),
        ids=joined.of_rows("ids"),
        bootstrap=bootstrap,
        level=level,
        seed=seed,
        scenarios=scenarios,
        recalibrate=recalibrate,
        decompose=decompose,
        workup=workup,
        by=values_of(breakdowns, joined.by) or None,
        smallest_group=smallest_group,
        worth=worth,
        progress=progress,
    )
    return replace(result, done=joined.done)


# What is measured, and what it says


def _with_costs(forecasts: Mapping[str, Forecast], charge: Charge, order_only: bool) -> dict[str, Forecast]:
    """The forecasts with the costs of the search; of all models only orders can be compared if one has no more."""
    priced = {}
    for name, forecast in forecasts.items():
        comparable = replace(forecast, order_only=True) if order_only else forecast
        priced[name] = comparable.with_costs(charge.base)
    return priced


def _measure_models(task: _Task, progress: Callable[[], object]) -> _Found:
    """Every model measured, the cheapest first; recalibrated and decomposed where that is asked for."""
    measured: list[Measured] = []
    recalibrated: dict[str, Forecast] = {}
    decompositions: dict[str, dict[str, Estimate]] = {}
    for name, forecast in task.forecasts.items():
        if task.recalibration is None:
            measured.append(_measured(name, forecast, None, task))
        else:
            recalibrated[name], fold = _recalibrated(forecast, task)
            model = _measured(name, forecast, recalibrated[name], task)
            measured.append(replace(model, saved=_limits_of_saving(model, forecast, fold, task)))
        if task.decomposes:
            decompositions[name] = _decomposed(forecast, task)
        progress()
    weights = task.sample.weights
    measured.sort(key=lambda model: float((weights * model.rows[COST]).sum()))
    first = next(iter(task.forecasts.values()))
    classes = tuple(str(label) for label in first.labels)
    measurements = Measurements(measured, task.sample, task.charge, classes, task.interval, task.recalibration)
    margin = task.worth.margin(measurements.figures[0][COST].value).amount
    return _Found(measurements, measurements.basis(margin), margin, recalibrated, decompositions)


def _measured(name: str, forecast: Forecast, recalibrated: Forecast | None, task: _Task) -> Measured:
    """One model on the rows of the sample, under its own costs and those of every scenario."""
    charge = task.charge
    scenarios = [forecast.with_costs(typical / charge.prior.mean) for typical in charge.scenarios.values()]
    in_scenarios = [task.sample.of(priced) for priced in scenarios]
    predicts_savings = len(task.sample.keys) <= recalibration.ENOUGH_UNITS
    return measure(name, task.sample.of(forecast), charge, recalibrated, in_scenarios, predicts_savings)


def _recalibrated(forecast: Forecast, task: _Task) -> tuple[Forecast, IntArray]:
    """One model on the rows of the sample, each recalibrated by a map that other rows fitted; each case's fold."""
    assert task.recalibration is not None
    cases = forecast.cases(task.sample.cases)
    rows, fold = recalibration.out_of_fold(
        cases, task.recalibration, None, FOLDS, task.interval.seed, task.sample.groups
    )
    return replace(rows, cluster=None, shares=None), fold


def _limits_of_saving(model: Measured, forecast: Forecast, fold: IntArray, task: _Task) -> Limits:
    """Within which recalibrating saves a model, on new cases and by a map from another sample of the size."""
    sample = task.sample
    saved = model.rows[COST] - model.rows[RECALIBRATED]
    return recalibration.limits_of_saving(
        Figure.of_mean(saved, sample.weights, sample.cluster_of),
        Figure.of_mean(saved, sample.weights, fold[sample.case_of]),
        forecast.cases(sample.cases),
        model.savings,
        sample.groups,
        task.interval.level,
    )


def _decomposed(forecast: Forecast, task: _Task) -> dict[str, Estimate]:
    """The terms that a model's cost is made of, by their names."""
    parts = recalibration.decompose(
        None,
        forecast.cases(task.sample.cases),
        prior=task.charge.prior,
        groups=task.sample.groups,
        folds=FOLDS,
        seed=task.interval.seed,
        level=task.interval.level,
    )
    return {
        "miscalibration": parts.miscalibration,
        "discrimination": parts.discrimination,
        "uncertainty": parts.uncertainty,
    }


def _concluded(task: _Task, found: _Found) -> Comparison:
    """The comparison, before it is broken down."""
    charge = task.charge
    sample = task.sample
    measurements = found.measurements
    classes = measurements.classes
    class_weights = measurements.class_weights
    clusters = len(sample.keys) if sample.grouped else None
    rows = {name: sample.of(forecast) for name, forecast in task.forecasts.items()}
    embedded = None
    case = None
    if charge.workup is None:
        embedded = embed(rows, sample, charge.prior, charge.typical, task.interval.seed)
    else:
        case = typical_case(charge.workup, classes, class_weights)
    crossings: tuple[BreakEven, ...] = ()
    if STATED in charge.scenarios:
        judged_rows = found.recalibrated if found.basis.is_recalibrated else rows
        crossings = break_even(found.basis, judged_rows, charge.prior, found.margin)
    return conclude(
        measurements.results(found.decompositions),
        Data(sample.n_cases, sample.weighted, classes, tuple(class_weights.tolist()), clusters),
        charge.costs,
        task.interval,
        charge.metrics,
        worth=task.worth,
        **found.basis.outlook,
        differences=measurements.differences(),
        ranks=measurements.ranks(),
        scenarios=tuple(Scenario(name, listed_costs(typical)) for name, typical in charge.scenarios.items()),
        workup=case,
        break_even=crossings,
        sample=embedded if isinstance(embedded, EmbeddedSample) else None,
        not_sampled=embedded.reason if isinstance(embedded, NotEmbedded) else None,
        done=_rescalings(task.forecasts),
    )


def _without_verdict_on_two_truths(result: Comparison, forecasts: Mapping[str, Forecast]) -> Comparison:
    """The comparison, without a verdict where models were scored on other truths than the first of them."""
    first = next(iter(forecasts.values()))
    differing = [name for name, forecast in forecasts.items() if not np.array_equal(forecast.truth, first.truth)]
    return without_verdict(result, differing) if differing else result


def _rescalings(forecasts: Mapping[str, Forecast]) -> tuple[Done, ...]:
    """What `normalise` did to the rows of each model."""
    return tuple(change for name, forecast in forecasts.items() for change in forecast.rescaled.done(name))


# The door


def read_models(
    y_true: Labels | None,
    models: Mapping[str, Table | Forecast],
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> dict[str, Forecast]:
    """Every model's forecasts, (N, K), checked, their columns in the same order; an error names the model.

    The arguments are those of `compare`.
    """
    names = _check_models(models, labels)
    column_order: object = labels
    forecasts: dict[str, Forecast] = {}
    for name, table in zip(names, models.values(), strict=True):
        try:
            forecast = read_forecast(y_true, table, column_order, sample_weight, logits, normalise).check()
        except (InputError, InputTypeError) as error:
            raise error.within(f"model {name!r}") from None
        forecasts[name] = forecast
        if column_order is None and is_frame(table):
            column_order = forecast.labels  # the first frame's columns; those that follow are matched by name
        expected = forecasts[names[0]].n_classes
        if forecast.n_classes != expected:
            raise InputError(
                f"model {name!r} has {forecast.n_classes} classes but model {names[0]!r} has {expected}: "
                "compare models of the same classes."
            )
    return forecasts


def _check_models(models: object, labels: object) -> list[str]:
    """The names of the models."""
    if not isinstance(models, Mapping):
        kind = type(models).__name__
        raise InputTypeError(f"models must map names to forecasts, {{'resnet': y_proba, ...}}, got a {kind}.")
    if not models:
        raise InputError("models is empty: pass at least one, {'name': y_proba}.")
    kinds = {is_frame(table) for table in models.values()}
    if labels is None and len(kinds) == 2:
        raise InputError("models holds both frames and arrays: say the arrays' column order with labels=[...].")
    names = [str(name) for name in models]
    if len(set(names)) < len(names):
        raise InputError(f"models has the names {names}, two of which read the same: give each its own name.")
    return names


def _check_frames(truth: object, models: object, id: str) -> None:
    """An error unless the truth, and every model, is a frame."""
    if is_frame(truth) and isinstance(models, Mapping) and all(is_frame(table) for table in models.values()):
        return
    fix = "pass a frame as truth, and a mapping of names to frames as models, each with this column"
    raise InputTypeError(f"is {id!r}, by which frames are joined", argument="id", fix=fix)


def check_same_order(models: Mapping[str, object], by: object = None, **arguments: object) -> None:
    """An error if pandas indices say that two of them have the same rows in different orders."""
    tables = {f"models[{name!r}]": table for name, table in models.items()}
    columns = {"by": by}
    if isinstance(by, Mapping):
        columns = {f"by[{name!r}]": values for name, values in by.items()}
    check_row_order(**arguments, **tables, **columns)


def _check_texts(**texts: object) -> None:
    """An error if one of the arguments, by name, is no text."""
    for name, text in texts.items():
        if not isinstance(text, str | None):
            raise InputTypeError(f"{name} must be text, or None, got {text!r:.80}.")


def _check_workup_alone(orders: Sequence[str], **options: object) -> None:
    """A work-up needs probabilities, and says what steps cost: no other costs can stand beside it."""
    if orders:
        problem = f"model {orders[0]!r} forecasts an order without probabilities, which a work-up needs"
        fix = "compare by a search, or forecast probabilities"
        raise InputError(problem, argument="workup", place="", fix=fix)
    for name, value in options.items():
        if value is not None:
            fix = "leave one of them out: the work-up says what its steps cost"
            raise InputError(f"stands beside a work-up, and is about the tests of a search: {fix}", argument=name)
