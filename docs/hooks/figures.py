"""Pictures on pages are drawn by the library's own plots when the site is built, so they cannot be outdated."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib
from matplotlib import pyplot as plt
from mkdocs.structure.files import File

from pandora_regret.plots import save_figure
from pandora_regret.plots.paper import draw_paper_figures

GALLERY, LAST_SECTION = "gallery.md", "\n## Files\n"
SESSION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLOT = re.compile(r"\bplots\.(plot_\w+)\(")


def on_files(files: Any, config: Any) -> None:
    """The paper's figures and the gallery's, as if they lay in the folder of figures beside the pages."""
    with TemporaryDirectory() as folder:
        paths = draw_paper_figures(folder, width="page")
        text = Path(config.docs_dir, GALLERY).read_text(encoding="utf-8")
        for path in [*paths, *draw_gallery(text, Path(folder))]:
            files.append(File.generated(config, f"figures/{path.name}", content=path.read_bytes()))


def draw_gallery(text: str, folder: Path) -> Iterator[Path]:
    """Runs the examples of the page one after the other, and saves what each has drawn under the plot's name."""
    matplotlib.use("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    for session in SESSION.findall(text.partition(LAST_SECTION)[0]):
        for example in doctest.DocTestParser().get_examples(session):
            exec(compile(example.source, GALLERY, "exec"), names)
        if plot := PLOT.search(session):
            yield save_figure(plt.gcf(), folder / f"{plot[1]}.svg")
            plt.close("all")
