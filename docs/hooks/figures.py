"""Pictures on pages are drawn by the library's own plots when the site is built, so they cannot be outdated."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.structure.files import File

from pandora_regret.plots.paper import draw_paper_figures


def on_files(files: Any, config: Any) -> None:
    """The paper's figures, as if they lay in the folder of figures beside the pages."""
    with TemporaryDirectory() as folder:
        for path in draw_paper_figures(folder, width="page"):
            drawn = File.generated(config, f"figures/{path.name}", content=Path(path).read_bytes())
            files.append(drawn)
