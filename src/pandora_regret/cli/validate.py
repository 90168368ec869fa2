"""`pandora validate`: what is wrong with a file of predictions or a work-up, if anything.

The JSON (schema "pandora-validation/2")::

    schema, library, fine, remarks [{what, count, sentence, model?}],
    shared_problems [{kind, message, count, paths [...]}],
    tables [{path, name, fine, rows, classes {name: rows with this label}, unlabelled, models {name: rows},
             columns {label, id, weight, group, model, votes [...], forecasts [...], costs [...], unused [...]}
             or null,
             problems [{kind, message, count, rows [the first few, from 1], places [...]}]}]

Kinds of problems: file (it cannot be read, or its columns are not understood), columns, rows, label, missing,
number (text where a number should be), negative, large, percent, sum, value (a weight, cost or logit out of
range), id, weight. Kinds of problems of files that are fine by themselves (shared_problems): classes, ids, truth
(the same case has different ones; or weight, group, cost_prefix, votes_prefix, by), prices. The JSON of a work-up
file has the schema "pandora-workup/1". Tables of ranked lists have {path, name, fine, cases, candidates, missed,
several_truths, problems}; kinds of their problems are file, lines, and the options and keys that say what is what
(id, candidate, score, probability, rank, price, hit, truth, prices).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pandora_regret import files, workup
from pandora_regret.cli.options import (
    COMMON_ROWS,
    COST_OPTIONS,
    FILE_ARGUMENTS,
    JSON,
    LAYOUT_OF_ROWS,
    RANKED,
    ListOptions,
    PriceOptions,
    RowOptions,
    command,
)
from pandora_regret.cli.output import all_remarks, bars, bullets, echo, heading, print_json, print_remarks
from pandora_regret.cli.problems import print_shared_problems, problems_as_dicts, sentence_of_problem
from pandora_regret.core.inputs import InputError, Remark
from pandora_regret.core.records import read_toml
from pandora_regret.files.roles import LABEL, MODEL, ROLES
from pandora_regret.text import count, counted, listed

MOST_NAMES = 12  # of columns or classes in a line


@dataclass(frozen=True)
class ValidateOptions:
    """The options of `pandora validate`."""

    files: tuple[str, ...]
    rows: RowOptions
    lists: ListOptions
    prices: PriceOptions
    json: bool


@command(ValidateOptions, FILE_ARGUMENTS, COMMON_ROWS, *RANKED, *LAYOUT_OF_ROWS, *COST_OPTIONS, JSON)
def validate(options: ValidateOptions) -> int:
    r"""What is wrong with a file, if anything: all of it, not just the first thing.

    Says what was understood of each file (columns, classes, rows, labels), and every kind of problem with the
    number of rows that have it. Several files are checked against each other, too: ids, classes, truths; and
    against --costs. FILES are as in `pandora compare`, or one work-up file.

    \b
    Examples:
      pandora validate predictions.csv
      pandora validate *.parquet --proba-prefix p_ --json
      pandora validate models.toml --costs prices.csv
      pandora validate skin.toml
    """
    if len(options.files) == 1 and _is_workup(options.files[0]):
        summary = workup.summarise(workup.Workup.load(options.files[0]))
        if options.json:
            print_json({"schema": "pandora-workup/1", **summary.to_dict()})
        else:
            echo(summary.to_text())
        return 0
    if options.lists.are_asked(options.files, by_class=options.rows.other is not None):
        from pandora_regret.cli.ranked import RankedFiles, validate_lists

        return validate_lists(
            RankedFiles(options.files, options.rows, options.lists, options.prices), options.json
        )
    unread_prices = files.CollectedProblems()
    price_list = None
    with unread_prices.noting("prices", (options.prices.costs or "",)):
        price_list = options.prices.read().price_list
    models = files.read_models_argument(options.files, options.rows.layout(blank_labels=True))
    with bars() as progress:
        progress.start("reading", total=sum(len(model.paths) for model in models))
        results, shared_problems = files.inspect_models(models, price_list, progress.advance)
    shared_problems = [*unread_prices.problems, *shared_problems]
    fine = all(result.fine for result in results) and not shared_problems
    remarks = all_remarks(results) + _unused_prices(results, price_list)
    if options.json:
        validation = {
            "fine": fine,
            "remarks": remarks,
            "shared_problems": problems_as_dicts(shared_problems, "paths"),
            "tables": [_table_as_dict(result) for result in results],
        }
        print_json(validation, "pandora-validation/2")
    else:
        _print(results, shared_problems)
        if remarks:
            echo()
            print_remarks(remarks)
    return 0 if fine else 2


def _is_workup(path: str) -> bool:
    """Whether a TOML file describes steps rather than models."""
    if not path.endswith(".toml"):
        return False
    with suppress(InputError):  # whoever reads it as a work-up says what is wrong with it
        return "models" not in read_toml(path, "name a TOML file")
    return True


def _unused_prices(results: Sequence[files.TableReport], prices: files.PriceList | None) -> tuple[Remark, ...]:
    """Which prices are of no class of the files; nothing where not all files were understood."""
    if prices is None:
        return ()
    understood = [result.columns for result in results if result.columns is not None]
    if len(understood) < len(results):
        return prices.remarks
    classes = {name for columns in understood for name in columns.classes}
    return prices.match(classes)[1]


def _table_as_dict(result: files.TableReport) -> dict[str, object]:
    """What was understood of a file, and its problems, as JSON."""
    columns = None
    classes: dict[str, int] = {}
    if result.columns is not None:
        classes = {name: result.labels[name] for name in result.columns.classes}
        columns = {
            "label": result.columns.label or None,  # votes may take its place
            "id": result.columns.id,
            "weight": result.columns.weight,
            "group": result.columns.group,
            "model": result.columns.model,
            "votes": result.columns.votes,
            "costs": result.columns.costs,
            "forecasts": result.columns.forecasts,
            "unused": result.unused,
        }
    return {
        "path": result.path,
        "name": result.name,
        "fine": result.fine,
        "rows": result.rows,
        "classes": classes,
        "unlabelled": result.unlabelled,
        "models": dict(result.models),
        "columns": columns,
        "problems": problems_as_dicts(result.problems, "rows", "places"),
    }


def _print(results: Sequence[files.TableReport], shared_problems: Sequence[files.Problem]) -> None:
    """Every file with what was understood and what is wrong, then what is wrong with all of them together."""
    for number, result in enumerate(results):
        if number:
            echo()
        if result.fine:
            heading(result.path, "fine", colour="green")
        else:
            heading(result.path, counted(len(result.problems), "problem"), colour="red")
        _print_understood(result)
        bullets(map(sentence_of_problem, result.problems), mark="!")
    if shared_problems:
        echo()
        print_shared_problems(shared_problems)


def _print_understood(result: files.TableReport) -> None:
    """What each column is taken for."""
    if result.columns is None:
        return
    counts = {LABEL: {name: result.labels[name] for name in result.columns.classes}, MODEL: result.models}
    lines = [("rows", count(result.rows))]
    for role in ROLES:
        if role is LABEL and result.holds_lists and not result.labels:
            continue  # the column was named by us, and no row says its truth
        names = listed(result.columns.of(role), MOST_NAMES)
        values = listed([f"{name} {count(n)}" for name, n in counts.get(role, {}).items()], MOST_NAMES)
        where = f"column {names!r}" if names else "the truth's file"
        has_values = role in counts and any(counts[role].values())
        lines.append((role.title, f"{where}: {values}" if has_values else names))
    if result.unlabelled:
        lines.insert(2, ("no label", f"{counted(result.unlabelled, 'row')}, left out of comparisons and scores"))
    forecasts = result.columns.column_of
    if result.holds_lists:
        forecasts = {name: name if column else "" for name, column in forecasts.items()}
    lines.insert(2, ("forecasts", listed(filter(None, forecasts.values()), MOST_NAMES)))
    for title, text in [*lines, ("not used", listed(result.unused, MOST_NAMES))]:
        bullets([text] if text else [], mark=f"{title:<10}")
