"""The bibliography: a file that BibTeX reads, a page that lists all of it, and links that lead there."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)\n\}$", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (\w+) += \{(.*)\}(,?)$")
REQUIRED = {
    "article": {"journal"},
    "book": {"publisher"},
    "incollection": {"booktitle", "publisher"},
    "inproceedings": {"booktitle"},
    "misc": set(),
}


def bibliography():
    """Fields by key, every line of the file accounted for."""
    text = (DOCS / "references.bib").read_text(encoding="utf-8")
    assert not re.sub(r"^%.*$", "", ENTRY.sub("", text), flags=re.MULTILINE).strip()
    entries = {}
    for kind, key, body in ENTRY.findall(text):
        assert key not in entries, f"{key} is there twice"
        lines = [FIELD.match(line) for line in body.split("\n")]
        assert all(lines), f"{key}: a line is no field"
        assert [line[3] for line in lines] == [","] * (len(lines) - 1) + [""], f"{key}: commas between fields"
        entries[key] = {"kind": kind, **{line[1]: line[2] for line in lines}}
    return entries


ENTRIES = bibliography()
PAGE = (DOCS / "references.md").read_text(encoding="utf-8")


def plain(latex):
    for code, letter in {r"{\'e}": "é", r"{\"e}": "ë", r"{\"a}": "ä", r"{\'E}": "É", "--": "–"}.items():
        latex = latex.replace(code, letter)
    return latex


@pytest.mark.parametrize("key", ENTRIES)
def test_every_entry_is_whole_and_on_the_page(key):
    entry = ENTRIES[key]
    assert {"author", "title", "year"} | REQUIRED[entry["kind"]] <= set(entry)
    assert re.fullmatch(r"(19|20)\d\d", entry["year"])
    assert all(value.count("{") == value.count("}") for value in entry.values())
    [line] = [line for line in PAGE.splitlines() if f'<a id="{key}"></a>' in line]
    assert f"({entry['year']}). *{plain(entry['title'])}*" in line
    assert plain(entry["author"]).split(",")[0].strip("{}").replace(r"\&", "&") in line
    assert plain(entry.get("pages", "")) in line
    assert "doi" not in entry or f"https://doi.org/{entry['doi']}" in line


def test_the_page_lists_nothing_else_and_every_link_to_it_leads_to_an_entry():
    assert set(re.findall(r'<a id="(\w+)">', PAGE)) == set(ENTRIES)
    linked = {
        key
        for page in DOCS.rglob("*.md")
        for key in re.findall(r"references\.md#(\w+)", page.read_text(encoding="utf-8"))
    }
    assert linked
    assert linked <= set(ENTRIES)
