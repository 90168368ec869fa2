"""Tutorials: notebooks that the build of the site runs, with the results that their texts talk about."""

import json
import re
import sys
from html import unescape

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("nbclient")

from docs_site import DOCS

sys.path.append(str(DOCS / "hooks"))
RESULTS = {
    "clinic": ["Recalibrated, vendor is the cheapest of 3 models", "Market 367 .* stands out", "overconfident"],
    "language-models": [
        "base and tuned cannot be told apart",
        r"the chance of being wrong costs 0\.00",
        r"Up to 7.89 looks, quick costs less \(0.\d+ less at 7.89\)",
        r"it is not settled between quick and thorough",
        r"Deploy thorough",
    ],
    "on-call": [
        "No alarm: in 400 cases so far, paid .* Newest 400 cases",
        r"since about case [34]\d\d .* more than it promises",
    ],
    "researcher": [r"most wasted: 0.56 of a test", r"Pandora's Regret +0\.[89]\d .* Brier score +0\.[78]\d"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "said"),
    [("!exit 1", "the command failed"), ("import warnings\nwarnings.warn('old')", "old")],
    ids=["a command that fails", "a warning"],
)
def test_the_build_ends_with(source, said):
    import nbformat.v4 as nb
    import notebooks
    from mkdocs.exceptions import PluginError

    cells = [nb.new_markdown_cell("# A title\n\nWho this is for."), nb.new_code_cell(source)]
    with pytest.raises(PluginError, match=said):
        notebooks.rendered("tutorials/broken.ipynb", nb.writes(nb.new_notebook(cells=cells)))


@pytest.mark.parametrize("path", sorted((DOCS / "tutorials").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_tutorial_is_kept_without_outputs_and_gives_the_results_that_its_text_talks_about(path, site):
    folder = site.folder / "tutorials"
    assert (folder / path.name).read_bytes() == path.read_bytes()  # to be downloaded
    assert not any(cell.get("outputs") for cell in json.loads(path.read_bytes())["cells"])
    page = (folder / path.stem / "index.html").read_text(encoding="utf-8")
    said = " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())
    assert [result for result in RESULTS[path.stem] if not re.search(result, said)] == []
