"""A comparison is complete when it is built: whoever has it changes nothing, and builds no other."""

import sys

import numpy as np
import pytest

from pandora_regret import Candidates, compare, compare_lists
from pandora_regret.cli import main
from pandora_regret.comparison import Comparison

ROWS = 60


@pytest.fixture
def built(monkeypatch):
    """All comparisons that are built, one entry each."""
    entries = []
    begin = Comparison.__init__

    def noted(comparison, *args, **fields):
        entries.append(1)
        begin(comparison, *args, **fields)

    monkeypatch.setattr(Comparison, "__init__", noted)
    return entries


def forecasts(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(3), ROWS)


def truth():
    return np.random.default_rng(0).integers(0, 3, ROWS)


def test_from_arrays(built):
    compare(truth(), {"a": forecasts(1), "b": forecasts(2)}, by={"site": np.arange(ROWS) % 2})
    assert len(built) == 1


@pytest.mark.parametrize("miss", [None, 4.0])
def test_from_lists(built, miss):
    names = list("abc") * 20
    models = {
        "short": Candidates.from_lists([["a"]] * ROWS, names),
        "long": Candidates.from_lists([["b", "c"]] * ROWS, names),
    }
    compare_lists(models, miss=miss)
    assert len(built) == 1


@pytest.mark.parametrize("command", ["compare", "score"])
def test_from_files(built, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    lines = ["label,flu,cold,covid"]
    for number, row in zip(truth(), forecasts(1).round(6), strict=True):
        lines.append(",".join([("flu", "cold", "covid")[number], *map(str, row[:2]), f"{1 - row[:2].sum():.6f}"]))
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(sys, "argv", ["pandora", command, "a.csv", "--costs", "flu=2,cold=1,covid=3,mumps=9"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert len(built) == 1
