"""The walks of ARCHITECTURE.md are what happens: modules are entered in that order, and none calls a later one."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from pandora_regret.cli import main

MAP = Path(__file__).resolve().parents[1] / "ARCHITECTURE.md"
PACKAGE = "pandora_regret."
CASES = 120
CLASSES = ("flu", "cold", "covid")
PRICES = "flu=20,cold=5,covid=35"
WALKS = {
    "From a CSV file to a verdict": (
        ("comparison",),
        ["compare", "a.csv", "b.csv", "--costs", PRICES, "--by", "site"],
    ),
    "From weekly files to an alarm": (
        ("monitor",),
        ["monitor", "week3.csv", "--state", "state.json", "--costs", PRICES, "--html", "page.html"],
    ),
}


class Step:
    """A line of a walk: modules, the values that it names, and whether it is a door, which calls later steps."""

    def __init__(self, line):
        named = re.findall(r"`([^`]+)`", line)
        self.modules = [
            PACKAGE + name.removesuffix(".py").replace("/", ".") for name in named if name.endswith(".py")
        ]
        self.values = [name for name in named if re.fullmatch(r"[A-Z]\w+", name)]
        self.is_door = "door" in line


def steps_of(title):
    """The steps of a walk, as the page has them."""
    text = MAP.read_text(encoding="utf-8")
    section = text.partition(f"### {title}\n")[2].partition("\n#")[0]
    return [Step(line) for line in re.split(r"\n(?=\d+\. )", section) if re.match(r"\d+\. ", line)]


class Trace:
    """Which modules a command entered first, and which called which."""

    def __init__(self):
        self.code = None  # of the command's exit
        self.entered = []
        self.calls = {}

    def note(self, frame, event, argument):
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith(PACKAGE) or frame.f_code.co_filename == "<string>":
            return  # what a dataclass makes of its fields is no step
        if module not in self.entered:
            self.entered.append(module)
        if frame.f_code.co_flags & inspect.CO_GENERATOR or frame.f_back is None:
            return  # a generator goes on when it is asked for its next value, by whoever has it
        caller = frame.f_back.f_globals.get("__name__", "")
        places = (frame.f_back.f_code.co_name, frame.f_code.co_name)
        self.calls.setdefault((caller, module), places)


def run(arguments, profile=None):
    """The command, in this process; its exit code."""
    sys.argv = ["pandora", *arguments]
    sys.setprofile(profile)
    try:
        with pytest.raises(SystemExit) as exit:
            main()
    finally:
        sys.setprofile(None)
    return exit.value.code


def write(path, seed, boldness=1.0, wrong_by=0):
    """Cases with ids and sites; forecasts that are right at a boldness of 1, but for so many columns."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(3, 0.5), CASES)
    truth = (chances.cumsum(axis=1) < rng.random((CASES, 1))).sum(axis=1)
    values = np.roll(chances**boldness, wrong_by, axis=1)
    values /= values.sum(axis=1, keepdims=True)
    lines = ["id,label,site,flu,cold,covid"]
    for row, (number, forecast) in enumerate(zip(truth, values, strict=True)):
        numbers = ",".join(f"{value:.9f}" for value in forecast)
        lines.append(f"{seed}-{row},{CLASSES[number]},{'NS'[row % 2]},{numbers}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Of each walk, by its title; what is imported was imported by a run before."""
    folder = tmp_path_factory.mktemp("walks")
    write(folder / "week1.csv", seed=1)
    write(folder / "week2.csv", seed=2)
    write(folder / "week3.csv", seed=3, wrong_by=1)
    write(folder / "a.csv", seed=4)
    write(folder / "b.csv", seed=4, boldness=0.5)
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", [])
        for week in ("week1.csv", "week2.csv"):
            run(["monitor", week, "--state", "state.json", "--costs", PRICES, "--html", "page.html"])
        run(WALKS["From a CSV file to a verdict"][1])
        for title, (_, arguments) in WALKS.items():
            found[title] = Trace()
            found[title].code = run(arguments, found[title].note)
    return found


def test_the_walks_end_as_they_say(traces):
    assert [trace.code for trace in traces.values()] == [0, 3]


@pytest.mark.parametrize("title", WALKS)
def test_modules_are_entered_in_the_order_of_the_walk(traces, title):
    named = [module for step in steps_of(title) for module in step.modules]
    assert len(named) == len(set(named)) >= 10
    assert [module for module in traces[title].entered if module in named] == named


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_leaves_no_module_of_its_room_out(traces, title):
    rooms, _ = WALKS[title]
    named = {module for step in steps_of(title) for module in step.modules}
    entered = {module for module in traces[title].entered if module.split(".")[1] in rooms}
    assert entered <= named


@pytest.mark.parametrize("title", WALKS)
def test_no_step_but_a_door_calls_a_later_one(traces, title):
    number_of = {}
    doors = set()
    for number, step in enumerate(steps_of(title)):
        number_of |= dict.fromkeys(step.modules, number)
        if step.is_door:
            doors |= set(step.modules)
    upwards = {}
    for (caller, called), places in traces[title].calls.items():
        is_known = caller in number_of and called in number_of
        if is_known and caller not in doors and number_of[caller] < number_of[called]:
            upwards[caller, called] = places
    assert upwards == {}
    assert len(doors) <= 5


@pytest.mark.parametrize("title", WALKS)
def test_values_that_a_walk_names_are_those_of_the_code(title):
    for step in steps_of(title):
        loaded = [importlib.import_module(module) for module in step.modules]
        for value in step.values:
            assert any(hasattr(module, value) for module in loaded), value


def test_an_upward_call_is_found():
    trace = Trace()
    sys.setprofile(trace.note)
    try:
        steps_of("From a CSV file to a verdict")
        importlib.import_module("pandora_regret.text").money(3.0, "USD")
    finally:
        sys.setprofile(None)
    assert "pandora_regret.text.amounts" in trace.entered
    assert (__name__, "pandora_regret.text.amounts") in trace.calls
