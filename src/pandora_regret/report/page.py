"""From a comparison to one HTML file: choose models, find what charts and sentences say, fill the templates."""

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from hashlib import sha256
from importlib import resources
from math import log10
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.comparison import Comparison
from pandora_regret.comparison.doubts import UNSEEN
from pandora_regret.comparison.embed import MOST_ERROR
from pandora_regret.comparison.embedded import Reason
from pandora_regret.comparison.judge import FEW_CLUSTERS, KIND_OF_STANDING
from pandora_regret.comparison.parts import Breakdown, BreakEven
from pandora_regret.comparison.words import (
    MOST_NAMES,
    NOT_SETTLED,
    VERDICT,
    constant_sentence,
    price_between,
    range_sentence,
    recalibrating,
)
from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.inputs import Fields, FloatArray, InputError, InputTypeError, IntArray, did_you_mean
from pandora_regret.core.search import search_order
from pandora_regret.inference.estimate import Estimate
from pandora_regret.optional import import_optional
from pandora_regret.report.charts import (
    Axis,
    Plot,
    TemplateData,
    bump_chart,
    cost_bars,
    group_strips,
    miss_chart,
    wrong_tests,
)
from pandora_regret.report.sheets import printed_parts
from pandora_regret.text import (
    TESTS,
    Formats,
    capitalised,
    class_name,
    count,
    counted,
    listed,
    money,
    shortened,
    stated_price,
    typed,
    without_direction_marks,
)
from pandora_regret.text.table import CONTROLS

STYLES = ("page.css", "first.css", "tables.css", "print.css")
SCRIPTS = (
    "theme.js",
    "sorting.js",
    "choices.js",
    "words.js",
    "engine.js",
    "controls.js",
    "case.js",
    "live.js",
    "miss.js",
    "start.js",
)
LIKE_COST = ("pandora_regret", "excess_burden")  # need the paper, and rank models as costs do
MOST_MODELS = 50  # with every pair of them; a page of 500 would take a browser more than 100 MB
CHEAPEST = 40
COSTLIEST = 10
MOST_CLASSES = 24  # of a matrix of wrong tests in the page's data; more would not go into a small file
MOST_CLASSES_LISTED = 100  # one below the other
LEAST_SEEN = 0.2  # per cent of the longest bar; what is smaller is not in the legend
NO_BREAK = "\u00a0"
MOST_NAMED = 6  # files and prices below the heading


def write_report(
    comparison: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    show: Sequence[str] = (),
    cases: bool = True,
) -> Path:
    """Write a comparison as one self-contained HTML file: no network, readable without JavaScript.

    Parameters
    ----------
    comparison
        What `compare` returns, or the dictionary of its `to_dict`, schema "pandora-comparison/4".
    path
        The file to write; one that is there is replaced.
    title
        The page's heading.
    show
        Names of models to show in any case; of more than 50, the others are the cheapest and the most expensive.
    cases
        Whether the page holds a sample of cases, rounded and without ids, which its live prices need.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pandora_regret import compare
    >>> comparison = compare([0, 1], {"sharp": [[0.8, 0.2], [0.1, 0.9]], "vague": [[0.6, 0.4], [0.5, 0.5]]})
    >>> with TemporaryDirectory() as folder:
    ...     write_report(comparison, f"{folder}/report.html", title="Two models").name
    'report.html'
    """
    return write_page(render_report(comparison, title=title, show=show, cases=cases), path)


def write_page(page: str, path: str | os.PathLike[str]) -> Path:
    """A file name that is not UTF-8 may have become a model's name; such bytes must not cost the whole page."""
    return write_atomically(path, page.encode("utf-8", errors="replace"))


