"""`pandora workup`: learned from files of records, replayed on others, with a stop loss that is kept."""

import numpy as np
import pytest
from cli_files import refused, run, run_json, write_csv

from pandora_regret import InputError
from pandora_regret.workup import Workup


def records(path, n, seed, unclear=0.0):
    rng = np.random.default_rng(seed)
    rows = [("fault", "noise", "heat", "remark")]
    for number in range(n):
        pump = rng.random() < 0.6
        noise = "" if rng.random() < unclear else "loud" if rng.random() < (0.9 if pump else 0.1) else "none"
        heat = round(float(rng.normal(70 if pump else 40, 10)), 1)
        rows.append(("pump" if pump else "valve", noise, heat, f"case {number}"))
    return write_csv(path, rows)


@pytest.fixture
def learned(tmp_path):
    path = records(tmp_path / "past.csv", 300, 1)
    fees = write_csv(tmp_path / "fees.csv", [("test", "minutes"), ("noise", 1), ("heat", 3)])
    workup = tmp_path / "pumps.toml"
    said = run("workup", "learn", path, "--class", "fault", "--costs", fees, "--out", workup, "--wrong", 60)
    assert said.exit_code == 0
    assert "2 tests learned from 300 cases: pump" in said.stdout
    assert "Not used as tests: remark." in said.stdout
    return workup


def test_a_learned_file_plans_without_a_forecast_in_its_unit(learned):
    plan = run_json("next", learned, "--found", "heat=71.5")
    assert (plan["currency"], plan["low"] < plan["expected_cost"] < plan["high"]) == ("min", True)
    assert "min (" in run("next", learned).stdout
    refused("next", learned, "--found", "smell=bad", kind=InputError, argument="found", value="smell")


def test_later_records_are_added(learned, tmp_path):
    more = records(tmp_path / "march.csv", 100, 2, unclear=0.5)
    said = run("workup", "learn", more, "--label", "fault", "--update", learned, "--out", learned, "--force")
    assert "from 400 cases" in said.stdout
    assert "noise was made" in said.stdout
    workup = Workup.load(learned)
    assert sum(map(sum, workup.steps[1].counts)) == 400
    assert workup.stops[0].losses == (60, 60)


def test_cuts_and_causes_are_options(learned, tmp_path):
    options = ("--class", "fault", "--cuts", "heat=45,60", "--combine", "pump,valve", "--costs", "noise=1,heat=2")
    said = run("workup", "learn", tmp_path / "past.csv", *options, "--out", tmp_path / "two.toml")
    assert said.exit_code == 0
    workup = Workup.load(tmp_path / "two.toml")
    assert workup.steps[1].cuts == (45, 60)
    assert workup.classes == ("pump", "valve", "pump and valve")


def test_a_replay_is_promised_against_paid_and_finds_a_loss_that_keeps_a_promise(learned, tmp_path):
    others = records(tmp_path / "others.csv", 400, 3)
    text = run("workup", "replay", learned, others, "--class", "fault").stdout
    assert text.startswith("Promised ")
    result = run_json("workup", "replay", learned, others, "--class", "fault")
    assert result["schema"] == "pandora-replay/1"
    assert result["promised"]["low"] < result["paid"]["value"] < result["promised"]["high"]
    safe = tmp_path / "safe.toml"
    said = run("workup", "replay", learned, others, "--class", "fault", "--at-most-wrong", "10%", "--out", safe)
    assert "at most 10 %" in said.stdout
    assert Workup.load(safe).stops[0].losses != Workup.load(learned).stops[0].losses
    strict = ["--class", "fault", "--at-most-wrong", "0.001"]
    refused("workup", "replay", learned, others, *strict, argument="at_most_wrong", value=0.001)
    refused("workup", "replay", learned, others, "--class", "diagnosis", place="'diagnosis'")


def test_classes_that_are_not_named_have_probability_0(learned):
    assert run_json("next", learned, "pump=1")["expected_cost"] == 0
    assert "'valve'" in refused("next", learned, "pump=0.9", place="FORECAST", value=0.9)
    assert "'pump'" in refused("next", learned, "pumb=1", place="FORECAST", value=["pumb"])
