"""The tables in docs/study.md and the README are those of the stored results."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

SCRIPT = Path(__file__).parents[2] / "examples" / "studies" / "publish.py"
SPEC = importlib.util.spec_from_file_location("publish", SCRIPT)
publish = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(publish)


@pytest.mark.parametrize("page", publish.PAGES, ids=lambda page: page.name)
def test_tables_on_pages_are_those_of_the_stored_results(page):
    text = page.read_text(encoding="utf-8")
    assert publish.TABLE.search(text)
    assert publish.with_tables(text) == text


def test_every_interval_of_tau_contains_its_estimate():
    for what in ("tau", "gap"):
        for _, _, cells in publish.study_grid(publish.read_results(publish.STORED), what, ()).rows:
            assert all(cell.low <= cell.value <= cell.high for cell in cells)
