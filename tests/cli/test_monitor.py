"""`pandora monitor`: three lines, an exit code for cron, and a state that nothing can break."""

import json
import os
import subprocess

import pandas as pd
import pytest
from cli_files import PROGRAM, run
from monitored import CLASSES, COSTS, week, write_week

from pandora_regret.monitor import Monitor

HOW = ("--period", "week", "--classes", ",".join(CLASSES))


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.json"


def watch(state, *arguments):
    return run("monitor", *arguments, "--state", state)


def test_three_lines_and_a_quiet_exit(tmp_path, state):
    file = write_week(tmp_path / "w1.csv", 1)
    result = watch(state, file, "--costs", COSTS, "--period", "week", "--close")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("Week 1: 40 cases, ")
    assert "per case (promised " in lines[0]
    assert "valid whenever you look). No alarm." in lines[1]
    assert lines[2].startswith("Forecasts of week 1 promise ")


def test_an_alarm_exits_with_3_and_says_when(tmp_path, state):
    for number in range(1, 31):
        file = write_week(tmp_path / "week.csv", number, power=6.0)
        result = watch(state, file, "--costs", COSTS, "--period", "week")
    assert result.exit_code == 3
    assert "ALARM since week " in result.stdout
    assert "cost more than it promised." in result.stdout
    again = watch(state, file)
    assert again.exit_code == 3
    assert again.stdout.splitlines()[:3] == result.stdout.splitlines()
    assert again.stdout.splitlines()[3] == "Done: 40 rows seen before skipped."


def test_settings_are_kept_in_the_state(tmp_path, state):
    first = write_week(tmp_path / "w1.csv", 1)
    second = write_week(tmp_path / "w2.csv", 2)
    watch(state, first, "--costs", COSTS, "--period", "week", "--level", "0.01", "--lag", 2, "--prior", "gamma:2")
    assert watch(state, second).exit_code == 0
    monitor = Monitor.from_state(json.loads(state.read_bytes()))
    assert (monitor.level, monitor.lag, monitor.paid.n, len(monitor.seen)) == (0.01, 2, 1, 80)
    other_unit = COSTS.replace("=", "=$")
    for option, value in (
        ("--level", "0.05"),
        ("--lag", "1"),
        ("--costs", "flu=1,covid=1,cold=1"),
        ("--costs", other_unit),
    ):
        result = watch(state, second, option, value)
        assert result.exit_code == 2
        assert "begin a new state" in result.stderr
    assert watch(state, second, "--currency", "EUR").exit_code == 2
    assert watch(state, second, "--level", "0.01", "--costs", COSTS, "--prior", "gamma:2").exit_code == 0


def test_a_champion_and_a_challenger(tmp_path, state):
    for number in range(1, 4):
        net = write_week(tmp_path / "net.csv", number)
        flat = write_week(tmp_path / "flat.csv", number, flat=True)
        files = (f"Deep net={net}", f"Forest={flat}")
        result = watch(state, *files, "--champion", "Deep net", "--period", "week", "--costs", COSTS)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[2].startswith("Challenger Forest: ")
    assert result.stdout.splitlines()[2].endswith("valid whenever you look). Not settled.")
    alone = watch(state, write_week(tmp_path / "next.csv", 9))
    assert alone.exit_code == 2
    assert "compares with Forest" in alone.stderr


def test_roles_are_those_of_the_state(tmp_path, state):
    net, flat = (
        write_week(tmp_path / "net.csv", 1, n=1000),
        write_week(tmp_path / "flat.csv", 1, flat=True, n=1000),
    )
    assert watch(state, f"Net={net}", f"Flat={flat}", "--champion", "Flat").exit_code in (0, 3)
    once = json.loads(state.read_bytes())["paid"]["saved"]
    write_week(net, 2, n=1000), write_week(flat, 2, flat=True, n=1000)
    assert watch(state, f"Third={flat}", f"Net={net}", f"Flat={flat}").exit_code in (0, 3)
    swapped = tmp_path / "other.json"
    run("monitor", f"Flat={flat}", f"Net={net}", "--state", swapped)
    apart = json.loads(swapped.read_bytes())["paid"]["saved"]
    total = once["sums"][0][1] + apart["sums"][0][1]
    assert json.loads(state.read_bytes())["paid"]["saved"]["sums"][0][1] == pytest.approx(total)
    renamed = watch(state, f"Net2={net}", f"Flat={flat}")
    assert renamed.exit_code == 2
    assert "compares Flat with Net" in renamed.stderr


