"""The documentation for whoever tests it: its pages, which run as tests, and the site that is built from them."""

import doctest
import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS, README = ROOT / "docs", ROOT / "README.md"
FILES_OF_README = DOCS / "how-to/subgroups.md"  # the page that makes the files of the README's command
PAGES = {page.relative_to(DOCS).as_posix(): page for page in sorted(DOCS.rglob("*.md"))}
BLOCK = re.compile(r'^```(\w*)(?: title="(.+?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
LENIENT = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1"}


class Block(NamedTuple):
    """A fenced block."""

    language: str
    title: str
    text: str


def blocks_of(page):
    return [Block(*parts) for parts in BLOCK.findall(page.read_text(encoding="utf-8"))]


class PageFile(pytest.File):
    """A page as a test: every block is a Python session, a terminal session, or a file that one of them uses."""

    def collect(self):
        if blocks_of(self.path):
            yield PageItem.from_parent(self, name=self.path.stem)


class PageItem(pytest.Item):
    def runtest(self):
        with TemporaryDirectory() as folder, chdir(folder):
            run_page(self.path)

    def repr_failure(self, excinfo, style=None):
        return (
            str(excinfo.value) if excinfo.errisinstance(AssertionError) else super().repr_failure(excinfo, style)
        )

    def reportinfo(self):
        return self.path, None, f"page {self.path.name}"


def run_page(page):
    """In the current folder; the README's command reads the files that another page makes."""
    if page == README:
        of_files = {"__name__": "__main__"}
        for block in blocks_of(FILES_OF_README):
            if block.language == "python":
                check_session(block.text, of_files)
    blocks, names = blocks_of(page), {"__name__": "__main__"}
    for block in blocks:
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
    run = {"python": lambda text: check_session(text, names), "console": check_terminal}
    for block in (block for block in blocks if not block.title):
        assert block.language in run, f"neither a session nor a file:\n{block.text}"
        run[block.language](block.text)


def check_session(text, names):
    assert text.startswith(">>> "), f"begins without a prompt: {text}"
    assert text.endswith("\n\n"), f"ends without an empty line, where doctest sees the output end: {text}"
    session, said = doctest.DocTestParser().get_doctest(text, names, "page", None, 0), []
    failed, _ = doctest.DocTestRunner(verbose=False, optionflags=LENIENT).run(session, None, said.append, False)
    names.update(session.globs)
    assert not failed, "".join(said)


def check_terminal(text):
    """Every line behind a prompt prints what follows it; one that ends with a backslash goes on in the next."""
    before, *commands = re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)
    assert not before.strip(), f"begins without a prompt: {text}"
    for command in commands:
        line, _, shown = command.partition("\n")
        printed = run_command(line)
        assert doctest.OutputChecker().check_output(shown, printed, LENIENT), f"$ {line}\n{printed}"


def run_command(line):
    """What `pandora` prints in the current folder, on a terminal of 80 columns; `> file` is understood."""
    from click.testing import CliRunner

    from pandora_regret.cli.commands import pandora

    program, *arguments = shlex.split(line)
    assert program == "pandora", f"only pandora is run, not: {line}"
    target = arguments[-1] if arguments[-2:-1] == [">"] else None
    result = CliRunner().invoke(
        pandora, arguments[:-2] if target else arguments, prog_name="pandora", env=TERMINAL
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if target is not None:
        Path(target).write_text(result.stdout, encoding="utf-8")
        return result.stderr
    return result.output if result.exit_code else result.stdout  # progress takes turns of its own


class Site(NamedTuple):
    """The built site, and what was said while it was built."""

    folder: Path
    said: str


def built_site(folder):
    """Built strictly, once for all processes of a test run, even if the build fails."""
    said = folder.with_suffix(".json")
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():  # (--quiet would also silence the warnings that strict counts.)
            command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
            quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
            done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
            said.write_text(json.dumps([done.returncode, done.stdout + done.stderr]))
    code, text = json.loads(said.read_text())
    assert code == 0, text
    return Site(folder, text)
