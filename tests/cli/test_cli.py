"""What holds for every command: help, exit codes, one line when it fails, terminals of all kinds."""

import io
import os
import re
import signal
import subprocess
import sys

import pytest
from cli_files import PROGRAM, refused, run, start, wine_file, wine_rows, write_csv

from pandora_regret.cli.commands import COMMANDS, register_ascii_fallback
from pandora_regret.cli.output import bars, echo
from pandora_regret.core.costs import available_costs
from pandora_regret.text import SYMBOLS

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and pipes")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_and_only_the_main_help_its_exit_codes(command):
    page = run(command, "--help").stdout
    assert "Examples:\n" in page
    assert f"\n    pandora {command} " in page
    assert "\\b" not in page
    assert "\n  \n" not in page  # where an option is hidden
    assert "Exit codes:" not in page
    assert "130  interrupted" in run("--help").stdout


def test_the_help_of_compare_is_short_and_ends_with_what_hardly_anybody_needs():
    lines = run("compare", "--help", env={"COLUMNS": "80"}).stdout.splitlines()
    assert len(lines) <= 75
    assert max(map(len, lines)) <= 80
    headings = [line for line in lines if line and line[0] != " "]
    assert headings[1:] == [
        "Options:",
        "Ranked lists:",
        "Files:",
        "Prices:",
        "Intervals:",
        "Output:",
        "Rarely needed:",
    ]
    main = lines[lines.index("Options:") : lines.index("Ranked lists:")]
    assert sum(line.startswith("  -") for line in main) <= 12


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("files", ["--votes-prefix", "--encoding"]),
        ("lists", ["--hit", "--miss"]),
        ("prices", available_costs()),
        ("metrics", ["log_loss"]),
    ],
)
def test_topics_say_what_commands_have_in_common(topic, words):
    page = run("help", topic).stdout
    assert all(word in page for word in words)


@pytest.mark.parametrize("command", [[], ["study"]])
def test_without_anything_to_do_it_shows_its_help(command):
    result = run(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: pandora")
    assert "\n  Examples:\n" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names are text")
def test_a_file_whose_name_is_no_text_is_refused_in_one_line(tmp_path):
    process = start("score", os.fsencode(tmp_path) + b"/\xff.csv")
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors.count(b"\n")) == (2, b"", 1)
    assert b"rename the file" in errors


