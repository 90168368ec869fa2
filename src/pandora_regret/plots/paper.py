"""All of the paper's figures into a folder."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pandora_regret.atomic import Place
from pandora_regret.inputs import read_choice
from pandora_regret.plots.decision_regions import draw_beta_simplex, draw_decision_regions
from pandora_regret.plots.pair_loss import plot_gradient_profile, plot_pair_loss
from pandora_regret.plots.style import COLUMN, KINDS, PAGE, sheet

Draw: TypeAlias = Callable[[Path, float], Path]  # into a file, so many inches wide

WIDTHS = {"column": COLUMN, "page": PAGE}
HEIGHT = 2.4  # inches, of a figure of one panel


def draw_paper_figures(
    folder: Place,
    *,
    kind: str = "svg",
    width: str = "column",
    study: Place | None = None,
) -> list[Path]:
    """Draw the paper's figures from its formulas, one file each.

    Parameters
    ----------
    folder
        Where to; made if it is not there. Files of the same names are replaced.
    kind
        "svg", "pdf" or "png".
    width
        "column" or "page".
    study
        The output folder of a study, for the intervals of the gaps of tau, which are left out unless it is given.

    Returns
    -------
    list of Path
        The files that were written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in draw_paper_figures(folder)]
    ['decision_regions.svg', 'beta_simplex.svg', 'pair_loss.svg', 'gradient_profile.svg']
    """
    inches = WIDTHS[read_choice(width, "width", {name: f"{size:g} in" for name, size in WIDTHS.items()})]
    files = list(paper_files(folder, kind, study))
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [draw(path, inches) for path, draw in files]


def paper_files(folder: Place, kind: str = "svg", study: Place | None = None) -> Iterator[tuple[Path, Draw]]:
    """The files that `draw_paper_figures` writes, and what draws each."""
    read_choice(kind, "kind", {ending[1:]: meaning for ending, meaning in KINDS.items()})
    figures = dict(FIGURES)
    if study is not None:
        from pandora_regret.plots.tau_gaps import draw_tau_gaps
        from pandora_regret.study import read_results, study_grid

        gaps = study_grid(read_results(study), "gap")
        figures["tau_gaps"] = lambda path, _: draw_tau_gaps(gaps, path)
    for name, draw in figures.items():
        yield Path(folder) / f"{name}.{kind}", draw


def _draw_one(plot: Callable[..., object], path: Path, width: float) -> Path:
    with sheet(path, width, HEIGHT) as figure:
        plot(ax=figure.subplots())
    return path


FIGURES: Mapping[str, Draw] = {
    "decision_regions": draw_decision_regions,
    "beta_simplex": draw_beta_simplex,
    "pair_loss": partial(_draw_one, plot_pair_loss),
    "gradient_profile": partial(_draw_one, plot_gradient_profile),
}