@pytest.mark.slow
def test_drift_alone_is_said_and_exits_with_3_only_if_asked(tmp_path, state):
    for number in range(1, 61):
        file = write_week(tmp_path / "week.csv", number, labelled=False, flat=number > 25)
        result = watch(state, file, *HOW)
    assert "DRIFT found in week " in result.stdout
    assert result.exit_code == 0
    assert watch(state, file, "--drift-alarm").exit_code == 3


def test_labels_that_come_later(tmp_path, state):
    forecasts = write_week(tmp_path / "w1.csv", 1, labelled=False)
    how = ("--classes", ",".join(CLASSES), "--period", "week")
    first = watch(state, forecasts, *how)
    assert first.exit_code == 0, first.stderr
    assert "No labels yet. 40 forecasts waiting for labels." in first.stdout
    ids, truth, _ = week(1)
    labels = tmp_path / "labels.csv"
    rows = [f"{ids[i]},{CLASSES[truth[i]]}" for i in reversed(range(40))]
    labels.write_text("\n".join(["id,label", *rows, "nobody,flu"]) + "\n")
    second = watch(state, "--labels", labels, "--close")
    assert second.exit_code == 0, second.stderr
    assert second.stdout.startswith("Week 1: 40 cases, ")
    assert "1 label of unknown ids left out" in second.stdout
    complete = tmp_path / "complete.json"
    run("monitor", write_week(tmp_path / "w.csv", 1), "--period", "week", "--state", complete, "--close")
    paid = [json.loads(path.read_bytes())["paid"]["history"]["points"][0]["totals"] for path in (state, complete)]
    assert paid[0] == pytest.approx(paid[1])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_empty_label_is_not_known_yet(tmp_path, state, suffix):
    file, labels = tmp_path / f"w1.{suffix}", tmp_path / f"labels.{suffix}"
    whole = pd.read_csv(write_week(tmp_path / "whole.csv", 1))
    part = whole.assign(label=whole["label"].where(whole.index % 4 > 0))
    later = whole[["id", "label"]].assign(label=whole["label"].where(whole.index % 8 > 0))
    for table, path in ((part, file), (later, labels)):
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    first = watch(state, file, "--period", "week")  # labels that are there tell the classes
    assert first.exit_code == 0, first.stderr
    assert "30 cases" in first.stdout
    assert "10 forecasts waiting for labels" in first.stdout
    second = watch(state, "--labels", labels)
    assert second.exit_code == 0, second.stderr
    assert "35 cases" in second.stdout
    assert "5 forecasts waiting for labels" in second.stdout


def test_a_price_list_names_the_classes_of_forecasts_without_labels(tmp_path, state):
    file = write_week(tmp_path / "w1.csv", 1, labelled=False)
    result = watch(state, file, "--costs", COSTS, "--period", "week")
    assert result.exit_code == 0, result.stderr
    assert "40 forecasts waiting" in result.stdout


def halved(file):
    """The first half of a file of 40 rows, as a file."""
    half = file.with_name("half.csv")
    half.write_text("\n".join(file.read_text().splitlines()[:21]) + "\n")
    return half


def test_a_period_stays_open_until_a_later_one_begins(tmp_path, state):
    file = write_week(tmp_path / "w1.csv", 1)
    first = watch(state, halved(file), *HOW)
    assert first.stdout.startswith("Week 1 so far: 20 cases, ")
    assert "No period is complete yet." in first.stdout
    assert watch(state, file).stdout.startswith("Week 1 so far: 40 cases, ")
    after = watch(state, write_week(tmp_path / "w2.csv", 2))
    assert after.stdout.startswith("Week 2 so far: 40 cases, ")
    assert "Since week 1: paid " in after.stdout
    assert json.loads(state.read_bytes())["paid"]["periods"]["late"] == 0


