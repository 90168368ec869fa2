"""What ARCHITECTURE.md says of the tree is true of it; import-linter holds the layers."""

import pytest
from code_size import LIMITS, MAP, PACKAGE, ROOT, listed, measured

SIZES = measured(PACKAGE)


def packages(folder):
    return {str(path.parent.relative_to(folder)) for path in folder.rglob("*.py")} - {"."}


def test_tests_have_the_folders_of_the_package():
    assert packages(PACKAGE) - packages(ROOT / "tests") == set()


def test_the_map_names_all_that_is_there_and_how_big_it_is():
    sizes = {name: float(thousands) for _, name, thousands in listed()}
    assert sizes.keys() == SIZES.keys() - {"total"}
    for name, size in sizes.items():
        assert SIZES[name].tokens / 1000 == pytest.approx(size, rel=0.1, abs=0.3), "code_size.py --write"
    text = MAP.read_text(encoding="utf-8")
    assert [path.name for path in PACKAGE.glob("[a-z]*.py") if path.name not in text] == []


def test_the_package_stays_as_small_as_it_was_made():
    assert [size <= limit for size, limit in zip(SIZES["total"], LIMITS, strict=True)] == [True] * 3, SIZES[
        "total"
    ]
