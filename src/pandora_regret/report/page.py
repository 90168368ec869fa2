"""From a comparison to one HTML file: read what it holds, fill the templates, write the file whole."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from math import log10
from pathlib import Path
from typing import Any

from pandora_regret.atomic import write_atomically
from pandora_regret.compare import Comparison
from pandora_regret.compare.result import BreakEven
from pandora_regret.compare.words import price_between, recalibrating
from pandora_regret.inputs import InputTypeError
from pandora_regret.optional import import_optional
from pandora_regret.report.charts import Facts, bump_chart, calibration_plot, cost_bars, group_strips
from pandora_regret.report.selection import select_models
from pandora_regret.report.tables import (
    MOST_CLASSES,
    MOST_CLASSES_LISTED,
    MOST_COLUMNS,
    dearest_classes,
    tests_that_matter,
    worked_case,
    wrong_tests,
)
from pandora_regret.text import (
    Formats,
    alpha_name,
    capitalised,
    count,
    money,
    money_between,
    shortened,
    typed,
    without_direction_marks,
)

CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
TITLE = "Models compared by search cost"
WORKUP_TITLE = "Models compared by what the work-up costs"
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
FIRST_BARS, FIRST_PRICES = 8, 8  # shown before a reader asks for more
CASES_PER_YEAR = 10_000
LIKE_COST = ("pandora_regret", "excess_burden")  # need the paper, and rank models as costs do


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
        What `compare` returns, or the dictionary of its `to_dict`, schema "pandora-comparison/2".
    path
        The file to write; one that is there is replaced.
    title
        The page's heading.
    show
        Names of models to show in any case; of more than 50, the others are the cheapest and the dearest.
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
    page = render_report(comparison, title=title, show=show, cases=cases)
    # A file name that is not UTF-8 may have become a model's name; such bytes must not cost the whole page.
    return write_atomically(path, lambda file: file.write(page.encode("utf-8", errors="replace")))


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
    whole = _read_comparison(comparison)
    whole = whole if cases else replace(whole, sample=None)
    shown, left_out = select_models(whole, show)
    facts = shown.to_dict()
    spent = (model["scores"]["expected_cost"]["value"] for model in facts["models"])
    formats = Formats.for_costs(spent, facts["costs"]["currency"])
    style, script = _joined(STYLES), _joined(SCRIPTS)
    page: str = (
        _environment(import_optional("jinja2", extra="report"))
        .get_template("page.html.j2")
        .render(
            {key: value for key, value in facts.items() if key not in ("workup", "by")},
            title=(TITLE if whole.workup is None else WORKUP_TITLE) if title is None else title,
            formats=formats,
            style=style,
            script=script,
            policy=_policy(style, script),
            download=_for_download(facts),
            n_models=len(whole.models),
            left_out=left_out,
            rough=lambda amount: money(amount, shown.costs.currency),
            first_bars=FIRST_BARS,
            first_prices=FIRST_PRICES,
            cases_per_year=CASES_PER_YEAR,
            nothing={"value": None, "low": None, "high": None},
            **_views(facts, shown),
        )
    )
    return page


def _read_comparison(comparison: Any) -> Comparison:
    if isinstance(comparison, dict):
        comparison = Comparison.from_dict(comparison)
    if not isinstance(comparison, Comparison):
        raise InputTypeError(
            f"comparison is {type(comparison).__name__}: pass what compare() returns, or its to_dict()."
        )
    return comparison


def _views(facts: dict[str, Any], comparison: Comparison) -> dict[str, Any]:
    """What the templates show that the comparison does not say in so many words."""
    models, classes = facts["models"], facts["data"]["classes"]
    ranked = sorted(
        (metric for metric in facts["metrics"] if metric["key"] not in LIKE_COST),
        key=lambda metric: metric["key"] != "expected_cost",
    )
    return {
        "bars": cost_bars(models),
        "recalibrated": any(model["recalibrated"] for model in models),
        "certain": any(model["at_stated_prices"] for model in models),
        "against": list(_against_best(facts)),
        "saving": _saving(comparison),
        "live": comparison.sample is not None,
        "tests": tests_that_matter(models, flips := _flips(comparison)),
        "flips": flips,
        "breakdowns": [_breakdown(breakdown, facts["models"]) for breakdown in facts.get("by", ())],
        "wrong_tests": wrong_tests(models, classes),
        "case": worked_case(comparison),
        "ranked": ranked,
        "all_alike": len({tuple(places) for places in facts["ranks"].values()}) == 1,
        "bumps": bump_chart(models, ranked, facts["ranks"]),
        "panels": list(_panels(facts, comparison)),
        "grids": list(_grids(facts)),
        "workup": _as_image(facts.get("workup")),
    }


def _against_best(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What each model costs more than the cheapest, with its interval; nothing of the cheapest itself."""
    best = facts["models"][0]["name"]
    gaps = {gap["against"]: gap for gap in facts["differences"] if gap["model"] == best}
    for model in facts["models"]:
        gap = gaps.get(model["name"], {"difference": None, "low": None, "high": None})
        value, low, high = (None if gap[key] is None else -gap[key] for key in ("difference", "high", "low"))
        yield {"value": value, "low": low, "high": high}