def test_a_cluster_out_of_reach_is_exit_code_1(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("pandora_regret.work.CONNECT_SECONDS", 0.2)
    path = wine_file(tmp_path, "bayes")
    assert "tcp://127.0.0.1:9" in refused("score", path, "--cluster", "tcp://127.0.0.1:9", code=1)


def test_a_defect_of_the_program_is_not_hidden(tmp_path, monkeypatch):
    monkeypatch.setattr("pandora_regret.stream.score_stream", lambda *_, **__: 1 / 0)
    assert isinstance(run("score", wine_file(tmp_path, "bayes")).exception, ZeroDivisionError)


ENDLESS = """
import sys, time
import pandora_regret.stream as stream
from pandora_regret.cli import main

def score_stream(*_, **__):
    print("begun", flush=True)
    time.sleep(60)

stream.score_stream = score_stream
main()
"""


@posix
def test_ctrl_c_is_exit_code_130_and_one_line(tmp_path):
    command = [sys.executable, "-c", ENDLESS, "score", wine_file(tmp_path, "bayes")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, b"", b"pandora: interrupted.\n")


@posix
@pytest.mark.parametrize(
    "arguments", [["next", "a=0.5,b=0.5"], ["next", "a=0.5,b=0.5", "--json"], ["validate", "nothing.csv"]]
)
def test_a_reader_who_has_seen_enough_is_no_failure(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*arguments, stdout=writing)
    os.close(writing)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")


def test_euros_and_minus_signs_are_spelt_out_not_lost_where_a_terminal_knows_ascii_only():
    command = ("next", "Bäume=0.5,b=0.5", "--costs", "Bäume=€5,b=€3")
    output, errors = start(*command, env={"PYTHONIOENCODING": "ascii"}).communicate(timeout=60)
    assert errors == b""
    assert b"B?ume" in output
    assert b"EUR 5" in output
    register_ascii_fallback()
    assert "−€3 – ✓".encode("ascii", "spelt_out") == b"-EUR 3 - ?"
    for code, sign in SYMBOLS.items():
        assert len(sign) > 1 or sign.isascii() or sign.encode("ascii", "spelt_out") == f"{code} ".encode()


@posix
@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_is_for_terminals_that_want_it(tmp_path, env, coloured):
    path = write_csv(tmp_path / "bad.csv", [("y_true", "a", "b"), ("a", 2, 3), ("b", 0.5, 0.5)])
    output = run_on_terminal("validate", path, env=env)
    assert ("\x1b[31m" in output) == coloured
    assert "\x1b" not in run("validate", path, env=env).stdout


def test_what_is_not_bold_carries_no_mark(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    echo("plain", bold=False)
    echo("bold", bold=True)
    assert capsys.readouterr().out == "plain\n\x1b[1mbold\x1b[0m\n"


def run_on_terminal(*arguments, env):
    """What the command writes to a terminal of 80 columns."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 80))
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm-256color", **env},
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    process.wait(timeout=60)
    os.close(ours)
    return b"".join(parts).decode()


def test_names_cannot_command_the_terminal(tmp_path):
    path = write_csv(tmp_path / "models.csv", wine_rows("bayes", model=["\x1b[2Jgone\x07"] * 178))
    for command in ("compare", "score", "validate"):
        output = run(command, path).stdout
        assert "\x1b" not in output
        assert "\\x1b[2Jgone\\x07" in output
    assert "\x1b" not in run("score", tmp_path / "\x1b[2J.csv").stderr


class Terminal(io.StringIO):
    """Standard error, as if it were a terminal."""

    def isatty(self):
        return True


def test_longer_work_shows_progress_that_is_gone_afterwards(monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    for silent in (60.0, 0.0):
        monkeypatch.setattr("pandora_regret.cli.output.SILENT_SECONDS", silent)
        with bars() as progress:
            progress.start("[reading]", total=2)
            progress.advance(1, "\x1bfast")
            assert ("1/2" in terminal.getvalue()) == (silent == 0)
            progress.say("a message")
    assert "[reading]" in terminal.getvalue()
    assert "\\x1bfast" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K\x1b[?25h")


def test_the_time_left_is_told_once_a_tenth_is_done(monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setattr("pandora_regret.cli.output.SILENT_SECONDS", 0.0)
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    time_left = re.compile(r"\d\d:\d\d:\d\d")
    with bars() as progress:
        progress.start("reading", total=50)
        for _ in range(5):
            progress.advance()
        assert not time_left.search(terminal.getvalue())
        for _ in range(5):
            progress.advance()
        assert time_left.search(terminal.getvalue())


def test_progress_that_nobody_sees_is_not_written(monkeypatch, capsys):
    monkeypatch.setattr("pandora_regret.cli.output.SILENT_SECONDS", 0.0)
    with bars() as progress:
        progress.start("reading", total=2)
        progress.advance()
    assert capsys.readouterr().err == ""


def test_help_alone_lists_its_topics():
    result = run("help")
    assert result.exit_code == 0
    assert [f"pandora help {topic}" in result.stdout for topic in ("files", "prices", "metrics")] == [True] * 3


def test_help_takes_commands_too_and_answers_with_the_nearest_topic():
    assert run("help", "compare").stdout == run("compare", "--help").stdout
    result = run("help", "metrcs")
    assert result.exit_code == 2
    assert "'metrics'" in result.stderr
    assert "'prices'" in run("help", "nothing").stderr


def test_a_command_that_is_nearly_one_is_answered_with_that():
    result = run("compar", "a.csv")
    assert result.exit_code == 2
    assert "'compare'" in result.stderr


def test_help_of_compare_begins_with_what_most_people_need():
    lines = run("compare", "--help").stdout.splitlines()
    options = [line.split()[0] for line in lines if line.startswith("  --")]
    assert options[:6] == ["--costs", "--truth", "--id", "--label", "--by", "--html"]
    rare = lines[lines.index("Rarely needed:") :]
    names = {line.split()[0] for line in rare if line.startswith("  --")}
    assert names == {"--recalibrate", "--smallest-group", "--decompose", "--show", "--no-cases", "--seed"}


@pytest.mark.parametrize("command", ["validate", "next"])
def test_help_on_the_truth_names_only_options_that_there_are(command):
    words = " ".join(run(command, "--help").stdout.split())
    assert "--weight" not in words
    assert "--group" not in words
    assert "and columns for" not in words
