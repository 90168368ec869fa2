"""`pandora monitor`: a headline, an exit code for cron, and a state that nothing can break."""

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from cli_files import PROGRAM, refused, run
from monitored import CLASSES, COSTS, write_week

from pandora_regret import InputError
from pandora_regret.files import NoRowsError
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.state import seal_state

HOW = ("--time", "week", "--classes", ",".join(CLASSES))


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state.json"


def watch(state, *arguments):
    return run("monitor", *arguments, "--state", state)


def write_faulty_weeks(folder, weeks, power, n=200):
    """Files by week with half of the labels, the others two weeks later; forecasts too sure from week 9 on."""
    files = []
    for number in range(1, weeks + 1):
        whole = pd.read_csv(write_week(folder / "whole.csv", number, power=1.0 if number < 9 else power, n=n))
        later = whole.index % 2 == 0
        whole.assign(label=whole["label"].mask(later)).to_csv(folder / f"week{number}.csv", index=False)
        whole[later][["id", "label"]].to_csv(folder / f"labels{number + 2}.csv", index=False)
        labels = folder / f"labels{number}.csv"
        files.append((folder / f"week{number}.csv", *(("--labels", labels) if number > 2 else ())))
    return files


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--time", "week")])
def test_a_fault_in_week_9_is_noticed_by_week_12_though_half_of_the_labels_come_late(tmp_path, state, how):
    """Forecasts that cost a quarter more than they promise; with no option but the state, too."""
    for number, files in enumerate(write_faulty_weeks(tmp_path, 12, power=4.0), start=1):
        result = watch(state, *files, *(how if number == 1 else ()))
        assert result.exit_code in ((0,) if number < 11 else (0, 3)), (number, result.stdout)
    assert result.exit_code == 3, result.stdout
    summary = json.loads(watch(state, "--json").stdout)["summary"]
    assert summary["late"] == 0
    headline = watch(state).stdout.splitlines()[0]
    assert headline.startswith("ALARM: since about ")
    if how:
        assert summary["since"] in ("week 8", "week 9", "week 10")
        assert summary["alarm"]["noticed"] in ("week 11", "week 12")


def test_an_alarm_exits_with_3_and_says_when(tmp_path, state):
    for number in range(1, 6):
        file = write_week(tmp_path / "week.csv", number, power=6.0)
        result = watch(state, file, "--costs", COSTS, "--time", "week")
    assert result.exit_code == 3
    assert result.stdout.startswith("ALARM: since ")
    shown = json.loads(watch(state, "--json").stdout)
    assert (shown["summary"]["likely"], shown["summary"]["alarm"]["noticed"]) == ("week 1", "week 2")
    assert shown["summary"]["overpaid"]["low"] > 0
    again = watch(state, file)
    assert again.exit_code == 3
    assert again.stdout.splitlines()[:-2] == result.stdout.splitlines()
    assert again.stdout.splitlines()[-1].startswith("- 40 rows")
    [skipped] = json.loads(watch(state, file, "--json").stdout)["remarks"]
    assert (skipped["what"], skipped["count"]) == ("rows seen before", 40)


def test_settings_are_kept_in_the_state(tmp_path, state):
    """Names of columns, separators, and all else that the first run was told."""
    first, second = (pd.read_csv(write_week(tmp_path / "w.csv", number)) for number in (1, 2))
    names = {"id": "case", "label": "diagnosis", "week": "KW"}
    for number, table in ((1, first), (2, second)):
        table.rename(columns=names).to_csv(tmp_path / f"w{number}.csv", index=False, sep=";", decimal=",")
    how = ("--id", "case", "--label", "diagnosis", "--time", "KW", "--separator", ";", "--decimal", "comma")
    settings = ("--level", "0.01", "--wait", 2, "--prior", "gamma:2", "--two-sided", "--costs", COSTS)
    result = watch(state, tmp_path / "w1.csv", *how, *settings)
    assert result.exit_code == 0, result.stderr
    assert watch(state, tmp_path / "w2.csv").exit_code == 0
    monitor = Monitor.from_state(json.loads(state.read_bytes()))
    assert (monitor.level, monitor.wait, monitor.two_sided, monitor.bets.n) == (0.01, 2, True, 80)
    for option, value in (
        ("--level", "0.05"),
        ("--wait", "1"),
        ("--costs", "flu=1,covid=1,cold=1"),
        ("--costs", COSTS.replace("=", "=$")),
    ):
        result = watch(state, tmp_path / "w2.csv", option, value)
        assert result.exit_code == 2
        assert "begin a new state" in result.stderr
    assert watch(state, tmp_path / "w2.csv", "--currency", "EUR").exit_code == 2
    assert watch(state, tmp_path / "w2.csv", *settings).exit_code == 0


