"""The command `pandora help`: what commands share."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from pandora_regret.cli.options import LAYOUT, MISS, RANKED, command
from pandora_regret.cli.output import echo

TOPICS = {
    "files": """A file of predictions has a column of true classes, and a column of forecasts for every class: CSV,
        JSONL, Parquet, Arrow, NPZ or Excel; or samples of lm-evaluation-harness; - is standard input. It holds one
        model, or several with a column that names them. NAME=FILE names a model, and a TOML file describes models
        that are written each in their own way. Rows are matched by id, or by their order if no file has ids.""",
    "lists": """Ranked lists: a row per case and candidate (--candidate), JSON lines with a list per case (ranking,
        candidates, predictions, found_files), a folder with a file per case (--id FILE), or TREC runs (--format
        trec). What is true says a column (--hit), or a file (--truth) with ids and names. --costs may price
        candidates by name: NAME=VALUE,...,other=VALUE.""",
    "prices": """--costs says what tests cost: NAME=VALUE,..., such as flu=20,cold=5; a table (FILE, or
        FILE:CLASS_COLUMN:COST_COLUMN, or of a workbook FILE#SHEET:CLASS_COLUMN:COST_COLUMN); a pathway file
        (TOML); or a shipped one. --prior says how they vary.""",
    "metrics": "What is shown of models, beside what their searches cost.",
}
ABOUT = {
    "files": "how files of predictions may be written, and what to say where it is not recognised",
    "lists": "ranked lists of candidates: how they may be written, and the price of a miss",
    "prices": "how to say what tests cost, and how that varies",
    "metrics": "what is shown beside the cost",
}


@dataclass(frozen=True)
class HelpOptions:
    """What `pandora help` was asked."""

    topic: str | None


@command(HelpOptions, click.Argument(["topic"], metavar=f"[{'|'.join(TOPICS)}]", required=False))
def help(options: HelpOptions) -> None:
    r"""More about files, lists, prices and metrics; or the help of a command.

    \b
    Examples:
      pandora help files
      pandora help metrics
    """
    formatter = click.get_current_context().make_formatter()
    if options.topic is None:
        with formatter.section("Topics"):
            formatter.write_dl([(f"pandora help {topic}", about) for topic, about in ABOUT.items()])
        echo(formatter.getvalue(), nl=False)
        return
    if options.topic not in TOPICS:
        echo(_help_of_command(options.topic))
        return
    formatter.write_text(" ".join(TOPICS[options.topic].split()))
    titles = {"files": "Options about files", "lists": "Options about lists"}
    with formatter.section(titles.get(options.topic, options.topic.capitalize())):
        formatter.write_dl(list(_rows_of_topic(options.topic)))
    echo(formatter.getvalue(), nl=False)


def _help_of_command(name: str) -> str:
    """The help of the command of this name; an error with the nearest topics and commands, if there is none."""
    context = click.get_current_context()
    above = context.parent
    assert above is not None
    commands = above.command
    assert isinstance(commands, click.Group)
    named = commands.get_command(above, name)
    if named is None:
        from difflib import get_close_matches

        nearest = get_close_matches(name, [*TOPICS, *commands.list_commands(above)]) or list(TOPICS)
        context.fail(f"No such topic {name!r}: did you mean {' or '.join(map(repr, nearest))}?")
    return named.get_help(named.context_class(named, info_name=name, parent=above))


def _rows_of_topic(topic: str) -> Iterator[tuple[str, str]]:
    """The rows of a topic's table: a name, and what it stands for."""
    if topic == "files":
        context = click.get_current_context()
        yield from (option.get_help_record(context) or ("", "") for option in LAYOUT)
    elif topic == "lists":
        context = click.get_current_context()
        yield from (option.get_help_record(context) or ("", "") for option in (*MISS, *RANKED))
    elif topic == "prices":
        from pandora_regret.core.costs import available_costs
        from pandora_regret.core.priors.names import spelled_priors

        yield "--costs", f"shipped: {', '.join(available_costs())}"
        yield "--prior", spelled_priors()
    else:
        from pandora_regret.metrics import METRICS

        metrics = sorted(METRICS.values(), key=lambda metric: "comparison" not in metric.shown_in)
        yield from ((metric.key, metric.title) for metric in metrics)
