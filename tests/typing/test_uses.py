"""The public interface as type checkers see it: `uses.py` is right by mypy and by pyright, and runs."""

import inspect
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USES = Path(__file__).with_name("uses.py")
FUNCTIONS = {
    name: value
    for name, value in runpy.run_path(str(USES)).items()
    if inspect.isfunction(value) and value.__code__.co_filename == str(USES)
}


def checked(*command):
    """What a type checker prints about a file, and its exit status."""
    environment = {**os.environ, "MYPYPATH": "src", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_users_write_runs(name, tmp_path):
    arguments = [tmp_path] if inspect.signature(FUNCTIONS[name]).parameters else []
    FUNCTIONS[name](*arguments)


@pytest.mark.slow
def test_mypy_finds_the_types_that_users_rely_on():
    run = checked("mypy", "--strict", str(USES))
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_pyright_finds_the_same_types():
    run = checked("basedpyright", "--pythonpath", sys.executable)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "assert_type(pr.pandora_regret([0], [[0.5, 0.5]]), int)",
        "assert_type(pr.pandora_regret([0], [[0.5, 0.5]], per_instance=True), float)",
        "pr.pandora_regret([0], [[0.5, 0.5]], per_instance='yes')",
        "pr.pandora_regret([0], [[0.5, 0.5]], weights=[1.0])",
        "pr.expected_search_cost([0], [[0.5, 0.5]], prior='uniform')",
    ],
)
def test_both_refuse_what_is_wrong(line, tmp_path):
    """A checker that finds nothing wrong with this would find nothing wrong with anything."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(f"from typing import assert_type\nimport pandora_regret as pr\n{line}\n")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"include": ["wrong.py"], "extraPaths": ["{(ROOT / "src").as_posix()}"]}}'
    )
    assert checked("mypy", "--strict", str(wrong)).returncode == 1
    pyright = checked("basedpyright", "--level", "error", "-p", str(tmp_path), "--pythonpath", sys.executable)
    assert pyright.returncode == 1, pyright.stdout
    assert "wrong.py:3:" in pyright.stdout
