"""`pandora next` and `pandora validate` of a work-up."""

import pytest
from cli_files import run, run_json, write_csv

SKIN = """
classes = ["melanoma", "nevus", "keratosis"]
currency = "USD"

[steps.visit]
cost = 75

[steps.dermoscopy]
cost = 52
requires = "visit"
outcomes.suspicious = { melanoma = 0.92, nevus = 0.2, keratosis = 0.15 }
outcomes.benign = "otherwise"

[steps.biopsy]
cost = 309
requires = "visit"
tells_apart = "all"

[stops.watch]
loss = { melanoma = 20000, others = 30 }
"""
FORECAST = "melanoma=0.05,nevus=0.85,keratosis=0.1"


@pytest.fixture
def skin(tmp_path):
    path = tmp_path / "skin.toml"
    path.write_text(SKIN, encoding="utf-8")
    return path


def test_next_says_what_to_do_and_what_else_could_be_done(skin):
    result = run("next", skin, FORECAST)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "Next: visit ($75), then dermoscopy ($52)."
    assert "Alternatives: watch $1,030 (+$727)." in result.stdout


def test_next_takes_findings_and_draws_the_tree(skin, tmp_path):
    tree = tmp_path / "tree.svg"
    result = run("next", skin, FORECAST, "--found", "visit, dermoscopy=suspicious", "--tree", tree)
    assert result.stdout.startswith("Next: biopsy ($309).")
    assert tree.read_text(encoding="utf-8").startswith("<svg")
    assert run("next", skin, FORECAST, "--tree", tree).exit_code == 2  # not without --force


def test_next_prints_json(skin):
    said = run_json("next", skin, FORECAST)
    assert (said["schema"], said["next"], said["tree"]["branches"]["done"]["name"]) == (
        "pandora-next/1",
        "visit",
        "dermoscopy",
    )


def test_next_reads_one_row_of_a_file_by_number_or_id(skin, tmp_path):
    rows = [("id", "nevus", "melanoma", "keratosis"), ("p1", 0.2, 0.7, 0.1), ("p2", 0.85, 0.05, 0.1)]
    path = write_csv(tmp_path / "cases.csv", rows)
    by_id, by_number = run("next", skin, path, "--id", "p2"), run("next", skin, path, "--row", 2)
    assert by_id.stdout == by_number.stdout == run("next", skin, FORECAST).stdout
    missing = run("next", skin, path, "--id", "p3")
    assert missing.exit_code == 2
    assert "has no row whose id is 'p3'" in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((FORECAST, "--found", "dermoscopy=odd"), "found says dermoscopy=odd"),
        (("melanoma=0.5,nevus=0.5",), "but the work-up is about"),
        (("melanoma=0.5,nevus=0.6,keratosis=0",), "sums to 1.1"),
    ],
)
def test_next_refuses_in_one_line(skin, arguments, said):
    result = run("next", skin, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_check_says_what_was_understood(skin):
    result = run("validate", skin)
    assert result.stdout == (
        "3 classes: melanoma, nevus and keratosis.\n"
        "3 steps:\n"
        "  visit: $75\n"
        "  dermoscopy: $52, after visit, shows suspicious and benign\n"
        "  biopsy: $309, after visit, confirms melanoma, nevus and keratosis\n"
        "Ways to stop: watch (loses $30 to $20,000).\n"
        "Exact method: the state graph (4 states).\n"
        "Someone who knew the truth would pay $30 to $384; if all classes are equally likely, $384 is expected.\n"
    )
    assert run_json("validate", skin)["method"] == "graph"


def test_check_names_the_key_of_a_mistake(skin):
    skin.write_text(SKIN.replace("others = 30", "other = 30"), encoding="utf-8")
    result = run("validate", skin)
    assert result.exit_code == 2
    assert "stops.watch.loss.other is no class" in result.stderr
