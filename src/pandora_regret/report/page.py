"""From a comparison to one HTML file: choose models, find what charts and sentences say, fill the templates."""

import os
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from hashlib import sha256
from importlib.resources import files
from math import log10
from pathlib import Path
from typing import Any

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.compare import Comparison
from pandora_regret.compare.result import BreakEven
from pandora_regret.compare.verdict import (
    FEW_CLUSTERS,
    KINDS,
    MOST_NAMES,
    NOT_SETTLED,
    UNSEEN,
    VERDICT,
    price_between,
    recalibrating,
)
from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.inputs import Fields, InputError, InputTypeError, did_you_mean
from pandora_regret.core.search import search_order
from pandora_regret.inference.estimate import Estimate
from pandora_regret.optional import import_optional
from pandora_regret.report.charts import (
    Axis,
    Facts,
    Plot,
    bump_chart,
    cost_bars,
    group_strips,
    wrong_tests,
)
from pandora_regret.text import (
    Formats,
    capitalised,
    class_name,
    count,
    counted,
    listed,
    money,
    shortened,
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
    "start.js",
)
LIKE_COST = ("pandora_regret", "excess_burden")  # need the paper, and rank models as costs do
MOST_MODELS = 50  # with every pair of them; a page of 500 would take a browser more than 100 MB
CHEAPEST, COSTLIEST = 40, 10
MOST_CLASSES = 24  # of a matrix of wrong tests in the page's data; more would not go into a small file
MOST_CLASSES_LISTED = 100  # one below the other
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
        What `compare` returns, or the dictionary of its `to_dict`, schema "pandora-comparison/3".
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
    >>> from pandora_regret.compare import compare
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
    >>> from pandora_regret.compare import compare
    >>> "<title>One model</title>" in render_report(compare([0], {"one": [[0.8, 0.2]]}), title="One model")
    True
    """
    whole = Comparison.from_dict(comparison) if isinstance(comparison, dict) else comparison
    if not isinstance(whole, Comparison):
        kind = type(comparison).__name__
        raise InputTypeError(f"comparison is {kind}: pass what compare() returns, or its to_dict().")
    shown, left_out = _select_models(whole if cases else replace(whole, sample=None), show)
    unit = shown.costs.currency
    return render_page(
        "page.html.j2",
        STYLES,
        SCRIPTS,
        title=title,
        formats=Formats((model.cost for model in shown.models), unit),
        n_models=len(whole.models),
        left_out=left_out,
        rough=lambda amount: money(amount, unit),
        byline=list(_byline(whole)),
        rules={"sentences": VERDICT, "kinds": list(KINDS.items()), "unseen": UNSEEN, "few": FEW_CLUSTERS}
        | {"most_names": MOST_NAMES, "what": whole.what},
        **vars(replace(shown)) | _views(shown),  # with fields that a file did not have
    )


def render_page(template: str, styles: tuple[str, ...], scripts: tuple[str, ...] = (), **values: Any) -> str:
    """A template with its values, and with its own style and scripts, beside which nothing runs or is loaded."""
    assets = files("pandora_regret.report") / "assets"
    style, script = (
        "\n".join((assets / name).read_text(encoding="utf-8") for name in names) for names in (styles, scripts)
    )
    style_hash, script_hash = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    own = f"style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; img-src data:"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    about = {"library": f"pandora-regret {__version__}", "style": style, "script": script, "policy": policy}
    environment = _environment(import_optional("jinja2", extra="report"))
    page: str = environment.get_template(template).render(about | values)
    return page


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
    filters = (count, shortened, typed, without_direction_marks)
    environment.filters |= {each.__name__: each for each in filters} | {"capital": capitalised}
    return environment


def _select_models(comparison: Comparison, asked: Sequence[str]) -> tuple[Comparison, str | None]:
    """The comparison of the models to show, and a sentence about those left out; None where all are shown.

    Ranks, chances and sentences stay those of all models.
    """
    every = [model.name for model in comparison.models]
    for unknown in (name for name in asked if name not in every):
        raise InputError(argument="show", value=unknown, fix=did_you_mean(unknown, every))
    if len(every) <= MOST_MODELS:
        return comparison, None
    leaders = {group.leader for part in comparison.by for group in part.groups}
    names = {*every[:CHEAPEST], *every[-COSTLIEST:], *asked, *leaders}
    numbers = [number for number, name in enumerate(every) if name in names]

    def only(of_all: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(of_all[number] for number in numbers)

    breakdowns = (
        replace(part, groups=tuple(replace(group, models=only(group.models)) for group in part.groups))
        for part in comparison.by
    )
    shown = replace(
        comparison,
        models=only(comparison.models),
        differences=tuple(gap for gap in comparison.differences if {gap.model, gap.against} <= names),
        ranks={key: only(ranks) for key, ranks in comparison.ranks.items()},
        by=tuple(breakdowns),
    )
    more = len(names) - CHEAPEST - COSTLIEST
    others = f"{more} that {'was' if more == 1 else 'were'} asked for, or cheapest in a group"
    parts = listed([f"the {CHEAPEST} cheapest", f"the {COSTLIEST} most expensive", others][: 2 + (more > 0)])
    return shown, f"Of {count(len(every))} models this page shows {parts}; pandora compare --json tells of all."


def _byline(comparison: Comparison) -> Iterator[str]:
    """What stands below the heading: when, what was compared, on how many cases, at which prices, with what."""
    data, costs, today = comparison.data, comparison.costs, date.today()
    yield f"{today.day} {today:%B %Y}"
    models = counted(len(comparison.models), "model")
    yield f"{counted(data.rows, 'case')}, {count(len(data.classes))} classes, {models}"
    if comparison.files:
        yield listed(comparison.files, MOST_NAMED)
    stated = zip(data.classes, costs.typical or (), strict=False) if costs.currency is not None else ()
    prices = [f"{class_name(name)} {money(price, costs.currency)}" for name, price in stated]
    prices[MOST_NAMED:] = [f"{more} more"] if (more := len(prices) - MOST_NAMED) > 0 else []
    source = f"prices from {costs.source}" if costs.source else "prices"
    yield f"{source}: {', '.join(prices)}" if prices else source
    yield comparison.library


def _views(comparison: Comparison) -> Fields:
    """What the templates show that the comparison does not say in so many words."""
    models, classes, gaps = comparison.models, comparison.data.classes, comparison.gaps
    close = {comparison.verdict.leader, *comparison.verdict.level, *comparison.verdict.undecided}
    apart = (number for number, model in enumerate(models) if model.name not in close)
    ranked = sorted(
        (metric for metric in comparison.metrics if metric.key not in LIKE_COST),
        key=lambda metric: metric.key != "expected_cost",
    )
    prices = {each.test: _flips(each, comparison.costs.currency) for each in comparison.break_even}
    flips, table = [prices.get(name) for name in classes], models[0].pair_costs
    spent = np.nan_to_num(np.array(table, dtype=np.float64)).sum(axis=0) if table else np.zeros(len(classes))
    changes = [flip is not None and len(flip) > 1 for flip in flips]
    facts = comparison.to_dict()
    too_large: Fields = {"pair_costs": []} if len(classes) > MOST_CLASSES else {}
    too_large |= {"by_class": []} if len(classes) > MOST_CLASSES_LISTED and comparison.sample is None else {}
    workup = comparison.workup
    if workup and workup.picture:  # as an image nothing can run in it, whoever wrote the comparison
        encoded = b64encode(workup.picture.encode("utf-8", errors="replace")).decode()
        workup = replace(workup, picture=f"data:image/svg+xml;base64,{encoded}")
    return {
        "download": facts | {"models": [model | too_large for model in facts["models"]]},
        "bars": cost_bars(models),
        "against": [gaps[model.name].more if model.name in gaps else Estimate(None) for model in models],
        "instead": next(apart, 1),  # the first that certainly costs more, or else the next
        # First tests whose price can change who is cheapest; then by what wrong ones cost the cheapest model
        "tests": sorted(range(len(classes)), key=lambda k: (not changes[k], -spent[k])),
        "flips": flips,
        "breakdowns": [group_strips(breakdown, models) for breakdown in comparison.by],
        "wrong_tests": wrong_tests(models, classes),
        "case": worked_case(comparison),
        "ranked": ranked,
        "all_alike": len(set(comparison.ranks.values())) == 1,
        "bumps": bump_chart(models, ranked, comparison.ranks),
        "panels": list(_panels(comparison)),
        "workup": workup,
    }


def _flips(each: BreakEven, unit: str | None) -> Fields:
    """The prices of a test at which another model becomes the better choice, and their places on a slider."""
    sides: Fields = {}
    ranges: dict[str, list[str]] = {}
    crossings = [(side, at) for side, at in (("below", each.below), ("above", each.above)) if at is not None]
    for side, crossing in crossings:
        if (at := price_between(crossing, each.stated, unit)) != NOT_SETTLED:
            place = min(max(50 * (1 + log10(crossing.price / each.stated)), 0.0), 100.0)
            sides[side] = {"price": crossing.price, "place": round(place, 3)}
            ranges.setdefault(without_direction_marks(crossing.leader), []).append(f"{side} {at}")
    flips = "; ".join(f"{leader} is the better choice {' and '.join(at)}" for leader, at in ranges.items())
    return {"sentence": flips or (NOT_SETTLED if crossings else "no change"), **sides}


def _panels(comparison: Comparison) -> Iterator[Fields]:
    """Each model in detail; of very many classes those whose cases cost the most together, in their own order."""
    for model in comparison.models:
        spent = [-(row.weight * (row.expected_cost or 0.0)) for row in model.by_class]
        bins = [(each.predicted, each.observed, each.low, each.high) for each in model.calibration]
        axis = Axis.around(end for ends in bins for end in ends)  # both are equal
        kept = np.sort(np.argsort(spent, kind="stable")[:MOST_CLASSES_LISTED])
        yield {
            "model": model,
            "recalibrating": recalibrating(model, comparison.costs.currency),
            "calibration": Plot(axis, axis, 382, 360),
            "by_class": [model.by_class[k] for k in kept],
            "left_out": len(spent) - len(kept),
        }


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
    first, second = (np.cumsum(costs[order], axis=1)[order == truth[:, None]] for order in orders)
    saved = np.where(second > first, second - first, np.nan)
    row = int(np.nanargmin(np.abs(saved - np.nanmean(saved)))) if np.isfinite(saved).any() else 0
    plans = []
    for name, forecast, order in zip(names, forecasts, orders, strict=True):
        until = order[row, : order[row].tolist().index(truth[row]) + 1].tolist()
        steps = [(k, float(forecast[row, k])) for k in until]
        spent, never = sum(prices[k] for k in until), len(costs) - len(until)
        plans.append({"model": name, "steps": steps, "spent": spent, "never": never})
    return {"row": row, "truth": comparison.data.classes[truth[row]], "plans": plans}
