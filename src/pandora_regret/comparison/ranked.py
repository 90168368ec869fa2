"""Models whose forecasts are ranked lists: the same steps as of any comparison, and the price of a miss.

Measured as lists (`measure.measure_candidates`), models go through the same estimates, groups and verdict as any
others. Where nobody says what a miss costs, the verdict is about ranges of that price.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.candidates import Candidates, constant_list
from pandora_regret.candidates.miss import MissPrices, MissRange
from pandora_regret.candidates.search import UNTIL, Until
from pandora_regret.candidates.searched import CaseLists, SearchedOrders
from pandora_regret.comparison.breakdowns import read_by
from pandora_regret.comparison.build import compared
from pandora_regret.comparison.charge import Charge, Pricing
from pandora_regret.comparison.parts import (
    KNOWN_COSTS,
    ConstantList,
    Costs,
    ListsPart,
    MissCrossing,
    PricesOfMiss,
)
from pandora_regret.comparison.request import (
    USUAL,
    ComparisonOptions,
    ListRequest,
    Provenance,
    Request,
    read_interval,
    read_worth,
)
from pandora_regret.comparison.result import Comparison
from pandora_regret.comparison.sample import Sample, read_cases
from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    InputTypeError,
    Labels,
    read_choice,
    read_count,
    read_number,
    read_weights,
)
from pandora_regret.core.priors import Fixed, Prior
from pandora_regret.core.priors.names import prior_of_orders, spelled_prior
from pandora_regret.metrics import list_metrics

LOOKS = "looks"  # the unit, where every look costs 1
ROUND_DIGITS = (1.0, 2.0, 5.0)  # what round prices begin with
SHOWN_MULTIPLES = (2.0, 10.0, 50.0)  # times what looking at a whole list costs: prices of a miss for a table
N_CURVE = 61
MOST_CONSTANT = 100  # names on the list that is the same for every case
CURVE_END = 2.0  # times the largest break-even price: where the curve ends


def compare_lists(
    models: Mapping[str, CaseLists],
    *,
    miss: float | None = None,
    until: Until = "first",
    prior: Prior | None = None,
    truths: Sequence[Sequence[str]] | None = None,
    currency: str | None = None,
    source: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: Labels | None = None,
    by: object = None,
    worth: float | str = "1%",
    options: ComparisonOptions = USUAL,
    provenance: Provenance | None = None,
) -> Comparison:
    """Several models' ranked lists on the same cases: what searches along them cost, and what a miss does.

    Parameters
    ----------
    models
        Lists by the models' names, all of the same cases in the same order.
    miss
        What it costs to find what a list does not have. Without it, the verdict is about ranges of that price.
    until
        "first": a search ends with the first true candidate. "all": with the last one listed.
    prior
        How prices vary, where lists are probabilities with one truth each; prices are known unless given.
    truths
        The names that are true of each case, for the yardstick of one list for every case; those that some list
        has unless given.
    currency
        The unit of prices; looks are counted unless given.
    source
        Where prices come from, in words.
    sample_weight, groups, by, worth, options
        As in `compare`.
    provenance
        Which files lists were read from.

    Returns
    -------
    Comparison
        As of `compare`; its `lists` holds what depends on the price of a miss.

    See Also
    --------
    Candidates : The lists.
    plot_miss_curve : The same as a picture.

    Examples
    --------
    >>> truth = ["a", "b", "c", "b"] * 25
    >>> short = Candidates.from_lists([["a"], ["b"], ["b"], ["b"]] * 25, truth)
    >>> long = Candidates.from_lists([["c", "a"], ["c", "b"], ["c"], ["c", "b"]] * 25, truth)
    >>> compare_lists({"short": short, "long": long}, miss=10.0).best.name
    'long'
    >>> [part.leader for part in compare_lists({"short": short, "long": long}).lists.ranges if not part.undecided]
    ['short', 'long']
    """
    _check_lists_of_models(models)
    read_choice(until, "until", UNTIL)
    if miss is not None:
        read_number(miss, "miss", lambda price: 0 <= price < math.inf, "it must be a price, 0 at least")
    first = next(iter(models.values()))
    weights = None if sample_weight is None else read_weights(sample_weight, first.n_cases)
    sample = read_cases(first.n_cases, weights, list(first.ids), groups)
    lists = _read_lists(models, sample, miss, until, prior)
    request = Request(
        forecasts={},
        sample=sample,
        charge=_charge_of_lists(models, lists.prior, currency, source),
        interval=read_interval(options.level, options.bootstrap, options.seed),
        worth=read_worth(worth),
        recalibration=None,
        decomposes=False,
        divisions=read_by(by, first.n_cases),
        smallest_group=read_count(options.smallest_group, "smallest_group", least=2),
        progress=options.progress,
        provenance=provenance or Provenance(),
        apart=(),
        lists=lists,
    )
    named = _named_by_hits(lists.models)
    if truths is not None:
        named = [list(truths[case]) for case in sample.case_numbers(first.n_cases)]
    return compared(request, _lists_part(lists, request, named, miss))


def _read_lists(
    models: Mapping[str, CaseLists], sample: Sample, miss: float | None, until: Until, prior: Prior | None
) -> ListRequest:
    """The lists of the cases of the sample, and how searches along them are charged.

    Where nobody says what a miss costs, that is a round price: ten times what looking at a whole list does.
    """
    first = next(iter(models.values()))
    ids = [first.ids[case] for case in sample.case_numbers(first.n_cases)]
    ordered = {name: candidates.of_cases(ids) for name, candidates in models.items()}
    price = miss
    if price is None:
        price = _round_price(SHOWN_MULTIPLES[1] * _whole_list(models)) if _depends_on_miss(models) else 0.0
    if not all(candidates.has_probabilities for candidates in models.values()):
        prior_of_orders(prior)  # which is an error unless prices are known
    if prior == Fixed():
        prior = None
    return ListRequest(ordered, price, until, prior)


def _charge_of_lists(
    models: Mapping[str, CaseLists], prior: Prior | None, currency: str | None, source: str | None
) -> Charge:
    """The charge of a search along lists: what it counts, and in which unit."""
    Pricing(prior, None, currency, source).check_texts()
    is_priced = any(candidates.is_priced for candidates in models.values())
    if currency is None:
        currency = "" if is_priced else LOOKS
    if source is None and not is_priced:
        source = "all candidates cost the same"
    costs = Costs(currency, KNOWN_COSTS if prior is None else spelled_prior(prior), None, source)
    return Charge(Fixed() if prior is None else prior, list_metrics(), costs, np.ones(1))


def _check_lists_of_models(models: Mapping[str, CaseLists]) -> None:
    """Lists by name, of the same cases."""
    if not models:
        raise InputError("is empty", argument="models", fix="pass at least one")
    for name, lists in models.items():
        if type(lists) not in (Candidates, SearchedOrders):
            fix = "pass Candidates, by Candidates.from_frame or from_lists"
            raise InputTypeError(f"is a {type(lists).__name__}", argument="models", column=name, fix=fix)


def _depends_on_miss(models: Mapping[str, CaseLists]) -> bool:
    """Whether some list has no true candidate, or leaves some probability for elsewhere."""
    for candidates in models.values():
        if candidates.is_missed.any():
            return True
        if candidates.leaves_rests:
            return True
    return False


def _whole_list(models: Mapping[str, CaseLists]) -> float:
    """What looking at a whole list costs, in the middle of all lists; 1 where most are empty."""
    middle = float(np.median(np.concatenate([lists.whole_costs for lists in models.values()])))
    return middle if middle > 0 else 1.0


def _round_price(price: float) -> float:
    """The nearest price that begins with 1, 2 or 5."""
    power = 10.0 ** math.floor(math.log10(price))
    choices = [digit * power for digit in (*ROUND_DIGITS, 10.0)]
    return min(choices, key=lambda choice: abs(math.log(choice / price)))


def _lists_part(
    lists: ListRequest, request: Request, truths: Sequence[Sequence[str]], miss: float | None
) -> ListsPart:
    """What depends on the price of a miss: ranges, break-even prices, curves, a table's columns, a yardstick.

    Parameters
    ----------
    lists, request
        What is compared.
    truths
        The names that are true of each case of the sample.
    miss
        The price of a miss as it was said; None where nobody said it.
    """
    sample = request.sample
    groups = sample.cluster_of if sample.grouped else None
    prices = MissPrices(lists.models, lists.until, sample.weights, groups, request.interval.level)
    ranges = prices.ranges()
    crossings = prices.break_evens_in_question(ranges)
    whole = _whole_list(lists.models)
    furthest = max([lists.miss, whole / CURVE_END, *(crossing.price for crossing in crossings)])
    drawn = np.linspace(0.0, CURVE_END * furthest, N_CURVE)
    curve = prices.curve(np.unique(np.append(drawn, lists.miss)).tolist())  # exact at the price that is asked for
    shown = prices.curve([_round_price(times * whole) for times in SHOWN_MULTIPLES])
    return ListsPart(
        until=lists.until,
        miss=miss,
        at=lists.miss,
        candidates=sum(candidates.n_candidates for candidates in lists.models.values()),
        several_truths=_several_truths(lists, truths),
        ranges=tuple(_range_with_saving(part, prices) for part in ranges),
        crossings=tuple(
            MissCrossing(crossing.model, crossing.against, crossing.price, crossing.low, crossing.high)
            for crossing in crossings
        ),
        prices=curve.prices,
        curves=curve.costs,
        unavoidable={
            name: _least_costs(candidates, curve.prices, lists.until, sample)
            for name, candidates in lists.models.items()
        },
        shown_at=shown.prices,
        shown=shown.costs,
        constant=_constant(lists, truths, sample.weights),
    )


def _several_truths(lists: ListRequest, truths: Sequence[Sequence[str]]) -> int:
    """How many cases have several true names, or several true candidates on a list."""
    has_several = np.array([len(names) > 1 for names in truths])
    for candidates in lists.models.values():
        has_several |= candidates.n_true > 1
    return int(np.count_nonzero(has_several))


def _least_costs(
    candidates: CaseLists, prices: Sequence[float], until: Until, sample: Sample
) -> tuple[float, ...]:
    """What somebody who knows the truth pays per case, at these prices of a miss."""
    costs = [np.average(candidates.least_costs(price, until), weights=sample.weights) for price in prices]
    return tuple(map(float, costs))


def _range_with_saving(part: MissRange, prices: MissPrices) -> PricesOfMiss:
    """A range of prices of a miss, and what its leader saves at its end, or at its start if there is none."""
    high = None if math.isinf(part.high) else part.high
    saves = None
    saves_at = None
    if not part.undecided and len(prices.models) > 1:
        saves_at = part.low if high is None else high
        costs = {name: prices.figure(name, saves_at).value for name in prices.models}
        of_leader = costs.pop(part.leader)
        saves = float(min(costs.values()) - of_leader)
    return PricesOfMiss(part.low, high, part.leader, part.undecided, saves, saves_at)


def _constant(lists: ListRequest, truths: Sequence[Sequence[str]], weights: FloatArray) -> ConstantList | None:
    """One list for every case, as long as lists usually are, at most 100 names: how often it helps, what it costs.

    None where no truth comes twice: then none can be known from another case.
    """
    counts = Counter(name for names in truths for name in set(names))
    if max(counts.values(), default=0) < 2:
        return None
    lengths = np.concatenate([candidates.lengths for candidates in lists.models.values()])
    length = min(max(1, int(np.median(lengths))), MOST_CONSTANT)
    first = next(iter(lists.models.values()))
    constant = constant_list(first, [list(names) for names in truths], length)
    found = np.average(constant.places().found, weights=weights)
    cost = np.average(constant.costs(lists.miss, lists.until), weights=weights)
    unnamed = sum(not names for names in truths)
    return ConstantList(length, float(found), float(cost), unnamed)


def _named_by_hits(models: Mapping[str, CaseLists]) -> list[list[str]]:
    """The names that some model lists and that are true, of each case."""
    n_cases = next(iter(models.values())).n_cases
    names: list[dict[str, None]] = [{} for _ in range(n_cases)]
    for candidates in models.values():
        for case, true_names in enumerate(candidates.true_names()):
            names[case].update(dict.fromkeys(true_names))
    return [list(listed) for listed in names]
