"""A study from file to table, and what it survives."""

import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest
import study_zoo
from refusals import refused

from pandora_regret import InputError
from pandora_regret.study import begin, forget_failures, read_results, reopen, run_study, study_progress
from pandora_regret.study.predicting import Nobody
from pandora_regret.study.results import RESULTS
from pandora_regret.study.store import Target

pytest.importorskip("safetensors")
HERE = Path(__file__).parents[1] / "helpers"
DATA = "made up"


study_zoo.register()


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(study_zoo.STUDY, encoding="utf-8")
    return path


@pytest.fixture
def finished(study_file, tmp_path):
    out = tmp_path / "finished"
    run_study(begin(study_file, out), out)
    return out


def test_a_second_run_changes_nothing(finished, study_file):
    before = (finished / RESULTS).read_bytes()
    stamps = {p: p.stat().st_mtime_ns for p in (finished / DATA).iterdir()}
    run_study(begin(study_file, finished), finished)
    assert (finished / RESULTS).read_bytes() == before
    assert {p: p.stat().st_mtime_ns for p in (finished / DATA).iterdir()} == stamps


class AfterTwo(Nobody):
    """Does something when two models are done."""

    def __init__(self, do):
        self.do, self.seen = do, 0

    def advance(self, steps=1, note=""):
        self.seen += 1
        if self.seen == 2:
            self.do()


def stop():
    raise KeyboardInterrupt


def test_data_that_changed_meanwhile_are_not_mixed_with_what_is_stored(study_file, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_study(begin(study_file, out), out, watcher=AfterTwo(stop))
    turned = Target(study_zoo.MadeUpZoo().target().truth[::-1], ("a", "b", "c"))
    monkeypatch.setattr(study_zoo.MadeUpZoo, "target", lambda self: turned)
    with refused(argument="truth", row=0):
        run_study(reopen(out), out)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("c = 70", "d = 70", "'made up' do not match"),
        ('"random_temperature"', '{name = "x", prevalence = {a = 1}}', "prevalence do not match"),
        ('"random_temperature"', '{name = "x", workup = "none.toml"}', "none.toml' cannot be read"),
        ('"random_temperature"', '{name = "x", workup = "octmnist"}', "the work-up is about 'CNV'"),
    ],
)
def test_costs_and_conditions_are_checked_before_anything_is_predicted(study_file, tmp_path, old, new, words):
    study_file.write_text(study_zoo.STUDY.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        begin(study_file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_processes_and_one_process_give_the_same_results(finished, study_file, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    run_study(begin(study_file, tmp_path / "two"), tmp_path / "two", jobs=2)
    assert (tmp_path / "two" / RESULTS).read_bytes() == (finished / RESULTS).read_bytes()


def test_a_cluster_that_loses_a_worker_gives_the_same_results(finished, study_file, tmp_path):
    pytest.importorskip("distributed")
    from cluster import loopback_cluster

    with loopback_cluster() as (address, workers):
        out = tmp_path / "cluster"
        kill = partial(os.kill, workers[0].pid, signal.SIGKILL)
        run_study(begin(study_file, out), out, cluster=address, watcher=AfterTwo(kill))
        assert workers[0].wait(timeout=30) != 0
    assert (out / RESULTS).read_bytes() == (finished / RESULTS).read_bytes()


def test_standing_tells_how_far_it_is(finished, study_file, tmp_path):
    (part,), done = study_progress(finished)
    assert (part.name, part.models, part.done, set(part.failures)) == (DATA, 14, 12, {"raises", "gives NaN"})
    assert done
    begin(study_file, tmp_path / "new")
    assert study_progress(tmp_path / "new") == ([type(part)(DATA, None, 0, {})], False)


def test_failures_are_tried_again_when_asked(finished):
    study = reopen(finished)
    forget_failures(study, finished)
    assert study_progress(finished)[0][0].failures == {}
    run_study(study, finished)
    assert set(study_progress(finished)[0][0].failures) == {"raises", "gives NaN"}


def test_a_study_may_be_mended_while_it_has_predicted_nothing(finished, study_file, tmp_path):
    begin(study_file, tmp_path / "o")
    study_file.write_text(study_zoo.STUDY.replace("seed = 1", "seed = 2"), encoding="utf-8")
    assert begin(study_file, tmp_path / "o").seed == reopen(tmp_path / "o").seed == 2
    with refused(argument="folder", value=str(finished)):
        begin(study_file, finished)


CULPRITS = {
    "exits": "its process ended (1)",
    "crashes": "its process crashed (SIGSEGV)",
    "leaves": "it raised SystemExit(0)",
    "hangs": "it took longer than 3 seconds, its timeout",
}
WITH_CULPRITS = study_zoo.STUDY.replace("seed = 1", "seed = 1\ntimeout = 3") + f"culprits = {list(CULPRITS)}\n"


def failures_of(out):
    return {name: reason for name, reason in read_results(out).data[0].failures.items() if name in CULPRITS}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGSEGV")
@pytest.mark.parametrize("zoo", ["", "together = 5\nmost_jobs = 1\n"])
def test_models_that_kill_their_process_or_never_end_are_failures_and_the_study_goes_on(finished, tmp_path, zoo):
    file, out = tmp_path / "culprits.toml", tmp_path / "out"
    file.write_text(WITH_CULPRITS + zoo, encoding="utf-8")
    run_study(begin(file, out), out, jobs=2)
    assert failures_of(out) == CULPRITS
    agreements = [read_results(folder).data[0].agreement for folder in (out, finished)]
    assert agreements[0] == agreements[1]


def test_a_model_may_be_left_out_and_the_timeout_changed_after_the_study_has_begun(finished, study_file):
    changed = study_zoo.STUDY.replace('name = "made up"', 'name = "made up"\nleave_out = ["model 1*", "raises"]')
    study_file.write_text(changed.replace("seed = 1", "seed = 1\ntimeout = 60"), encoding="utf-8")
    run_study(begin(study_file, finished), finished)
    [part] = read_results(finished).data
    assert set(part.failures) == {"gives NaN"}
    assert [name for name in part.agreement.data.models if name.startswith("model 1")] == []
    assert study_progress(finished)[0][0].models == 10
    assert reopen(finished).timeout == 60


def test_code_in_a_study_file_runs_only_if_it_is_trusted(study_file, tmp_path):
    named = study_zoo.STUDY.replace('"accuracy"', '"os:getcwd"')
    table = study_zoo.STUDY.replace('"accuracy"', '{key = "x", title = "X", better = "lower", rows = "os:getcwd"}')
    for text in (named, table):
        study_file.write_text(text, encoding="utf-8")
        with refused(argument="metrics", value="os:getcwd"):
            begin(study_file, tmp_path / "o")
    assert begin(study_file, tmp_path / "o", trust=True).metrics[2].key == "x"
    assert study_progress(tmp_path / "o")[0][0].name == DATA  # needs no code, and asks for no trust
