"""What ARCHITECTURE.md says of the tree is true of it; import-linter holds the layers."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pandora_regret"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 325  # lines of a file, less its docstrings: those of public functions are pages of the manual


def packages(folder):
    return {str(path.parent.relative_to(folder)) for path in folder.rglob("*.py")} - {"."}


def test_tests_have_the_folders_of_the_package():
    without_tests = packages(PACKAGE) - packages(ROOT / "tests")
    assert without_tests == set()


def test_no_class_name_stands_for_two_things():
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_can_be_read_in_one_go(path):
    text = path.read_text(encoding="utf-8")
    documented = (ast.FunctionDef, ast.ClassDef, ast.Module)
    nodes = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, documented) and ast.get_docstring(node)
    ]
    docstrings = sum(node.body[0].end_lineno - node.body[0].lineno + 1 for node in nodes)
    assert len(text.splitlines()) - docstrings <= LONGEST


def test_the_map_names_all_that_is_there_and_nothing_else():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("In `src/pandora_regret/`:\n")[1].split("\nBeside it:")[0]
    entries = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    named = {name.strip("`/") for entry in entries for name in entry.split(", ")}
    assert named == {
        path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
