"""What makes code a riddle to strangers, found in its syntax: packed assignments, and imports in a circle.

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


def imported(tree, modules):
    """Those of the modules that one imports anywhere: at its head, in a function, or under TYPE_CHECKING."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= members & modules or {node.module}
    return found & modules


def circles(imports):
    """Of modules with what they import, those that import each other in a circle; without them, none would."""
    left = dict(imports)
    while True:
        ends = {module for module, others in left.items() if not others & left.keys()}
        starts = left.keys() - set().union(*left.values())
        if not ends | starts:
            return sorted(left)
        left = {module: others for module, others in left.items() if module not in ends | starts}


def found_in(folder):
    """Places (file:line) of packed assignments, and modules that import each other in a circle."""
    all_packed = []
    trees = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        all_packed += [f"{path}:{line}" for line in packed_assignments(tree)]
        if path.name != "__init__.py":  # which only names what its modules have
            trees[".".join((folder.name, *path.relative_to(folder).with_suffix("").parts))] = tree
    imports = {module: imported(tree, trees.keys()) - {module} for module, tree in trees.items()}
    return all_packed, circles(imports)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    for places in found_in(folder):
        print("\n".join(places))
