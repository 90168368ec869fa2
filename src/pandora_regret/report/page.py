"""From a comparison to one HTML file: read what it holds, fill the templates, write the file whole."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from pandora_regret.atomic import write_atomically
from pandora_regret.compare import Comparison
from pandora_regret.compare.words import recalibrating
from pandora_regret.inputs import InputTypeError
from pandora_regret.optional import import_optional
from pandora_regret.report.charts import HUES, bump_chart, calibration_plot, interval_plot
from pandora_regret.report.selection import select_models
from pandora_regret.report.tables import (
    MOST_CLASSES,
    MOST_CLASSES_LISTED,
    at_start,
    dearest_classes,
    largest_pair,
    ranking,
    what_if,
    wrong_tests,
)
from pandora_regret.text import Formats, alpha_name, count, shortened, typed, without_direction_marks

CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
TITLE = "Models compared by search cost"
WORKUP_TITLE = "Models compared by what the work-up costs"
STYLES = ("page.css", "tables.css", "charts.css", "print.css")
SCRIPTS = ("sorting.js", "choices.js", "ranking.js", "what_if.js", "start.js")


def write_report(
    comparison: Any, path: str | os.PathLike[str], *, title: str | None = None, show: Sequence[str] = ()
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
    page = render_report(comparison, title=title, show=show)
    # A file name that is not UTF-8 may have become a model's name; such bytes must not cost the whole page.
    return write_atomically(path, lambda file: file.write(page.encode("utf-8", errors="replace")))


def render_report(comparison: Any, *, title: str | None = None, show: Sequence[str] = ()) -> str:
    """The page as text; parameters as in `write_report`.

    Examples
    --------
    >>> from pandora_regret.compare import compare
    >>> "<title>One model</title>" in render_report(compare([0], {"one": [[0.8, 0.2]]}), title="One model")
    True
    """
    whole = _read_comparison(comparison)
    shown, left_out = select_models(whole, show)
    facts = shown.to_dict()
    spent = (model["scores"]["expected_cost"]["value"] for model in facts["models"])
    formats = Formats.for_costs(spent, facts["costs"]["currency"])
    style, script = _joined(STYLES), _joined(SCRIPTS)
    page: str = (
        _environment(import_optional("jinja2", extra="report"))
        .get_template("page.html.j2")
        .render(
            {key: value for key, value in facts.items() if key != "workup"},
            title=(TITLE if whole.workup is None else WORKUP_TITLE) if title is None else title,
            formats=formats,
            style=style,
            script=script,
            policy=_policy(style, script),
            download=_for_download(facts),
            n_models=len(whole.models),
            left_out=left_out,
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
    models, data, costs = facts["models"], facts["data"], facts["costs"]
    start = at_start(facts["alphas"]) if facts["alphas"] else 0
    return {
        "intervals": interval_plot(models, "expected_cost"),
        "all_alike": len({tuple(places) for places in facts["ranks"].values()}) == 1,
        "bumps": bump_chart(models, facts["metrics"], facts["ranks"]),
        "alpha_start": start,
        "by_alpha": ranking([model["alphas"][start] for model in models]) if facts["alphas"] else [],
        "by_scenario": ranking([model["scenarios"][0] for model in models]) if facts["scenarios"] else [],
        "panels": list(_panels(facts, comparison)),
        "question": what_if(data["class_weights"], costs["typical"]),
        "workup": _as_image(facts.get("workup")),
    }


def _as_image(workup: dict[str, Any] | None) -> dict[str, Any] | None:
    """The work-up with its picture as an image, in which nothing can run, whoever wrote the comparison."""
    if workup is None or not workup["picture"]:
        return workup
    encoded = b64encode(workup["picture"].encode("utf-8", errors="replace")).decode()
    return workup | {"picture": f"data:image/svg+xml;base64,{encoded}"}


def _panels(facts: dict[str, Any], comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Each model in detail."""
    largest = largest_pair(facts["models"])
    for model, result in zip(facts["models"], comparison.models, strict=True):
        yield {
            "model": model,
            "recalibrating": recalibrating(result, comparison.interval.level, comparison.costs.currency),
            "calibration": calibration_plot(model["calibration"]),
            "wrong_tests": wrong_tests(model["pair_costs"], facts["data"]["classes"], largest),
            "by_class": (by_class := dearest_classes(model["by_class"])),
            "left_out": len(model["by_class"]) - len(by_class),
            "sentences": [pair["sentence"] for pair in facts["largest_pairs"] if pair["model"] == model["name"]],
        }


def _for_download(facts: dict[str, Any]) -> dict[str, Any]:
    """All numbers of the page; tables too large for the page are too large for its data."""
    n_classes = len(facts["data"]["classes"])
    matrix: dict[str, Any] = {"pair_costs": []} if n_classes > MOST_CLASSES else {}
    listed: dict[str, Any] = {"by_class": []} if n_classes > MOST_CLASSES_LISTED else {}
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
    filters = (alpha_name, count, shortened, typed, without_direction_marks)
    environment.filters |= {each.__name__: each for each in filters}
    environment.globals["hue"] = lambda index: index if index < HUES else "rest"
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