def _saving(comparison: Comparison) -> dict[str, Any] | None:
    """What the cheapest model saves in a year against the first that is certainly dearer, or else the next."""
    best = comparison.best.name
    gaps = [gap for gap in comparison.differences if gap.model == best]
    if not gaps:
        return None
    gap = next((gap for gap in gaps if gap.is_settled), gaps[0])
    more = gap.more.mapped(lambda amount: CASES_PER_YEAR * amount)
    yearly = money_between(more.value or 0.0, more.low, more.high, comparison.costs.currency)
    return {"against": gap.against, "sentence": f"{best} instead of {gap.against} saves {yearly} per year."}


def _flips(comparison: Comparison) -> list[dict[str, Any] | None]:
    """For each class the prices of its test at which another model becomes the cheapest; None where unknown."""
    known = {each.test: each for each in comparison.break_even}
    return [_flip(known[name], comparison) if name in known else None for name in comparison.data.classes]


def _flip(each: BreakEven, comparison: Comparison) -> dict[str, Any]:
    unit, sides = comparison.costs.currency, {}
    ranges: dict[str, list[str]] = {}
    for side, crossing in (("below", each.below), ("above", each.above)):
        if crossing is not None:
            place = min(max(50 * (1 + log10(crossing.price / each.stated)), 0.0), 100.0)
            sides[side] = {"price": crossing.price, "place": round(place, 3)}
            at = price_between(crossing, each.stated, unit)
            ranges.setdefault(without_direction_marks(crossing.leader), []).append(f"{side} {at}")
    said = "; ".join(f"{leader} is cheapest {' and '.join(at)}" for leader, at in ranges.items())
    return {"sentence": said or "no change", **sides}


def _breakdown(breakdown: Facts, models: Sequence[Facts]) -> dict[str, Any]:
    """Groups of one column under the cheapest models, and under those that a flag is about."""
    flags = [*breakdown["flags"], *(flag for group in breakdown["groups"] for flag in group["flags"])]
    named = [m for m, model in enumerate(models) if any(model["name"] in flag for flag in flags)]
    others = [m for m in range(len(models)) if m not in named]
    shown = sorted([*named[: MOST_COLUMNS + 1], *others][: max(MOST_COLUMNS, len(named[: MOST_COLUMNS + 1]))])
    return group_strips(breakdown, shown)


def _grids(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Tables of one number per model and column: costs in scenarios, scores at every alpha."""
    if facts["scenarios"]:
        names = [scenario["name"] for scenario in facts["scenarios"]]
        title = "Cost per case in every scenario"
        yield {"id": "scenario-grid", "title": title, "columns": names, "key": "scenarios", "unit": "money"}
    if facts["alphas"]:
        names = [alpha_name(alpha) for alpha in facts["alphas"]]
        title = "The score at every α: how much the costs of tests vary"
        yield {"id": "alpha-grid", "title": title, "columns": names, "key": "alphas", "unit": "score"}


def _as_image(workup: dict[str, Any] | None) -> dict[str, Any] | None:
    """The work-up with its picture as an image, in which nothing can run, whoever wrote the comparison."""
    if workup is None or not workup["picture"]:
        return workup
    encoded = b64encode(workup["picture"].encode("utf-8", errors="replace")).decode()
    return workup | {"picture": f"data:image/svg+xml;base64,{encoded}"}


def _panels(facts: dict[str, Any], comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Each model in detail."""
    for model, result in zip(facts["models"], comparison.models, strict=True):
        yield {
            "model": model,
            "recalibrating": recalibrating(result, comparison.costs.currency),
            "calibration": calibration_plot(model["calibration"]),
            "by_class": (by_class := dearest_classes(model["by_class"])),
            "left_out": len(model["by_class"]) - len(by_class),
            "sentences": [pair["sentence"] for pair in facts["largest_pairs"] if pair["model"] == model["name"]],
        }


def _for_download(facts: dict[str, Any]) -> dict[str, Any]:
    """All numbers of the page; tables too large for the page are too large for its data."""
    n_classes = len(facts["data"]["classes"])
    matrix: dict[str, Any] = {"pair_costs": []} if n_classes > MOST_CLASSES else {}
    listed: dict[str, Any] = {"by_class": []} if n_classes > MOST_CLASSES_LISTED and "sample" not in facts else {}
    return facts | {"models": [model | matrix | listed for model in facts["models"]]}


@cache
def _environment(jinja2: Any) -> Any:
    """The templates, compiled once; every text they are given is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pandora_regret.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_without_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    filters = (count, shortened, typed, without_direction_marks)
    environment.filters |= {each.__name__: each for each in filters} | {"capital": capitalised}
    return environment


def _without_controls(value: Any) -> Any:
    """Text as HTML allows it: a name may hold characters that command a terminal, or end a line."""
    return CONTROLS.sub("\ufffd", value) if type(value) is str else value


def _joined(names: tuple[str, ...]) -> str:
    assets = files("pandora_regret.report") / "assets"
    return "\n".join((assets / name).read_text(encoding="utf-8") for name in names)


def _policy(style: str, script: str) -> str:
    """Nothing runs and nothing is loaded but the page's own style and script, known by their hashes."""
    own = f"style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
