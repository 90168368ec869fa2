"""Malformed files through the commands: an exit code, one line, no traceback, no output file, and never a hang."""

import os
import signal

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")
pytest.importorskip("jinja2")

from cli_files import run
from corpus import corpus, csv_text

SECONDS = 5
LIBRARY_WORDS = ("axis=", "logits=", "labels=", "costs=", "keepdims", "np.", "astype(")
LONGER = int(os.environ.get("FAULTS", "1"))  # how many times as many random files; `make faults` asks for more
FAULTS = corpus(n_mutations=80 * LONGER)


@pytest.fixture
def deadline():
    """Whatever takes longer counts as a hang."""

    def hang(*_):
        raise AssertionError(f"no answer within {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(SECONDS)
    yield lambda: signal.alarm(SECONDS)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_malformed_file_is_refused_in_one_line(fault, tmp_path, deadline):
    bad, good, page = str(tmp_path / fault.name), tmp_path / "good.csv", tmp_path / "page.html"
    fault.write(bad)
    good.write_text(csv_text())
    before = sorted(os.listdir(tmp_path))
    commands = {
        "score": ["score", bad, "--json"],
        "compare": ["compare", bad, str(good), "--json"],
        "validate": ["validate", bad],
        "report": ["compare", bad, "--html", str(page)],
    }
    codes = {}
    for name, words in commands.items():
        deadline()
        codes[name] = check(name, run(*words), fault)
        if codes[name]:
            assert sorted(os.listdir(tmp_path)) == before, name
    assert codes["validate"] == codes["score"], codes


def check(command, result, fault):
    """The exit code, if the command behaved."""
    assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
    assert "Traceback" not in result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    if fault.must_fail:
        assert result.exit_code == 2, (command, result.stdout, result.stderr)
    if result.exit_code and command != "validate":
        assert result.exit_code in (1, 2)
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert not [word for word in LIBRARY_WORDS if word in result.stderr], result.stderr
    return result.exit_code
