"""The scripts in examples/ run, and what they print is true to what they claim."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

from pandora_regret import search_cost

EXAMPLES = Path(__file__).parents[1] / "examples"
VERDICTS = ("Train on", "Not settled:")  # where another loss than log loss is cheapest


@pytest.fixture
def printed(capsys, monkeypatch):
    """Runs an example as a script, and gives the lines that it prints."""

    def run(name, *arguments):
        path = str(EXAMPLES / name)
        monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
        runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def numbers(line):
    """The numbers in a line that do not belong to a name."""
    return [float(found) for found in re.findall(r"(?<![\w.])[-+]?\d+\.\d+|\d+(?=%)", line)]


def rows(lines, *names):
    """The first number in the line that begins with each name."""
    return [numbers(next(line for line in lines if line.strip().startswith(name)))[0] for name in names]


def test_choose_a_model_ranks_by_cost_and_names_the_cheapest(printed):
    lines = printed("choose_a_model.py")
    table = [line[:20].strip() for line in lines[1:4]]
    assert set(table) == {"logistic regression", "naive Bayes", "decision tree"}
    costs = rows(lines, "an oracle", *table)
    assert costs == sorted(costs)
    verdicts = (f"Deploy {table[0]}:", f"{table[0]} and {table[1]} cannot be told apart")
    assert any(line.startswith(verdicts) for line in lines)
    assert re.fullmatch(r"If it has to be a tree: depth [1235], at EUR \d+\.\d\d per sample\.", lines[-1])


def test_the_picture_of_the_readme_shows_its_example(tmp_path):
    pytest.importorskip("matplotlib")
    picture = runpy.run_path(str(EXAMPLES / "readme_picture.py"))
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert f">>> prices = {picture['PRICES']}".replace("'", '"') in readme
    bills = []
    for name in ("spread", "rival"):
        forecast = list(picture[name.upper()].values())
        assert f">>> {name} = [{forecast}]" in readme
        bills.append(
            round(search_cost([picture["TRUTH"]], [forecast], picture["PRICES"], labels=list(picture["PRICES"])))
        )
    assert f"\n{bills}\n" in readme
    drawn = picture["draw"](tmp_path / "picture.svg").read_text(encoding="utf-8")
    stored = (EXAMPLES.parent / "docs/assets/same-log-loss.svg").read_text(encoding="utf-8")
    assert [f"${bill}" for bill in bills] == [text for text in texts_of(drawn) if text.startswith("$")]
    assert texts_of(stored) == texts_of(drawn)


def texts_of(svg):
    """What matplotlib says in comments that it has drawn."""
    return re.findall(r"<!-- (.*?) -->", svg)


def test_recalibrate_saves_about_what_the_decomposition_promised(printed):
    lines = printed("recalibrate.py")
    promised, low, high = numbers(lines[1])
    before, after, oracle = rows(lines, "as it is", "recalibrated, vector", "an oracle")
    assert 0 < low < promised < high
    assert oracle < after < before
    assert before - after == pytest.approx(promised, rel=0.5)


def test_train_ranks_by_cost_and_gives_a_verdict(printed):
    pytest.importorskip("torch")
    lines = printed("train.py")
    names = [line[:22].strip() for line in lines[1:4]]
    assert set(names) == {"log loss", "search score, alpha 0", "search score, alpha 1"}
    costs = [float(line.split("$")[1].split()[0]) for line in lines[1:5]]
    assert costs[3] < costs[0] <= costs[1] <= costs[2] < 1.5 * costs[3]
    says = ["Keep log loss:"] if names[0] == "log loss" else [f"{word} the {names[0]}" for word in VERDICTS]
    assert lines[5].startswith(tuple(says))


def test_troubleshoot_plans_for_one_plate_and_beats_a_fixed_checklist(printed):
    lines = printed("troubleshoot.py")
    plan = [line for line in lines if re.match(r"  \d\. ", line)]
    assert len(plan) == 7
    assert plan[-1].endswith("100%")
    checklist, search, knowing = rows(lines, "the same checklist", "by forecast", "knowing the fault")
    assert knowing < search < checklist


def test_troubleshoot_reads_a_table(printed, tmp_path):
    fault = np.arange(140) % 7
    measured = fault[:, None] + np.random.default_rng(0).normal(0.0, 0.2, (140, 27))
    table = np.column_stack([measured, fault])
    path = tmp_path / "plates.csv"
    np.savetxt(path, table, delimiter=",", fmt=[*["%.4f"] * 27, "%d"])
    lines = printed("troubleshoot.py", path)
    assert "All 42 new plates, on average:" in lines
    search, knowing = rows(lines, "by forecast", "knowing the fault")
    assert search == pytest.approx(knowing, rel=0.1)  # every measurement tells the fault
