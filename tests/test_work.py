"""Work in this process, in several, and on a cluster: the same results, whoever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from pandora_regret import work
from pandora_regret.core.inputs import InputError, InputTypeError
from pandora_regret.work import Death, WorkError, run_all

pytest.importorskip("cloudpickle")
pytest.importorskip("distributed")

sys.path.insert(0, str(Path(__file__).parent / "helpers"))  # workers import them by the same names

import store_tasks
from cluster import loopback_cluster

SQUARES = {number: number * number for number in range(12)}
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


@pytest.fixture(scope="module")
def address():
    with loopback_cluster() as (address, _):
        yield address


@pytest.fixture(params=["here", "processes", "cluster"])
def where(request):
    if request.param == "cluster":
        return {"cluster": request.getfixturevalue("address")}
    return {"jobs": 1 if request.param == "here" else 2}


def test_every_item_comes_once_with_its_result(where):
    done = list(run_all(store_tasks.square, iter(SQUARES), **where))
    assert len(done) == len(SQUARES)
    assert dict(done) == SQUARES


def test_what_the_work_raises_comes_out(where):
    with pytest.raises(ZeroDivisionError, match="three"):
        list(run_all(store_tasks.fail_at_three, range(6), **where))
    with pytest.raises(TimeoutError, match="0 took too long"):
        list(run_all(store_tasks.time_out, [0], **where))
    assert dict(run_all(store_tasks.square, SQUARES, **where)) == SQUARES  # and nothing is broken by it


def test_leaving_the_loop_cancels_what_has_not_begun(where, tmp_path):
    for _ in run_all(partial(store_tasks.mark_and_wait, str(tmp_path)), range(30), **where):
        break
    time.sleep(0.3)
    assert len(list(tmp_path.iterdir())) < 15


BAD_JOBS = [(0, InputError), (-2, InputError), (1.5, InputTypeError), ("2", InputTypeError)]


@pytest.mark.parametrize(("jobs", "error"), BAD_JOBS)
def test_jobs_is_a_number_of_processes(jobs, error):
    with pytest.raises(error, match="jobs"):
        run_all(abs, [1], jobs=jobs)


@posix
def test_a_process_that_is_killed_is_one_sentence():
    with pytest.raises(WorkError, match="killed"):
        list(run_all(store_tasks.die, range(3), jobs=2))
    assert dict(run_all(store_tasks.square, SQUARES, jobs=2)) == SQUARES


@posix
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_the_work_and_leaves_no_process(tmp_path, jobs):
    program = (
        "import sys; from functools import partial; from store_tasks import mark_and_wait; "
        "from pandora_regret.work import run_all; "
        f"print(len(list(run_all(partial(mark_and_wait, {str(tmp_path)!r}), range(1000), jobs={jobs}))))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "helpers")}
    ran = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, start_new_session=True, stderr=subprocess.DEVNULL
    )
    while len(list(tmp_path.iterdir())) < 3:
        time.sleep(0.05)
        assert ran.poll() is None
    os.killpg(ran.pid, signal.SIGINT)
    assert ran.wait(timeout=60) != 0
    _wait_until_gone(ran.pid)
    done = len(list(tmp_path.iterdir()))
    assert done < 1000


DEATHS = {
    "exit": "its process ended (3)",
    "segfault": "its process crashed (SIGSEGV)",
    "kill": "its process was killed, perhaps for want of memory",
    "leave": "it raised SystemExit(enough)",
    "interrupt": "it raised KeyboardInterrupt()",
    "hang": "it took longer than 3 seconds, its timeout",
}


@posix
@pytest.mark.parametrize("place", ["processes", "cluster"])
def test_an_item_that_kills_its_process_or_never_ends_is_known_and_the_others_go_on(place, request):
    settings = {"cluster": request.getfixturevalue("address")} if place == "cluster" else {"jobs": 2}
    items = ["a", *DEATHS, "b"]
    results = dict(run_all(store_tasks.misbehave, items, apart=True, timeout=lambda item: 3, **settings))
    assert results == {"a": "a", "b": "b"} | {item: Death(why) for item, why in DEATHS.items()}


def test_what_the_work_prints_and_reads_is_not_taken_for_a_message():
    assert sorted(run_all(store_tasks.print_and_read, [1, 2], apart=True)) == [(1, (1, "")), (2, (2, ""))]


@posix
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path, kind):
    program = (
        "from functools import partial; from store_tasks import tell_processes; "
        "from pandora_regret.work import run_all; "
        f"list(run_all(partial(tell_processes, {str(tmp_path)!r}), range(4), jobs=2))"
    )
    path = os.pathsep.join([str(Path(__file__).parent / "helpers"), *sys.path])
    parent = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path})
    while len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.05)
        assert parent.poll() is None
    parent.send_signal(kind)
    assert parent.wait(timeout=10) == -kind
    deadline = time.monotonic() + 5
    while any(_is_running(int(file.name)) for file in tmp_path.iterdir()):
        time.sleep(0.05)
        assert time.monotonic() < deadline


def _is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def _wait_until_gone(group):
    """Until no process of the group is left; helpers of loky take a moment to notice."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    pytest.fail("processes were left behind")


@posix
def test_a_worker_killed_in_the_midst_changes_no_result_and_a_scheduler_killed_is_one_sentence():
    with loopback_cluster() as (address, workers):
        done = {}
        for item, result in run_all(store_tasks.slow_square, SQUARES, cluster=address):
            done[item] = result
            if len(done) == 3:
                workers[0].send_signal(signal.SIGKILL)
        assert workers[0].wait() == -signal.SIGKILL
        assert done == dict(run_all(store_tasks.square, SQUARES)) == SQUARES
        scheduler = _scheduler_process(address)
        with pytest.raises(WorkError, match=f"scheduler at {address}"):
            _run_and_kill(scheduler, address)


def _run_and_kill(scheduler, address):
    for _ in run_all(store_tasks.slow_square, SQUARES, cluster=address):
        os.kill(scheduler, signal.SIGKILL)


def _scheduler_process(address):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return client.run_on_scheduler(os.getpid)


@posix
def test_an_item_that_kills_workers_ends_the_work_and_so_does_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(work, "PATIENCE_SECONDS", 0.5)
    with loopback_cluster(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1") as (address, workers):
        with pytest.raises(WorkError, match="workers died"):
            list(run_all(store_tasks.die, [0], cluster=address))
        assert [worker.wait() for worker in workers] == [-signal.SIGKILL] * 2
        with pytest.raises(WorkError, match=f"dask worker {address}"):
            list(run_all(store_tasks.square, [0], cluster=address))


@pytest.mark.slow
@pytest.mark.parametrize("nowhere", ["tcp://127.0.0.1:1", "nonsense", "carrier-pigeon://x:1"])
def test_a_scheduler_that_is_not_there_is_one_sentence(monkeypatch, nowhere):
    monkeypatch.setattr(work, "CONNECT_SECONDS", 0.5)
    with pytest.raises(WorkError, match=f"'{nowhere}'") as said:
        list(run_all(abs, [1], cluster=nowhere))
    assert "\n" not in str(said.value)
