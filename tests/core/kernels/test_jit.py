"""Compiled loops whose cache on disk is damaged, outdated or nowhere to be kept, and numba switched off."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pandora_regret.core.kernels import engine, native

pytest.importorskip("numba")

PROGRAM = """
import numpy as np
from pandora_regret.inference.keyed import keys_of
from pandora_regret.inference.resampling import poisson_weights
from pandora_regret.core.kernels import engine, jit
engine.WORTH_COMPILING, jit.SILENT_SECONDS = 1, 60
print(int(poisson_weights(keys_of(range(30_000)), 20, seed=1).sum()))
"""


def drawn(**environment):
    """What the program prints: sums of weights, of as many as are worth compiling."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    return folder, drawn(NUMBA_CACHE_DIR=str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"hello", b"\x80\x04\x95"], ids=["empty", "text", "half a pickle"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_cache_is_made_anew(cached, kind, damage):
    folder, expected = cached
    files = sorted(Path(folder).rglob(f"*.{kind}"))
    assert files
    for path in files:
        path.write_bytes(damage)
    assert drawn(NUMBA_CACHE_DIR=str(folder)) == expected
    assert all(path.read_bytes() != damage for path in Path(folder).rglob("*.nbi"))


def test_numba_switched_off_gives_the_same(cached):
    assert drawn(NUMBA_DISABLE_JIT="1") == cached[1]


@pytest.mark.slow
def test_without_a_home_loops_are_kept_among_temporary_files(tmp_path, cached):
    """A file in place of each home, since root may write to any folder."""
    (tmp_path / "file").write_text("")
    nowhere = {name: str(tmp_path / "file" / "home") for name in ("HOME", "XDG_CACHE_HOME")}
    assert drawn(NUMBA_CACHE_DIR="", TMPDIR=str(tmp_path), **nowhere) == cached[1]
    [folder] = tmp_path.glob("pandora-regret-*")
    assert list(folder.rglob("*.nbi"))
    assert folder.stat().st_mode & 0o077 == 0
    folder.chmod(0o777)  # where others may write, nothing is loaded from
    program = "from pandora_regret.core.kernels.native import cache_folder; print(cache_folder())"
    environment = os.environ | nowhere | {"NUMBA_CACHE_DIR": "", "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout == "None\n"


def test_numpy_works_until_loading_loops_has_paid(monkeypatch):
    monkeypatch.delitem(sys.modules, "pandora_regret.core.kernels.jit", raising=False)
    monkeypatch.setattr(engine, "_work_so_far", [])
    monkeypatch.setattr(native, "is_kept", lambda kind: True)
    one = engine.WORTH_COMPILING
    assert not engine.worth_compiling(one - 1)
    assert [engine.worth_compiling(one) for _ in range(engine.TO_IMPORT)] == [False] * (engine.TO_IMPORT - 1) + [
        True
    ]
    monkeypatch.setattr(engine, "_work_so_far", [])
    monkeypatch.setattr(native, "is_kept", lambda kind: False)
    assert not engine.worth_compiling(one * (engine.TO_COMPILE - 1))
    assert engine.worth_compiling(one)
    monkeypatch.setitem(sys.modules, "pandora_regret.core.kernels.jit", None)
    assert engine.worth_compiling(one)


def test_compiling_that_takes_long_is_told_once(caplog):
    jit = pytest.importorskip("pandora_regret.core.kernels.jit")
    jit.tell_once.cache_clear()
    for _ in range(2):
        jit.tell_once()
    [record] = caplog.records
    assert record.getMessage().startswith("Compiling loops for this machine")


def test_an_object_file_is_loaded_whole_or_not_at_all(tmp_path):
    native._keep(path := tmp_path / "score.o", b"name\0code")
    assert native._read(path) == b"name\0code"
    for damage in (b"", path.read_bytes()[:-1], path.read_bytes() + b"x"):
        path.write_bytes(damage)
        assert native._read(path) is None
    assert native._read(None) is native._read(tmp_path / "none") is None


@pytest.mark.slow
def test_a_numba_that_gives_no_object_file_calls_the_loop_itself(monkeypatch):
    def object_code(*_):
        raise AttributeError("_final_module")

    jit = pytest.importorskip("pandora_regret.core.kernels.jit")
    table, truth = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, np.nan]]), np.array([1, 0])
    monkeypatch.setattr(jit, "object_code", object_code)
    monkeypatch.setattr(native, "_read", lambda path: None)
    monkeypatch.setattr(native, "loop", native.loop.__wrapped__)
    out, options = np.empty(2), {"alpha": 1.0, "tie": 1e-15, "tolerance": 1e-4}
    assert native.score(native.table_of(table), truth, slice(0, 2), losses=out, **options) == 1
    assert out[0] == pytest.approx((3 - 2 * 0.6) + (0.2 / 0.3) ** 2)
    assert np.isnan(out[1])
