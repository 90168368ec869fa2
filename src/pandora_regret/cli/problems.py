"""Problems of files as `pandora validate` prints them: as JSON, or in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from pandora_regret.cli.output import bullets, heading
from pandora_regret.files.problems import Problem
from pandora_regret.text import counted


def problems_as_dicts(problems: Sequence[Problem], *keys: str) -> list[dict[str, object]]:
    """Problems as JSON, with these keys besides the usual ones; rows are counted from 1."""
    tables = list[dict[str, object]]()
    for problem in problems:
        places: dict[str, object] = {
            "paths": problem.paths,
            "rows": [row + 1 for row in problem.rows],
            "places": problem.places,
        }
        table = {"kind": problem.kind, "message": problem.message, "count": problem.count}
        tables.append(table | {key: places[key] for key in keys})
    return tables


def sentence_of_problem(problem: Problem) -> str:
    """A problem in one sentence, with the places of its first rows: "2 rows (lines 3, 4): ..."."""
    if not problem.places:
        return problem.message
    word = problem.places[0].split(" ")[0]
    numbers = ", ".join(place.removeprefix(word).strip() for place in problem.places)
    more = ", ..." if problem.count > len(problem.places) else ""
    places = f"{word}{'s' * (len(problem.places) > 1)} {numbers}{more}"
    counted_places = counted(problem.count, word if word in ("case", "name") else "row")
    return f"{counted_places} ({places}): {problem.message}"


def print_shared_problems(problems: Sequence[Problem]) -> None:
    """What is wrong with files that are fine by themselves, for people."""
    heading("Together", counted(len(problems), "problem"), colour="red")
    bullets((problem.message for problem in problems), mark="!")
