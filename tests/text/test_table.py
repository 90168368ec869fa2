"""Results in a notebook: short text, escaped tables, frames of whichever library is there."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from asked import compare_with

from pandora_regret import compare, plan_search
from pandora_regret.text import DisplayCell, DisplayTable, cell_width
from pandora_regret.text.table import FRAMES
from pandora_regret.workup import Workup, plan_workup

TRUTH = np.arange(60) % 3
MARKUP = "<script>alert('&')</script>"


def forecasts(strength):
    odds = np.exp(np.random.default_rng(0).normal(size=(60, 3)) + strength * np.eye(3)[TRUTH])
    return odds / odds.sum(axis=1, keepdims=True)


def comparison(**options):
    models = {MARKUP: forecasts(2.0), "vague": forecasts(0.5)}
    return compare_with(TRUTH, models, costs=[900.0, 600.0, 300.0], currency="USD", **options)


WORKUP = Workup(
    ["melanoma", MARKUP],
    {"dermoscopy": {"cost": 50, "positive_for": ["melanoma"], "sensitivity": 0.9, "specificity": 0.8},
     MARKUP: {"cost": 400, "tells_apart": "all"}},
)  # fmt: skip
RESULTS = {
    "comparison": comparison(),
    "plan": plan_search({"melanoma": 0.2, MARKUP: 0.8}, costs={"melanoma": 384.0, MARKUP: 75.0}),
    "work-up": plan_workup({"melanoma": 0.2, MARKUP: 0.8}, WORKUP),
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_text_is_short_and_html_a_table_in_which_nothing_runs(result):
    assert len(repr(result).splitlines()) == 1
    assert len(repr(result)) < 160
    assert 0 < len(str(result).splitlines()) <= 30
    page = result._repr_html_()
    assert page.count("<table>") == 1
    assert "<script>" not in page
    assert 'class="tex2jax_ignore mathjax_ignore"' in page  # else $5 and $6 would be typeset as a formula


def test_a_notebook_shows_a_comparison_as_bars_and_as_a_table():
    result = RESULTS["comparison"]
    page = result._repr_html_()
    above, _, rest = page.partition("<svg ")
    picture, _, table = rest.partition("</svg>")
    assert "<p>" in above
    assert table.startswith("<table>")
    amounts = re.findall(r'font-weight="600">([^<]+)</text>', picture)[1:]
    assert all(amount in table for amount in amounts)
    assert picture.count("<path ") == len(result.models)  # an interval each
    widths = [
        float(width) for width in re.findall(r'<rect x="[\d.]+" y="\d+" width="([\d.]+)" height="17"', picture)
    ]
    first, *others = (model.parts_of_cost for model in result.models)
    n_parts = sum(amount > 0 for parts in (first, *others) for amount in parts.values())
    assert len(widths) == n_parts
    scale = widths[0] / first["unavoidable"]
    total = sum(model.cost for model in result.models)
    assert sum(widths) == pytest.approx(scale * total, abs=0.1 * n_parts + 0.001 * scale * total)
    assert "&lt;script&gt;" in picture


def test_a_comparison_shows_the_verdict_and_what_models_cost():
    result = RESULTS["comparison"]
    for shown in (MARKUP, "vague", "60 cases"):
        assert shown in repr(result)
    lines = str(result).splitlines()
    assert lines[0] == result.verdict.sentences[0]
    [vague] = [line for line in lines if line.startswith("vague  ")]
    score = result.models[1].scores["expected_cost"]
    assert f"${score.value:.0f} [" in vague
    assert "+$" in vague


def test_many_models_are_cut_off_and_counted():
    models = {f"m{number}": forecasts(number / 10) for number in range(25)}
    lines = str(compare(TRUTH, models)).splitlines()
    assert sum(line.startswith("m") for line in lines) == 20
    assert "5 more" in lines[-2]


def test_a_plan_shows_its_steps():
    plan = RESULTS["plan"]
    assert repr(plan) == f"Plan(next={MARKUP!r}, expected_cost=151.8)"
    assert str(plan).splitlines()[0] == "Expected cost: 152."
    assert str(plan).splitlines()[-1].split() == ["2", "melanoma", "100.0", "%", "384", "459", "100.0", "%"]
    long = plan_search(np.full(40, 1 / 40), costs=np.ones(40))
    assert str(long).splitlines()[-1] == "... and 30 more steps"


@pytest.mark.parametrize("backend", FRAMES)
def test_frames_are_of_the_library_that_is_named(backend):
    pytest.importorskip(backend)
    result, plan = RESULTS["comparison"], RESULTS["plan"]
    frame = result.to_frame(backend=backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert (frame.column_names if backend == "pyarrow" else list(frame.columns)) == list(result.table()[0])
    steps = plan.to_frame(backend=backend)["total_cost"]
    assert (steps.to_pylist() if backend == "pyarrow" else list(steps)) == [75.0, 459.0]


def test_a_frame_is_of_the_library_in_use_else_of_one_that_is_installed(monkeypatch):
    pytest.importorskip("polars")
    pytest.importorskip("pandas")
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    assert type(RESULTS["plan"].to_frame()).__module__.split(".")[0] == "polars"
    monkeypatch.setattr("pandora_regret.text.table.FRAMES", ())
    with pytest.raises(ImportError, match="install"):
        RESULTS["plan"].to_frame()


def test_names_cannot_turn_the_page_around():
    page = DisplayTable(["Name"], [["<&>"]], ["a\u202eb\x07"]).to_html()
    assert "ab\ufffd" in page
    assert "&lt;&amp;&gt;" in page


TABLE = DisplayTable(
    ["Condition", "Data", "Pandora's Regret", "Log loss"],
    [
        ["Known costs", "a & b", DisplayCell("0.90", "0.85, 0.95", best=True), "0.80"],
        ["Known costs", "c|d", "0.85", DisplayCell("0.99", best=True)],
        ["Other_costs", "=1+1", None, -0.5],
    ],
    below=["100 % of cases"],
    words=2,
)


def test_one_table_renders_in_every_way():
    assert TABLE.to_text().splitlines()[1:3] == [
        "Known costs  a & b  0.90 [0.85, 0.95]      0.80",
        "Known costs  c|d                 0.85      0.99",
    ]
    assert TABLE.to_markdown().splitlines()[1:4] == [
        "| --- | --- | ---: | ---: |",
        "| Known costs | a & b | **0.90 [0.85, 0.95]** | 0.80 |",
        "| Known costs | c\\|d | 0.85 | **0.99** |",
    ]
    assert TABLE.to_latex().splitlines()[3:] == [
        r"\midrule",
        r"Known costs & a \& b & \textbf{0.90 [0.85, 0.95]} & 0.80 \\",
        r" & c$|$d & 0.85 & \textbf{0.99} \\",
        r"\midrule",
        r"Other\_costs & =1+1 &  & -0.5 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"% 100 % of cases",
    ]
    floating = TABLE.to_latex("Costs of 100 %", "tab:costs").splitlines()
    assert floating[:4] == [r"\begin{table}", r"\centering", r"\caption{Costs of 100 \%}", r"\label{tab:costs}"]
    assert floating[4:-2] == TABLE.to_latex().splitlines()[:-1]
    assert floating[-2:] == [r"\end{table}", "% 100 % of cases"]
    of_one_row_each = replace(TABLE, rows=TABLE.rows[1:]).to_latex()
    assert of_one_row_each.count(r"\midrule") == 1
    assert TABLE.to_csv().splitlines()[3] == "Other_costs,'=1+1,,-0.5"
    assert "<strong>0.90 [0.85, 0.95]</strong>" in TABLE.to_html()


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_table_fits_its_width(width):
    rows = [[f"一个 {'x' * 30} {n}", *("$1,000.00" for _ in range(9))] for n in range(3)]
    table = DisplayTable(["Model", *(f"What it costs at {n}" for n in range(9))], rows, below=["word " * 40])
    lines = table.to_text(width).splitlines()
    assert max(map(cell_width, lines)) <= width
    assert sum(line.count("$1,000.00") for line in lines) == 27


def test_names_cannot_command_a_terminal():
    for width in (None, 80):
        assert "\\x1b[31m" in DisplayTable(["Model"], [["\x1b[31m"]]).to_text(width)
