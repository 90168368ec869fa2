"""Files as people have them: four models, each written in its own way, compared in one command."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_files import refused, run, run_json
from simulated_models import softmax

from pandora_regret import expected_search_cost

CLASSES = ["Appendicitis", "Hernia", "Stone", "Ulcer"]
PRICES = {"Appendicitis": 1250.0, "Hernia": 300.0, "Stone": 480.5, "Ulcer": 95.0}
WRITTEN = {name: f"${price:,.2f}" for name, price in {**PRICES, "Gout": 10.0}.items()}
N, MISSING = 300, 30

MODELS = """
[[models]]
name = "Deep net"
path = "deepnet.csv"

[[models]]
name = "Vendor A"
path = "vendor.csv"
label = "diagnosis"
id = "patient"
proba_prefix = "logit_"
logits = true

[[models]]
name = "Forest"
path = "forest.parquet"

[[models]]
name = "Rounded"
path = "rounded.csv"
"""
OPTIONS = ["--common-rows", "--normalise"]
CHANGES = {"rows left out": 30, "columns ignored": 2, "rows rescaled": 300, "prices not used": 1}


def tables():
    """What each model says of the same cases, and the costs of its searches by definition."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(N, 4))
    truth = np.array([rng.choice(4, p=row) for row in softmax(1.5 * scores)])
    ids = [f"p{n:03d}" for n in range(N)]
    about = {"id": ids, "label": np.array(CLASSES)[truth]}
    noisy = [scores + noise * rng.normal(size=scores.shape) for noise in (0.2, 0.6, 1.0, 0.4)]
    deep = pd.DataFrame(softmax(noisy[0]), columns=CLASSES).assign(**about, age=40, confidence=0.5)
    vendor = pd.DataFrame(noisy[1], columns=[f"logit_{name}" for name in CLASSES])
    vendor = vendor.assign(patient=ids, diagnosis=about["label"])
    forest = pd.DataFrame(softmax(noisy[2]), columns=CLASSES)[CLASSES[::-1]].assign(**about)
    left_out = rng.choice(N, MISSING, replace=False)
    forest = forest.drop(index=left_out).sample(frac=1, random_state=1)
    rounded = pd.DataFrame(0.999 * softmax(noisy[3]), columns=CLASSES).assign(**about)
    kept = np.setdiff1d(np.arange(N), left_out)
    names = ("Deep net", "Vendor A", "Forest", "Rounded")
    costs = {
        name: expected_search_cost(truth[kept], z[kept], logits=True, costs=list(PRICES.values()))
        for name, z in zip(names, noisy, strict=True)
    }
    return {"deepnet": deep, "vendor": vendor, "forest": forest, "rounded": rounded}, costs


@pytest.fixture
def costs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames, costs = tables()
    frames.pop("forest").to_parquet("forest.parquet")  # with the index of pandas
    for name, frame in frames.items():
        frame.to_csv(f"{name}.csv", index=False)
    (tmp_path / "prices.csv").write_text("class,cost\n" + "".join(f'{a},"{b}"\n' for a, b in WRITTEN.items()))
    (tmp_path / "models.toml").write_text(MODELS)
    return costs


def test_four_messy_files_are_compared_in_one_command(costs):
    result = run_json("compare", "models.toml", "--costs", "prices.csv", *OPTIONS)
    found = {model["name"]: model["scores"]["expected_cost"]["value"] for model in result["models"]}
    assert found == pytest.approx(costs, rel=1e-9)
    assert result["costs"]["currency"] == "USD"
    assert result["data"]["rows"] == N - MISSING
    assert {remark["what"]: remark["count"] for remark in result["remarks"]} == CHANGES
    printed = run("compare", "models.toml", "--costs", "prices.csv", "--full", *OPTIONS).stdout
    lines = printed[printed.index("Done to the files") :].splitlines()[1:]
    assert [line.strip("- .") for line in lines if line.startswith("-")] == [
        remark["sentence"] for remark in result["remarks"]
    ]


@pytest.mark.usefixtures("costs")
def test_every_mistake_is_one_sentence_that_names_the_option():
    deep, rounded, vendor, prices = (f"{name}.csv" for name in ("deepnet", "rounded", "vendor", "prices"))
    cases = [
        (["models.toml", "--costs", prices, "--common-rows"], ["sums to 0.999", "--normalise"]),
        (["models.toml", "--costs", prices, "--normalise"], ["nor of 29 others", "--common-rows"]),
        ([deep, vendor, "--costs", prices], ["no label column", "--label", "models.toml"]),
        ([deep], ["'age' and 'confidence'", "--classes", "--proba-prefix"]),
        ([deep, "--costs", "Appendicitis=1,Hernia=2,Stone=3", "--classes", ",".join(CLASSES)], ["'Ulcer'"]),
    ]
    for arguments, words in cases:
        failed = run("compare", *arguments)
        assert (failed.exit_code, failed.stdout, failed.stderr.count("\n")) == (2, "", 1), failed.stderr
        assert all(word in failed.stderr for word in words), failed.stderr
    for priced in (["--costs", prices], []):
        unlike = refused("score", rounded, deep, "--normalise", *priced, place=deep)
        assert f"and {rounded} differ" in unlike
        assert "use compare" in unlike


def validated(*arguments):
    result = run("validate", *arguments, "--json")
    assert result.exit_code == 2
    return json.loads(result.stdout)


@pytest.mark.usefixtures("costs")
def test_validate_says_what_keeps_the_files_from_going_together():
    prices = "prices.csv"
    said = validated("models.toml", "--normalise", "--costs", prices)
    assert [table["fine"] for table in said["tables"]] == [True] * 4
    [problem] = said["shared_problems"]
    assert (problem["kind"], problem["count"], said["fine"]) == ("ids", 30, False)
    assert "--common-rows" in problem["message"]
    assert {remark["what"] for remark in said["remarks"]} >= {"columns ignored", "prices not used"}
    unscaled = validated("models.toml", "--costs", prices)["remarks"]  # Rounded is not fine, and yet understood
    assert unscaled == [each for each in said["remarks"] if each["what"] != "rows rescaled"]
    said = validated("models.toml", "--normalise", "--costs", "Appendicitis=1,Hernia=2,Stone=3")
    assert [problem["kind"] for problem in said["shared_problems"]] == ["prices", "ids"]
