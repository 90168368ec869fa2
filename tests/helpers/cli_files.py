"""Real forecasts in files, and the `pandora` command run on them, for whoever tests the command line."""

import csv
import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from refusals import assert_fields

for library in ("click", "pyarrow", "jinja2", "sklearn"):  # what the commands need, and the wines
    pytest.importorskip(library)

CLASSES = ("barolo", "grignolino", "barbera")
COSTS = "barolo=90,grignolino=60,barbera=30"
PROGRAM = [sys.executable, "-c", "from pandora_regret.cli import main; main()"]


@cache
def forecasts():
    """True classes, and forecasts of two models that were trained on other wines."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    x, truth = load_wine(return_X_y=True)
    models = {
        "bayes": GaussianNB(var_smoothing=1e-3),
        "tree": DecisionTreeClassifier(min_samples_leaf=9, random_state=0),
    }
    chances = {
        name: cross_val_predict(model, x, truth, cv=3, method="predict_proba") for name, model in models.items()
    }
    mixed = {name: 0.9 * p + 0.1 / 3 for name, p in chances.items()}  # no class is out of the question
    return np.array(CLASSES)[truth], mixed


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def wine_rows(forecaster, which=slice(None), /, **extra):
    """A header and rows: label, forecasts, and further columns."""
    truth, chances = forecasts()
    columns = [list(np.asarray(values)[which]) for values in extra.values()]
    body = zip(
        truth[which], *(map(repr, map(float, p)) for p in chances[forecaster][which].T), *columns, strict=True
    )
    return [("y_true", *CLASSES, *extra), *body]


def wine_file(folder, forecaster, name=None, which=slice(None), **extra):
    return write_csv(folder / f"{name or forecaster}.csv", wine_rows(forecaster, which, **extra))


def run(*arguments, env=None):
    """The command in this process."""
    from click.testing import CliRunner

    from pandora_regret.cli.commands import pandora

    return CliRunner().invoke(pandora, [str(each) for each in arguments], prog_name="pandora", env=env)


def refused(*arguments, code=2, kind=Exception, **fields):
    """The one line that says why the command did nothing.

    ``kind`` is the kind of the error behind it, the other keywords are fields of it: argument, row, column, value.
    """
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1), result.output
    assert result.stderr.startswith("pandora: ")
    assert isinstance(result.exception.__cause__, kind)
    assert_fields(result.exception.__cause__, **fields)
    return result.stderr


def run_json(*arguments):
    """What it prints, as strict JSON."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout, parse_constant=lambda word: 1 / 0)


def start(*arguments, env=None, **options):
    """The command in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(
        [*PROGRAM, *(each if isinstance(each, bytes) else str(each) for each in arguments)],
        env={**os.environ, **(env or {})},
        **pipes,
    )
