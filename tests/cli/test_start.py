"""What a command imports: nothing heavy for a small file, and next to nothing besides click for its help."""

import json
import subprocess
import sys

import numpy as np
import pytest

HEAVY = {"scipy", "numba", "llvmlite", "pandas", "sklearn", "matplotlib", "pyarrow.compute"}
WATCHED = """
import json, sys
from pandora_regret.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    command = [sys.executable, "-c", WATCHED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two models' forecasts of the same thousand rows."""
    folder, rng = tmp_path_factory.mktemp("start"), np.random.default_rng(0)
    truth = rng.integers(0, 3, 1000)
    for number in (1, 2):
        table = rng.dirichlet(np.ones(3) + number, 1000)
        lines = (f"{'abc'[i]},{p[0]},{p[1]},{p[2]}" for i, p in zip(truth, table, strict=True))
        (folder / f"{number}.csv").write_text("\n".join(["label,a,b,c", *lines]))
    return folder


@pytest.mark.parametrize(
    "words", ["score 1.csv", "compare 1.csv 2.csv --costs a=1,b=2,c=5", "validate 1.csv 2.csv", "next a=0.2,b=0.8"]
)
def test_small_files_need_neither_scipy_nor_numba(files, words, monkeypatch):
    monkeypatch.chdir(files)
    assert not imported(*words.split()) & HEAVY


def test_help_imports_little_besides_click():
    alone = subprocess.run(
        [sys.executable, "-c", "import click, shutil, textwrap, sys; print(len(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    modules = imported("--help")
    assert len(modules) < int(alone.stdout) + 30
    assert not modules & {"numpy", "pyarrow", "narwhals", "jinja2", *HEAVY}
