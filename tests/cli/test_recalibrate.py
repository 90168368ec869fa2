"""`pandora recalibrate`: what a map saves, the map as a file, and forecasts written again with it."""

import numpy as np
import pandas as pd
import pytest
from cli_files import run, run_json

from pandora_regret import expected_search_cost
from pandora_regret.calibrate import load_map, recalibrate
from pandora_regret.text.amounts import money

NAMES = ["melanoma", "nevus", "keratosis"]
COSTS = {"melanoma": 380.0, "nevus": 120.0, "keratosis": 90.0}
PRICES = "melanoma=$380,nevus=$120,keratosis=$90"


def simulated(n, seed, boldness=2.5, shares=(0.8, 1.5, 1.0)):
    """Forecasts that are too bold by a power, and labels that follow the calm ones."""
    rng = np.random.default_rng(seed)
    calm = rng.dirichlet(shares, size=n)
    truth = np.array([rng.choice(NAMES, p=p) for p in calm])
    bold = calm**boldness
    return truth, bold / bold.sum(axis=1, keepdims=True)


def frame_of(truth, table):
    frame = pd.DataFrame(
        {"id": np.arange(len(truth)), "note": "a, b", "y_true": truth, "age": np.arange(len(truth)) / 2}
    )
    for name, column in zip(NAMES, table.T, strict=True):
        frame[name] = column
    return frame


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    path = tmp_path_factory.mktemp("old") / "old.csv"
    frame_of(*simulated(600, 0)).drop(columns="age").to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def new():
    return frame_of(*simulated(90, 1)).drop(columns="y_true")


CLASSES = ["--classes", ",".join(NAMES)]


def test_it_says_what_is_saved_out_of_fold_and_whether_that_is_worth_it(old):
    options = ("--objective", "search", "--costs", PRICES, *CLASSES)
    printed = run_json("recalibrate", old, *options)
    expected = recalibrate(*simulated(600, 0), objective="search", costs=COSTS, labels=NAMES)
    assert printed["saved"]["value"] == pytest.approx(expected.saved.value)
    assert printed["saved"]["low"] == pytest.approx(expected.saved.low)
    assert printed["cost"]["value"] == pytest.approx(expected.cost.value)
    assert printed["worth_it"] is True
    assert money(printed["saved"]["value"], "USD") in printed["sentences"][0]
    assert "overconfident" in printed["sentences"][1]
    assert printed["written"] == {"forecasts": None, "map": None, "rows": None}
    assert "Worth it" in run("recalibrate", old, *options).stdout


@pytest.mark.parametrize("method", ["temperature", "vector", "matrix"])
def test_the_map_in_python_is_the_map_of_the_new_file(method, old, new, tmp_path):
    source, out = tmp_path / "new.csv", tmp_path / "again.csv"
    new.to_csv(source, index=False)
    arguments = ["--apply", source, "--out", out, "--costs", PRICES, "--method", method, *CLASSES]
    printed = run_json("recalibrate", old, *arguments)
    assert printed["written"] == {"forecasts": str(out), "map": str(tmp_path / "again.map.json"), "rows": 90}
    map_ = load_map(tmp_path / "again.map.json")
    assert map_.method == method
    written = pd.read_csv(out)
    np.testing.assert_allclose(written[NAMES], map_.predict_proba(new[NAMES]), atol=1e-12)
    pd.testing.assert_frame_equal(written.drop(columns=NAMES), new.drop(columns=NAMES))
    truth, table = simulated(90, 1)
    before = expected_search_cost(truth, table, costs=COSTS, labels=NAMES)
    assert expected_search_cost(truth, written[NAMES], costs=COSTS) < before


