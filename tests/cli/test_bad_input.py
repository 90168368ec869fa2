"""Bad input through the command line: one clear line on standard error, exit code 2, nothing half-written."""

import os
import sys
from contextlib import contextmanager

import pytest
from cli_files import COSTS, refused, run, wine_file, write_csv

COMPARE = [  # options beside a good file, and words of the complaint
    (["--costs", "barolo=1,grignolino=2"], "'barbera'"),
    (["--costs", "barolo=1,grignolino=2,barbera=0"], "'barbera'"),
    (["--costs", "barolo=1,grignolino=2,barbera=cheap"], "'cheap'"),
    (["--costs", "unheard_of"], "unheard_of"),
    (["--prior", "normal"], "lognormal:SIGMA"),
    (["--prior", "beta:-1"], "-1"),
    (["--scenario", "cheap"], "NAME=COSTS"),
    (["--scenario", "barolo=3"], "'barolo=3'"),
    (["--scenario", "cheap=port=3"], "'port'"),
    (["--scenario", "cheap=barolo=$3"], "without a unit"),
    (["--costs", COSTS, "--currency", "USD", "--unit", "min"], "both given"),
    (["--costs", COSTS, "--workup", "x.toml"], "both given"),
    (["--currency", "USD"], "--costs"),
    (["--scenario", f"x={COSTS}", "--scenario", f"x={COSTS}"], "twice"),
    (["--bootstrap", "3"], "too few"),
    (["--id", "number"], "'number'"),
    (["--proba-prefix", "p_"], "'p_'"),
    (["--classes", "barolo,port"], "port"),
    (["--by", "site"], "--by names 'site'"),
    (["--by", "age:x"], "'age:x'"),
    (["--level", "95"], "--help"),
    (["--json", "--csv"], "choose one"),
]
OTHERS = [
    (["compare"], "Missing argument"),
    (["--colour"], "No such option"),
    (["scoer", "x.csv"], "No such command"),
    (["compare", "nothing.csv"], "No such file"),
    (["score", "x.csv", "--json", "--csv"], "choose one"),
    (["score", "x.csv", "--jobs", "1000000"], "--jobs"),
    (["score", "x.csv", "x.csv"], "is given 2 times"),
    (["next", "a=0.5,b=0.6"], "divide the probabilities by their sum"),
    (["next", "a=0.5,b"], "NAME=VALUE"),
    (["next", "a=0.5,b=half"], "'half'"),
    (["next", "a=0.5,a=0.5"], "twice"),
    (["next", "nothing.csv"], "neither a file"),
    (["next", "nothing.csv", "--row", "1"], "No such file"),
    (["next", "a=0.5,b=0.5", "--costs", "a=1,c=2"], "choose from c"),
    (["next", "a=0.5,b=0.5", "--sensitivity", "1.5"], "--sensitivity of class"),
    (["next", "a=0.5,b=0.5", "--sensitivity", "a=0.5"], "'b'"),
    (["next", "a=0.5,b=0.5", "--found", "x=y"], "WORKUP"),
    (["next", "a=2,b=3"], "--logits"),
    (["next", "a=1"], "two"),
    (["recalibrate", "x.csv", "--apply", "new.csv"], "--out"),
    (["recalibrate", "x.csv", "--method", "prior"], "--apply"),
    (["recalibrate", "x.csv", "--apply", "n.csv", "--out", "n.xlsx"], "n.xlsx"),
    (["recalibrate", "x.csv", "--apply", "n.csv", "--out", "n.csv"], "n.csv"),
]


@pytest.mark.parametrize(("options", "words"), COMPARE)
def test_a_bad_option_of_compare(tmp_path, options, words):
    path = wine_file(tmp_path, "bayes")
    assert words in refused("compare", path, *options, "--html", tmp_path / "page.html")
    assert [each.name for each in tmp_path.iterdir()] == ["bayes.csv"]


@pytest.mark.parametrize(("arguments", "words"), OTHERS)
def test_bad_arguments(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    said = refused(*arguments)
    assert words in said
    assert not any(code in said for code in ("axis=", "logits=", "labels=", "costs=", "y_proba"))


def test_rows_that_are_not_there(tmp_path):
    path = wine_file(tmp_path, "bayes")
    assert "--row" in refused("next", path)
    refused("next", path, "--row", 179, argument="row", value="179", place=path)
    gap = write_csv(tmp_path / "gap.csv", [("a", "b"), (0.5, 0.5), (0.5, "")])
    refused("next", gap, "--row", 2, row=1, column="b", place=f"{gap} line 3, column 'b'")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("y_true,a,b\na,0.75,0.25\nb,0.5,0.5\n")
    run("compare", path)  # so that everything is imported before privileges are given up
    path.chmod(0)
    with unprivileged():
        assert "Permission denied" in refused("compare", path, place=str(path))


@contextmanager
def unprivileged():
    """Root may read everything, so it steps back."""
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        yield
    finally:
        if root:
            os.seteuid(0)


def test_output_that_exists_is_replaced_only_by_force(tmp_path):
    path, page = wine_file(tmp_path, "bayes"), tmp_path / "page.html"
    page.write_text("precious")
    assert "--force" in refused("compare", path, "--html", page)
    assert page.read_text() == "precious"
    assert run("compare", path, "--html", page, "--force").exit_code == 0
    assert "precious" not in page.read_text(encoding="utf-8")


def test_output_into_nowhere(tmp_path, monkeypatch):
    path = wine_file(tmp_path, "bayes")
    nowhere = tmp_path / "none" / "page.html"
    assert "no directory" in refused("compare", path, "--html", nowhere, contexts=(str(nowhere),))
    assert "not a regular file" in refused("compare", path, "--html", tmp_path, place=str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)  # nothing is forbidden to root, who may run this
    page = tmp_path / "page.html"
    assert "not be written" in refused("compare", path, "--html", page, contexts=(str(page),))


def test_a_report_that_fails_half_way_leaves_the_old_one(tmp_path, monkeypatch):
    path, page = wine_file(tmp_path, "bayes"), tmp_path / "page.html"
    page.write_text("precious")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    result = run("compare", path, "--html", page, "--force")
    cause = result.exception.__cause__
    assert (result.exit_code, cause.errno, cause.filename) == (1, 28, str(page))
    assert str(page) in result.stderr
    assert page.read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 2
