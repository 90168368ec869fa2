"""Compiled loops whose cache on disk is damaged, outdated or nowhere to be kept, and numba switched off."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

PROGRAM = """
import numpy as np
from pandora_regret.inference.keyed import keys_of
from pandora_regret.inference.resampling import poisson_weights
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
