"""The tables of docs/theory/index.md: every item of the paper is there, and all that they name exists."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "theory" / "index.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| In the paper"))
]
ITEMS = {  # by section, numbered through as in the paper
    "3": 3, "4": 2, "A": 11, "B": 6, "C": 1,
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_code_page_and_test_of_every_row_exist(row):
    _, says, code, page, test = row
    assert says
    for path in re.findall(r"\]\[([\w.]+)\]", code):
        assert found(path), f"{path} cannot be imported"
    for address in re.findall(r"\]\(([^)]+)\)", " ".join((row[0], page))):
        assert leads_somewhere(address), f"{address} leads nowhere"
    for file, name in re.findall(r"`([\w/.]+)::(\w+)`", test):
        assert name in functions_in(file), f"{file} has no {name}"
    assert test == "none" or "::" in test
    assert "](" in page


def found(path):
    """Whether a dotted name is something that can be imported, or a member of it."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            thing = getattr(thing, name)
        return True
    return False


def leads_somewhere(address):
    file, _, anchor = address.partition("#")
    target = (PAGE.parent / file).resolve()
    return target.is_file() and (not anchor or anchor in anchors(target))


@cache
def anchors(page):
    """Of its headings, as the site makes them, and those that it sets itself."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[\s-]+", "-", heading) for heading in plain} | set(re.findall(r'<a id="(\w+)">', text))


@cache
def functions_in(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_no_numbered_item_of_the_paper_is_missing():
    listed = " ".join(row[0] for row in ROWS)
    for section, last in ITEMS.items():
        numbers = {int(number) for number in re.findall(rf"\b{section}\.(\d+)\b", without_appendices(listed))}
        assert set(range(1, last + 1)) <= numbers, f"section {section}"
    equations = set()
    for first, second, more in re.findall(r"[Ee]quations? (\d+)(?: to (\d+))?((?:, \d+)*)", listed):
        equations |= set(range(int(first), int(second or first) + 1)) | {int(n) for n in re.findall(r"\d+", more)}
    assert equations >= set(range(1, 29))
    for kind, last in {"Figure": 4, "Table": 3}.items():
        assert {int(n) for n in re.findall(rf"{kind} (\d)", listed)} == set(range(1, last + 1))


def without_appendices(text):
    """So that Appendix C.1 is not taken for Proposition C.1, nor Section 3.2 for Definition 3.2."""
    return re.sub(r"(?:Appendix|Section) [\w.]+", "", text)
