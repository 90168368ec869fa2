"""What a command imports: nothing heavy for a small file, little besides click for its help; and how it ends."""

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


def test_what_is_left_at_the_end_is_not_searched_for_garbage(files, monkeypatch):
    """As a process ends Python collects garbage, which for numba's many objects takes a tenth of a second."""
    watched = """
import atexit, gc, sys
from pandora_regret.cli import main
atexit.register(lambda: print(len(gc.get_objects()), gc.get_freeze_count(), file=sys.stderr))
main()
"""
    monkeypatch.chdir(files)
    command = [sys.executable, "-c", watched, "score", "1.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    searched, frozen = map(int, done.stderr.split())
    assert searched < frozen / 100


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
