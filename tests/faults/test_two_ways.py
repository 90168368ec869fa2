"""The same data written in two ways gives the same result, in every command, and in its second file, too."""

import csv
import json
import os
import re

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")
pytest.importorskip("jinja2")

from cli_files import run, run_json
from prediction_files import write, write_xlsx

from pandora_regret.compare import compare

SEEDS = range(int(os.environ.get("FAULTS", "1")))
PRICES = {"flu": 20.0, "cold": 5.0, "covid": 35.0}
NEW_NAMES = {"flu": "zona", "cold": "angine", "covid": "grippe"}
EVERY_COMMAND = ["score", "compare", "recalibrate", "monitor"]


def costs_of(names=PRICES):
    return "--costs", ",".join(f"{name}={price}" for name, price in zip(names, PRICES.values(), strict=True))


def made(seed, n=80):
    """One table of columns per model: the same cases, in two weeks and at two sites."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(3, 0.7), n)
    truth = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=2)
    truth[:3] = truth[-3:] = range(3)
    columns = {
        "id": np.array([f"case {i}" for i in rng.permutation(n)]),
        "label": np.array(list(PRICES))[truth],
        "site": rng.choice(["north", "south"], n),
        "week": np.repeat(["week 1", "week 2"], n // 2),
    }
    forecasts = {"one": p, "two": 0.6 * p + 0.4 * rng.dirichlet(np.ones(3), n)}
    return {name: columns | dict(zip(PRICES, p.T, strict=True)) for name, p in forecasts.items()}


def taken(table, rows):
    return {name: values[rows] for name, values in table.items()}


def shuffled(table):
    return taken(table, np.random.default_rng(1).permutation(len(table["id"])))


def renamed(table):
    label = np.array([NEW_NAMES[name] for name in table["label"]])
    return {NEW_NAMES.get(name, name): values for name, values in table.items()} | {"label": label}


def as_logits(table):
    return {name: np.log(values) + 3 if name in PRICES else values for name, values in table.items()}


def as_percentages(table):
    return {name: 100 * values if name in PRICES else values for name, values in table.items()}


def with_signs(table):
    """As text: 45.3 %."""
    return {
        name: np.array([f"{100 * value!r} %" for value in values.tolist()]) if name in PRICES else values
        for name, values in table.items()
    }


def loud(table):
    return table | {"label": np.char.upper(table["label"])}


def prefixed(table):
    return {f"p_{name}" if name in PRICES else name: values for name, values in table.items()}


def workbook(path, table):
    rows = zip(*(values.tolist() for values in table.values()), strict=True)
    return write_xlsx(path, {"Export": [list(table), *rows]})


WAYS = {  # what is done to a table, the ending of its file, and what the command is told of it
    "columns backwards": (lambda table: dict(reversed(table.items())), "csv", ()),
    "rows shuffled": (shuffled, "csv", ()),
    "TSV": (dict, "tsv", ()),
    "Parquet in row groups": (dict, "parquet", ()),
    "Arrow": (dict, "arrow", ()),
    "JSON lines": (dict, "jsonl", ()),
    "Excel": (dict, "xlsx", ()),
    "compressed": (dict, "csv.gz", ()),
    "logits": (as_logits, "csv", ("--logits",)),
    "percentages": (as_percentages, "parquet", ()),
    "percentages with signs": (with_signs, "csv", ()),
    "labels in capitals": (loud, "csv", ()),
    "prefixed columns": (prefixed, "parquet", ("--proba-prefix", "p_")),
}


def files_of(tables, folder, change=dict, ending="csv"):
    folder.mkdir(parents=True, exist_ok=True)
    writer = workbook if ending == "xlsx" else write
    return [writer(folder / f"{name}.{ending}", change(table)) for name, table in tables.items()]


def result_of(command, tables, folder, way=(dict, "csv", ()), costs=None):
    """Of the files written this way; of several files or weeks, the last one is."""
    change, ending, told = way
    names = list(tables)
    first = files_of({names[0]: tables[names[0]]}, folder, change, ending)
    options = (*(costs or costs_of()), *told, *(("--by", "site") if command == "compare" else ()))
    if command == "monitor":
        weeks = [taken(tables["one"], tables["one"]["week"] == f"week {week}") for week in (1, 2)]
        state = folder / "state.json"
        plain = told or costs  # options are the same for all weeks, and so is what they say of files
        [one] = files_of({"one": weeks[0]}, folder / "1", *(way[:2] if plain else ()))
        [two] = files_of({"one": weeks[1]}, folder / "2", *way[:2])
        run_json("monitor", one, "--state", state, "--time", "week", *options)
        return run_json("monitor", two, "--state", state)
    second = files_of({"two": tables["two"]}, folder, change, ending) if command == "compare" else []
    if command == "compare" and not told and not costs:
        first = files_of({"one": tables["one"]}, folder / "plain")
    return run_json(command, *first, *second, *options)


BY_ORDER = {"done", "sample", "source", "typical", "files", "written", "library", "class_weights", "largest_pairs"}


def essence(value, classes=(), path=""):
    """The numbers of a result by name, so that it doesn't matter in which order classes or models stand."""
    if isinstance(value, dict):
        classes = value.get("data", value).get("classes", classes)
        parts = {key: part for key, part in value.items() if key not in BY_ORDER}
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        parts = {name_of(part, at): part for at, part in enumerate(value)}
    elif isinstance(value, list) and len(value) == len(classes):
        parts = dict(zip(classes, value, strict=True))
    else:
        return {path: value} if isinstance(value, (int, float)) else {}
    return {k: v for key, part in parts.items() for k, v in essence(part, classes, f"{path}/{key}").items()}


