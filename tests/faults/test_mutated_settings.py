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
pytest.importorskip("click")
pytest.importorskip("jinja2")
pytest.importorskip("safetensors")

from cli_files import run
from corpus import mutated

from pandora_regret import ComparisonOptions, InputError, Workup, compare, load_costs
from pandora_regret.core.inputs import InputTypeError
from pandora_regret.files import Layout, open_models, read_models_argument
from pandora_regret.study import read_study

LONGER = int(os.environ.get("FAULTS", "1"))
ROOT = Path(__file__).parents[2]
ODD = [None, True, -1, 0, 1e999, float("nan"), 10**400, "", "x", "\x1b[31m", [], [[]], {}, {"x": 1}, ["a", "a"]]
ODD_TOML = ["-1", "nan", '""', "'x'", "[]", "{}", "[[1]]", "true", "1979-05-27", '"\\u001b[31m"', '["a", "a"]']


def read_models(path):
    return [open_models([files]) for files in read_models_argument([str(path)], Layout())]


READERS = {
    "tests/data/models.toml": read_models,
    "src/pandora_regret/core/costs/data/*.toml": load_costs,
    "examples/studies/*.toml": read_study,
    "examples/studies/workups/*.toml": Workup.load,
}
FILES = [(read, path) for pattern, read in READERS.items() for path in sorted(ROOT.glob(pattern))]


@pytest.mark.parametrize(("read", "path"), FILES, ids=[path.stem for _, path in FILES])
def test_mutated_toml_files(read, path, tmp_path):
    rng, spoilt = random.Random(path.stem), tmp_path / path.name
    for _ in range(250 * LONGER):
        spoilt.write_bytes(mutated_toml(path.read_text(encoding="utf-8"), rng))
        with suppress(InputError, InputTypeError):  # any other exception comes out
            read(spoilt)


def mutated_toml(text, rng):
    """Some bytes changed; or one line made another, taken out, or given another value."""
    if rng.random() < 0.5:
        return mutated(text.encode(), rng)
    lines = text.splitlines(keepends=True)
    spot = rng.randrange(len(lines))
    key = lines[spot].split("=")[0]
    lines[spot] = rng.choice((rng.choice(lines), "", f"{key}= {rng.choice(ODD_TOML)}\n"))
    return "".join(lines).encode()


def mutated_json(value, count, seed):
    """Plain data with some parts of it replaced, dropped or doubled, or some bytes of its text changed."""
    rng = random.Random(seed)
    for number in range(count * LONGER):
        if not number % 4:
            yield mutated(json.dumps(value).encode(), rng)
            continue
        changed = copy.deepcopy(value)
        spots = list(walk(changed))
        for _ in range(rng.randint(1, 3)):
            with suppress(KeyError, IndexError):  # where an earlier change took it away
                change(*rng.choice(spots), rng)
        yield json.dumps(changed).encode()


def change(holder, key, rng):
    way = rng.choice(("replace", "replace", "drop", "double"))
    if way == "replace":
        holder[key] = copy.deepcopy(rng.choice(ODD))
    elif way == "drop":
        del holder[key]
    elif isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[f"{key} again"] = holder[key]


def walk(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from walk(inner)


def check_refused_or_fine(result):
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 2)
    assert "\x1b" not in result.stdout + result.stderr
    if result.exit_code:
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.stderr


def test_mutated_comparisons(tmp_path):
    rng = np.random.default_rng(0)
    models = {name: rng.dirichlet(np.ones(3), 40) for name in ("one", "two")}
    comparison = compare(rng.integers(0, 3, 40), models, options=ComparisonOptions(bootstrap=0)).to_dict()
    spoilt, page = tmp_path / "comparison.json", tmp_path / "page.html"
    for data in mutated_json(comparison, 700, seed=3):
        spoilt.write_bytes(data)
        result = run("compare", spoilt, "--html", page, "--force")
        check_refused_or_fine(result)
        assert result.exit_code or "\x1b" not in page.read_text(encoding="utf-8")


def test_mutated_results_of_a_study(tmp_path):
    stored = ROOT / "docs" / "study" / "medmnist"
    (tmp_path / "study.toml").write_bytes((stored / "study.toml").read_bytes())
    for data in mutated_json(json.loads((stored / "results.json").read_bytes()), 300, seed=4):
        (tmp_path / "results.json").write_bytes(data)
        check_refused_or_fine(run("study", "table", tmp_path))