def render_report(
    comparison: Any, *, title: str | None = None, show: Sequence[str] = (), cases: bool = True
) -> str:
    """The page as text.

    Parameters
    ----------
    comparison, title, show, cases
        As in `write_report`.

    Returns
    -------
    str
        The HTML page.

    Examples
    --------
    >>> from pandora_regret import compare
    >>> "<title>One model</title>" in render_report(compare([0], {"one": [[0.8, 0.2]]}), title="One model")
    True
    """
    whole = Comparison.from_dict(comparison) if isinstance(comparison, dict) else comparison
    if not isinstance(whole, Comparison):
        kind = type(comparison).__name__
        raise InputTypeError(f"comparison is {kind}: pass what compare() returns, or its to_dict().")
    with_cases = whole if cases and not _asks_questions(whole) else replace(whole, sample=None)
    shown, left_out = _select_models(with_cases, show)
    is_unpriced = shown.costs.currency is None
    unit = "" if is_unpriced else shown.costs.currency  # a long unit stands once, above the bars
    byline = list(_byline(whole))
    views = _views(shown)
    rules = {
        "sentences": VERDICT,
        "kinds": list(KIND_OF_STANDING.items()),
        "unseen": UNSEEN,
        "few": FEW_CLUSTERS,
        "most_names": MOST_NAMES,
        "what": whole.kind_of_cost,
    }
    values: Fields = {
        "library": shown.library,
        "data": shown.data,
        "costs": shown.costs,
        "interval": shown.interval,
        "metrics": shown.metrics,
        "models": shown.models,
        "differences": shown.differences,
        "ranks": shown.ranks,
        "disagreements": shown.disagreements,
        "largest_pairs": shown.largest_pairs,
        "scenarios": shown.scenarios,
        "verdict": shown.verdict,
        "notes": shown.notes,
        "files": shown.files,
        "remarks": shown.other_remarks,
        "sample": shown.sample,
        "lists": shown.lists,
        "not_sampled": _why_no_prices(shown) if cases else None,
        **views,
        "title": title,
        "formats": Formats((model.cost for model in shown.models), unit),
        "is_unpriced": is_unpriced,
        "first_prices_are": "equal prices" if is_unpriced else "the stated prices",
        "n_models": len(whole.models),
        "left_out": left_out,
        "rough": lambda amount: money(amount, unit),
        "byline": byline,
        "printed": printed_parts(
            shown, byline, views["case"], views["wrong_tests"], recal_is_drawn=views["recal_is_drawn"]
        ),
        "maker": whole.library,
        "rules": rules,
    }
    return render_page("page.html.j2", STYLES, SCRIPTS, **values)


def render_page(template: str, styles: tuple[str, ...], scripts: tuple[str, ...] = (), **values: Any) -> str:
    """A template with its values, and with its own style and scripts, beside which nothing runs or is loaded."""
    style = _joined_assets(styles)
    script = _joined_assets(scripts)
    allowed = f"style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; img-src data:"
    frame = {
        "library": f"pandora-regret {__version__}",
        "style": style,
        "script": script,
        "policy": f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
    }
    environment = _environment(import_optional("jinja2", extra="report"))
    page: str = environment.get_template(template).render(frame | values)
    return page


def _asks_questions(comparison: Comparison) -> bool:
    """Whether classes are the answers A, B, C, ... of questions, and nobody said what they cost."""
    costs = comparison.costs
    if costs.currency not in (None, TESTS) or costs.source is not None or len(set(costs.typical or ())) > 1:
        return False
    names = [name.strip("() ").upper() for name in comparison.data.classes]
    return sorted(names) == list(ascii_uppercase[: len(names)])


def unbroken(text: str) -> str:
    r"""A sentence whose lines do not end between a number and its per cent sign, or before a last number.

    Examples
    --------
    >>> unbroken("cheapest with probability 96 %. Noticed in week 9.")
    'cheapest with probability 96\xa0%. Noticed in week\xa09.'
    """
    plain = without_direction_marks(text)
    with_percent = plain.replace(" %", NO_BREAK + "%")
    return re.sub(r" (\d[\d,.]*)$", NO_BREAK + r"\1", with_percent)


