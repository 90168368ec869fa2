"""Programs that are killed 20 times while they work: ``python killed.py study|report|monitor FOLDER``.

They fork, since a fresh interpreter takes longer to start than to be killed; print how many kills hit.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

KILLS, MOST_ATTEMPTS = 20, 400


def report(folder):
    """A page that is there whole or not at all."""
    from pandora_regret import compare
    from pandora_regret.report import write_report

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    comparison = compare(truth, {f"model {n}": rng.dirichlet(np.ones(3), 60) for n in range(6)})
    page = folder / "page.html"

    def check():
        assert not page.exists() or page.read_text(encoding="utf-8").rstrip().endswith("</html>")

    return lambda: write_report(comparison, page), check


def study(folder):
    """A study that is gone on with where it was."""
    import study_zoo

    from pandora_regret.study import begin, read_results, run_study

    study_zoo.register()
    described = folder / "study.toml"
    described.write_text(study_zoo.STUDY)

    def check():
        if (folder / "out" / "results.json").exists():
            read_results(folder / "out")

    return lambda: run_study(begin(described, folder / "out"), folder / "out"), check


def monitor(folder):
    """Weekly files through the command, with a page: run again, it goes on where it was."""
    import json

    from click.testing import CliRunner
    from monitored import COSTS, write_week

    from pandora_regret.cli.commands import pandora
    from pandora_regret.monitor import Monitor

    files = [write_week(folder / f"w{number}.csv", number, power=3.0) for number in range(1, 9)]
    state, how = folder / "state.json", ("--costs", COSTS, "--time", "week")
    CliRunner().invoke(pandora, ["monitor", str(files[0]), "--state", str(folder / "warm.json"), *how])

    def work():
        for file in files:
            arguments = ["monitor", str(file), "--state", str(state), *how, "--html", str(folder / "page.html")]
            assert CliRunner().invoke(pandora, arguments).exit_code in (0, 3)

    def check():
        if state.exists():
            Monitor.from_state(json.loads(state.read_bytes()))

    return work, check


def survive(work, check, seconds):
    """Kill the work at random moments until 20 kills have hit it, then let it finish; how many hit."""
    rng, hits, attempts = random.Random(0), 0, 0
    while hits < KILLS and attempts < MOST_ATTEMPTS:
        attempts += 1
        child = os.fork()
        if not child:
            work()
            os._exit(0)
        time.sleep(rng.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
        if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            hits += 1
        else:
            seconds *= 0.8  # it had ended before: kill sooner
        check()
    work()
    check()
    return hits


PROGRAMS = {"report": report, "study": study, "monitor": monitor}

if __name__ == "__main__":
    work, check = PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
    before = time.monotonic()
    if not (child := os.fork()):  # how long it takes if nobody kills it, elsewhere
        os.chdir(sys.argv[3])
        PROGRAMS[sys.argv[1]](Path(sys.argv[3]))[0]()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(survive(work, check, time.monotonic() - before))
