"""Compiled loops whose cache is damaged, planted by others, or nowhere to be kept; and numba switched off."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from pandora_regret.core.kernels import engine

pytest.importorskip("numba")

from pandora_regret.core.kernels import numba_cache

PROGRAM = """
import numpy as np
from pandora_regret.inference.keyed import keys_of
from pandora_regret.inference.resampling import poisson_weights
from pandora_regret.core.kernels import engine, numba_cache
engine.WORTH_COMPILING, numba_cache.SILENT_SECONDS = 1, 60
print(int(poisson_weights(keys_of(range(30_000)), 20, seed=1).sum()))
"""
NO_CACHE_CHOSEN = {"NUMBA_CACHE_DIR": ""}


def drawn(**environment):
    """What the program prints: sums of weights, drawn by a compiled loop."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    return done.stdout


def files_of(folder, kind):
    return sorted(Path(folder).rglob(f"*.{kind}"))


@pytest.fixture
def fresh_folder():
    """The folder is looked for anew."""
    numba_cache.cache_folder.cache_clear()
    yield numba_cache.cache_folder
    numba_cache.cache_folder.cache_clear()


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    return folder, drawn(NUMBA_CACHE_DIR=str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"hello", b"\x80\x04\x95"], ids=["empty", "text", "half a pickle"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_cache_is_made_anew(cached, kind, damage):
    folder, expected = cached
    files = files_of(folder, kind)
    assert files
    for path in files:
        path.write_bytes(damage)
    assert drawn(NUMBA_CACHE_DIR=str(folder)) == expected
    assert all(path.read_bytes() != damage for path in files_of(folder, "nbi"))


def test_numba_switched_off_gives_the_same(cached):
    assert drawn(NUMBA_DISABLE_JIT="1") == cached[1]


class Planted:
    """What leaves a file behind as soon as it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def plant(folder, mark):
    """Put code into every file of a cache; whether there were any."""
    files = [*files_of(folder, "nbi"), *files_of(folder, "nbc")]
    for path in files:
        path.write_bytes(pickle.dumps(Planted(mark)))
    return bool(files)


@pytest.mark.slow
def test_what_others_could_have_planted_is_never_run(tmp_path):
    """A planted file runs where only the user could have written it, and nowhere else."""
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    expected = drawn(NUMBA_CACHE_DIR=str(chosen))
    assert plant(chosen, tmp_path / "from a private folder")
    assert drawn(NUMBA_CACHE_DIR=str(chosen)) == expected
    assert (tmp_path / "from a private folder").is_dir()  # else this test could not fail

    assert plant(chosen, tmp_path / "planted")
    chosen.chmod(0o777)
    assert drawn(NUMBA_CACHE_DIR=str(chosen)) == expected
    assert not (tmp_path / "planted").exists()


@pytest.mark.slow
def test_without_a_home_nothing_is_kept_or_loaded(tmp_path, cached):
    """A file in place of each home, since root may write to any folder; a folder waits among temporary files."""
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    temporary = tmp_path / "tmp"
    planted = temporary / f"pandora-regret-{os.getuid()}"
    planted.mkdir(parents=True, mode=0o700)
    homes = {name: str(nowhere / "home") for name in ("HOME", "XDG_CACHE_HOME")}
    assert drawn(**NO_CACHE_CHOSEN, **homes, TMPDIR=str(temporary)) == cached[1]
    assert [*temporary.rglob("*")] == [planted]
    beside_the_source = Path(numba_cache.__file__).parents[2] / "inference" / "__pycache__"
    assert not files_of(beside_the_source, "nbi")


def test_the_folder_lies_in_the_chosen_one_or_in_the_users_cache(tmp_path, monkeypatch, fresh_folder):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert fresh_folder() == tmp_path / "chosen" / "pandora-regret"
    fresh_folder.cache_clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert fresh_folder() == tmp_path / "cache" / "pandora-regret"
    assert fresh_folder().stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077], ids=oct)
def test_missing_folders_above_are_made_for_their_user_alone(tmp_path, monkeypatch, fresh_folder, umask):
    """By umask 002 a ~/.cache that we had made ourselves was one that others may write to, and never used."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    usual = os.umask(umask)
    try:
        assert fresh_folder() == tmp_path / "home" / ".cache" / "pandora-regret"
    finally:
        os.umask(usual)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
@pytest.mark.parametrize("opened", [0o770, 0o707, 0o755], ids=oct)
def test_a_folder_that_others_can_look_into_is_not_used(tmp_path, monkeypatch, fresh_folder, opened):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / "pandora-regret").mkdir()
    (tmp_path / "pandora-regret").chmod(opened)
    assert fresh_folder() is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
def test_no_folder_above_may_be_exchanged_by_others(tmp_path):
    folder = tmp_path / "above" / "pandora-regret"
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    assert numba_cache.is_private(folder)
    for mode in (0o777, 0o775, 0o757):
        folder.parent.chmod(mode)
        assert not numba_cache.is_private(folder)
    folder.parent.chmod(0o1777)  # sticky, as /tmp is
    assert numba_cache.is_private(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
def test_a_link_is_followed_before_the_folder_is_looked_at_and_never_after(tmp_path, monkeypatch, fresh_folder):
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(link))
    assert fresh_folder() == real / "pandora-regret"
    assert not numba_cache.is_private(link / "pandora-regret")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
@pytest.mark.parametrize("foreign", ["pandora-regret", "above"])
def test_every_folder_of_the_path_is_ours_or_roots(tmp_path, monkeypatch, foreign):
    folder = tmp_path / "above" / "pandora-regret"
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    usual = os.lstat

    def of_another_user(path):
        status = usual(path)
        if Path(path).name != foreign:
            return status
        fields = list(status)
        fields[4] = 12345  # st_uid
        return os.stat_result(fields)

    monkeypatch.setattr(numba_cache.os, "lstat", of_another_user)
    assert not numba_cache.is_private(folder)


def test_small_work_is_left_to_numpy(monkeypatch):
    most = engine.WORTH_COMPILING
    assert not engine.worth_compiling(most - 1)
    assert engine.worth_compiling(most)
    assert engine.worth_compiling(most, 1e3)
    assert not engine.worth_compiling(most, 2e3)
    assert engine.worth_compiling(most, float("inf"))
    monkeypatch.setattr(engine, "HAS_NUMBA", False)
    assert not engine.worth_compiling(most)


def test_compiling_that_takes_long_is_told_once(caplog):
    numba_cache.tell_once.cache_clear()
    for _ in range(2):
        numba_cache.tell_once()
    [record] = caplog.records
    assert record.levelname == "WARNING"
