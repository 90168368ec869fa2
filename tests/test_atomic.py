import os
import stat

import pytest

from pandora_regret.atomic import write_atomically


def test_what_is_written_is_there(tmp_path):
    assert write_atomically(tmp_path / "a.bin", lambda file: file.write(b"new")).read_bytes() == b"new"


def test_an_older_file_is_replaced(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"a much longer old content")
    write_atomically(tmp_path / "a.bin", lambda file: file.write(b"new"))
    assert (tmp_path / "a.bin").read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("no")])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    (tmp_path / "a.bin").write_bytes(b"old")

    def write_half(file):
        file.write(b"half")
        raise error

    with pytest.raises(type(error)):
        write_atomically(tmp_path / "a.bin", write_half)
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.bin"]


def test_others_may_read_it_as_any_file_of_this_user(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(tmp_path / "atomic", lambda file: file.write(b""))
    assert stat.S_IMODE(os.stat(tmp_path / "atomic").st_mode) == stat.S_IMODE(os.stat(tmp_path / "plain").st_mode)


def test_the_umask_is_not_touched(tmp_path, monkeypatch):
    """It is one for all threads: whoever sets it, even for a moment, sets it for the others."""
    monkeypatch.setattr(os, "umask", None)
    assert write_atomically(tmp_path / "a.bin", lambda file: file.write(b"new")).read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_said_of_the_file_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        write_atomically(tmp_path / "nowhere" / "a.bin", lambda file: file.write(b""))
    assert error.value.filename == str(tmp_path / "nowhere" / "a.bin")
