"""Every TOML and JSON file that the product reads, mutated: read as if nothing was, or refused in one sentence."""

import copy
import json
import os
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")
pytest.importorskip("jinja2")
pytest.importorskip("safetensors")

from cli_files import run
from corpus import mutated

from pandora_regret import InputError, InputTypeError, Workup, load_costs
from pandora_regret.compare import compare
from pandora_regret.files import Layout, open_models, read_models_argument
from pandora_regret.study import read_study

LONGER = int(os.environ.get("FAULTS", "1"))
ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "examples" / "studies").glob("*.toml"))
WORKUPS = sorted((ROOT / "examples" / "studies" / "workups").glob("*.toml"))
PATHWAYS = sorted((ROOT / "src" / "pandora_regret" / "costs" / "data").glob("*.toml"))
ODD = (
    None,
    True,
    -1,
    0,
    1e999,
    float("nan"),
    10**400,
    "",
    "x",
    "\x1b[31m",
    [],
    [[]],
    {},
    {"x": 1},
    [None],
    ["a", "a"],
)


def swapped(value, rng):
    """Plain data with some part of it replaced, dropped or doubled."""
    value = copy.deepcopy(value)
    spots = list(walk(value))
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(spots)
        way = rng.choice(("replace", "replace", "drop", "double"))
        try:
            if way == "replace":
                holder[key] = copy.deepcopy(rng.choice(ODD))
            elif way == "drop":
                del holder[key]
            elif isinstance(holder, list):
                holder.insert(key, holder[key])
            else:
                holder[f"{key} again"] = holder[key]
        except (KeyError, IndexError):
            pass  # an earlier change took it away
    return value


def walk(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from walk(inner)


def mutated_texts(text, count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        lines = text.splitlines(keepends=True)
        if rng.random() < 0.5:
            yield mutated(text.encode(), rng)
        else:  # lines in another order, twice, or gone
            spot, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[spot] = rng.choice(
                (lines[other], "", lines[spot].split("=")[0] + f"= {rng.choice(TOML_VALUES)}\n")
            )
            yield "".join(lines).encode()


TOML_VALUES = (
    "-1",
    "0",
    "nan",
    "inf",
    '""',
    "'x'",
    "[]",
    "{}",
    "[[1]]",
    "true",
    "1979-05-27",
    "9" * 30,
    '"\\u001b[31m"',
    '["a", "a"]',
)


def read_or_refused(read, path):
    """Any other exception comes out."""
    with suppress(InputError, InputTypeError):
        read(path)


def read_models(path):
    return [open_models([files]) for files in read_models_argument([str(path)], Layout())]


READERS = [
    (read_models, ROOT / "tests" / "data" / "models.toml"),
    *((load_costs, path) for path in PATHWAYS),
    *((read_study, path) for path in STUDIES),
    *((Workup.load, path) for path in WORKUPS),
]


@pytest.mark.parametrize(("read", "path"), READERS, ids=[path.stem for _, path in READERS])
def test_mutated_toml_files(read, path, tmp_path):
    spoilt = tmp_path / path.name
    for data in mutated_texts(path.read_text(encoding="utf-8"), 250 * LONGER, seed=path.stem):
        spoilt.write_bytes(data)
        read_or_refused(read, spoilt)


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    models = {name: rng.dirichlet(np.ones(3), 40) for name in ("one", "two")}
    return compare(rng.integers(0, 3, 40), models, bootstrap=0).to_dict()


def test_mutated_comparisons(comparison, tmp_path):
    spoilt, page = tmp_path / "comparison.json", tmp_path / "page.html"
    rng = random.Random(3)
    whole = json.dumps(comparison).encode()
    for number in range(700 * LONGER):
        spoilt.write_bytes(json.dumps(swapped(comparison, rng)).encode() if number % 4 else mutated(whole, rng))
        refused_or_written(run("report", spoilt, "--out", page, "--force"), page)


def refused_or_written(result, page):
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if result.exit_code:
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.stderr
    else:
        assert "\x1b" not in page.read_text(encoding="utf-8")


def test_mutated_results_of_a_study(tmp_path):
    stored = ROOT / "docs" / "study" / "medmnist"
    (tmp_path / "study.toml").write_bytes((stored / "study.toml").read_bytes())
    results = json.loads((stored / "results.json").read_bytes())
    rng = random.Random(4)
    for number in range(300 * LONGER):
        data = (
            json.dumps(swapped(results, rng)).encode()
            if number % 4
            else mutated(json.dumps(results).encode(), rng)
        )
        (tmp_path / "results.json").write_bytes(data)
        result = run("study", "table", tmp_path)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code in (0, 2)
        assert "\x1b" not in result.stdout + result.stderr
