"""What ARCHITECTURE.md says of the tree is true of it; import-linter holds the layers."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pandora_regret"


def packages(folder):
    return {str(path.parent.relative_to(folder)) for path in folder.rglob("*.py")} - {"."}


def test_tests_have_the_folders_of_the_package():
    assert packages(PACKAGE) - packages(ROOT / "tests") == set()


def test_the_map_names_all_that_is_there_and_nothing_else():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("In `src/pandora_regret/`:\n")[1].split("\nBeside it:")[0]
    entries = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    named = {name.strip("`/") for entry in entries for name in entry.split(", ")}
    assert named == {
        path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
