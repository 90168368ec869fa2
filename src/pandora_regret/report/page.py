"""From a comparison to one HTML file: read what it holds, fill the templates, write the file whole."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from pandora_regret._version import __version__
from pandora_regret.atomic import write_atomically
from pandora_regret.compare import Comparison
from pandora_regret.inputs import InputTypeError
from pandora_regret.optional import import_optional
from pandora_regret.report.views import CASES_PER_YEAR, MOST_CLASSES, MOST_CLASSES_LISTED, select_models, views_of
from pandora_regret.text import Formats, capitalised, count, money, shortened, typed, without_direction_marks
from pandora_regret.text.table import CONTROLS

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
    whole = Comparison.from_dict(comparison) if isinstance(comparison, dict) else comparison
    if not isinstance(whole, Comparison):
        problem = f"comparison is {type(comparison).__name__}"
        raise InputTypeError(f"{problem}: pass what compare() returns, or its to_dict().")
    whole = whole if cases else replace(whole, sample=None)
    shown, left_out = select_models(whole, show)
    facts = shown.to_dict()
    spent = (model["scores"]["expected_cost"]["value"] for model in facts["models"])
    formats = Formats.for_costs(spent, facts["costs"]["currency"])
    return render_page(
        "page.html.j2",
        STYLES,
        SCRIPTS,
        {key: value for key, value in facts.items() if key not in ("workup", "by")},
        title=(TITLE if whole.workup is None else WORKUP_TITLE) if title is None else title,
        formats=formats,
        download=_for_download(facts),
        n_models=len(whole.models),
        left_out=left_out,
        rough=lambda amount: money(amount, shown.costs.currency),
        first_bars=FIRST_BARS,
        first_prices=FIRST_PRICES,
        cases_per_year=CASES_PER_YEAR,
        nothing={"value": None, "low": None, "high": None},
        **views_of(facts, shown),
    )


def render_page(
    template: str,
    styles: tuple[str, ...],
    scripts: tuple[str, ...] = (),
    facts: Mapping[str, Any] | None = None,
    **values: Any,
) -> str:
    """A template with its values, and with its own style and scripts, beside which nothing runs or is loaded."""
    jinja2, assets = import_optional("jinja2", extra="report"), files("pandora_regret.report") / "assets"
    style, script = (
        "\n".join((assets / name).read_text(encoding="utf-8") for name in names) for names in (styles, scripts)
    )
    own = f"style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    about = {"library": f"pandora-regret {__version__}", "style": style, "script": script, "policy": policy}
    page: str = _environment(jinja2).get_template(template).render(about | dict(facts or {}), **values)
    return page


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
        # a name may hold characters that command a terminal, or end a line, which HTML does not allow
        finalize=lambda value: CONTROLS.sub("\ufffd", value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    filters = (count, shortened, typed, without_direction_marks)
    environment.filters |= {each.__name__: each for each in filters} | {"capital": capitalised}
    return environment


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
