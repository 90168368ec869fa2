"""Options as fields of dataclasses, and commands that take such dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, field, fields
from functools import wraps
from typing import Any

import click

from pandora_regret.files.roles import Role


def option(*names: str, **settings: Any) -> Any:
    """A field of a dataclass of options; it takes click's arguments, but for the name, which is the field's."""
    return field(metadata={"names": names, "settings": settings})


def role_option(role: Role) -> Any:
    """The option that says which columns of a file have a role."""
    usual = f"  [default: {' or '.join(role.usual)}]" if role.usual else ""
    metavar = "TEXT" if role.prefix else "COLUMN"
    return option(f"--{role.option.replace('_', '-')}", metavar=metavar, help=f"{role.help}{usual}")


def choice(*names: str, words: Sequence[str], help: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """An option of a command that takes one of some words; the first unless said."""
    return click.option(*names, type=click.Choice(words), default=words[0], show_default=True, help=help)


class ShowsMetrics(click.Command):
    """A command whose help lists the metrics that it shows of models."""

    place = "comparison"

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from pandora_regret.metrics import shown_in

        with formatter.section("Metrics"):
            formatter.write_dl([(metric.key, metric.title) for metric in shown_in(self.place)])
        super().format_epilog(ctx, formatter)


class RanksByMetrics(ShowsMetrics):
    """A command whose help lists the metrics that a study ranks models by."""

    place = "study"


def takes(*groups: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command with the options of these dataclasses, which it gets as instances of them, in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**values: Any) -> Any:
            instances = [group(**{each.name: values.pop(each.name) for each in fields(group)}) for group in groups]
            return command(*instances, **values)

        for each in reversed([each for group in groups for each in fields(group)]):
            call = _as_click(each)(call)
        return call

    return decorate


def alone(group: type[Any], name: str) -> Callable[[Any], Any]:
    """One option of a dataclass, for commands that take no other of it."""
    return _as_click(next(each for each in fields(group) if each.name == name))


def _as_click(each: Field[Any]) -> Callable[[Any], Any]:
    return click.option(*each.metadata["names"], each.name, **each.metadata["settings"])
