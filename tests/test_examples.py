"""The scripts in examples/ run, and what they print is true to what they claim."""

import csv
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

from pandora_regret import search_cost

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = {  # lines whose first number must grow from one to the next
    "choose_a_model.py": ["an oracle", "logistic regression", "decision tree"],
    "recalibrate.py": ["an oracle", "recalibrated, vector", "as it is"],
    "train.py": ["an oracle", "log loss"],
    "troubleshoot.py": ["knowing the fault", "by forecast", "the same checklist"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_costs_in_the_order_that_it_claims(name, capsys, monkeypatch):
    if name == "train.py":
        pytest.importorskip("torch")
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    found = [next(line for line in lines if line.startswith(beginning)) for beginning in SCRIPTS[name]]
    costs = [float(re.search(r"\d+\.\d+", line)[0]) for line in found]
    assert costs == sorted(costs)


def test_the_picture_of_the_readme_shows_its_example(tmp_path):
    pytest.importorskip("matplotlib")
    picture = runpy.run_path(str(EXAMPLES / "readme_picture.py"))
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    prices, bills = picture["PRICES"], []
    for name in ("spread", "rival"):
        forecast = list(picture[name.upper()].values())
        assert f">>> {name} = [{forecast}]" in readme
        bills.append(round(search_cost([picture["TRUTH"]], [forecast], prices, labels=list(prices))))
    assert f"\n{bills}\n" in readme
    drawn, stored = picture["draw"](tmp_path / "picture.svg"), EXAMPLES.parent / "docs/assets/same-log-loss.svg"
    said, kept = (re.findall(r"<!-- (.*?) -->", svg.read_text(encoding="utf-8")) for svg in (drawn, stored))
    assert said == kept
    assert [f"${bill}" for bill in bills] == [text for text in said if text.startswith("$")]


@pytest.mark.slow
def test_the_demo_runs_from_its_zoo_to_its_page(tmp_path):
    pytest.importorskip("jinja2")
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    demo = [sys.executable, "examples/demo.py"]
    done = subprocess.run(demo, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=600)
    page = tmp_path / "demo-output" / "report.html"
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    for said in (
        "Someone who knew the truth would pay",
        "Next: visit",
        "Well Specified",
        str(page),
        "pandora compare",
    ):
        assert said in done.stdout


def test_the_commands_that_the_demo_ends_with_work_as_printed(tmp_path, monkeypatch):
    """On files of the form that the demo writes."""
    from click.testing import CliRunner

    from pandora_regret.cli.commands import pandora

    monkeypatch.chdir(EXAMPLES.parent)  # the demo names its files from where it was started
    demo = runpy.run_path(str(EXAMPLES / "demo.py"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES / "data", tmp_path / "examples" / "data")
    with (EXAMPLES / "data/dermatology/clinical.csv").open(encoding="utf-8", newline="") as file:
        diseases = [patient["disease"] for patient in csv.DictReader(file)]
    classes = tuple(dict.fromkeys(diseases))
    truth = np.array([classes.index(disease) for disease in diseases])
    demo["OUT"].mkdir()
    for seed, name in enumerate(demo["CANDIDATES"]):
        forecasts = np.random.default_rng(seed).dirichlet(np.ones(len(classes)), len(truth))
        store = SimpleNamespace(classes=classes, truth=truth, probabilities=lambda names, p=forecasts: [p])
        demo["write_forecasts"](store, "any", demo["OUT"] / name)
    for words in demo["next_commands"]():
        result = CliRunner().invoke(pandora, words)
        assert result.exit_code == 0, result.output
