"""What is wrong with a large file is found by looking at each line once at most, wherever it stands."""

import os
import sys

import numpy as np
import pytest
from prediction_files import refused, text_file, whole

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


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("7,a,x,0.75,n", "column 'a' holds 'x'"),
        ('7,a,"0,25",0.75,n', "column 'a' holds '0,25': write a number with a decimal point"),
        ("7,a,0.25\0,0.75,n", r"column 'a' holds '0.25\x00'"),
        ("7,a,0.25,0.75", "has 4 values but the header names 5 columns"),
        ("7,a,0.25,0.75,n,n", "has 6 values but the header names 5 columns"),
    ],
)
def test_lines_before_the_block_that_fails_are_not_parsed_again(tmp_path, monkeypatch, small_blocks, line, says):
    path = with_line(tmp_path, 60_000, 59_990, line)
    parsed = calls_of(monkeypatch, DelimitedFile, "problem")
    assert f"{path} line 59992" in (message := refused(path))
    assert says in message
    assert len(parsed) < 1000


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


def test_a_header_longer_than_the_sample_is_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("pandora_regret.files.text.SAMPLE_BYTES", 64)
    names = [f"class number {k}" for k in range(40)]
    values = [",".join(["1" if k == row else "0" for k in range(40)]) for row in range(40)]
    lines = [",".join(["y_true", *names]), *(f"{name},{row}" for name, row in zip(names, values, strict=True))]
    np.testing.assert_array_equal(whole(text_file(tmp_path, "\n".join(lines))).values, np.eye(40))


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
def test_pipes_and_devices_are_refused_before_they_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    os.symlink("/dev/zero", tmp_path / "zeros.csv")
    for path in (tmp_path / "pipe.csv", tmp_path / "zeros.csv"):
        assert "is a pipe or a device" in refused(path)
        with pytest.raises(InputError, match="is a pipe or a device"):
            read_costs_argument(str(path), ["a", "b"])
