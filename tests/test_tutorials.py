"""Tutorials, glossary and the annotated report: what the build runs, and what must stay in step."""

import json
import re
import sys
from html import unescape

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("nbclient")

from docs_site import DOCS, built_site

from pandora_regret.metrics import shown_in

sys.path.append(str(DOCS / "hooks"))
NOTEBOOKS = {path.stem: path for path in sorted((DOCS / "tutorials").glob("*.ipynb"))}
RESULTS = {
    "clinic": ["Recalibrate vendor first: it then costs .3", "Market 367 .* stands out", "too bold"],
    "language-models": ["base and tuned cannot be told apart", "Recalibrate tuned in any case"],
    "on-call": ["400 cases: .* No alarm", "ALARM since case 4\\d\\d: cost more than it promised"],
    "researcher": [r"most wasted: 0.56 of a test", r"Pandora's Regret +0\.8\d .* Brier score +0\.8\d"],
}
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
READING = (DOCS / "reading-a-report.md").read_text(encoding="utf-8")


def notebook_of(source):
    import nbformat

    title = nbformat.v4.new_markdown_cell("# A title\n\nWho this is for.")
    return nbformat.writes(nbformat.v4.new_notebook(cells=[title, nbformat.v4.new_code_cell(source)]))


@pytest.mark.parametrize(
    ("source", "said"),
    [("!exit 1", "the command failed"), ("import warnings\nwarnings.warn('old')", "old")],
    ids=["a command that fails", "a warning"],
)
def test_the_build_ends_with(source, said):
    import notebooks
    from mkdocs.exceptions import PluginError

    with pytest.raises(PluginError, match=said):
        notebooks.rendered("tutorials/broken.ipynb", notebook_of(source))


def test_notebooks_are_kept_without_outputs():
    assert set(NOTEBOOKS) == set(RESULTS)
    for path in NOTEBOOKS.values():
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert not cell.get("outputs")
            assert cell.get("execution_count") is None


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_tutorial_says_for_whom_it_is_and_can_be_downloaded(name):
    folder = built_site().folder / "tutorials"
    page = (folder / name / "index.html").read_text(encoding="utf-8")
    frame = ("Who this is for.", "What you will be able to do.", "Where to go next", f'href="../{name}.ipynb"')
    assert [said for said in frame if said not in page] == []
    assert (folder / f"{name}.ipynb").read_bytes() == NOTEBOOKS[name].read_bytes()


@pytest.mark.parametrize(("name", "results"), RESULTS.items())
def test_results_are_those_that_the_text_of_a_tutorial_talks_about(name, results):
    page = (built_site().folder / "tutorials" / name / "index.html").read_text(encoding="utf-8")
    said = " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())
    assert [result for result in results if not re.search(result, said)] == []


def test_the_glossary_is_in_order_and_explains_what_is_printed():
    terms = re.findall(r"^- \*\*(.+?)\*\*", GLOSSARY, re.MULTILINE)
    assert terms == sorted(terms, key=str.casefold)
    assert re.findall(r"^## (.)", GLOSSARY, re.MULTILINE) == sorted({term[0] for term in terms})
    assert all("](" in entry for entry in GLOSSARY.split("\n- **")[1:])
    printed = [metric.title for metric in shown_in("comparison")]
    columns = ["Cost per case", "Against the best", "Avoidable", "Cheapest", "Done to the files", "Stands out"]
    for title in (*printed, *columns):
        assert title.casefold() in GLOSSARY.casefold(), title


def test_every_mark_on_a_picture_is_explained():
    on_pictures = re.findall(r'href="#mark-(\d+)">(\d+)</a>', READING)
    explained = re.findall(r'<span class="mark" id="mark-(\d+)">(\d+)</span> \*\*', READING)
    assert on_pictures == explained == [(str(k), str(k)) for k in range(1, len(explained) + 1)]
    assert len(explained) == 15
    for picture in re.findall(r"!\[.{40,}?\]\((assets/report-.+?\.png)\)", READING):
        assert (DOCS / picture).stat().st_size < 60_000
