"""compare: the door, the measurements, how sure they are, and what it all says."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.calibrate import recalibration
from pandora_regret.calibrate.maps import METHODS
from pandora_regret.compare.break_even import break_even
from pandora_regret.compare.charge import charge_for_search, charge_for_workup, listed_costs
from pandora_regret.compare.conclude import conclude, without_verdict
from pandora_regret.compare.embedded import EmbeddedSample, NotEmbedded, embed
from pandora_regret.compare.estimates import (
    COST,
    FOLDS,
    Measurements,
    measure,
    read_sample,
    typical_case,
)
from pandora_regret.compare.grouping import SMALLEST_GROUP, broken_down, columns_of, read_by, values_of
from pandora_regret.compare.request import read_interval, read_worth
from pandora_regret.compare.result import (
    STATED,
    TERMS,
    Comparison,
    Data,
    Scenario,
)
from pandora_regret.core.inputs import (
    Fields,
    Forecast,
    InputError,
    InputTypeError,
    Labels,
    Table,
    check_row_order,
    is_frame,
    read_choice,
    read_count,
    read_forecast,
    renamed,
)
from pandora_regret.core.priors import Prior
from pandora_regret.optional import import_optional
from pandora_regret.workup import Workup

COLUMNS_OF_FRAMES = {  # arguments that name columns or say how to read them, and what files call them
    "label": "label", "sample_weight": "weight", "groups": "group", "logits": "logits", "normalise": "normalise"
}  # fmt: skip


@renamed("typical_costs", "costs")
def compare(
    y_true: Labels | None,
    models: Mapping[str, Table | Forecast],
    *,
    prior: Prior | None = None,
    costs: Any = None,
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
    worth: float | str = "1%",
    id: str | None = None,
    label: str | None = None,
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
        `pandora_regret.compare.grouping`. This is about where a model fails; `groups` is about which rows belong
        together.
    smallest_group
        Groups of fewer cases (or `groups`, where those are given) are pooled as "other".
    worth
        The least difference in cost per case that is worth acting on: an amount, or a share of the lowest cost,
        "1%". The verdict, groups and break-even prices are held against it.
    id, label
        Where `y_true` is a frame and models are frames: the column by which their rows are joined, and that of the
        true classes ("y_true", "label" or "target" unless said). `groups`, `sample_weight` and `by` are then names
        of columns of `y_true`, `by` also as in ``["site", "age:10"]``. The result's `done` says what was done.
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
    if id is not None:
        return _compare_frames(locals())
    forecasts = read_models(
        y_true, models, labels, sample_weight=sample_weight, logits=logits, normalise=normalise
    )
    check_same_order(models, by, y_true=y_true, sample_weight=sample_weight, groups=groups, ids=ids)
    _check_texts(currency=currency, source=source)
    interval, worth_acting = read_interval(level, bootstrap, seed), read_worth(worth)
    one = next(iter(forecasts.values()))
    done = tuple(each for name, forecast in forecasts.items() for each in forecast.rescaled.done(name))
    method = None if recalibrate is None else read_choice(recalibrate, "recalibrate", METHODS)
    orders = [name for name, forecast in forecasts.items() if forecast.order_only]
    if orders:  # of all models only orders can be compared because one of them is nothing else
        forecasts = {name: replace(forecast, order_only=True) for name, forecast in forecasts.items()}
    breakdowns, sample = read_by(by, one.n_cases), read_sample(one, ids, groups)
    if orders or len(sample.keys) < 2:  # nothing can be learnt from orders, or from one row or group
        method, decompose = None, False
    smallest = read_count(smallest_group, "smallest_group", least=2)
    if workup is None:
        charge = charge_for_search(
            one.labels, one.n_cases, prior, costs, currency, source, by_order=bool(orders), scenarios=scenarios
        )
    else:
        _check_workup_alone(orders, costs=costs, scenarios=scenarios, decompose=decompose or None)
        charge = charge_for_workup(workup, one, prior, currency, source)
    classes = tuple(str(label) for label in one.labels)
    forecasts = {name: forecast.with_costs(charge.base) for name, forecast in forecasts.items()}
    rows = {name: sample.of(forecast) for name, forecast in forecasts.items()}
    measured, terms, recalibrated = [], {}, dict[str, Forecast]()
    for name, forecast in forecasts.items():
        cases, others = forecast.cases(sample.cases), charge.scenarios.values()
        if method is not None:
            later, _ = recalibration.out_of_fold(cases, method, None, FOLDS, interval.seed, sample.groups)
            recalibrated[name] = replace(later, cluster=None, shares=None)
        under = (sample.of(forecast.with_costs(typical / charge.prior.mean)) for typical in others)
        measured.append(measure(name, rows[name], charge, recalibrated.get(name), under))
        if decompose:
            parts = recalibration.decompose(
                None,
                cases,
                prior=charge.prior,
                groups=sample.groups,
                folds=FOLDS,
                seed=interval.seed,
                level=interval.level,
            )
            terms[name] = {term: getattr(parts, term) for term in TERMS}
        progress()
    measured.sort(key=lambda model: float((sample.weights * model.rows[COST]).sum()))
    measurements = Measurements(measured, sample, charge, classes, interval, method)
    margin = worth_acting.margin(measurements.figures[0][COST].value).amount
    basis, class_weights = measurements.basis(margin), measurements.class_weights
    embedded = None if workup else embed(rows, sample, charge.prior, charge.typical, interval.seed)
    rows = recalibrated if basis.is_recalibrated else rows
    clusters = len(sample.keys) if sample.grouped else None
    result = conclude(
        measurements.results(terms),
        Data(sample.n_cases, sample.weighted, classes, tuple(class_weights.tolist()), clusters),
        charge.costs,
        interval,
        charge.metrics,
        worth=worth_acting,
        **basis.outlook,
        differences=measurements.differences(),
        ranks=measurements.ranks(),
        scenarios=tuple(Scenario(name, listed_costs(typical)) for name, typical in charge.scenarios.items()),
        workup=None if workup is None else typical_case(workup, classes, class_weights),
        break_even=break_even(basis, rows, charge.prior, margin) if STATED in charge.scenarios else (),
        sample=embedded if isinstance(embedded, EmbeddedSample) else None,
        not_sampled=embedded.reason if isinstance(embedded, NotEmbedded) else None,
        done=done,
    )
    result = broken_down(result, basis, breakdowns, smallest)
    apart = [name for name, each in forecasts.items() if not np.array_equal(each.truth, one.truth)]
    result = without_verdict(result, apart) if apart else result
    progress()
    return result


def read_models(y_true: Labels | None, models: Any, labels: Any = None, **options: Any) -> dict[str, Forecast]:
    """Every model's forecasts, checked, their columns in the same order; an error names the model.

    The options are those of `read_forecast`.
    """
    names, forecasts = _check_models(models, labels), dict[str, Forecast]()
    for name, table in zip(names, models.values(), strict=True):
        try:
            forecast = read_forecast(y_true, table, labels=labels, **options).check()
        except (InputError, InputTypeError) as error:
            raise error.within(f"model {name!r}") from None
        forecasts[name] = forecast
        if labels is None and is_frame(table):
            labels = forecast.labels  # the first frame's columns; those that follow are matched by name
        if forecast.n_classes != (expected := forecasts[names[0]].n_classes):
            raise InputError(
                f"model {name!r} has {forecast.n_classes} classes but model {names[0]!r} has {expected}: "
                "compare models of the same classes."
            )
    return forecasts


def _check_models(models: Any, labels: Any) -> list[str]:
    """The names of the models."""
    if not isinstance(models, Mapping):
        kind = type(models).__name__
        raise InputTypeError(f"models must map names to forecasts, {{'resnet': y_proba, ...}}, got a {kind}.")
    if not models:
        raise InputError("models is empty: pass at least one, {'name': y_proba}.")
    if labels is None and len({is_frame(table) for table in models.values()}) == 2:
        raise InputError("models holds both frames and arrays: say the arrays' column order with labels=[...].")
    names = [str(name) for name in models]
    if len(set(names)) < len(names):
        raise InputError(f"models has the names {names}, two of which read the same: give each its own name.")
    return names


def check_same_order(models: Mapping[Any, Any], by: Any = None, **arguments: Any) -> None:
    """An error if pandas indices say that two of them have the same rows in different orders."""
    tables = {f"models[{name!r}]": table for name, table in models.items()}
    columns = {f"by[{name!r}]": values for name, values in by.items()} if isinstance(by, Mapping) else {"by": by}
    check_row_order(**arguments, **tables, **columns)


def _check_texts(**texts: Any) -> None:
    for name, text in texts.items():
        if not isinstance(text, str | None):
            raise InputTypeError(f"{name} must be text, or None, got {text!r:.80}.")


def _check_workup_alone(orders: list[str], **options: Any) -> None:
    """A work-up needs probabilities, and says what steps cost: no other costs can stand beside it."""
    if orders:
        problem = f"model {orders[0]!r} forecasts an order without probabilities, which a work-up needs"
        fix = "compare by a search, or forecast probabilities"
        raise InputError(problem, argument="workup", place="", fix=fix)
    for name in (name for name, value in options.items() if value is not None):
        fix = "leave one of them out: the work-up says what its steps cost"
        raise InputError(f"stands beside a work-up, and is about the tests of a search: {fix}", argument=name)


def _compare_frames(arguments: Fields) -> Comparison:
    """What `compare` says of frames that are joined by ids: one has the truth, the others a model each."""
    import_optional("pyarrow", extra="cli")
    from pandora_regret.files import Layout, ModelFiles, open_models, read_together
    from pandora_regret.files.formats import source_of

    y_true, models, by, labels, id = (arguments.pop(name) for name in ("y_true", "models", "by", "labels", "id"))
    if not is_frame(y_true) or not isinstance(models, Mapping) or not all(map(is_frame, models.values())):
        fix = "pass a frame as y_true, and a mapping of names to frames as models, each with this column"
        raise InputTypeError(f"is {id!r}, by which frames are joined", argument="id", fix=fix)
    roles = {role: arguments.pop(name) for name, role in COLUMNS_OF_FRAMES.items()}
    roles["classes"] = None if labels is None else tuple(map(str, labels))
    breakdowns = [by] if isinstance(by, str) else by or ()
    layout = Layout(id=id, truth=source_of(y_true, "y_true"), by=columns_of(breakdowns), **roles)
    files = [ModelFiles((source_of(frame, str(name)),), layout, str(name)) for name, frame in models.items()]
    joined = read_together(open_models(files))
    of_rows = {name: joined.of_rows(name) for name in ("ids", "groups")}
    by = values_of(breakdowns, joined.by) or None
    return replace(compare(None, joined.forecasts(), by=by, **arguments | of_rows), done=joined.done)
