"""Roles of columns: one table that layouts, batches and the command's options agree with."""

import subprocess
import sys

import pytest

from pandora_regret.files.roles import ROLES


def test_every_role_has_an_option():
    pytest.importorskip("click")
    from pandora_regret.cli.compare import compare

    options = {option.name: getattr(option, "help", "") for option in compare.params}
    for role in ROLES:
        assert options[role.option].startswith(role.help)
        assert all(name in options[role.option] for name in role.usual)


def test_a_prefix_takes_no_column_that_has_a_role(tmp_path):
    pytest.importorskip("pyarrow")
    from pandora_regret.files import Layout, open_predictions

    (path := tmp_path / "p.csv").write_text("ID,label,Ia,Ib\n7,a,0.5,0.5\n8,b,0.2,0.8\n")
    [model] = open_predictions(path, Layout(proba_prefix="I"))
    assert (model.columns.id, model.classes) == ("ID", ("a", "b"))


def test_without_pyarrow_one_line_says_what_to_install():
    program = """
import sys
sys.modules["pyarrow"] = None
from pandora_regret.files import Batch, Layout, align, read_price_list, read_prior_argument
print(read_price_list("a=1,b=2").costs, read_prior_argument("gamma:2"))
import pandora_regret.stream
try:
    from pandora_regret.files import open_predictions
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pandora-regret[cli]" in done.stdout.splitlines()[-1]


def test_errors_about_files_travel_between_processes():
    import pickle

    from pandora_regret.files import FileError

    error = FileError(
        "holds 'x'", path="p.csv", where=" line 3, column 'a'", row=1, column="a", fix="write a number"
    )
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.within_file) == (str(error), error.within_file)
    assert (copy.path, copy.row, copy.column) == ("p.csv", 1, "a")
