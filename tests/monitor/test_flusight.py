"""Real forecasts, week by week through the command with kills in between, give the same state as in one go."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_files import run

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("flusight_monitor", ROOT / "examples/studies/flusight_monitor.py")
flusight = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(flusight)


@pytest.fixture(scope="module")
def forecasts():
    folder = flusight.folder_of_data()
    if folder is None:
        pytest.skip("the FluSight forecasts are not beside this repository (../shared/data/flusight)")
    return flusight.read_forecasts(folder)


def test_kills_between_weeks_change_nothing(forecasts, tmp_path):
    chosen = (forecasts["model"] == "UGA_flucast-Copycat") & (forecasts["horizon"] == 0)
    rows = forecasts[chosen & (forecasts["season"] == "2024-25")].copy()
    rows["id"] = rows["week"] + "/" + rows["location"].astype(str)
    rows = rows.rename(columns={"y_true": "label"})[["id", "label", *flusight.CLASSES, "week"]]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
        (folder / "classes.txt").write_text(",".join(flusight.CLASSES))
        for week, part in rows.groupby("week"):
            part.to_csv(folder / f"week-{week}.csv", index=False)
    shuffled = rows.sample(frac=1.0, random_state=0).sort_values("id", kind="stable")
    shuffled.to_csv(tmp_path / "all.csv", index=False)
    helpers = os.pathsep.join([str(ROOT / "tests/helpers"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(ROOT / "tests/faults/killed.py"), "flusight", str(killed), str(whole)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": helpers}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 20
    once = tmp_path / "once.json"
    result = run("monitor", f"Copycat={tmp_path / 'all.csv'}", "--state", once, "--period", "week", "--close")
    assert result.exit_code == 3, result.stderr
    states = [json.loads(path.read_bytes()) for path in (killed / "state.json", whole / "state.json", once)]
    assert states[0] == states[1]
    assert states[0] == states[2]
    assert states[0]["paid"]["bets"]["n"] == rows["week"].nunique()


def test_the_stored_figures_are_those_of_the_forecasts(forecasts):
    stored = json.loads(flusight.STORED.read_text(encoding="utf-8"))
    names = ("UGA_flucast-Copycat", "FluSight-ensemble", "UGuelph-CompositeCurve")
    some = forecasts[forecasts["model"].isin(names)].copy()
    some["model"] = some["model"].astype(str)
    assert flusight.all_models(some) == [model for model in stored["models"] if model["model"] in names]


def test_models_known_to_be_wrong_are_caught_and_the_ensemble_is_not():
    models = {model["model"]: model for model in json.loads(flusight.STORED.read_text(encoding="utf-8"))["models"]}
    constant = ("FluSight-equal_cat", "FluSight-dist_cat")
    for name in flusight.KNOWN:
        if name not in constant:
            assert any(part["alarm"] for part in models[name]["horizons"]), name
    for name in ("FluSight-ensemble", "FluSight-equal_cat"):
        assert not any(part["alarm"] for part in models[name]["horizons"]), name
