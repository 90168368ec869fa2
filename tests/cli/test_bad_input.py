"""Bad input through the command line: one clear line on standard error, exit code 2, nothing half-written."""

import os
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("rich")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
pytest.importorskip("sklearn")

from cli_files import COSTS, run, wine_file, wine_rows, write_csv

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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("truth,a,b\na,0.75,0.25\n", ["no label column", "--label"]),
        ("y_true;a,b\na;0.75,0.25\n", ["',' and ';'", "--separator"]),
        ("id,y_true,a,b\n7,a,0.75,0.25\n7,b,0.5,0.5\n", ["line 3", "id 7", "line 2"]),
        ("y_true,a,b\na,0.75,nan\nb,0.5,0.5\n", ["line 2", "'b'"]),
        ("y_true,a,b\na,75,25\nb,50,50\n", ["line 2", "100"]),
        ("y_true,a,b\na,1.25,-0.25\nb,0.5,0.5\n", ["line 2", "-0.25"]),
        ("y_true,a,b\na,0.75,0.25\ncow,0.5,0.5\n", ["line 3", "'cow'", "--proba-prefix"]),
        ("y_true,a,b\n", ["no rows"]),
        ("", ["0 bytes"]),
    ],
    ids=["column", "delimiter", "id twice", "nan", "percent", "negative", "label", "no rows", "empty"],
)
def test_a_bad_table(tmp_path, refused, content, words):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    said = refused(path)
    assert all(word in said for word in [str(path), *words])


def test_classes_that_differ_between_files(tmp_path, refused):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text(GOOD)
    other.write_text(GOOD.replace("b,", "c,").replace(",b\n", ",c\n"))
    said = refused(one, other)
    assert all(word in said for word in (str(other), "'b'", "'c'"))


def test_labels_that_differ_between_files(tmp_path, refused):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text(GOOD)
    other.write_text(GOOD.replace("\na,", "\nb,").replace("\nb,0.5", "\na,0.5"))
    said = refused(one, other)
    assert all(word in said for word in (f"{other} line 2", "'b'", f"{one} line 2", "'a'"))


def test_a_file_that_is_no_parquet(tmp_path, refused):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 and then nothing of the kind PAR1")
    assert str(path) in refused(path)


def test_a_directory_instead_of_a_file(tmp_path, refused):
    assert "is a directory" in refused(tmp_path)


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


def test_the_files_own_line_is_named_in_a_stream_too(tmp_path):
    rows = wine_rows("bayes")
    rows[41] = (rows[41][0], "0.5", "0.6", "0.1")
    result = run("score", write_csv(tmp_path / "bad.csv", rows))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "bad.csv line 42" in result.stderr


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
