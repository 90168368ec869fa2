"""`pandora figures`: the paper's figures, drawn from its formulas."""

from __future__ import annotations

from pathlib import Path

import click

from pandora_regret.cli.options import FORCE, PATH, check_output, choice
from pandora_regret.cli.printing import echo


@click.command()
@click.option("--out", "folder", type=PATH, required=True, metavar="DIR", help="Folder for the files.")
@choice("--format", "kind", words=["svg", "pdf", "png"], help="Of the files.")
@choice("--width", words=["column", "page"], help="How wide the figures are.")
@click.option(
    "--study",
    type=PATH,
    metavar="DIR",
    help="Output folder of a study, for the figure of its intervals too.",
)
@FORCE
def figures(folder: Path, kind: str, width: str, study: Path | None, force: bool) -> None:
    r"""The paper's figures, drawn from its formulas, one file each.

    Decision regions of four rules, the Beta family on the simplex, the pair loss, its gradient in logits, and
    with --study the intervals of the gaps to Pandora's Regret.

    \b
    Examples:
      pandora figures --out figures
      pandora figures --out figures --format pdf --width page --study results
    """
    from pandora_regret.inputs import InputError
    from pandora_regret.plots import draw_paper_figures
    from pandora_regret.plots.paper import paper_files

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a directory with --out.")
    for path, _ in paper_files(folder, kind, study):
        if path.exists():
            check_output(path, force)
    for path in draw_paper_figures(folder, kind=kind, width=width, study=study):
        echo(str(path))
    if study is None:
        echo("The intervals of the gaps to Pandora's Regret need a study: --study DIR.", err=True)
