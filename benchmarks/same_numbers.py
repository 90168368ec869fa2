"""Whether two trees of the project say the same numbers: every command on fixture files, and library calls.

    python benchmarks/same_numbers.py OLD_TREE NEW_TREE [--only TEXT] [--verbose]

Prints one line per case: same, differs (where, by how much), or failed on one side. Numbers agree if they do to
1e-9; keys that vanished or came are listed apart, and so are texts that changed. What the old tree says is kept in
the temporary folder, so that a second comparison with it only runs the new tree.
"""

import argparse
import hashlib
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import same_cases

RELATIVE, ABSOLUTE = 1e-9, 1e-11
FITTED, ITERATED = ("recalibrate", "library: calibrators"), 1e-6  # numbers that are found by iteration
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PRINTED = "last.json"  # what the last command printed, for the next one to read
VOLATILE = {"created", "version", "seconds", "pandora_regret_version"}


# In a process of its own: what one tree says


def run_all(side, out, only):
    """Every case, in the working folder; the package is that of PYTHONPATH."""
    same_cases.write_files()
    results = {}
    for name, lines in same_cases.commands().items():
        if only in name:
            results[name] = run_commands(lines[side] if isinstance(lines, tuple) else lines)
    for name, call in same_cases.CALLS.items():
        if only in f"library: {name}":
            results[f"library: {name}"] = [attempt(call)]
    Path(out).write_text(json.dumps(results, default=plain))


def run_commands(lines):
    before = set(Path().iterdir())
    steps = [run_command(shlex.split(line)) for line in lines]
    written = {path.name: content(path) for path in sorted(set(Path().iterdir()) - before) if path.name != PRINTED}
    return [*steps, {"files": written}]


