"""`pandora study`: which metric picks the model that is cheapest to deploy; and the paper's figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pandora_regret.cli.options import FORCE, PATH, Command, Group, WorkOptions, check_output, choice, takes
from pandora_regret.cli.output import echo

if TYPE_CHECKING:
    from pandora_regret.study import Study

FOLDER = click.argument("folder", type=PATH)
METRICS = click.option(
    "--metric", "metrics", multiple=True, help="A metric's key (pandora help metrics); may be repeated."
)
ALL = click.option("--all", "every", is_flag=True, help="All metrics instead of those of the paper's table.")
TRUST = click.option("--trust", is_flag=True, help="Run code that the study file names as metrics, module:name.")


@click.group(cls=Group)
def study() -> None:
    r"""Which metric picks the model that is cheapest to deploy.

    A study is one TOML file: data sets with their zoos and costs, conditions, metrics. Its output folder holds a
    copy of that file, every model's predictions, and the results.

    \b
    Examples:
      pandora study run study.toml --out results --jobs 4
      pandora study status results
      pandora study resume results --cluster tcp://scheduler:8786
      pandora study table results --format latex
      pandora study figure results gaps.svg
      pandora study figures --out figures
    """


@study.command(cls=Command)
@click.argument("study_file", type=PATH)
@click.option("--out", "folder", type=PATH, required=True, help="Folder for the output.")
@takes(WorkOptions)
@TRUST
def run(work: WorkOptions, *, study_file: Path, folder: Path, trust: bool) -> None:
    """Run the study that a TOML file describes; what is already in the output folder is kept."""
    from pandora_regret.study import begin

    _finish(begin(study_file, folder, trust=trust), folder, work)


@study.command(cls=Command)
@FOLDER
@takes(WorkOptions)
@TRUST
@click.option("--retry-failed", is_flag=True, help="Try models again that failed before.")
def resume(work: WorkOptions, *, folder: Path, trust: bool, retry_failed: bool) -> None:
    """Go on with a study where it was interrupted."""
    from pandora_regret.study import forget_failures, reopen

    described = reopen(folder, trust=trust)
    if retry_failed:
        forget_failures(described, folder)
    _finish(described, folder, work)


@study.command(cls=Command)
@FOLDER
@choice("--what", words=["tau", "gap", "regret"])
@choice("--format", "form", words=["text", "markdown", "latex", "csv"], help="Of the table.")
@METRICS
@ALL
@click.option("--intervals/--no-intervals", default=None, help="Shown in CSV unless told not to.")
def table(
    folder: Path, what: str, form: str, metrics: tuple[str, ...], every: bool, intervals: bool | None
) -> None:
    """Print the results in the layout of the paper's Table 1.

    What it holds: tau, how well each metric ranks models by search cost; gap, the same minus that of Pandora's
    Regret; regret, what the model that a metric picks costs more per case than the best of the zoo.
    """
    from pandora_regret.study import PAPER_METRICS, read_results, study_grid

    grid = study_grid(read_results(folder), what, () if every else metrics or PAPER_METRICS)
    echo(grid.render(form, intervals), nl=False)


@study.command(cls=Command)
@FOLDER
@click.argument("file", type=PATH)
@METRICS
@ALL
@FORCE
def figure(folder: Path, file: Path, metrics: tuple[str, ...], every: bool, force: bool) -> None:
    """Draw the intervals of the gaps to Pandora's Regret into FILE: SVG, PDF or PNG."""
    check_output(file, force)
    from pandora_regret.plots.tau_gaps import draw_tau_gaps
    from pandora_regret.study import PAPER_METRICS, read_results, study_grid

    grid = study_grid(read_results(folder), "gap", () if every else metrics or PAPER_METRICS)
    echo(str(draw_tau_gaps(grid, file)))


@study.command(cls=Command)
@click.option("--out", "folder", type=PATH, required=True, metavar="DIR", help="Folder for the files.")
@choice("--format", "kind", words=["svg", "pdf", "png"], help="Of the files.")
@choice("--width", words=["column", "page"], help="How wide the figures are.")
@click.option("--study", type=PATH, metavar="DIR", help="A study's output folder: draws its intervals, too.")
@FORCE
def figures(folder: Path, kind: str, width: str, study: Path | None, force: bool) -> None:
    """Draw the paper's figures from its formulas, one file each.

    Decision regions of four rules, the Beta family on the simplex, the pair loss, its gradient in logits, and
    with --study the intervals of the gaps to Pandora's Regret.
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


@study.command(cls=Command)
@FOLDER
def status(folder: Path) -> None:
    """How far a study is: models done, failed and missing."""
    from pandora_regret.study import standing

    parts, finished = standing(folder)
    for part in parts:
        of_all = "not listed yet" if part.models is None else f"{part.done} of {part.models} models done"
        echo(f"{part.name}: {of_all}, {len(part.failures)} failed")
        for name, reason in part.failures.items():
            echo(f"  {name}: {reason}")
    standing_now, command = ("Results are there", "table") if finished else ("No results yet", "resume")
    echo(f"{standing_now}: pandora study {command} {folder}")


def _finish(described: Study, folder: Path, work: WorkOptions) -> None:
    """Do what is left to do, with bars, and print the table."""
    from pandora_regret.cli.output import bars
    from pandora_regret.study import run_study, study_grid

    with bars() as watcher:
        results = run_study(described, folder, jobs=work.jobs, cluster=work.cluster, watcher=watcher)
    echo(study_grid(results).render(), nl=False)
