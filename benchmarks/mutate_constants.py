"""Which module constants could change without any test noticing: a mutation of each, on a copy of the tree.

    python benchmarks/mutate_constants.py [--only NAME] [FOLDER ...]

Every number that stands as a constant of a module in comparison/, inference/ or monitor/ is changed, one at a time
(a whole number below 10 by 1, a larger one doubled; what allows for rounding times 1000; any other by half of
itself), and the tests that may notice run until the first fails. Prints a line per constant: by which test it is
noticed, or NOT NOTICED; a test that has nothing to do with the constant fails without the change, too. Those in
LEFT_OUT decide nothing that could be noticed. Takes a while: a tool for reviews, not for CI.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src") / "pandora_regret"
TESTS_OF = {  # folders of tests that may notice, the likeliest first
    "comparison": [
        "tests/comparison/test_limits.py",
        "tests/comparison",
        "tests/cli/test_compare.py",
        "tests/report",
        "tests/stream",
    ],
    "inference": ["tests/inference", "tests/comparison", "tests/monitor", "tests/calibrate"],
    "monitor": ["tests/monitor", "tests/cli/test_monitor.py"],
}

LEFT_OUT = {  # constants that decide nothing which a test could see, and what they are
    "speed": "MOST_CLASSES NORMAL_DRAWS WEIGHTS_AT_ONCE REPLICATES_AT_ONCE SMALL_PRODUCT UPDATES_AT_ONCE",
    "enough steps": "LARGEST_DRAW HALVINGS MOST_STEPS MOST_TRIES FEWEST_STEPS ROWS_TRIED PRICE_LISTS EXACT_DIGITS",
    "how close is close": "CLOSE CLOSE_ENOUGH NEARLY_NONE LEAST TINY LEAST_EVIDENCE",
    "where two ways agree": "LEAST_ALPHA MOST_ALPHA",
    "a mark": "NEVER NO_WEALTH N_QUESTIONS OUTSIDE",
    "a factor that cancels": "_WIDTHS",
    "a limit of what a state holds": "LABELS_TOLD_APART",
    "more than anybody has": "judge.MOST_CASES",
}
IS_LEFT_OUT = {name for names in LEFT_OUT.values() for name in names.split()}


class Constant(NamedTuple):
    """A number that a module names."""

    path: Path
    name: str
    value: float
    line: int
    start: int  # of the number in its line
    end: int

    @property
    def is_left_out(self) -> bool:
        """Whether no test could notice another value."""
        return self.name in IS_LEFT_OUT or f"{self.path.stem}.{self.name}" in IS_LEFT_OUT

    def changed(self) -> float:
        """Another value that the same code can work with."""
        if isinstance(self.value, int):
            return self.value + 1 if abs(self.value) < 10 else 2 * self.value
        is_for_rounding = 0 < abs(self.value) < 1e-6
        return 1000 * self.value if is_for_rounding else 1.5 * self.value


def constants_of(path: Path) -> list[Constant]:
    """The numbers assigned to names in capitals at the top of a module, also those within tuples and formulas."""
    found = []
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name = node.targets[0].id
        if name.isupper():
            for number in numbers_in(node.value):
                place = (number.lineno, number.col_offset, number.end_col_offset)
                found.append(Constant(path, name, number.value, *place))
    return found


def numbers_in(value: ast.expr) -> list[ast.Constant]:
    """The numbers of an expression; of ``1 << 16``, ``2 * N`` and the like the first."""
    if isinstance(value, ast.Constant) and type(value.value) in (int, float):
        return [value]
    if isinstance(value, ast.UnaryOp):
        return numbers_in(value.operand)
    if isinstance(value, ast.BinOp):
        return (numbers_in(value.left) or numbers_in(value.right))[:1]
    if isinstance(value, (ast.Tuple, ast.List)):
        return [number for part in value.elts for number in numbers_in(part)]
    return []


def test_that_notices(constant: Constant, copy: Path) -> str | None:
    """The first test that fails when the copy has another value; None where all of them pass."""
    target = copy / constant.path
    original = target.read_text(encoding="utf-8")
    lines = original.splitlines(keepends=True)
    line = lines[constant.line - 1]
    lines[constant.line - 1] = f"{line[: constant.start]}{constant.changed()!r}{line[constant.end :]}"
    target.write_text("".join(lines), encoding="utf-8")
    try:
        return first_failure(TESTS_OF[constant.path.relative_to(PACKAGE).parts[0]], copy)
    finally:
        target.write_text(original, encoding="utf-8")


def first_failure(tests: list[str], copy: Path) -> str | None:
    """The test at which pytest stops in a copy of the tree, or None."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "--hypothesis-profile=quick", *tests]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return None
    for line in ran.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split()[1]
    raise RuntimeError(f"pytest could not run:\n{ran.stdout}{ran.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=list(TESTS_OF))
    parser.add_argument("--only", default="", help="constants whose name contains this")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        left_out = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "site", "dist")
        shutil.copytree(ROOT, copy, ignore=left_out)
        missed = 0
        for package in asked.folders:
            for path in sorted((ROOT / PACKAGE / package).rglob("*.py")):
                for constant in constants_of(path.relative_to(ROOT)):
                    if asked.only not in constant.name or constant.is_left_out:
                        continue
                    test = test_that_notices(constant, copy)
                    missed += test is None
                    place = f"{constant.path}:{constant.line} {constant.name} = {constant.value!r}"
                    verdict = "NOT NOTICED" if test is None else f"noticed by {test}"
                    print(f"{place} -> {constant.changed()!r}: {verdict}", flush=True)
        print(f"{missed} not noticed")


if __name__ == "__main__":
    main()