def test_a_state_is_shown_without_files(tmp_path, state):
    pytest.importorskip("jinja2")
    said = watch(state, write_week(tmp_path / "w1.csv", 1), "--time", "week").stdout
    before = state.read_bytes()
    assert watch(state, "--html", tmp_path / "page.html").stdout == said
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert state.read_bytes() == before


def test_a_period_of_dependent_cases_is_one_bet(tmp_path, state):
    for number in range(1, 5):
        result = watch(
            state, write_week(tmp_path / "w.csv", number, power=6.0), "--dependent", "week", "--costs", COSTS
        )
    assert "40 labelled cases" in result.stdout
    assert "--close" in result.stdout
    summary = json.loads(watch(state, "--json").stdout)["summary"]
    assert (summary["increments"], summary["dependent"]) == (3, True)  # week 4 may go on
    assert json.loads(watch(state, "--close", "--json").stdout)["summary"]["increments"] == 4
    assert (
        "both given"
        in watch(tmp_path / "s.json", tmp_path / "w.csv", "--dependent", "week", "--time", "week").stderr
    )


def saved_in(state):
    """What the challenger saved in all."""
    return Monitor.from_state(json.loads(state.read_bytes())).bets.book.history.points[-1].totals[2]


def test_roles_are_those_of_the_state(tmp_path, state):
    net, flat = (
        write_week(tmp_path / "net.csv", 1, n=1000),
        write_week(tmp_path / "flat.csv", 1, flat=True, n=1000),
    )
    assert watch(state, f"Net={net}", f"Flat={flat}", "--champion", "Flat").exit_code in (0, 3)
    before = tmp_path / "before.json"
    before.write_bytes(state.read_bytes())
    once = json.loads(state.read_bytes())["paid"]["saved"]
    write_week(net, 2, n=1000), write_week(flat, 2, flat=True, n=1000)
    assert watch(state, f"Third={flat}", f"Net={net}", f"Flat={flat}").exit_code in (0, 3)
    swapped = tmp_path / "other.json"
    run("monitor", f"Flat={flat}", f"Net={net}", "--state", swapped)
    apart = json.loads(swapped.read_bytes())["paid"]["saved"]
    assert json.loads(state.read_bytes())["paid"]["saved"]["n"] == once["n"] + apart["n"] == 2000
    assert saved_in(state) == pytest.approx(saved_in(before) + saved_in(swapped))
    assert watch(state).stdout.splitlines()[2].startswith("Challenger Net: saves ")
    for files, names in (((f"Net2={net}", f"Flat={flat}"), ("Net2", "Flat")), ((f"next={net}",), ("next",))):
        said = refused("monitor", *files, "--state", state, argument="files", place=str(state), value=names)
        assert "compares Flat with Net" in said


def test_drift_alone_is_said_and_exits_with_3_only_if_asked(tmp_path, state):
    for number in range(1, 13):
        file = write_week(tmp_path / "week.csv", number, labelled=False, flat=number > 5)
        result = watch(state, file, *HOW)
    assert "DRIFT noticed" in result.stdout
    assert result.exit_code == 0
    assert watch(state, file, "--drift-alarm").exit_code == 3


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_empty_label_is_not_known_yet(tmp_path, state, suffix):
    file, labels = tmp_path / f"w1.{suffix}", tmp_path / f"labels.{suffix}"
    whole = pd.read_csv(write_week(tmp_path / "whole.csv", 1))
    part = whole.assign(label=whole["label"].where(whole.index % 4 > 0))
    later = whole[["id", "label"]].assign(label=whole["label"].where(whole.index % 8 > 0))
    later = pd.concat([later, pd.DataFrame({"id": ["nobody"], "label": ["flu"]})])
    for table, path in ((part, file), (later, labels)):
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    first = watch(state, file, "--time", "week")  # labels that are there tell the classes
    assert first.exit_code == 0, first.stderr
    assert "30 cases" in first.stdout
    assert "10 labels still missing" in first.stdout
    second = watch(state, "--labels", labels)
    assert second.exit_code == 0, second.stderr
    assert "35 cases" in second.stdout
    assert "1 label of unknown" in second.stdout
    assert "5 labels still missing" in second.stdout


