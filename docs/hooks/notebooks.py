"""Tutorials are notebooks without outputs: the build runs them, and shows them as pages like all others.

A cell that fails, a warning, or a command that fails ends the build. The notebook is copied beside its page, to be
downloaded. While the site is served, a notebook runs again only when its text has changed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any, NamedTuple

import nbformat
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

SECONDS = 120  # for one cell
WIDTH = 92  # of lines that a command prints
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # which colours a terminal
OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n)")  # by what follows in the same line: a progress bar
FILE = "%%writefile "
FOLDED = "<details markdown>\n<summary>The code that makes up the data</summary>\n\n{code}\n</details>"
WIDE = '<div class="wide" tabindex="0" markdown>\n\n{image}\n\n</div>'  # scrolls sideways
WIDEST = 1000  # of a picture that can be read at the width of a page
SETTINGS = "c.InlineBackend.figure_formats = {'svg'}"
COMMAND_MUST_SUCCEED = "\nassert _exit_code in (0, 3), 'the command failed'"  # 3: the monitor found something
DOWNLOAD = "[Download this notebook]({name}){{ download }}. It needs the extras `report` and `zoo`, and Jupyter."


class Rendered(NamedTuple):
    """A notebook that ran, as the text of a page and the pictures beside it."""

    markdown: str
    pictures: dict[str, str]  # name of the file: SVG


def on_files(files: Any, config: Any) -> None:
    """A page for every notebook, as if it had been written by hand."""
    notebooks = [file for file in files if file.src_uri.endswith(".ipynb")]
    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(lambda file: rendered(file.src_uri, file.content_string), notebooks))
    for file, page in zip(notebooks, pages, strict=True):
        folder = Path(file.src_uri).parent.as_posix()
        files.append(File.generated(config, _page_of(file.src_uri), content=page.markdown))
        for name, picture in page.pictures.items():
            files.append(File.generated(config, f"{folder}/{name}", content=picture))


def _page_of(notebook: str) -> str:
    return notebook.removesuffix(".ipynb") + ".md"


@cache
def rendered(name: str, text: str) -> Rendered:
    """Run a notebook, and turn its cells and outputs into Markdown."""
    notebook, stem, pictures = nbformat.reads(text, as_version=4), Path(name).stem, dict[str, str]()
    run(notebook, name)
    title, *parts = (part for cell in notebook.cells for part in _cell(cell, stem, pictures))
    heading, _, rest = title.partition("\n")
    download = DOWNLOAD.format(name=Path(name).name)
    return Rendered("\n\n".join([heading, rest.strip(), download, *parts]), pictures)


def run(notebook: Any, name: str) -> None:
    """Fill in the outputs; the kernel lives in an empty folder, with settings of its own."""
    sources = [cell.source for cell in notebook.cells]
    for cell in notebook.cells:
        if _is_command(cell):
            cell.source += COMMAND_MUST_SUCCEED
    with TemporaryDirectory() as folder, TemporaryDirectory() as settings:
        sockets = {"transport": "ipc", "connection_file": f"{settings}/kernel.json"}  # over TCP a kernel warns
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            resources={"metadata": {"path": folder}},
            config=Config(ConnectionFileMixin=sockets),
        )
        try:
            client.execute(env=_environment(Path(settings)))
        except CellExecutionError as error:
            raise PluginError(f"{name}: {ESCAPE.sub('', str(error))}") from error
    for cell, source in zip(notebook.cells, sources, strict=True):
        cell.source = source
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise PluginError(f"{name} warns:\n{output.text}")


def _environment(settings: Path) -> dict[str, str]:
    """The commands of this interpreter first, 80 columns without colours, pictures as SVG, one thread."""
    profile = settings / "profile_default"
    profile.mkdir()
    (profile / "ipython_kernel_config.py").write_text(SETTINGS, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    terminal = {"COLUMNS": "80", "TTY_COMPATIBLE": "0"}
    return {**os.environ, **terminal, "PATH": path, "IPYTHONDIR": str(settings), "OPENBLAS_NUM_THREADS": "1"}


def _is_command(cell: Any) -> bool:
    return cell.cell_type == "code" and cell.source.startswith("!")


def _cell(cell: Any, stem: str, pictures: dict[str, str]) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
    elif cell.source.startswith(FILE):
        name, _, text = cell.source.removeprefix(FILE).partition("\n")
        language = Path(name).suffix[1:].replace("jsonl", "json")
        yield _fenced(f'{language} title="{name}"', text)
    elif _is_command(cell):
        printed = OVERWRITTEN.sub("", ESCAPE.sub("", "".join(output.text for output in cell.outputs)))
        lines = ("\n".join(wrap(line, WIDTH, break_on_hyphens=False)) for line in printed.splitlines())
        yield _fenced("console", "\n".join([f"$ {cell.source.removeprefix('!')}", *lines]))
    else:
        code = _fenced("python", cell.source)
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
        yield (
            f"<details markdown>\n<summary>The code that makes up the data</summary>\n\n{code}\n</details>"
            if hidden
            else code
        )
        printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        yield from [_fenced("text", printed)] if printed else []
        for output in cell.outputs:
            if output.output_type != "stream":
                yield _shown(output.data, cell, stem, pictures)


def _shown(data: dict[str, str], cell: Any, stem: str, pictures: dict[str, str]) -> str:
    if "image/svg+xml" in data:
        name = f"{stem}-{len(pictures) + 1}.svg"
        pictures[name] = data["image/svg+xml"]
        image = f"![{cell.metadata.alt}]({name})"  # an AttributeError here: the cell lacks its text alternative
        width = float(re.search(r'<svg[^>]* width="([\d.]+)', pictures[name])[1])
        return WIDE.format(image=image) if width > WIDEST else image
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    return _fenced("text", data["text/plain"])


def _fenced(language: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
    return f"```{language}\n{lines}\n```"
