import os
import stat
import time

import pytest

from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.inputs import InputError


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt(), ValueError("no")])
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


def test_a_folder_that_is_not_there_is_said_of_the_file_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        write_atomically(tmp_path / "nowhere" / "a.bin", lambda file: file.write(b""))
    assert error.value.filename == str(tmp_path / "nowhere" / "a.bin")


def test_a_link_stays_a_link_to_the_file_that_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.bin").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "a.bin")
    assert write_atomically(tmp_path / "link", lambda file: file.write(b"new")) == tmp_path / "link"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a.bin").read_bytes() == b"new"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "real"]


def test_a_replaced_file_keeps_its_mode(tmp_path):
    path = tmp_path / "private"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_atomically(path, lambda file: file.write(b"new"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        write_atomically(tmp_path / "pipe", lambda file: file.write(b"new"))
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_a_killed_writer_left_behind_is_removed_by_the_next(tmp_path):
    left, young, foreign = (
        tmp_path / name for name in (".a.bin.0123456789abcdef.part", f".a.bin.{'0' * 16}.part", ".b.part")
    )
    for path in (left, young, foreign):
        path.write_bytes(b"half")
    now = time.time()
    os.utime(left, (now - 25 * 3600, now - 25 * 3600))
    os.utime(young, (now - 23 * 3600, now - 23 * 3600))  # somebody may still write it
    write_atomically(tmp_path / "a.bin", lambda file: file.write(b"new"))
    assert {path.name for path in tmp_path.iterdir()} == {"a.bin", young.name, foreign.name}
