"""How big the package is: tokens of code, without comments, docstrings and layout; functions; files.

python tests/helpers/code_size.py [FOLDER]
"""

import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, MAP = ROOT / "src" / "pandora_regret", ROOT / "ARCHITECTURE.md"
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Size(NamedTuple):
    tokens: int
    functions: int
    files: int


LIMITS = Size(230_000, 1_800, 170)  # before something comes in, something goes


def measured(folder):
    """By package, of the modules beside them (top), and in total."""
    sizes = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        for key in (parts[0] if len(parts) > 1 else "top", "total"):
            sizes[key] = Size(*map(sum, zip(sizes.get(key, Size(0, 0, 0)), size_of(path), strict=True)))
    return sizes


def size_of(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    documented = [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node) is not None
    ]
    skipped = {line for docstring in documented for line in range(docstring.lineno, docstring.end_lineno + 1)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    counted = sum(token.type not in LAYOUT and token.start[0] not in skipped for token in tokens)
    return Size(counted, sum(isinstance(node, FUNCTIONS) for node in ast.walk(tree)), 1)


def listed():
    """(beginning of the line, name, thousands of tokens) of every size in the map."""
    return re.findall(r"^(      (\w+)/? +)([\d.]+)(?=  )", MAP.read_text(encoding="utf-8"), re.MULTILINE)


def write():
    text, sizes = MAP.read_text(encoding="utf-8"), measured(PACKAGE)
    for beginning, name, thousands in listed():
        line = beginning.rstrip()
        new = f"{sizes[name].tokens / 1000:.1f}"
        text = text.replace(
            f"{beginning}{thousands}  ", f"{line}{new:>{len(beginning + thousands) - len(line)}}  "
        )
    MAP.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name, size in measured(PACKAGE).items():
        print(f"{name:<20}{size.tokens:>9,}{size.functions:>8,}{size.files:>6}")
    if sys.argv[1:] == ["--write"]:
        write()
