"""The tables and figures on all pages and in the README, from stored results.

python examples/studies/publish.py                         pages from the results stored in docs/
python examples/studies/publish.py medmnist=STUDY_FOLDER   first stores a study that was run again, in docs/study/

Studies that are stored: medmnist (medmnist_variants.toml), medmnist-more, readings, temperatures, tables,
dermatology, flusight, vlm, vlm-categories, floors.
Beside them zoos.json is written by describe.py, workups.json by workups.py, sensitivity.json by sensitivity.py,
votes.json by votes.py, near-baseline.json by near_baseline.py, flusight-monitor.json by flusight_monitor.py.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``, a figure within a sentence between
``<!-- figure: NAME -->`` and ``<!-- end of figure -->`` (not at the beginning of a line, where Markdown would end
the paragraph). A test compares pages with results. What is not of studies comes from benchmarks/.
"""

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pandora_regret.plots.paper import draw_tau_gaps
from pandora_regret.study import PAPER_METRICS, Cell, StudyResults, read_results, study_grid

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "benchmarks"), str(Path(__file__).parent)]

import evidence_tables  # noqa: E402
import measured_tables  # noqa: E402
import study_figures  # noqa: E402
import zoo_tables  # noqa: E402
from zoo_results import stored_text  # noqa: E402
from zoo_tables import as_table  # noqa: E402

STORED = ROOT / "docs" / "study" / "medmnist"
FLUSIGHT = ROOT / "docs" / "study" / "flusight-monitor.json"  # written by flusight_monitor.py
HUB, FLAT = ("FluSight-ensemble",), "always 20 % each"  # which promises and pays the same, always
WORKUPS = ROOT / "docs" / "study" / "workups.json"  # written by workups.py
OF_WORKUPS = (
    "pandora_regret",
    "cost_weighted",
    "clipped_log_loss",
    "brier",
    "accuracy",
    "macro_f1_all",
    "panel_cost",
)
MARKED = re.compile(r"<!-- (table|figure): (\w+) -->.*?<!-- end of \1 -->", re.DOTALL)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if MARKED.search(page.read_text(encoding="utf-8"))
]
NO_CHOICE = "no choice"  # all models pay the same


def shown(cell: Cell) -> str:
    """A figure with its interval, bold where it is the best of its row."""
    value, low, high = (f"{number:.2f}".replace("-", "−") for number in (cell.value, cell.low, cell.high))
    value = f"**{value}**" if cell.best else value
    return f"{value}{'†' if cell.reversed else ''} [{low}, {high}]".replace("−0.00", "0.00")


def workup_table(what: str) -> str:
    """Models ranked by searches, by work-ups whose steps are shared, and by those with panels."""
    grid = study_grid(StudyResults.from_dict(json.loads(WORKUPS.read_text(encoding="utf-8"))), what, OF_WORKUPS)
    rows = [
        [condition, data, *(NO_CHOICE if cell.constant else shown(cell) for cell in cells)]
        for condition, data, cells in grid.rows
    ]
    return as_table(["What is paid", "Data", *grid.metrics], rows)


def flusight_table() -> str:
    """Models that are known to be wrong, and the hub's own, one week ahead; the strongest evidence first."""
    models = json.loads(FLUSIGHT.read_text(encoding="utf-8"))["models"]
    shown_models = [model for model in models if model["model"] in HUB or model["known"] not in (None, FLAT)]
    rows = []
    for model in shown_models:
        first = model["horizons"][0]
        overpaid = (
            "{:.2f} ({:.2f} to {:.2f})".format(*first["overpaid"]).replace("-", "−").replace("−0.00", "0.00")
        )
        noticed = first["alarm"]["noticed"] if first["alarm"] else ""
        back = " (back inside)" if first["alarm"] and not first["alarm"]["stands"] else ""
        rows.append([model["model"], str(first["weeks"]), overpaid, noticed + back, model["known"] or ""])
    return as_table(["Model", "Weeks", "Paid beyond the promise", "Noticed", "Known to be wrong"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "flusight": flusight_table,
    **{f"workup_{what}": partial(workup_table, what) for what in ("tau",)},
    **zoo_tables.TABLES,
    **measured_tables.TABLES,
}
FIGURES: dict[str, Callable[[], str]] = {
    **evidence_tables.FIGURES,
    **measured_tables.FIGURES,
    **study_figures.FIGURES,
}


def with_results(text: str) -> str:
    """A page with its tables and figures made anew."""
    return MARKED.sub(_made_anew, text)


def _made_anew(match: re.Match[str]) -> str:
    kind, name = match.groups()
    content = f"\n{TABLES[name]()}\n" if kind == "table" else FIGURES[name]()
    return f"<!-- {kind}: {name} -->{content}<!-- end of {kind} -->"


def store(name: str, folder: Path) -> None:
    """Keep the results of a study among those from which pages are made."""
    kept = ROOT / "docs" / "study" / name
    kept.mkdir(exist_ok=True)
    (kept / "results.json").write_text(stored_text(read_results(folder)), encoding="utf-8")


def draw() -> None:
    """Tables of all metrics of the image study, and the figures of gaps."""
    results = read_results(STORED)
    for what in ("tau", "gap", "extra_cost_gap"):
        (STORED.parent / f"medmnist-{what}.csv").write_text(
            study_grid(results, what, ()).render("csv"), encoding="utf-8"
        )
    for name, metrics in (("medmnist-gaps.svg", PAPER_METRICS), ("medmnist-gaps-all.svg", ())):
        draw_tau_gaps(study_grid(results, "gap", metrics), STORED.parent / name)
    zoo_tables.draw_all_zoos(STORED.parent / "zoos.svg")
    (STORED.parent / "zoos.csv").write_text(zoo_tables.all_figures(), encoding="utf-8")


if __name__ == "__main__":
    for study in sys.argv[1:]:
        name, _, folder = study.partition("=")
        store(name, Path(folder))
    draw()
    for page in PAGES:
        page.write_text(with_results(page.read_text(encoding="utf-8")), encoding="utf-8")
