"""Finding pathway files, and every complaint about one."""

from dataclasses import fields
from pathlib import Path

import pytest
from refusals import refused

from pandora_regret import InputError
from pandora_regret.core.costs import Hypothesis, Item, Step, load_costs
from pandora_regret.core.costs.pathways import PathwayFile

SMALL = (Path(__file__).parents[2] / "data" / "two_faults.toml").read_text(encoding="utf-8")


def test_a_path_may_be_text_and_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert load_costs(str(path)) == load_costs(path)


@pytest.mark.parametrize("missing", ["dermnist", "no/such/file.toml", "", "a\0b", Path("octmnist")])
def test_a_missing_file_lists_the_shipped_names(missing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="dermamnist, octmnist, pump_fault"):
        load_costs(missing)


# Every complaint names the file and the key

LABOUR_STEP = '{ item = "labour", quantity = 0.5 }'
COMPLAINTS = {
    "invalid TOML": ('title = "two', 'title "two', r"not valid TOML: .*line 2"),
    "nesting no parser can follow": ("amount = 60", "amount = " + "[" * 9000, "not valid TOML"),
    "unsupported version": ("format_version = 1", "format_version = 2\nnew = 1", "format_version is 2.*version 1"),
    "version missing": ("format_version = 1", "", "lacks 'format_version'"),
    "no items": ("[items", "[things", "things is not a key of the format"),
    "unknown key in the file": ("currency", "curency", "curency is not a key .* did you mean 'currency'"),
    "unknown key in a step": ("quantity = 2", "quantty = 2", r"pathways\.open_up\[1\]\.quantty .*'quantity'"),
    "unknown item": ('"part", prob', '"prat", prob', r"open_up\[2\]\.item is 'prat'.*not among the items.*'part'"),
    "class with unknown pathway": ('"open_up"', '"shut"', r"classes\[1\]\.pathway is 'shut'.*look, open_up"),
    "class twice": ('"broken"', '"loose"', r"classes\[1\]\.name is 'loose' a second time"),
    "class forgotten": ('"open_up"\n', '"look"\n', r"pathways\.open_up is used by no class"),
    "one class": ('[[classes]]\nname = "loose"\npathway = "look"\n', "", "classes is .*a list of length >= 2"),
    "cycle": (LABOUR_STEP, '{ pathway = "open_up" }',
              r"contains itself: (look -> open_up -> look|open_up -> look -> open_up)"),
    "cycle through otherwise": (LABOUR_STEP, LABOUR_STEP[:-2] + ', probability = 0.5, otherwise = '
                                '{ pathway = "open_up" } }', "contains itself"),
    "empty pathway": (f"[{LABOUR_STEP}]", "[]", r"pathways\.look is \[\]: it must be a list of length >= 1"),
    "probability above 1": ("0.3", "1.3", r"pathways\.open_up\[2\]\.probability is 1.3: it must be a number <= 1"),
    "trials and range": ("0.3", "0.3, trials = 5, low = 0.1, high = 0.5", "trials stands beside low"),
    "half a range": ("0.3", "0.3, low = 0.1", r"open_up\[2\]\.high is missing"),
    "range elsewhere": ("0.3", "0.3, low = 0.4, high = 0.5", r"is 0.3.*between low \(0.4\) and high \(0.5\)"),
    "trials of nothing": ("probability = 0.3", "trials = 3", r"trials has no probability beside it"),
    "otherwise of a certainty": ("probability = 0.3", 'otherwise = { item = "part" }', "otherwise has no probab"),
    "otherwise with a chance": ("0.3 }", '0.3, otherwise = { item = "part", probability = 0.5 } }',
                                r"open_up\[2\]\.otherwise\.probability is not a key"),
    "item and pathway": ('{ pathway = "look" }', '{ pathway = "look", item = "part" }', "item stands beside path"),
    "neither item nor pathway": ('{ pathway = "look" }', "{ quantity = 2 }", "item is missing, and so is pathway"),
    "year of absurd length": ("year = 2020", "year = 0x" + "f" * 9000, "year is too large"),
    "zero cost": ("amount = 60", "amount = 0", "costs of class 'loose' is 0"),
    "one published cost": ('"look"\n', '"look"\npublished = 30\n', r"classes\[1\]\.published is missing, though"),
    "key with a space": ("[items.labour]", '[items."my labour"]\ncolour = "red"', r'items\."my labour"\.colour'),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_complaints_name_file_and_key(load, old, new, message):
    with pytest.raises(InputError, match=r"faults\.toml: .*" + f"(?s:{message})"):
        load(old, new)


@pytest.mark.parametrize(
    ("published", "accepted"),
    [("153.03", True), ("153", True), ("153.0", True), ("153.04", False), ("154", False), ("153.030", True)],
)
def test_published_costs_must_agree_to_half_their_last_digit(load, published, accepted):
    text = SMALL.replace('"look"\n', '"look"\npublished = 30\n') + f"published = {published}\n"
    if accepted:
        assert load(text=text).published == {"loose": 30.0, "broken": float(published)}
    else:
        with refused(place="classes[1].published", says="costs 153.03"):
            load(text=text)


def test_the_page_describes_every_key():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    keys = [field.name for kind in (PathwayFile, Item, Step, Hypothesis) for field in fields(kind)]
    undescribed = [key for key in keys if f"`{key}`" not in page]
    assert undescribed == []


BARE = """
format_version = 1
[items.visit]
amount = 75
[items.scan]
amount = 300
[pathways]
look = [{ item = "visit" }]
scan = [{ pathway = "look" }, { item = "scan" }]
[[classes]]
name = "sprain"
pathway = "look"
[[classes]]
name = "fracture"
pathway = "scan"
"""


def test_published_costs_may_be_tiny(load):
    tiny = BARE.replace("amount = 75", "amount = 1e-5").replace('"look"\n', '"look"\npublished = 5e-5\n')
    with refused(place="classes[0].published", says="costs 1e-05"):
        load(text=tiny + "published = 300\n")


def test_a_file_needs_only_fees_pathways_and_classes(load):
    pathways = load(text=BARE)
    assert pathways.costs == {"sprain": 75.0, "fracture": 375.0}
    assert [(item.name, item.source, item.year) for item in pathways.items.values()] == [
        ("visit", "", None),
        ("scan", "", None),
    ]
    assert repr(pathways) == "Pathways(2 classes)"
    assert pathways.scaled(2).costs["sprain"] == 150.0
    with refused(says="'visit' has no"):
        pathways.inflated(0.03, to_year=2030)
    assert load(text=BARE.replace("version = 1", "version = 1\nyear = 2020")).items["visit"].year == 2020
