"""What is wrong with a large file is found by looking at each line once at most, wherever it stands."""

import os
import sys

import pytest
from prediction_files import refused, text_file

from pandora_regret.files import inspect_file, read_costs_argument
from pandora_regret.files.layout import Layout
from pandora_regret.files.text import DelimitedFile
from pandora_regret.inputs import InputError

HEADER = "id,y_true,a,b,note"


def rows(n):
    return [f"{index},{'ab'[index % 2]},0.25,0.75,n" for index in range(n)]


def with_line(tmp_path, n, index, line):
    lines = rows(n)
    lines[index] = line
    return text_file(tmp_path, "\n".join([HEADER, *lines, ""]))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("pandora_regret.files.text.BLOCK_BYTES", 1 << 12)


def calls_of(monkeypatch, owner, name):
    """Arguments of every call of a method from now on."""
    calls, method = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given, **named: calls.append(given) or method(*given, **named))
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("index", [3, 199_990])
@pytest.mark.parametrize("line", ['7,"a,0.25,0.75,n', '7,a,0.25,0.75,"n'])
def test_an_unclosed_quote_is_named_in_a_file_of_any_length(tmp_path, index, line):
    path = with_line(tmp_path, 200_000, index, line)
    assert f"{path} line {index + 2} opens a quotation mark that is never closed" in refused(path)


def test_validating_looks_up_all_lines_at_once(tmp_path, monkeypatch):
    names = [f"c{k}" for k in range(60)]
    lines = [",".join(["y_true", *names]), *(",".join([name, *[""] * 60]) for name in names)]
    lookups = calls_of(monkeypatch, DelimitedFile, "places")
    [result] = inspect_file(text_file(tmp_path, "\n".join(lines)), Layout(classes=tuple(names)))
    assert len(lookups) == 1
    assert [problem.places for problem in result.problems] == [["line 2", "line 3", "line 4"]] * 21
    assert "further columns" in result.problems[-1].message


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
def test_pipes_and_devices_are_refused_before_they_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    os.symlink("/dev/zero", tmp_path / "zeros.csv")
    for path in (tmp_path / "pipe.csv", tmp_path / "zeros.csv"):
        assert "is a pipe or a device" in refused(path)
        with pytest.raises(InputError, match="is a pipe or a device"):
            read_costs_argument(str(path), ["a", "b"])
