"""compare: what was asked, measured, estimated, broken down, priced, judged, and put into words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from pandora_regret.comparison.break_even import break_even
from pandora_regret.comparison.breakdowns import columns_of, values_of
from pandora_regret.comparison.charge import Pricing, listed_costs
from pandora_regret.comparison.conclude import Numbers, conclude
from pandora_regret.comparison.embed import embed
from pandora_regret.comparison.estimate import Estimates, estimate
from pandora_regret.comparison.grouping import BreakdownFindings, break_down
from pandora_regret.comparison.judge import Contest, Evidence
from pandora_regret.comparison.measure import measure
from pandora_regret.comparison.parts import BreakEven, ListsPart, Scenario
from pandora_regret.comparison.request import (
    USUAL,
    CaseColumns,
    ComparisonOptions,
    Provenance,
    Request,
    check_same_order,
    read_models,
    read_request,
)
from pandora_regret.comparison.result import Comparison
from pandora_regret.comparison.typical_case import typical_case
from pandora_regret.core.inputs import ByClass, Forecast, Frame, InputTypeError, Labels, Table, is_frame
from pandora_regret.core.priors import Prior
from pandora_regret.optional import import_optional
from pandora_regret.workup import Workup


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
    scenarios: Mapping[str, ByClass] | None = None,
    workup: Workup | None = None,
    by: Mapping[str, Labels] | Frame | None = None,
    worth: float | str = "1%",
    options: ComparisonOptions = USUAL,
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
        The unit of costs: a code such as "USD", a symbol, or "min". Where nothing says what tests cost, costs are
        in typical test prices, or with a fixed prior in tests.
    source
        Where the costs come from, in words.
    labels, sample_weight, logits, normalise
        As in `pandora_regret`; what `normalise` did is counted in the result's `remarks`.
    groups
        What rows belong together, shape (N,), as a patient's images do. Errors are then summed within groups
        (the sandwich estimator), and the bootstrap draws whole groups.
    ids
        The rows' names, shape (N,), each once: with them the bootstrap does not depend on the rows' order.
    scenarios
        Other typical costs by name, under which all models are priced too: one per class, or a mapping of those
        that change, ``{"cheap CT": {"appendicitis": 300}}``.
    workup
        A work-up to compare models by, instead of a search: costs are then what it says, known unless a prior is
        given, and "expected_cost" is `workup_cost`.
    by
        Columns to break the result down by, (N,) each: a frame, or a mapping such as
        ``{"site": site, "age:10": age, "age:18|65": age, "site*sex": (site, sex)}``. See
        `pandora_regret.comparison.breakdowns`. This is about where a model fails; `groups` is about which rows
        belong together.
    worth
        The least difference in cost per case that is worth acting on: an amount, or a share of the lowest cost,
        "1%". The verdict, groups and break-even prices are held against it.
    options
        Level and seed of intervals, a bootstrap, how models are recalibrated, and what else few people change.

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
    differences in expected cost, adjusted by Holm's method for all pairs.

    Beside the forecasts, some forty numbers per instance and model are held in memory, and at most eight tables of
    the size of one model's forecasts; all forecasts once more where `ids` or `groups` order the instances anew, or
    the verdict is about recalibrated models.

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
    columns = CaseColumns(ids, groups, by)
    check_same_order(models, columns, y_true=y_true, sample_weight=sample_weight)
    pricing = Pricing(prior, costs, currency, source, scenarios)
    return compared(read_request(forecasts, pricing, workup, columns, worth, options))


def compared(request: Request, lists: ListsPart | None = None) -> Comparison:
    """The comparison that was asked for, step by step; `lists` is what the price of a miss changes."""
    measurements = measure(request)
    estimates = estimate(measurements, request)
    breakdowns = break_down(estimates.basis, request)
    prices = break_even(estimates.basis, request)
    result = conclude(_numbers(request, estimates, breakdowns, prices, lists))
    request.progress()
    return result


def _numbers(
    request: Request,
    estimates: Estimates,
    breakdowns: tuple[BreakdownFindings, ...],
    prices: tuple[BreakEven, ...],
    lists: ListsPart | None,
) -> Numbers:
    """All that was found, as `conclude` takes it."""
    charge = request.charge
    basis = estimates.basis
    data = estimates.data
    leader = basis.contenders[0]
    contest = Contest(
        leader=leader.name,
        cost=leader.cost.value,
        gaps={contender.name: contender.more for contender in basis.contenders[1:]},
        evidence=Evidence(data.rows, data.clusters, request.interval.level),
        margin=basis.margin,
        chance=basis.chance,
        stake=None if request.apart else basis.stake,
        recalibrated=basis.is_recalibrated and not request.apart,
        apart=request.apart,
        ranges=() if lists is None else lists.ranges_to_judge,
    )
    case = None
    if charge.workup is not None:
        case = typical_case(charge.workup, data.classes, basis.background.class_weights)
    return Numbers(
        models=estimates.models,
        contest=contest,
        ranks=estimates.ranks,
        data=data,
        costs=replace(charge.costs, prior=request.provenance.prior or charge.costs.prior),
        interval=request.interval,
        metrics=charge.metrics,
        pairs=estimates.pairs,
        scenarios=tuple(Scenario(name, listed_costs(typical)) for name, typical in charge.scenarios.items()),
        workup=case,
        break_even=() if request.apart else prices,
        breakdowns=breakdowns,
        sample=embed(request) if charge.workup is None and data.classes else None,
        lists=lists,
        provenance=request.provenance,
    )


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
    scenarios: Mapping[str, ByClass] | None = None,
    workup: Workup | None = None,
    worth: float | str = "1%",
    options: ComparisonOptions = USUAL,
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
    prior, costs, currency, source, scenarios, workup, worth, options
        As in `compare`.

    Returns
    -------
    Comparison
        As of `compare`; its `remarks` say what was done to the frames.

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
    from pandora_regret.files import Layout, ModelFiles, open_models, read_aligned_models
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
        blank_labels=True,
    )
    files = [ModelFiles((source_of(frame, str(name)),), layout, str(name)) for name, frame in models.items()]
    joined = read_aligned_models(open_models(files))
    columns = CaseColumns(
        ids=joined.ids,
        groups=joined.groups,
        by=values_of(breakdowns, joined.by) or None,
    )
    forecasts = read_models(None, joined.forecasts())
    pricing = Pricing(prior, costs, currency, source, scenarios)
    provenance = Provenance(remarks=joined.remarks)
    return compared(read_request(forecasts, pricing, workup, columns, worth, options, provenance))


def _check_frames(truth: object, models: object, id: str) -> None:
    """An error unless the truth, and every model, is a frame."""
    if is_frame(truth) and isinstance(models, Mapping) and all(is_frame(table) for table in models.values()):
        return
    fix = "pass a frame as truth, and a mapping of names to frames as models, each with this column"
    raise InputTypeError(f"is {id!r}, by which frames are joined", argument="id", fix=fix)
