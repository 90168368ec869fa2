"""Lists of candidates of several models that are not alike: what a comparison has to say about that."""

import json

import pytest

pytest.importorskip("rich")
pytest.importorskip("pyarrow")

from cli_files import run, run_json

TRUTHS = ["flu", "cold", "gout", "flu", "cold", "gout"]
LONG = {"flu": 0.5, "cold": 0.3, "gout": 0.1}
SHORT = {"flu": 0.5}


def lists(folder, name, forecast):
    path = folder / f"{name}.jsonl"
    rows = [{"id": k, "truth": truth, "forecast": forecast} for k, truth in enumerate(TRUTHS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def compared(*files):
    return run_json("compare", *files, "--other", "rest")


def test_truths_outside_the_lists_of_one_model_are_warned_of(tmp_path):
    long, short = lists(tmp_path, "long", LONG), lists(tmp_path, "short", SHORT)
    warning = (
        "0 truths of long and 4 of short lie outside their lists and count as 'rest', one test: "
        "a model that lists less can look cheaper."
    )
    assert compared(long, short)["notes"][0] == warning
    screen = run("compare", long, short, "--other", "rest").stdout
    assert "a model that lists less can look cheaper" in " ".join(screen.split())


def test_truths_outside_the_lists_of_all_models_are_not(tmp_path):
    files = [lists(tmp_path, "one", SHORT), lists(tmp_path, "two", {"flu": 0.25})]
    assert not any("lists less" in note for note in compared(*files)["notes"])


def test_every_model_that_is_scored_by_order_alone_is_named(tmp_path):
    order = lists(tmp_path, "order", list(LONG))
    others = [lists(tmp_path, name, LONG) for name in ("one", "two")]
    done = [each for each in compared(order, *others)["done"] if each["what"] == "order only"]
    assert done[0]["sentence"] == "one and two scored by order alone, too, because order has no probabilities"
    assert [each["count"] for each in done] == [2, len(TRUTHS)]
    assert len([each for each in compared(order)["done"] if each["what"] == "order only"]) == 1
