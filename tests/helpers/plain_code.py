"""What makes code a riddle to strangers, found in its syntax: packed assignments, and imports that are knots.

python tests/helpers/plain_code.py [FOLDER]
"""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "pandora_regret"


def packed_assignments(tree):
    """Lines that give several values to several names at once; a swap is fine."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)):
            continue
        values = [ast.unparse(value) for value in node.value.elts]
        for target in node.targets:
            names = [ast.unparse(name) for name in target.elts] if isinstance(target, ast.Tuple) else []
            if len(names) == len(values) and set(names) != set(values):
                yield node.lineno


def knots(tree, package):
    """Lines under TYPE_CHECKING that import from a module's own package, which then imports that module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom) and package in (statement.module or "").split("."):
                    yield statement.lineno


def found_in(folder):
    """Places (file:line) of packed assignments, and of knots."""
    all_packed = []
    all_knots = []
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        all_packed += [f"{path}:{line}" for line in packed_assignments(tree)]
        all_knots += [f"{path}:{line}" for line in knots(tree, path.parent.name)]
    return all_packed, all_knots


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    for places in found_in(folder):
        print("\n".join(places))
