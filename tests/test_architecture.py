"""What ARCHITECTURE.md says of the tree is true of it; import-linter holds the layers."""

import ast
import re
from pathlib import Path

import plain_code

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "pandora_regret"
MAP = ROOT / "ARCHITECTURE.md"


def packages(folder):
    return {str(path.parent.relative_to(folder)) for path in folder.rglob("*.py")} - {"."}


def test_tests_have_the_folders_of_the_package():
    assert packages(PACKAGE) - packages(ROOT / "tests") - {"core"} == set()


def test_the_map_names_all_that_is_there():
    text = MAP.read_text(encoding="utf-8")
    rooms = {path.name for folder in (PACKAGE, PACKAGE / "core") for path in folder.iterdir() if path.is_dir()}
    modules = {path.name for folder in (PACKAGE, PACKAGE / "core") for path in folder.glob("[a-z]*.py")}
    missing = {name for name in rooms - {"__pycache__"} if not re.search(rf"\b{name}/", text)}
    assert missing | {name for name in modules if name not in text} == set()


def test_assignments_are_plain_and_no_imports_go_in_a_circle():
    packed, circle = plain_code.found_in(PACKAGE)
    assert (packed, circle) == ([], [])


def test_what_is_not_plain_is_found():
    tree = ast.parse("a, b = 1, 2\nc, d = d, c\ne, f = pair\n")
    assert list(plain_code.packed_assignments(tree)) == [1]
    late = ast.parse("if TYPE_CHECKING:\n    from x.y import z\ndef f():\n    from x import w\nimport json\n")
    assert plain_code.imported(late, {"x", "x.y", "x.w", "x.v"}) == {"x.y", "x.w"}
    way = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert plain_code.circles(way) == []
    assert plain_code.circles(way | {"c": {"b"}, "d": {"a"}}) == ["b", "c"]