def _joined_assets(names: Sequence[str]) -> str:
    """The package's own style sheets, or scripts, as one text."""
    assets = resources.files("pandora_regret.report") / "assets"
    return "\n".join((assets / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    """As a content security policy names a text that a browser may run."""
    return b64encode(sha256(text.encode()).digest()).decode()


@cache
def _environment(jinja2: Any) -> Any:
    """The templates, compiled once; every text they are given is escaped.

    Text is as HTML allows it: a name may hold characters that command a terminal, or end a line.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pandora_regret.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: CONTROLS.sub("\ufffd", value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {
        "count": count,
        "shortened": shortened,
        "typed": typed,
        "without_direction_marks": without_direction_marks,
        "capital": capitalised,
        "sentence": unbroken,
    }
    return environment


def _select_models(comparison: Comparison, show: Sequence[str]) -> tuple[Comparison, str | None]:
    """The comparison of the models to show, and a sentence about those left out; None where all are shown.

    Ranks, chances and sentences stay those of all models.
    """
    all_names = [model.name for model in comparison.models]
    for name in show:
        if name not in all_names:
            raise InputError(argument="show", value=name, fix=did_you_mean(name, all_names))
    if len(all_names) <= MOST_MODELS:
        return comparison, None
    leaders = {group.leader for part in comparison.by for group in part.groups}
    names = {*all_names[:CHEAPEST], *all_names[-COSTLIEST:], *show, *leaders}
    numbers = [number for number, name in enumerate(all_names) if name in names]

    def only(of_all: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(of_all[number] for number in numbers)

    def of_shown_models(breakdown: Breakdown) -> Breakdown:
        groups = [replace(group, models=only(group.models)) for group in breakdown.groups]
        return replace(breakdown, groups=tuple(groups))

    shown = replace(
        comparison,
        models=only(comparison.models),
        differences=tuple(gap for gap in comparison.differences if {gap.model, gap.against} <= names),
        ranks={key: only(ranks) for key, ranks in comparison.ranks.items()},
        by=tuple(map(of_shown_models, comparison.by)),
    )
    parts = [f"the {CHEAPEST} cheapest", f"the {COSTLIEST} most expensive"]
    more = len(names) - CHEAPEST - COSTLIEST
    if more > 0:
        parts.append(f"{more} that {'was' if more == 1 else 'were'} asked for, or cheapest in a group")
    n_models = count(len(all_names))
    return shown, f"Of {n_models} models this page shows {listed(parts)}; pandora compare --json tells of all."


def _byline(comparison: Comparison) -> Iterator[str]:
    """What stands below the heading: when, what was compared, on how many cases, at which prices, with what."""
    data = comparison.data
    costs = comparison.costs
    today = date.today()
    yield f"{today.day} {today:%B %Y}"
    models = counted(len(comparison.models), "model")
    yield f"{comparison.cases_in_words}, {models}"
    if comparison.files:
        yield listed(comparison.files, MOST_NAMED)
    prices: list[str] = []
    if costs.currency is not None and costs.typical is not None:
        stated = zip(data.classes, costs.typical, strict=False)
        prices = [f"{class_name(name)} {stated_price(price, costs.currency)}" for name, price in stated]
    if len(prices) > MOST_NAMED:
        prices = [*prices[:MOST_NAMED], f"{len(prices) - MOST_NAMED} more"]
    if comparison.lists is not None and costs.source:
        yield costs.source
        return
    if not prices and not costs.source:
        yield "no prices: costs are in typical test prices"
        return
    source = f"prices from {costs.source}" if costs.source else "prices"
    yield f"{source}: {', '.join(prices)}" if prices else source


def _views(comparison: Comparison) -> Fields:
    """What the templates show that the comparison does not say in so many words."""
    models = comparison.models
    classes = comparison.data.classes
    gaps = comparison.gaps
    bars = cost_bars(models)
    ranked = sorted(
        (metric for metric in comparison.metrics if metric.key not in LIKE_COST),
        key=lambda metric: metric.key != "expected_cost",
    )
    flip_of_test = {test.test: _flips(test, comparison.costs.currency) for test in comparison.break_even}
    flips = [flip_of_test.get(name) for name in classes]
    workup = comparison.workup
    if workup and workup.picture:  # as an image nothing can run in it, whoever wrote the comparison
        encoded = b64encode(workup.picture.encode("utf-8", errors="replace")).decode()
        workup = replace(workup, picture=f"data:image/svg+xml;base64,{encoded}")
    return {
        "download": _downloadable(comparison),
        "bars": bars,
        "recal_is_drawn": any(_shows_recalibration(bar) for bar in bars),
        "has_intervals": any(bar["low"] is not None for bar in bars),
        "against": [gaps[model.name].more if model.name in gaps else Estimate(None) for model in models],
        "tests": _order_of_tests(comparison, flips),
        "flips": flips,
        "breakdowns": [group_strips(breakdown, models) for breakdown in comparison.by],
        "wrong_tests": wrong_tests(models, classes),
        "case": worked_case(comparison),
        "ranked": ranked,
        "all_alike": len(set(comparison.ranks.values())) == 1,
        "bumps": bump_chart(models, ranked, comparison.ranks),
        "panels": list(_panels(comparison)),
        "workup": workup,
        **_views_of_lists(comparison),
    }


def _shows_recalibration(bar: Fields) -> bool:
    """Whether what recalibrating would save is a visible part of a bar."""
    width = sum(part["width"] for part in bar["parts"] if part["kind"] == "recal")
    return bool(width > LEAST_SEEN)


def _views_of_lists(comparison: Comparison) -> Fields:
    """What the template of the price of a miss shows; nothing where forecasts are no lists."""
    lists = comparison.lists
    if lists is None:
        return {"miss": None, "miss_sentences": (), "constant": None}
    unit = comparison.costs.currency
    return {
        "miss": miss_chart(lists),
        "miss_sentences": [range_sentence(part, unit) for part in lists.ranges],
        "constant": constant_sentence(lists, unit),
    }


def _why_no_prices(comparison: Comparison) -> str | None:
    """Why a page has no live prices, where there is no sample to work them out from."""
    n_classes = count(len(comparison.data.classes))
    reasons: dict[Reason, str] = {
        "orders": "forecasts are orders without probabilities",
        "own prices": "each case has prices of its own",
        "prior": f"the prior, {comparison.costs.prior}, treats classes differently",
        "size": f"with {n_classes} classes, a page cannot hold enough cases of each",
        "error": f"figures from as many cases as a page can hold would be off by more than {100 * MOST_ERROR:g} %",
    }
    if comparison.not_sampled is None:
        return None
    return f"Prices cannot be changed in this page: {reasons[comparison.not_sampled]}."


def _downloadable(comparison: Comparison) -> Fields:
    """The comparison as data, without the largest tables of very many classes."""
    n_classes = len(comparison.data.classes)
    emptied: Fields = {}
    if n_classes > MOST_CLASSES:
        emptied["pair_costs"] = []
    if n_classes > MOST_CLASSES_LISTED and comparison.sample is None:
        emptied["by_class"] = []
    whole = comparison.to_dict()
    return whole | {"models": [model | emptied for model in whole["models"]]}


def _order_of_tests(comparison: Comparison, flips: Sequence[Fields | None]) -> list[int]:
    """First tests whose price can change who is cheapest; then by what wrong ones cost the cheapest model."""
    n_classes = len(flips)
    table = comparison.models[0].pair_costs
    spent = np.nan_to_num(np.array(table, dtype=np.float64)).sum(axis=0) if table else np.zeros(n_classes)
    can_change = [flip is not None and len(flip) > 1 for flip in flips]
    return sorted(range(n_classes), key=lambda k: (not can_change[k], -spent[k]))


def _flips(test: BreakEven, unit: str | None) -> Fields:
    """The prices of a test at which another model becomes the better choice, and their places on a slider."""
    sides: Fields = {}
    prices_by_leader: dict[str, list[str]] = {}
    crossings = {"below": test.below, "above": test.above}
    for side, crossing in crossings.items():
        if crossing is None:
            continue
        price = price_between(crossing, test.stated, unit)
        if price == NOT_SETTLED:
            continue
        place = min(max(50 * (1 + log10(crossing.price / test.stated)), 0.0), 100.0)
        sides[side] = {"price": crossing.price, "place": round(place, 3)}
        prices_by_leader.setdefault(without_direction_marks(crossing.leader), []).append(f"{side} {price}")
    if prices_by_leader:
        sentence = "; ".join(
            f"{leader} is the better choice {' and '.join(prices)}" for leader, prices in prices_by_leader.items()
        )
    elif test.below is None and test.above is None:
        sentence = "no change"
    else:
        sentence = NOT_SETTLED
    return {"sentence": sentence, **sides}


def _panels(comparison: Comparison) -> Iterator[Fields]:
    """Each model in detail; of very many classes those whose cases cost the most together, in their own order."""
    for model in comparison.models:
        spent = [-(row.weight * (row.expected_cost or 0.0)) for row in model.by_class]
        bins = [(part.predicted, part.observed, part.low, part.high) for part in model.calibration]
        axis = Axis.around(end for ends in bins for end in ends)  # both are equal
        kept = np.sort(np.argsort(spent, kind="stable")[:MOST_CLASSES_LISTED])
        yield {
            "model": model,
            "recalibrating": recalibrating(model, comparison.costs.currency),
            "calibration": Plot(axis, axis, 382, 360),
            "by_class": [model.by_class[k] for k in kept],
            "left_out": len(spent) - len(kept),
        }


def worked_case(comparison: Comparison) -> TemplateData | None:
    """A case that the cheapest model finds sooner than the next: what both test, in order, until they have it.

    Of all such cases, the one whose saving is nearest to their mean. None without cases, prices or a second model.
    """
    sample = comparison.sample
    prices = comparison.costs.typical
    if sample is None or prices is None or len(comparison.models) < 2:
        return None
    costs = np.array(prices)
    truth = sample.truths()
    names = [model.name for model in comparison.models[:2]]
    forecasts = [sample.probabilities(name) for name in names]
    orders = [search_order(forecast, costs) for forecast in forecasts]
    row = _typical_saving(orders, truth, costs)
    plans = []
    for name, forecast, order in zip(names, forecasts, orders, strict=True):
        n_tested = order[row].tolist().index(truth[row]) + 1
        tested = order[row, :n_tested].tolist()
        steps = [(k, float(forecast[row, k])) for k in tested]
        spent = sum(prices[k] for k in tested)
        plans.append({"model": name, "steps": steps, "spent": spent, "never": len(costs) - n_tested})
    return {"row": row, "truth": comparison.data.classes[truth[row]], "plans": plans}


def _typical_saving(orders: Sequence[IntArray], truth: IntArray, costs: FloatArray) -> int:
    """The row in which the first of two orders, (n, K), saves nearest to the mean of its savings; 0 if in none."""
    first, second = (np.cumsum(costs[order], axis=1)[order == truth[:, None]] for order in orders)  # paid, (n,)
    saved = np.where(second > first, second - first, np.nan)
    if np.isnan(saved).all():
        return 0
    return int(np.nanargmin(np.abs(saved - np.nanmean(saved))))
