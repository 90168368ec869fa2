"""A figure into a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pandora_regret.atomic import write_atomically
from pandora_regret.inputs import read_choice
from pandora_regret.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {".svg": "vector graphics for the web", ".pdf": "vector graphics for print", ".png": "pixels"}


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure, whole or not at all, as its file's name says; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        A figure of matplotlib.
    path
        A file whose name ends in .svg, .pdf or .png.

    Returns
    -------
    Path
        The file that was written.
    """
    kind = read_choice(Path(path).suffix.lower(), f"the ending of {str(path)!r}", KINDS)
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[kind]
    with import_optional("matplotlib", extra="report").rc_context({"svg.hashsalt": "pandora"}):
        return write_atomically(
            path, lambda file: figure.savefig(file, format=kind[1:], metadata=undated, dpi=200)
        )
