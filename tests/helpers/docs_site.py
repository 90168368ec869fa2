"""The documentation for whoever tests it: its pages, the blocks on them, and the site that is built from them."""

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {page.relative_to(DOCS).as_posix(): page for page in sorted(DOCS.rglob("*.md"))}
BLOCK = re.compile(r'^```(\w*)(?: title="(.+?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1"}


class Block(NamedTuple):
    """A fenced block."""

    language: str
    title: str
    text: str


class Command(NamedTuple):
    """A line of a terminal session, and what is shown below it."""

    line: str
    shown: str


def blocks_of(page):
    return [Block(*found) for found in BLOCK.findall(page.read_text(encoding="utf-8"))]


def write_shown_files(page):
    """Into the current folder: blocks that have a title are files of that name."""
    for block in blocks_of(page):
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")


def commands_of(block):
    """The lines behind prompts; one that ends with a backslash goes on in the next."""
    sessions = re.split(r"^\$ ", block.text.replace("\\\n", ""), flags=re.MULTILINE)
    assert not sessions[0].strip(), f"begins without a prompt: {block.text}"
    return [Command(*session.partition("\n")[::2]) for session in sessions[1:]]


def run_command(line):
    """What `pandora` prints in the current folder, on a terminal of 80 columns; `> file` is understood."""
    from click.testing import CliRunner

    from pandora_regret.cli.commands import pandora

    program, *arguments = shlex.split(line)
    assert program == "pandora", f"only pandora is run, not: {line}"
    target = arguments.pop() if arguments[-2:-1] == [">"] else None
    if target is not None:
        arguments.pop()
    result = CliRunner().invoke(pandora, arguments, prog_name="pandora", env=TERMINAL)
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
    kept: TemporaryDirectory  # which is removed with the last reference to it


def built_site():
    """Built strictly, once for all who ask, even if the build fails."""
    done, kept = _build()
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(Path(kept.name), done.stdout + done.stderr, kept)


@cache
def _build():
    """What mkdocs said, and where the site is. (`--quiet` would also silence the warnings that strict counts.)"""
    kept = TemporaryDirectory(prefix="pandora-site-")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", kept.name],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done, kept
