"""The same data written in two ways gives the same result, in every command, and in its second file, too."""

import json
import os
import re

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")
pytest.importorskip("jinja2")

from cli_files import run_json
from prediction_files import write, write_xlsx

from pandora_regret import compare

SEEDS = range(int(os.environ.get("FAULTS", "1")))
PRICES = {"flu": 20.0, "cold": 5.0, "covid": 35.0}
EVERY_COMMAND = ["score", "compare", "recalibrate", "monitor"]


COSTS = ("--costs", ",".join(f"{name}={price}" for name, price in PRICES.items()))


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
    return taken(table, np.random.default_rng(1).permutation(len(next(iter(table.values())))))


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


def result_of(command, tables, folder, way=(dict, "csv", ())):
    """Of the files written this way; of several files or weeks, the last one is."""
    change, ending, told = way
    names = list(tables)
    first = files_of({names[0]: tables[names[0]]}, folder, change, ending)
    options = (*COSTS, *told, *(("--by", "site") if command == "compare" else ()))
    if command == "monitor":
        weeks = [taken(tables["one"], tables["one"]["week"] == f"week {week}") for week in (1, 2)]
        state = folder / "state.json"
        first_way = way[:2] if told else ()  # options are the same for all weeks, and so is what they say of files
        [one] = files_of({"one": weeks[0]}, folder / "1", *first_way)
        [two] = files_of({"one": weeks[1]}, folder / "2", *way[:2])
        run_json("monitor", one, "--state", state, "--time", "week", *options)
        return run_json("monitor", two, "--state", state)
    second = files_of({"two": tables["two"]}, folder, change, ending) if command == "compare" else []
    if command == "compare" and not told:
        first = files_of({"one": tables["one"]}, folder / "plain")
    return run_json(command, *first, *second, *options)


BY_ORDER = {
    "remarks",
    "sample",
    "source",
    "typical",
    "files",
    "written",
    "library",
    "class_weights",
    "largest_pairs",
}


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
@pytest.mark.parametrize("command", ["score", "recalibrate"])
def test_the_truth_in_a_file_of_its_own_changes_nothing(command, seed, tmp_path):
    """Ids with leading zeros there and numbers here, names in capitals, rows in another order."""
    table = made(seed)["one"] | {"id": np.arange(80)}
    expected = run_json(command, *files_of({"one": table}, tmp_path / "plain"), *COSTS)
    truth = shuffled({"ID": np.array([f"{number:05d}" for number in table["id"]]), "LABEL": table["label"]})
    bare = {name: table[name] for name in ("id", *PRICES)}
    apart = ("--truth", write(tmp_path / "truth.csv", truth), "--ids-as-numbers", "--id", "id", "--label", "label")
    check_same(run_json(command, *files_of({"one": bare}, tmp_path / "bare"), *COSTS, *apart), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_library_the_page_and_a_saved_comparison_say_what_the_command_says(seed, tmp_path):
    tables = made(seed)
    page = tmp_path / "page.html"
    printed = run_json("compare", *files_of(tables, tmp_path), *COSTS, "--by", "site", "--html", page)
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
