"""What the README says of the stored study: where another metric picks a cheaper model than Pandora's Regret."""

from collections.abc import Iterator
from pathlib import Path

from pandora_regret.study import Cell, read_results, study_grid

STORED = Path(__file__).parents[2] / "docs" / "study" / "medmnist"
RIVALS = ("Log loss", "Accuracy", "Macro-F1")
CONDITIONS = {  # in words; costs drawn at random are not in dollars, and left out
    "Clinical": "as they are",
    "Random Temperature": "random confidence",
    "Random Distractor Temperature": "random distractors",
}
DATA = {"Derm": "DermaMNIST", "OCT": "OCTMNIST"}


def _saved() -> Iterator[tuple[str, str, str, float]]:
    """Rival, condition, data set, and the dollars per case that Pandora's Regret saves beside the rival."""
    grid = study_grid(read_results(STORED), "regret")
    for condition, data, cells in grid.rows:
        if condition in CONDITIONS:
            dollars = {metric: _value(cell) for metric, cell in zip(grid.metrics, cells, strict=True)}
            for rival in RIVALS:
                yield rival, condition, data, dollars[rival] - dollars["Pandora's Regret"]


def _value(cell: Cell) -> float:
    assert cell.value is not None  # no metric is constant here
    return cell.value


def readme_cheaper() -> str:
    """Where a rival picks cheaper."""
    rows = len({(condition, data) for _, condition, data, _ in _saved()})
    phrases = []
    for rival in RIVALS:
        where = [
            f"{DATA[data]} with {CONDITIONS[c]}"
            for name, c, data, saved in _saved()
            if name == rival and saved < 0
        ]
        phrases.append(f"{rival.lower().replace('f1', 'F1')} in {len(where)} of {rows} rows ({', '.join(where)})")
    return ", ".join(phrases[:-1]) + f" and {phrases[-1]}"


def readme_amounts() -> str:
    """How much cheaper."""
    amounts = sorted(-saved for *_, saved in _saved() if saved < 0)
    return f"${amounts[0]:.2f} to ${amounts[-1]:.2f}"


def readme_distractors() -> str:
    """The most that Pandora's Regret saves, with random distractors and otherwise."""
    most = dict.fromkeys(RIVALS, 0.0)
    otherwise = 0.0
    for rival, condition, _, saved in _saved():
        if "Distractor" in condition:
            most[rival] = max(most[rival], saved)
        else:
            otherwise = max(otherwise, saved)
    amounts = [f"${saved:.0f} against {rival.lower().replace('f1', 'F1')}" for rival, saved in most.items()]
    return f"up to {', '.join(amounts[:-1])} and {amounts[-1]}; without them it is at most ${otherwise:.0f}"


FIGURES = {work.__name__: work for work in (readme_cheaper, readme_amounts, readme_distractors)}
