"""The tables and figures on pages and in the README are those of the stored results."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

SCRIPT = Path(__file__).parents[2] / "examples" / "studies" / "publish.py"
SPEC = importlib.util.spec_from_file_location("publish", SCRIPT)
publish = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(publish)


@pytest.mark.parametrize("page", publish.PAGES, ids=lambda page: page.name)
def test_tables_and_figures_on_pages_are_those_of_the_stored_results(page):
    text = page.read_text(encoding="utf-8")
    assert publish.with_results(text) == text
    assert text.count("<!-- table: ") + text.count("<!-- figure: ") == len(publish.MARKED.findall(text))
    assert not re.search(r"^\s*<!-- figure: ", text, re.MULTILINE)  # Markdown would end the paragraph there


def test_every_table_and_figure_that_is_made_is_on_a_page():
    shown = {
        match[2] for page in publish.PAGES for match in publish.MARKED.finditer(page.read_text(encoding="utf-8"))
    }
    assert shown == {*publish.TABLES, *publish.FIGURES}


def test_every_interval_of_tau_contains_its_estimate():
    for what in ("tau", "gap"):
        for _, _, cells in publish.study_grid(publish.read_results(publish.STORED), what, ()).rows:
            assert all(cell.low <= cell.value <= cell.high for cell in cells)