def test_a_price_list_names_the_classes_of_forecasts_without_labels(tmp_path, state):
    file = write_week(tmp_path / "w1.csv", 1, labelled=False)
    result = watch(state, file, "--costs", COSTS, "--time", "week")
    assert result.exit_code == 0, result.stderr
    assert "40 labels still missing" in result.stdout


def test_a_week_without_cases_or_labels_is_no_mistake(tmp_path, state):
    week, empty = write_week(tmp_path / "w.csv", 1), tmp_path / "empty.csv"
    empty.write_text(week.read_text().splitlines()[0] + "\n")
    refused("monitor", empty, "--state", state, *HOW, kind=NoRowsError, place=str(empty))
    watch(state, week, *HOW)
    before = watch(state).stdout
    for files in ([empty], ["--labels", empty]):
        after = watch(state, *files).stdout
        assert after.startswith(before)
        assert str(empty) in after.removeprefix(before)


def test_labels_that_come_too_late_are_left_out_and_said(tmp_path, state):
    """Until the next file but two; how long would have been enough is said."""
    whole = pd.read_csv(write_week(tmp_path / "w1.csv", 1))
    whole.assign(label=whole["label"].where(whole.index > 3)).to_csv(tmp_path / "w1.csv", index=False)
    whole.to_csv(tmp_path / "labels.csv", index=False)
    for number in range(1, 5):
        file = tmp_path / "w1.csv" if number == 1 else write_week(tmp_path / "w.csv", number)
        result = watch(state, file, *HOW)
        assert ("4 labels still missing" in result.stdout) == (number < 4)
    result = json.loads(watch(state, "--labels", tmp_path / "labels.csv", "--json").stdout)
    counts = {remark["what"]: remark["count"] for remark in result["remarks"]}
    assert counts == {"labels that came late": 4, "rows seen before": 36}
    shown = watch(state).stdout
    assert "4 labels (2.5 %)" in shown
    assert "wait of 3 periods" in shown
    assert watch(state, "--labels", tmp_path / "labels.csv").exit_code == 0


@pytest.mark.slow
def test_two_runs_at_the_same_time_lose_nothing(tmp_path, state):
    files = [write_week(tmp_path / f"w{number}.csv", number) for number in range(4)]
    started = [
        subprocess.Popen([*PROGRAM, "monitor", str(file), "--state", str(state)], stdout=subprocess.DEVNULL)
        for file in files
    ]
    assert all(each.wait() in (0, 3) for each in started)
    monitor = Monitor.from_state(json.loads(state.read_bytes()))
    assert (monitor.bets.n, len(monitor.seen)) == (160, 160)


def test_the_page_is_whole_and_escaped(tmp_path, state):
    pytest.importorskip("jinja2")
    net, flat = write_week(tmp_path / "net.csv", 1), write_week(tmp_path / "flat.csv", 1, flat=True)
    page = tmp_path / "page.html"
    for _ in range(2):  # it is replaced
        name = '<script>alert("1")</script>'
        result = watch(state, f"Net={net}", f"{name}={flat}", "--time", "week", "--html", page)
        assert result.exit_code == 0, result.stderr
    text = page.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<svg") == 4 + text.count('<tr><th scope="row" class="name">')  # and a bar for each class
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


def test_a_state_tells_nothing_but_how_files_are_laid_out(tmp_path, state, monkeypatch):
    monkeypatch.chdir(tmp_path)
    watch(state, write_week(tmp_path / "w1.csv", 1), "--time", "week")
    told = json.loads(state.read_bytes())
    told["command"]["layout"] = 3
    state.write_text(json.dumps(seal_state(told)))
    assert f"{state} is not" in watch(state).stderr
    told["command"]["layout"] = {"html": "elsewhere.html", "close": True}
    state.write_text(json.dumps(seal_state(told)))
    assert watch(state, write_week(tmp_path / "w2.csv", 2)).exit_code == 0
    assert Monitor.from_state(json.loads(state.read_bytes())).bets.n == 80
    assert not (tmp_path / "elsewhere.html").exists()