def run_command(arguments):
    """One command in this process; standard output is caught below Python, whoever writes to it."""
    from pandora_regret.cli import main

    sys.argv = ["pandora", *arguments]
    code = 0
    with tempfile.TemporaryFile() as caught, tempfile.TemporaryFile() as errors:
        saved = [os.dup(1), os.dup(2)]
        os.dup2(caught.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException as error:
            code = f"{type(error).__name__}: {error}"
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in enumerate(saved, 1):
                os.dup2(copy, number)
                os.close(copy)
        caught.seek(0)
        errors.seek(0)
        printed = caught.read().decode()
        Path(PRINTED).write_text(printed)
        return {"exit": code, "printed": parsed(printed), "error": errors.read().decode() if code else ""}


def attempt(call):
    try:
        return json.loads(json.dumps(call(), default=plain))
    except Exception as error:
        return {"exit": f"{type(error).__name__}: {error}"}


def plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if hasattr(value, "keys") else str(value)


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def content(path):
    if path.is_dir():
        return sorted(each.name for each in path.iterdir()) if path.name != "results" else "a study"
    if path.suffix in (".json", ".csv", ".jsonl"):
        return parsed(path.read_text())
    return f"{path.suffix}, {'empty' if not path.stat().st_size else 'not empty'}"


# Comparing


class Differences:
    """What differs between two results, by kind."""

    def __init__(self, relative):
        self.relative = relative
        self.numbers, self.structure, self.texts, self.gone, self.new = [], [], [], [], []
        self.counted = 0

    def compare(self, old, new, where=""):
        how = {"dict": self.table, "list": self.entries, "number": self.number, "str": self.text}
        kinds = kind(old), kind(new)
        if kinds[0] == kinds[1] and kinds[0] in how:
            how[kinds[0]](old, new, where)
        elif old != new and not (old in (None, []) and new in (None, [])):
            self.structure.append(f"{where}: {short(old)}, now {short(new)}")

    def table(self, old, new, where):
        self.gone += [f"{where}.{key}" for key in old.keys() - new.keys()]
        self.new += [f"{where}.{key}" for key in new.keys() - old.keys()]
        for key in (old.keys() & new.keys()) - VOLATILE:
            self.compare(old[key], new[key], f"{where}.{key}")

    def entries(self, old, new, where):
        if len(old) != len(new):
            self.structure.append(f"{where}: {len(old)} entries, now {len(new)}")
        for place, (one, other) in enumerate(zip(old, new, strict=False)):
            self.compare(one, other, f"{where}[{place}]")

    def number(self, old, new, where):
        self.counted += 1
        if not (math.isclose(old, new, rel_tol=self.relative, abs_tol=ABSOLUTE) or (old != old and new != new)):
            far = abs(new - old) / max(abs(old), abs(new))
            self.numbers.append((far, f"{where}: {old!r}, now {new!r}"))

    def text(self, old, new, where):
        """Tables in text: the numbers in them are compared one by one, if the words are the same."""
        if old == new:
            return
        if NUMBER.sub("", old) != NUMBER.sub("", new):
            self.texts.append(f"{where}: {changed(old, new)}")
        elif "\n" in old:
            for one, other in zip(NUMBER.findall(old), NUMBER.findall(new), strict=False):
                self.number(float(one), float(other), where)
        else:
            self.texts.append(f"{where}: {changed(old, new)}")


def changed(old, new):
    """The first line that differs."""
    lines = zip(f"{old}\n(end)".splitlines(), f"{new}\n(end)".splitlines(), strict=False)
    return next((f"{one[:160]!r}, now {other[:160]!r}" for one, other in lines if one != other), "line ends")


def kind(value):
    return "number" if type(value) in (int, float) else type(value).__name__


def short(value):
    text = json.dumps(value)
    return text if len(text) < 80 else f"{text[:77]}..."


def failure(steps):
    """Of a whole case: what kind of end no user should see."""
    codes = [step.get("exit", 0) if isinstance(step, dict) else 0 for step in steps]
    return next((code for code in codes if isinstance(code, str)), None)


def judge(name, old, new):
    """(verdict, details) of one case."""
    broken = [failure(side) for side in (old, new)]
    if broken[0] or broken[1]:
        verdict = "failed on both sides" if all(broken) else f"failed {'before' if broken[0] else 'now'}"
        return verdict, [str(broken[0] or broken[1])]
    found = Differences(ITERATED if name.startswith(FITTED) else RELATIVE)
    found.compare(old, new)
    found.numbers = [each for each in found.numbers if not any(part in each[1] for part in same_cases.MEANT)]
    found.structure = [each for each in found.structure if not any(part in each for part in same_cases.MEANT)]
    numbers = [text for _, text in sorted(found.numbers, key=lambda each: (".exit" not in each[1], -each[0]))]
    found.texts.sort(key=lambda text: ".error" not in text)
    details = [*(f"number  {text}" for text in numbers), *(f"shape   {text}" for text in found.structure)]
    details += [
        *(f"gone    {key}" for key in sorted(found.gone)),
        *(f"new     {key}" for key in sorted(found.new)),
    ]
    details += [f"text    {text}" for text in found.texts]
    if numbers or found.structure:
        worst = max((far for far, _ in found.numbers), default=0.0)
        verdict = f"DIFFERS: {len(numbers)} of {found.counted} numbers (by up to {worst:.1e})"
        verdict += f", {len(found.structure)} shapes"
    else:
        verdict = f"same ({found.counted} numbers)"
    parts = {"keys gone": found.gone, "keys new": found.new, "texts": found.texts}
    return verdict + "".join(f"; {len(what)} {name}" for name, what in parts.items() if what), details


# The two trees


def results_of(tree, side, only, kept):
    """What a tree says; from the file `kept` if it is there."""
    if kept and kept.exists():
        return json.loads(kept.read_text())
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        (work := Path(folder) / "work").mkdir()
        environment = os.environ | {"PYTHONPATH": str(Path(tree).resolve() / "src"), "COLUMNS": "100"}
        command = [sys.executable, str(Path(__file__).resolve()), "--side", str(side), str(out), "--only", only]
        subprocess.run(command, cwd=work, env=environment, check=True)
        results = out.read_text()
    if kept:
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(results)
    return json.loads(results)


def place_to_keep(tree):
    """By the tree's commit and the cases."""
    commit = subprocess.run(["git", "-C", str(tree), "rev-parse", "HEAD"], capture_output=True, check=True).stdout
    cases = Path(same_cases.__file__).read_text().split("EXPECTED = {")
    script = (cases[0] + cases[1].partition("\n}\n")[2]).encode()
    key = hashlib.sha256(commit + script).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / "pandora-same-numbers" / f"{key}.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--verbose", action="store_true", help="say every difference, not just the first five")
    options = parser.parse_args()
    if options.side is not None:
        run_all(options.side, options.trees[0], options.only)
        return 0
    old_tree, new_tree = options.trees
    old = results_of(old_tree, 0, "", place_to_keep(old_tree))
    new = results_of(new_tree, 1, options.only, None)
    unexpected = 0
    for name, after in new.items():
        verdict, details = judge(name, old[name], after)
        reason = same_cases.EXPECTED.get(name)
        good = verdict.startswith("same") or reason
        unexpected += not good
        print(f"{name:34} {verdict}{f' (meant: {reason})' if reason else ''}")
        for line in details if options.verbose else details[: 0 if good else 5]:
            print(f"    {line}")
    print(f"{len(new)} cases, {unexpected} with other numbers than meant")
    return int(unexpected > 0)


if __name__ == "__main__":
    sys.exit(main())