@pytest.mark.parametrize(
    ("suffix", "kind", "how"),
    [
        ("csv.gz", "csv", {}),
        ("tsv", "csv", {"sep": "\t"}),
        ("jsonl", "json", {"lines": True}),
        ("parquet", "parquet", {}),
        ("arrow", "feather", {}),
    ],
)
def test_every_format_keeps_its_columns_and_types(suffix, kind, how, old, new, tmp_path):
    source, out = tmp_path / f"new.{suffix}", tmp_path / f"again.{suffix}"
    more = {"csv": {"index": False}, "json": {"orient": "records", "double_precision": 15}}
    getattr(new, f"to_{kind}")(source, **how, **more.get(kind, {}))
    result = run("recalibrate", old, "--apply", source, "--out", out, *CLASSES)
    assert result.exit_code == 0, result.stderr
    written = getattr(pd, f"read_{kind}")(out, **how)
    pd.testing.assert_frame_equal(
        written.drop(columns=NAMES), new.drop(columns=NAMES), check_dtype=suffix != "jsonl"
    )
    expected = load_map(tmp_path / "again.map.json").predict_proba(new[NAMES])
    np.testing.assert_allclose(written[NAMES], expected, atol=1e-9)


def test_logits_come_back_as_logits(tmp_path):
    truth, table = simulated(200, 5)
    path, out = tmp_path / "logits.parquet", tmp_path / "again.parquet"
    frame_of(truth, np.log(table) + 3.0).drop(columns="age").to_parquet(path)
    assert run("recalibrate", path, "--apply", path, "--out", out, "--logits", *CLASSES).exit_code == 0
    map_ = load_map(tmp_path / "again.map.json")
    written = pd.read_parquet(out)[NAMES].to_numpy()
    np.testing.assert_allclose(np.exp(written), map_.predict_proba(table), atol=1e-9)


def test_new_class_frequencies_are_found_without_labels(tmp_path):
    truth, table = simulated(800, 8, boldness=1.0)
    keep = (truth != "melanoma") | (np.random.default_rng(0).random(800) < 0.1)
    calm, new, out = (tmp_path / name for name in ("calm.csv", "new.csv", "again.csv"))
    frame_of(*simulated(800, 9, boldness=1.0)).to_csv(calm, index=False)
    frame_of(truth[keep], table[keep]).drop(columns="y_true").to_csv(new, index=False)
    arguments = ["recalibrate", calm, "--method", "prior", "--apply", new, "--out", out, "--costs", PRICES]
    printed = run_json(*arguments, *CLASSES)
    assert (printed["saved"], printed["judged_on"]) == (None, None)
    assert "without labels" in printed["sentences"][0]
    assert "hardly any melanoma" in printed["sentences"][1]
    before, after = (
        expected_search_cost(truth[keep], p, costs=COSTS, labels=NAMES)
        for p in (table[keep], pd.read_csv(out)[NAMES])
    )
    assert after < before


def test_a_bad_row_of_the_new_file_leaves_nothing_behind(old, new, tmp_path):
    source, out = tmp_path / "new.csv", tmp_path / "again.csv"
    bad = new.copy()
    bad.loc[7, "nevus"] = 3.0
    bad.to_csv(source, index=False)
    result = run("recalibrate", old, "--apply", source, "--out", out, *CLASSES)
    assert result.exit_code == 2
    assert "new.csv line 9" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv"]


def test_cases_without_a_true_class_are_left_out_and_counted(tmp_path):
    truth, table = simulated(200, 1)
    frame = frame_of(truth, table)
    paths = {}
    costs = ("--costs", PRICES)
    for name, n_blank in (("few", 8), ("whole", 0), ("many", 120)):
        part = frame[8:].copy() if name == "whole" else frame.copy()
        part.loc[part.index[:n_blank], "y_true"] = None
        paths[name] = tmp_path / f"{name}.csv"
        part.to_csv(paths[name], index=False)
    few = run_json("recalibrate", paths["few"], *costs)
    whole = run_json("recalibrate", paths["whole"], *costs)
    assert few["cost"] == whole["cost"]
    assert "unlabelled" in [remark["what"] for remark in few["remarks"]]
    assert run("recalibrate", paths["many"], *costs).exit_code == 2
