"""What is wrong with a large file is found by looking at each line once at most, wherever it stands."""

import os
import subprocess
import sys

import pytest
from prediction_files import inspect_file, prices_of, refusal, refused, text_file

from pandora_regret.core.inputs import InputError
from pandora_regret.files.layout import Layout


@pytest.mark.slow
@pytest.mark.parametrize("index", [3, 199_990])
@pytest.mark.parametrize("line", ['7,"a,0.25,0.75,n', '7,a,0.25,0.75,"n'])
def test_an_unclosed_quote_is_named_in_a_file_of_any_length(tmp_path, index, line):
    lines = [f"{at},{'ab'[at % 2]},0.25,0.75,n" for at in range(200_000)]
    lines[index] = line
    path = text_file(tmp_path, "\n".join(["id,y_true,a,b,note", *lines, ""]))
    error = refusal(path)
    assert (error.path, error.where) == (path, f" line {index + 2}")
    assert "quotation mark" in str(error)


@pytest.mark.slow
def test_a_program_ends_although_a_large_file_was_begun_only(tmp_path):
    """Threads of Arrow that call Python back would hang it, or abort it, in every second run."""
    path = text_file(tmp_path, "y_true,a,b\n" + "a,0.25,0.75\nb,0.75,0.25\n" * 1_000_000)
    program = f"from pandora_regret.files import open_predictions; open_predictions({path!r})"
    for _ in range(3):
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_validating_names_a_few_lines_of_each_column(tmp_path):
    names = [f"c{k}" for k in range(60)]
    lines = [",".join(["y_true", *names]), *(",".join([name, *[""] * 60]) for name in names)]
    [result] = inspect_file(text_file(tmp_path, "\n".join(lines)), Layout(classes=tuple(names)))
    assert [problem.places for problem in result.problems] == [["line 2", "line 3", "line 4"]] * 21
    assert "further columns" in result.problems[-1].message


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
def test_pipes_and_devices_are_refused_before_they_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    os.symlink("/dev/zero", tmp_path / "zeros.csv")
    for path in (tmp_path / "pipe.csv", tmp_path / "zeros.csv"):
        assert "pipe or a device" in refused(path)
        with pytest.raises(InputError, match="pipe or a device"):
            prices_of(str(path), ["a", "b"])