def test_mistakes_are_said_in_a_sentence(tmp_path, state):
    file = write_week(tmp_path / "w1.csv", 1)
    nameless = tmp_path / "nameless.csv"
    nameless.write_text("\n".join(line.split(",", 1)[1] for line in file.read_text().splitlines()) + "\n")
    for arguments, fields in (
        ((), {"argument": "state", "value": str(state)}),
        (("--labels", file), {"argument": "state", "value": str(state)}),
        ((nameless,), {"argument": "ids", "place": str(nameless)}),
        ((file, "--time", "month"), {"place": str(file)}),
        ((file, "--level", "0.95"), {"argument": "level", "value": 0.95}),
        ((file, file), {"argument": "files", "value": str(file)}),
        ((file, "--challenger", "x"), {"argument": "files", "place": str(state), "value": ("w1",)}),
    ):
        refused("monitor", *arguments, "--state", state, **fields)
    assert not state.exists()
    for damage in ("{", "[]"):
        state.write_text(damage)
        assert watch(state, file).exit_code == 2
        assert state.read_text() == damage


def flipped(text, bit):
    """Bytes of which one bit is another."""
    copy = bytearray(text)
    copy[bit // 8] ^= 1 << bit % 8
    return bytes(copy)


def test_a_flipped_bit_of_a_state_is_refused_or_changes_no_answer(tmp_path, state):
    """Every bit of what the command keeps (unit, layout, roles), and some of all others."""
    week = write_week(tmp_path / "w1.csv", 1, n=6)
    watch(state, week, *HOW, "--costs", COSTS, "--currency", "USD")
    whole = state.read_bytes()
    answer = watch(state, "--json").stdout
    of_the_command = range(8 * whole.index(b'"command"'), 8 * len(whole))
    others = range(0, 8 * len(whole), 61)
    for bit in (*of_the_command, *others):
        damaged = flipped(whole, bit)
        try:
            read = json.loads(damaged)
        except ValueError:
            continue
        if read == json.loads(whole):
            continue
        with pytest.raises(InputError) as refusal:
            Monitor.from_state(read)
        assert refusal.value.argument == "state"
    for bit in np.random.default_rng(0).choice(of_the_command, 60, replace=False):
        state.write_bytes(flipped(whole, int(bit)))
        result = watch(state, "--json")
        assert result.exit_code == 2 or result.stdout == answer


def write_rows(path, header, *rows):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_a_new_class_in_production_is_counted_an_alarm_and_known_once_a_model_has_it(tmp_path, state):
    header = "id,label,flu,covid,cold,week"
    first = write_rows(tmp_path / "1.csv", header, "a1,flu,.7,.2,.1,1", "a2,cold,.2,.2,.6,1", "a3,,.3,.5,.2,1")
    watch(state, first, "--time", "week", "--costs", "flu=20,covid=35,cold=5", "--miss", 40)
    second = write_rows(tmp_path / "2.csv", header, "b1,tls,.7,.2,.1,2", "b2,Flu,.2,.2,.6,2")
    assert watch(state, second).exit_code == 0  # a single case may be a typo
    labels = write_rows(tmp_path / "labels.csv", "id,label", "a3,TLS")
    result = watch(state, "--labels", labels, "--json")
    assert result.exit_code == 3
    summary = json.loads(result.stdout)["summary"]
    assert [(known["name"], known["cases"]) for known in summary["unknown"]] == [("tls", 2)]
    assert summary["alarm"] is None
    header = "id,label,flu,covid,cold,tls,week"
    third = write_rows(tmp_path / "3.csv", header, "c1,tls,.3,.2,.1,.4,3", "c2,cold,.2,.2,.5,.1,3")
    before = state.read_bytes()
    assert refused("monitor", third, "--state", state).count("--costs")
    assert state.read_bytes() == before
    result = watch(state, third, "--costs", "flu=20,covid=35,cold=5,tls=30", "--json")
    assert result.exit_code == 0
    summary = json.loads(result.stdout)["summary"]
    assert summary["unknown"][0]["is_known"]
    assert summary["last"]["cases"] == 2
    fourth = write_rows(tmp_path / "4.csv", header, "d1,tls,.3,.2,.1,.4,4", "d2,cold,.2,.2,.5,.1,4")
    assert watch(state, fourth).exit_code == 0


def test_a_model_with_the_new_class_goes_on_where_labels_come_late(tmp_path, state):
    header = "id,flu,covid,cold,week"
    first = write_rows(tmp_path / "1.csv", header, "a1,.7,.2,.1,1", "a2,.2,.2,.6,1", "a3,.3,.5,.2,1")
    prices = "flu=20,covid=35,cold=5"
    watch(state, first, "--time", "week", "--costs", prices, "--currency", "EUR")
    labels = write_rows(tmp_path / "labels.csv", "id,label", "a1,TLS", "a2,TLS", "a3,covid")
    assert watch(state, "--labels", labels).exit_code == 3
    header = "id,flu,covid,cold,tls,age,week"
    second = write_rows(tmp_path / "2.csv", header, "b1,.3,.2,.1,.4,31,2", "b2,.2,.2,.5,.1,62,2")
    assert "no price for tls" in refused("monitor", second, "--state", state).lower()
    result = watch(state, second, "--costs", f"{prices},tls=30", "--json")
    summary = json.loads(result.stdout)["summary"]
    assert summary["waiting"] == 2
    assert [known["is_known"] for known in summary["unknown"]] == [True]
    assert json.loads(state.read_bytes())["classes"] == ["flu", "covid", "cold", "TLS"]


def test_a_class_that_only_prices_and_columns_name_is_new_too(tmp_path, state):
    first = write_rows(tmp_path / "1.csv", "id,label,flu,covid", "a1,flu,.7,.3", "a2,covid,.2,.8")
    watch(state, first, "--costs", "flu=20,covid=35")
    second = write_rows(tmp_path / "2.csv", "id,flu,covid,tls", "b1,.3,.3,.4", "b2,.5,.4,.1")
    result = watch(state, second, "--costs", "flu=20,covid=35,tls=30")
    assert result.exit_code == 0
    assert json.loads(state.read_bytes())["classes"] == ["flu", "covid", "tls"]


def test_the_price_of_a_miss_may_be_said_once_there_is_one(tmp_path, state):
    header = "id,label,flu,covid,cold"
    first = write_rows(tmp_path / "1.csv", header, "a1,flu,.7,.2,.1", "a2,cold,.2,.2,.6")
    watch(state, first, "--costs", "flu=20,covid=35,cold=5")
    watch(state, write_rows(tmp_path / "2.csv", header, "b1,tls,.7,.2,.1", "b2,tls,.2,.2,.6"))
    assert json.loads(watch(state, "--json").stdout)["summary"]["last"]["paid"] == 60
    result = watch(state, "--miss", 100, "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["summary"]["last"]["paid"] == 160
    assert json.loads(watch(state, "--json").stdout)["summary"]["miss"] == 100


def test_a_model_that_lost_a_column_is_refused_still(tmp_path, state):
    first = write_rows(tmp_path / "1.csv", "id,label,flu,covid,cold", "a1,flu,.7,.2,.1", "a2,cold,.2,.2,.6")
    watch(state, first, "--classes", ",".join(CLASSES))
    second = write_rows(tmp_path / "2.csv", "id,label,flu,covid", "b1,flu,.7,.3", "b2,covid,.2,.8")
    assert refused("monitor", second, "--state", state).count("cold")
    assert watch(state, second, "--missing-class-zero").exit_code == 0


def test_an_acknowledged_alarm_exits_with_0(tmp_path, state):
    header = "id,label,flu,covid,cold"
    first = write_rows(tmp_path / "1.csv", header, "a1,flu,.7,.2,.1", "a2,cold,.2,.2,.6")
    watch(state, first, "--classes", ",".join(CLASSES))
    rows = ["b1,tls,.7,.2,.1", "b2,tls,.2,.2,.6", "b3,flu,.2,.2,.6"]
    assert watch(state, write_rows(tmp_path / "2.csv", header, *rows)).exit_code == 3
    assert watch(state).exit_code == 3
    page = tmp_path / "page.html"
    result = watch(state, "--acknowledge", "retraining <soon>", "--html", page)
    assert result.exit_code == 0
    html = page.read_text(encoding="utf-8")
    assert "retraining &lt;soon&gt;" in html
    assert "3 cases, pandora-regret" in html  # of the whole history, as in its charts
    assert "not drawn" in html  # cases of a class that has no column
    assert watch(state).exit_code == 0
    assert refused("monitor", "--state", state, "--acknowledge", "again")
