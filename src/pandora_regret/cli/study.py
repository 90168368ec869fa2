"""`pandora study`: which metric picks the model that is cheapest to deploy; and the paper's figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pandora_regret import study as studies
from pandora_regret.cli.headings import Group, Option, path_argument
from pandora_regret.cli.options import FORCE, WORK, check_output, command
from pandora_regret.cli.output import bars, echo

STUDY_FILE = path_argument("study_file")
FOLDER = path_argument("folder")
METRIC_OPTIONS = (
    Option("--metric KEY", "A metric's key (pandora help metrics); may be repeated.", multiple=True),
    Option("--all", "All metrics instead of those of the paper's table."),
)
TRUST = Option("--trust", "Run code that the study file names as metrics, module:name.")


@dataclass(frozen=True)
class RunOptions:
    """The options of `pandora study run`."""

    study_file: str
    out: str
    jobs: int
    cluster: str | None
    trust: bool


@command(
    RunOptions,
    STUDY_FILE,
    Option("--out DIR", "Folder for the output.", required=True),
    *WORK,
    TRUST,
)
def run(options: RunOptions) -> None:
    """Run the study that a TOML file describes; what is already in the output folder is kept."""
    described = studies.begin(options.study_file, options.out, trust=options.trust)
    _run_and_print(described, options.out, options.jobs, options.cluster)


@dataclass(frozen=True)
class PlanOptions:
    """The options of `pandora study plan`."""

    study_file: str
    trust: bool


@command(PlanOptions, STUDY_FILE, TRUST)
def plan(options: PlanOptions) -> None:
    """What a study takes: models, images, hours, and what it would download. Nothing is downloaded."""
    echo(studies.study_plan(studies.read_study(options.study_file, trust=options.trust)).to_text())


@dataclass(frozen=True)
class ResumeOptions:
    """The options of `pandora study resume`."""

    folder: str
    jobs: int
    cluster: str | None
    trust: bool
    retry_failed: bool


@command(ResumeOptions, FOLDER, *WORK, TRUST, Option("--retry-failed", "Try models again that failed before."))
def resume(options: ResumeOptions) -> None:
    """Go on with a study where it was interrupted."""
    described = studies.reopen(options.folder, trust=options.trust)
    if options.retry_failed:
        studies.forget_failures(described, options.folder)
    _run_and_print(described, options.folder, options.jobs, options.cluster)


def _run_and_print(described: studies.Study, folder: str, jobs: int, cluster: str | None) -> None:
    """Do what is left to do, with bars, and print the table."""
    with bars() as watcher:
        results = studies.run_study(described, folder, watcher=watcher, jobs=jobs, cluster=cluster)
    echo(studies.study_grid(results).render(), nl=False)


@dataclass(frozen=True)
class ChosenMetrics:
    """Which metrics a table or a figure shows."""

    metric: tuple[str, ...]
    all: bool


@dataclass(frozen=True)
class TableOptions:
    """The options of `pandora study table`."""

    folder: str
    what: str
    format: str
    metrics: ChosenMetrics
    intervals: bool | None  # None: as the format has it


@command(
    TableOptions,
    FOLDER,
    Option("--what [tau|gap|extra_cost|extra_cost_gap]", "What the table holds."),
    Option("--format [text|markdown|latex|csv]", "Of the table."),
    *METRIC_OPTIONS,
    Option("--intervals/--no-intervals", "Shown in CSV unless told not to.", default=None),
)
def table(options: TableOptions) -> None:
    """Print the results in the layout of the paper's Table 1.

    What it holds: tau, how well each metric ranks models by search cost; gap, the same minus that of Pandora's
    Regret; extra_cost, what the model that a metric picks costs more per new case than the one that past bills
    pick; extra_cost_gap, what it costs more than the one that Pandora's Regret picks.
    """
    grid = _grid(options.folder, options.what, options.metrics)
    echo(grid.render(options.format, options.intervals), nl=False)


def _grid(folder: str, contents: str, options: ChosenMetrics) -> studies.Grid:
    """The table of a study's results: of all metrics, of those that were asked for, or of the paper's."""
    metrics = () if options.all else options.metric or studies.PAPER_METRICS
    return studies.study_grid(studies.read_results(folder), contents, metrics)


@dataclass(frozen=True)
class FigureOptions:
    """The options of `pandora study figure`."""

    folder: str
    file: str
    metrics: ChosenMetrics
    force: bool


@command(FigureOptions, FOLDER, path_argument("file"), *METRIC_OPTIONS, FORCE)
def figure(options: FigureOptions) -> None:
    """Draw the intervals of the gaps to Pandora's Regret into FILE: SVG, PDF or PNG."""
    from pandora_regret.plots.paper import draw_tau_gaps

    check_output(options.file, options.force)
    echo(str(draw_tau_gaps(_grid(options.folder, "gap", options.metrics), options.file)))


@dataclass(frozen=True)
class FiguresOptions:
    """The options of `pandora study figures`."""

    out: str
    format: str
    width: str
    study: str | None  # the folder of a study
    force: bool


@command(
    FiguresOptions,
    Option("--out DIR", "Folder for the files.", required=True),
    Option("--format [svg|pdf|png]", "Of the files."),
    Option("--width [column|page]", "How wide the figures are."),
    Option("--study DIR", "A study's output folder: draws its intervals, too."),
    FORCE,
)
def figures(options: FiguresOptions) -> None:
    """Draw the paper's figures from its formulas, one file each.

    Decision regions of four rules, the Beta family on the simplex, the pair loss, its gradient in logits, and
    with --study the intervals of the gaps to Pandora's Regret.
    """
    from pandora_regret.core.inputs import InputError
    from pandora_regret.plots.paper import FIGURES, draw_paper_figures

    out = Path(options.out)
    if out.exists() and not out.is_dir():
        fix = "name a directory with --out"
        raise InputError("is a file", argument="out", place=str(out), value=str(out), fix=fix)
    for name in FIGURES if options.study is None else (*FIGURES, "tau_gaps"):
        path = out / f"{name}.{options.format}"
        check_output(path if path.exists() else None, options.force)
    for path in draw_paper_figures(out, kind=options.format, width=options.width, study=options.study):
        echo(str(path))
    if options.study is None:
        echo("The intervals of the gaps to Pandora's Regret need a study: --study DIR.", err=True)


@dataclass(frozen=True)
class StatusOptions:
    """The options of `pandora study status`."""

    folder: str


@command(StatusOptions, FOLDER)
def status(options: StatusOptions) -> None:
    """How far a study is: models done, failed and missing."""
    parts, finished = studies.study_progress(options.folder)
    for part in parts:
        of_all = "not listed yet" if part.models is None else f"{part.done} of {part.models} models done"
        echo(f"{part.name}: {of_all}, {len(part.failures)} failed")
        for name, reason in part.failures.items():
            echo(f"  {name}: {reason}")
    if finished:
        echo(f"Results are there: pandora study table {options.folder}")
    else:
        echo(f"No results yet: pandora study resume {options.folder}")


study = Group(
    "study",
    commands=[plan, run, resume, table, figure, figures, status],
    help=r"""Which metric picks the model that is cheapest to deploy.

    A study is one TOML file: data sets with their zoos and costs, conditions, metrics. Its output folder holds a
    copy of that file, every model's predictions, and the results.

    \b
    Examples:
      pandora study plan study.toml
      pandora study run study.toml --out results --jobs 4
      pandora study status results
      pandora study resume results --cluster tcp://scheduler:8786
      pandora study table results --format latex
      pandora study figure results gaps.svg
      pandora study figures --out figures
    """,
)
