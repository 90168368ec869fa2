"""Killed at any moment: nothing half-written, and the work done again ends as if nothing had happened."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pandora_regret.core.atomic import write_atomically

pytest.importorskip("safetensors")
pytest.importorskip("jinja2")

HERE = Path(__file__).parent
RESULTS = {"report": ["page.html"], "study": ["out/results.json"], "monitor": ["state.json", "page.html"]}


@pytest.mark.parametrize("what", ["report", "study", "monitor"])
def test_twenty_kills_leave_nothing_half(what, tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    killed.mkdir(), whole.mkdir()
    path = os.pathsep.join([str(HERE.parent / "helpers"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(HERE / "killed.py"), what, str(killed), str(whole)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 20
    for results in RESULTS[what]:
        assert (killed / results).read_bytes() == (whole / results).read_bytes()
    _check_leftovers_go([killed / results for results in RESULTS[what]])


def _check_leftovers_go(written):
    """What the last kill left behind may still have a writer for some seconds; later, the next one removes it."""
    for part in {part for path in written for part in path.parent.glob(f".{path.name}.*.part")}:
        os.utime(part, (0, 0))
    for path in written:
        contents = path.read_bytes()
        write_atomically(path, lambda file, contents=contents: file.write(contents))
    assert not [part for path in written for part in path.parent.glob(f".{path.name}.*.part")]
