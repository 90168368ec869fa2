"""What the command writes: nothing that commands a terminal or a spreadsheet, nothing half, nothing in silence."""

import csv
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_files import PROGRAM, run, wine_rows, write_csv

import pandora_regret.cli


@pytest.fixture
def predictions(tmp_path):
    return Path(write_csv(tmp_path / "a.csv", wine_rows("tree")))


def test_csv_neutralises_what_a_spreadsheet_would_run(tmp_path, predictions):
    formula = predictions.rename(tmp_path / "=1+1.csv")
    [row, *_] = csv.DictReader(io.StringIO(run("compare", formula, "--csv").stdout))
    assert row["model"] == "'=1+1"


def test_force_refuses_what_is_not_a_regular_file(tmp_path, predictions):
    os.mkfifo(tmp_path / "pipe")
    result = run("compare", predictions, "--html", tmp_path / "pipe", "--force")
    assert result.exit_code == 2
    assert "not a regular file" in result.stderr
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_force_follows_a_link_and_keeps_the_mode(tmp_path, predictions):
    page = tmp_path / "page.html"
    page.write_text("old")
    page.chmod(0o600)
    (tmp_path / "link.html").symlink_to(page)
    assert run("compare", predictions, "--html", tmp_path / "link.html", "--force").exit_code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert "<html" in page.read_text(encoding="utf-8")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def start(*words, **settings):
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_one_line_and_leaves_nothing(tmp_path, predictions, number):
    for delay in (0.3, 1.0, 1.6):
        process = start("compare", predictions, "--html", tmp_path / "page.html", "--force")
        time.sleep(delay)
        process.send_signal(number)
        _, complaint = process.communicate(timeout=60)
        assert process.returncode in (130, 0, -number)  # -number: before Python could be asked
        assert "Traceback" not in complaint or process.returncode == -number
        assert not list(tmp_path.glob(".*.part"))


@pytest.mark.slow
def test_a_signal_in_a_destructor_is_not_lost_where_ctrl_c_is_ignored():
    """As of a command that a script runs in the background."""
    late = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
import click
from pandora_regret.cli import main

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

def busy(self, **options):
    Dying()
    time.sleep(30)

click.Group.main = busy
main()
"""
    done = subprocess.run([sys.executable, "-c", late], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (130, "pandora: interrupted.\n")


def test_a_closed_standard_output_is_one_line(predictions):
    closed = ["sh", "-c", 'exec "$0" "$@" >&-', *PROGRAM, "score", str(predictions)]  # no fork of this process
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "/dev/null" in done.stderr


def test_without_click_the_command_says_what_to_install(tmp_path, predictions):
    blocked = "import sys; sys.modules['click'] = None; from pandora_regret.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", blocked, "score", predictions], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "click" in done.stderr
    assert "'pandora-regret[cli]'" in done.stderr


def test_numba_switched_off_changes_no_result(predictions):
    results = []
    for environment in ({}, {"NUMBA_DISABLE_JIT": "1"}):
        process = start("score", predictions, "--json", env=os.environ | environment)
        said, complaint = process.communicate(timeout=120)
        assert complaint == ""
        results.append(json.loads(said)["models"][0]["scores"])
    assert results[0] == results[1]


def test_every_line_goes_through_the_one_door():
    for path in Path(pandora_regret.cli.__file__).parent.glob("*.py"):
        if path.name != "output.py":
            assert "click.echo" not in path.read_text(encoding="utf-8"), path.name