def name_of(part, at):
    return next((part[key] for key in ("name", "label", "test", "model", "column") if key in part), at)


def check_same(left, right):
    left, right = essence(left), essence(right)
    assert len(left) > 10
    assert left.keys() == right.keys()
    assert left == pytest.approx(right, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("command", EVERY_COMMAND)
@pytest.mark.parametrize("way", WAYS)
def test_another_way_of_writing_changes_nothing(way, command, seed, tmp_path):
    tables = made(seed)
    expected = result_of(command, tables, tmp_path / "plain")
    check_same(result_of(command, tables, tmp_path / "changed", WAYS[way]), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("command", ["score", "compare", "recalibrate"])
def test_the_truth_in_a_file_of_its_own_changes_nothing(command, seed, tmp_path):
    """Ids with leading zeros there and numbers here, names in capitals, rows in another order."""
    tables = {name: table | {"id": np.arange(80)} for name, table in made(seed).items()}
    told = () if command == "recalibrate" else ("--weight", "week")
    weighted = {name: table | {"week": 1 + np.arange(80) % 2} for name, table in tables.items()}
    known, n_files = ("id", "label", "week"), 2 if command == "compare" else 1
    expected = run_json(command, *files_of(weighted, tmp_path / "plain")[:n_files], *costs_of(), *told)
    truth = loud(shuffled({name: weighted["one"][name] for name in known}))
    truth["id"] = np.array([f"{number:05d}" for number in truth["id"]])
    bare = {
        name: {k: v for k, v in table.items() if k == "id" or k not in made(seed)["one"].keys() - PRICES.keys()}
        for name, table in weighted.items()
    }
    path = write(tmp_path / "truth.csv", {name.upper(): values for name, values in truth.items()})
    apart = ("--truth", path, "--ids-as-numbers", "--id", "id", "--label", "label")
    got = run_json(command, *files_of(bare, tmp_path / "bare")[:n_files], *costs_of(), *told, *apart)
    for result in (got, expected):  # classes are called as the truth calls them
        result["data"] = {}
    check_same(
        json.loads(json.dumps(got).replace("FLU", "flu").replace("COLD", "cold").replace("COVID", "covid")),
        expected,
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_other_names_of_classes_change_only_the_names(command, seed, tmp_path):
    tables = made(seed)
    expected = json.dumps(result_of(command, tables, tmp_path / "plain"))
    for old, new in NEW_NAMES.items():
        expected = expected.replace(f'"{old}"', f'"{new}"')
    got = result_of(command, tables, tmp_path / "renamed", (renamed, "csv", ()), costs_of(NEW_NAMES.values()))
    check_same(got, json.loads(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_lists_and_tables_of_files(seed, tmp_path):
    """Parts of a file against the whole, models.toml against NAME=FILE, prices in a file against an option."""
    tables = made(seed)
    one, two = files_of(tables, tmp_path)
    parts = [
        write(tmp_path / f"part-{at}.csv", taken(tables["one"], rows))
        for at, rows in enumerate(np.array_split(np.arange(80), 3))
    ]
    whole, split = (run_json("score", *files, *costs_of())["models"][0] for files in ([one], parts))
    check_same(split["scores"], whole["scores"])
    listed = tmp_path / "models.toml"
    listed.write_text(
        '[[models]]\nname = "A"\npath = "part-*.csv"\n[[models]]\nname = "B"\npath = "two.csv"\n',
        encoding="utf-8",
    )
    prices = write(tmp_path / "prices.csv", {"class": list(PRICES)[::-1], "cost": list(PRICES.values())[::-1]})
    expected = run_json("compare", f"A={one}", f"B={two}", *costs_of())
    check_same(run_json("compare", listed, "--costs", prices), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_library_the_page_and_a_saved_comparison_say_what_the_command_says(seed, tmp_path):
    tables = made(seed)
    page = tmp_path / "page.html"
    printed = run_json("compare", *files_of(tables, tmp_path), *costs_of(), "--by", "site", "--html", page)
    forecasts = {name: np.transpose([table[label] for label in PRICES]) for name, table in tables.items()}
    one = tables["one"]
    called = compare(
        one["label"],
        forecasts,
        labels=list(PRICES),
        costs=list(PRICES.values()),
        by={"site": one["site"]},
        ids=one["id"],
    )
    check_same(called.to_dict(), printed)
    [embedded] = re.findall(
        r'<script type="application/json" id="comparison">(.*?)</script>',
        page.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    check_same(json.loads(embedded), printed)
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(printed), encoding="utf-8")
    check_same(run_json("compare", saved), printed)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_are_what_filtering_by_hand_gives(seed, tmp_path):
    tables = made(seed)
    whole = run_json("compare", *files_of(tables, tmp_path), *costs_of(), "--by", "site", "--smallest-group", 5)
    for group in whole["by"][0]["groups"]:
        rows = tables["one"]["site"] == group["name"]
        alone = {name: taken(table, rows) for name, table in tables.items()}
        filtered = run_json("compare", *files_of(alone, tmp_path / group["name"]), *costs_of())
        costs = {model["name"]: model["scores"]["expected_cost"]["value"] for model in filtered["models"]}
        assert {model["name"]: model["cost"]["value"] for model in group["models"]} == pytest.approx(
            costs, rel=1e-12
        )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("command", ["score", "compare"])
def test_a_weight_of_two_is_a_row_twice(command, seed, tmp_path):
    tables = {name: {k: v for k, v in table.items() if k != "id"} for name, table in made(seed).items()}
    times = 1 + np.arange(80) % 2
    repeated = {name: taken(table, np.repeat(np.arange(80), times)) for name, table in tables.items()}
    weighted = {name: table | {"weight": times} for name, table in tables.items()}
    left, right = (
        run_json(command, *files_of(each, tmp_path / kind)[: 1 + (command == "compare")], *costs_of())
        for kind, each in {"repeated": repeated, "weighted": weighted}.items()
    )
    for one, other in zip(left["models"], right["models"], strict=True):
        values = [{key: score["value"] for key, score in model["scores"].items()} for model in (one, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_monitor_that_sees_rows_again_or_all_at_once_says_the_same(seed, tmp_path):
    table = made(seed)["one"]
    weeks = [write(tmp_path / f"{w}.csv", taken(table, table["week"] == w)) for w in ("week 1", "week 2")]
    told = ("--time", "week", *costs_of())
    whole = write(tmp_path / "whole.csv", table)
    at_once = run_json("monitor", whole, "--state", tmp_path / "whole.json", *told)["summary"]
    for week in (weeks[0], weeks[0], weeks[1], whole):
        again = run_json("monitor", week, "--state", tmp_path / "again.json", *told)["summary"]
    assert essence(again) == pytest.approx(essence(at_once), rel=1e-12)


def test_a_score_is_a_comparison_of_one(tmp_path):
    [path] = files_of({"one": made(0)["one"]}, tmp_path)
    score, alone = (
        run_json(command, path, *costs_of())["models"][0]["scores"] for command in ("score", "compare")
    )
    assert essence(score) == pytest.approx({key: essence(alone)[key] for key in essence(score)}, rel=1e-9)
    assert run("compare", path, *costs_of()).exit_code == 0


@pytest.mark.parametrize("method", ["temperature", "vector", "matrix", "prior"])
def test_a_map_is_applied_to_columns_by_name(method, tmp_path):
    tables, written = made(0), []
    [old] = files_of({"one": tables["one"]}, tmp_path)
    for at, way in enumerate((dict, WAYS["columns backwards"][0])):
        [new] = files_of({"two": tables["two"]}, tmp_path / f"{at}", way)
        out = tmp_path / f"{at}" / "out.csv"
        run_json("recalibrate", old, "--method", method, "--apply", new, "--out", out, *costs_of())
        with open(out, encoding="utf-8", newline="") as file:
            written.append(list(csv.DictReader(file)))
    for left, right in zip(*written, strict=True):
        for name in PRICES:
            assert float(left[name]) == pytest.approx(float(right[name]), rel=1e-12)


def test_rows_without_ids_may_come_in_any_order(tmp_path):
    tables = {name: {k: v for k, v in table.items() if k != "id"} for name, table in made(0).items()}
    rows = np.random.default_rng(1).permutation(80)
    mixed = {name: taken(table, rows) for name, table in tables.items()}
    files, others = files_of(tables, tmp_path), files_of(mixed, tmp_path / "mixed")
    for command, n_files in {"score": 1, "compare": 2, "recalibrate": 1}.items():
        check_same(*(run_json(command, *each[:n_files], *costs_of()) for each in (files, others)))
