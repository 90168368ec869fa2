"""A library whose import fails in any way is named in one line by commands that need it, and by no other."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")

from cli_files import COSTS, wine_file

EVERY = {"compare", "page", "score", "next", "recalibrate", "monitor", "validate"}
NEEDED = {  # libraries, and by which commands
    "msgspec": EVERY - {"recalibrate", "validate"},
    "pyarrow": EVERY,
    "jinja2": {"page"},
    "scipy numba narwhals sklearn safetensors matplotlib": set(),
}
PROGRAM = """
import json, sys
from click.testing import CliRunner
from pandora_regret.cli.commands import pandora
results = {name: CliRunner().invoke(pandora, arguments) for name, arguments in json.loads(sys.argv[1]).items()}
print(json.dumps({name: (result.exit_code, result.stderr) for name, result in results.items()}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("libraries", "needing"), NEEDED.items())
def test_broken_libraries(libraries, needing, tmp_path):
    one, two = (wine_file(tmp_path, name, id=range(178)) for name in ("bayes", "tree"))
    commands = {
        "help": ["--help"],
        "compare": ["compare", one, two, "--costs", COSTS],
        "page": ["compare", one, two, "--costs", COSTS, "--html", tmp_path / "page.html"],
        "score": ["score", one, "--costs", COSTS],
        "next": ["next", "flu=0.5,cold=0.5", "--costs", "flu=3,cold=4"],
        "recalibrate": ["recalibrate", one, "--costs", COSTS],
        "monitor": ["monitor", one, "--state", tmp_path / "state.json", "--costs", COSTS],
        "validate": ["validate", one],
    }
    (tmp_path / "broken").mkdir()
    for library in libraries.split():
        (tmp_path / "broken" / f"{library}.py").write_text("raise RuntimeError('DLL load\\nfailed')")
    path = os.pathsep.join([str(tmp_path / "broken"), *sys.path])
    asked = json.dumps({name: list(map(str, arguments)) for name, arguments in commands.items()})
    run = [sys.executable, "-c", PROGRAM, asked]
    done = subprocess.run(run, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, check=True)
    said = json.loads(done.stdout)
    line = f"pandora: {libraries} cannot be imported (RuntimeError: DLL load failed): pip install "
    for name, (code, errors) in said.items():
        assert code in ((1,) if name in needing else (0, 3)), (name, errors)
        assert name not in needing or (errors.startswith(line) and errors.count("\n") == 1)
