"""The bibliography: a file for BibTeX, a page that lists all of it, and links and citations that lead there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)\n\}$", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (\w+) += \{(.*)\},?$", re.MULTILINE)
BIBLIOGRAPHY = (DOCS / "references.bib").read_text(encoding="utf-8")
ENTRIES = {key: dict(FIELD.findall(body)) for _, key, body in ENTRY.findall(BIBLIOGRAPHY)}
PAGE = (DOCS / "references.md").read_text(encoding="utf-8")


def test_the_page_lists_nothing_else_and_links_and_citations_lead_to_entries():
    assert BIBLIOGRAPHY.count("\n@") + BIBLIOGRAPHY.startswith("@") == len(ENTRIES)
    assert set(re.findall(r'<a id="(\w+)">', PAGE)) == set(ENTRIES)
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    linked, cited = re.findall(r"references\.md#(\w+)", pages), re.findall(r"\[(\w+)\]_\.$", code, re.MULTILINE)
    assert linked
    assert cited
    assert {*linked, *cited} <= set(ENTRIES)