def test_rows_that_come_late_are_left_out_and_said(tmp_path, state):
    file = write_week(tmp_path / "w1.csv", 1)
    watch(state, halved(file), *HOW, "--close")
    result = watch(state, file)
    assert result.stdout.startswith("Week 1: 20 cases, ")
    assert "20 rows seen before skipped" in result.stdout
    assert "20 rows of closed periods left out" in result.stdout
    after = watch(state, write_week(tmp_path / "w2.csv", 2))
    assert after.stdout.startswith("Week 2 so far: 40 cases, ")


@pytest.mark.slow
def test_two_runs_at_the_same_time_lose_nothing(tmp_path, state):
    files = [write_week(tmp_path / f"w{number}.csv", number) for number in range(4)]
    started = [
        subprocess.Popen([*PROGRAM, "monitor", str(file), "--state", str(state)], stdout=subprocess.DEVNULL)
        for file in files
    ]
    assert all(each.wait() in (0, 3) for each in started)
    monitor = Monitor.from_state(json.loads(state.read_bytes()))
    assert (monitor.paid.n, len(monitor.seen)) == (160, 160)


def test_the_page_is_whole_and_escaped(tmp_path, state):
    pytest.importorskip("jinja2")
    net, flat = write_week(tmp_path / "net.csv", 1), write_week(tmp_path / "flat.csv", 1, flat=True)
    page = tmp_path / "page.html"
    for _ in range(2):  # it is replaced
        name = '<script>alert("1")</script>'
        result = watch(state, f"Net={net}", f"{name}={flat}", "--period", "week", "--html", page, "--close")
        assert result.exit_code == 0, result.stderr
    text = page.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<svg") == 6
    assert "Content-Security-Policy" in text
    assert "http" not in text.replace("http-equiv", "")


def test_a_page_is_written_before_another_run_may_write_a_newer_one(tmp_path, state, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def write(*_, **__):
        folder = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(folder)
        written.append(state.exists())

    written = []
    monkeypatch.setattr("pandora_regret.report.monitor.write_monitor_page", write)
    watch(state, write_week(tmp_path / "w1.csv", 1), "--html", tmp_path / "page.html")
    assert written == [True]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"schema": "pandora-monitor/1"}', '{"schema": "x"}'])
def test_a_state_that_is_none(tmp_path, state, damage):
    file = write_week(tmp_path / "w1.csv", 1)
    state.write_text(damage)
    result = watch(state, file)
    assert result.exit_code == 2
    assert str(state) in result.stderr.replace("\n", "")
    assert state.read_text() == damage


@pytest.mark.parametrize("layout", [None, 3, [], {"html": "elsewhere.html", "close": True}])
def test_a_state_tells_nothing_but_how_files_are_laid_out(tmp_path, state, layout, monkeypatch):
    monkeypatch.chdir(tmp_path)
    watch(state, write_week(tmp_path / "w1.csv", 1), "--period", "week")
    told = json.loads(state.read_bytes())
    told["command"]["layout"] = layout
    state.write_text(json.dumps(told))
    assert watch(state, write_week(tmp_path / "w2.csv", 2)).exit_code == 0
    assert Monitor.from_state(json.loads(state.read_bytes())).paid.n == 1  # week 2 is open still
    assert not (tmp_path / "elsewhere.html").exists()


def test_mistakes_are_said_in_a_sentence(tmp_path, state):
    file = write_week(tmp_path / "w1.csv", 1)
    nameless = tmp_path / "nameless.csv"
    nameless.write_text("\n".join(line.split(",", 1)[1] for line in file.read_text().splitlines()) + "\n")
    for arguments, message in (
        ((), "nothing to read"),
        (("--labels", file), "does not exist yet"),
        ((nameless,), "--id"),
        ((file, "--period", "month"), "month"),
        ((file, "--level", "0.95"), "probability of a false alarm"),
        ((file, file), "NAME=FILE"),
        ((file, "--challenger", "x"), "one model"),
    ):
        result = watch(state, *arguments)
        assert result.exit_code == 2, arguments
        assert message in result.stderr, (arguments, result.stderr)
    assert not state.exists()
