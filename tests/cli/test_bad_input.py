"""Bad input through the command line: one clear line on standard error, exit code 2, nothing half-written."""

import os
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("rich")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
pytest.importorskip("sklearn")

from cli_files import COSTS, run, wine_file

GOOD = "y_true,a,b\na,0.75,0.25\nb,0.5,0.5\n"


@pytest.fixture
def refused(tmp_path):
    """Runs `pandora compare --html` and gives its one line of complaint."""

    def complaint(*arguments):
        before = sorted(tmp_path.iterdir())
        result = run("compare", *arguments, "--html", tmp_path / "page.html")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("pandora: ")
        assert result.stderr.count("\n") == 1
        assert sorted(tmp_path.iterdir()) == before
        return result.stderr

    return complaint


def test_a_file_that_is_not_there(tmp_path, refused):
    assert "No such file" in refused(tmp_path / "none.csv")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text(GOOD)
    run("compare", path)  # so that everything is imported before privileges are given up
    path.chmod(0)
    with unprivileged():
        result = run("compare", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"pandora: {path} cannot be read: Permission denied.\n"


def test_a_directory_that_may_not_be_written_to(tmp_path, monkeypatch):
    path = wine_file(tmp_path, "bayes")
    monkeypatch.setattr(os, "access", lambda *_: False)  # nothing is forbidden to root, who may run this
    result = run("compare", path, "--html", tmp_path / "page.html")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "may not be written to" in result.stderr


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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--costs", "barolo=1,grignolino=2"], "'barbera'"),
        (["--costs", "barolo=1,grignolino=2,barbera=0"], "'barbera'"),
        (["--costs", "barolo=1,grignolino=2,barbera=cheap"], "'cheap'"),
        (["--costs", "unheard_of"], "unheard_of"),
        (["--prior", "normal"], "lognormal:SIGMA"),
        (["--prior", "beta:-1"], "-1"),
        (["--scenario", "cheap"], "NAME=COSTS"),
        (["--scenario", "barolo=3"], "has no name: write NAME=CLASS=PRICE, such as cheap=barolo=3"),
        (["--scenario", "cheap=port=3"], "'port'"),
        (["--scenario", "cheap=barolo=$3"], "without a unit"),
        (["--costs", COSTS, "--currency", "USD", "--unit", "min"], "both given"),
        (["--currency", "USD"], "--costs"),
        (["--scenario", f"x={COSTS}", "--scenario", f"x={COSTS}"], "twice"),
        (["--bootstrap", "3"], "too few"),
        (["--id", "number"], "'number'"),
        (["--proba-prefix", "p_"], "'p_'"),
        (["--classes", "barolo,port"], "port"),
    ],
)
def test_a_bad_option(tmp_path, refused, options, words):
    assert words in refused(wine_file(tmp_path, "bayes"), *options)


def test_output_that_exists_is_replaced_only_by_force(tmp_path):
    path, page = wine_file(tmp_path, "bayes"), tmp_path / "page.html"
    page.write_text("precious")
    refused = run("compare", path, "--html", page)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "--force" in refused.stderr
    assert page.read_text() == "precious"
    assert run("compare", path, "--html", page, "--force").exit_code == 0
    assert "precious" not in page.read_text(encoding="utf-8")


def test_output_into_nowhere(tmp_path):
    path = wine_file(tmp_path, "bayes")
    assert "no directory" in run("compare", path, "--html", tmp_path / "none" / "page.html").stderr
    assert "is a directory" in run("compare", path, "--html", tmp_path).stderr


def test_a_report_that_fails_half_way_leaves_the_old_one(tmp_path, monkeypatch):
    path, page = wine_file(tmp_path, "bayes"), tmp_path / "page.html"
    page.write_text("precious")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    assert run("compare", path, "--html", page, "--force").exit_code == 1
    assert page.read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["next", "a=0.5,b=0.5", "--sensitivity", "1.5"], "--sensitivity of class"),
        (["next", "a=2,b=3"], "--logits"),
        (["next", "a=0.5,b=0.6"], "divide each row by its sum"),
    ],
)
def test_the_command_speaks_of_options_not_of_arguments(words, option):
    result = run(*words)
    assert result.exit_code == 2
    assert option in result.stderr
    assert not any(code in result.stderr for code in ("axis=", "logits=", "labels=", "typical_costs", "y_proba"))
