"""The package as a whole: what importing it costs, what it offers, and that scoring stays at home."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import pandora_regret as package
from pandora_regret.optional import import_optional

HEAVY = ["numpy", "scipy", "sklearn", "numba", "pandas", "polars", "pyarrow", "narwhals", "torch", "matplotlib"]

SCORE_EVERYTHING = """
import pandora_regret as pr
y, p = [0, 1], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]
for score in (pr.pandora_regret, pr.beta_score, pr.excess_search_burden, pr.expected_search_cost, pr.pair_costs):
    score(y, p)
for prior in (pr.Uniform(), pr.Gamma(2.0), pr.LogNormal(0.5), pr.Exponential(), pr.Empirical([[1.0, 2.0, 3.0]])):
    pr.expected_search_cost(y, p, prior=prior)
pr.search_order(p, [1, 2, 3]), pr.search_cost(y, p, [1, 2, 3]), pr.simulate_search(y, p, draws=10)
pr.search_entropy(p), pr.search_divergence(p, p)
"""


def run(program):
    """What a fresh interpreter prints."""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def modules_added_by(statement, after="pass"):
    return run(f"import sys\n{after}\nbefore = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - before)")


def packages(modules):
    return {module.partition(".")[0] for module in modules}


def test_importing_the_package_costs_next_to_nothing():
    added = modules_added_by("import pandora_regret")
    assert "pandora_regret" in added
    assert not packages(added) & set(HEAVY)
    assert len(modules_added_by("import pandora_regret", after="import numpy")) < 15


def test_scoring_arrays_loads_no_frame_library():
    program = "from pandora_regret import pandora_regret\npandora_regret([0], [[0.5, 0.5]])"
    assert not packages(modules_added_by(program)) & {
        "pandas",
        "polars",
        "pyarrow",
        "narwhals",
        "sklearn",
        "torch",
    }


def test_the_names_at_the_top_are_few_enough_to_know():
    """What people use; all else is in the module that it belongs to."""
    assert 30 <= len(package.__all__) < 40
    assert {"compare", "Monitor", "recalibrate", "Workup", "plan_workup", "score_stream"} <= set(package.__all__)
    assert "keeps_strict_propriety" not in package.__all__


def test_every_public_name_resolves():
    for name in package.__all__:
        assert getattr(package, name) is not None, name
    assert len(set(package.__all__)) == len(package.__all__)


ROOT = Path(package.__file__).parent
LAZY = [stub.parent.relative_to(ROOT.parent).as_posix().replace("/", ".") for stub in ROOT.rglob("__init__.pyi")]


@pytest.mark.parametrize("name", LAZY)
def test_the_names_that_type_checkers_see_are_those_that_load(name):
    lazy = importlib.import_module(name)
    stub = ast.parse(Path(lazy.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    told = {alias.name: line.module for line in stub.body for alias in line.names}
    assert set(told) == set(lazy.__all__)
    assert dir(lazy) == sorted(lazy.__all__)
    for public, module in told.items():
        assert getattr(lazy, public) is getattr(importlib.import_module(module), public), public


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'pandoras_regret'"):
        _ = package.pandoras_regret
    with pytest.raises(ImportError, match="pandoras_regret"):
        exec("from pandora_regret import pandoras_regret")


def test_scoring_never_touches_the_network():
    forbid = """
import sys
def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(event)
sys.addaudithook(refuse)
"""
    run(forbid + SCORE_EVERYTHING)
    witness = "import socket\ntry:\n    socket.socket()\nexcept RuntimeError as error:\n    print(error)"
    assert run(forbid + witness) == ["socket.__new__"]


def test_a_library_that_is_broken_is_named_with_the_extra_that_installs_it(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise RuntimeError('compiled for\\nanother machine')")
    monkeypatch.syspath_prepend(tmp_path)
    words = r"broken_library cannot be imported \(RuntimeError: compiled for another machine\): pip .*\[zoo\]"
    with pytest.raises(ImportError, match=words):
        import_optional("broken_library", extra="zoo")
