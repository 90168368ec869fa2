"""Options of commands: each has a place in the value that its command gets."""

from dataclasses import MISSING, FrozenInstanceError, fields, is_dataclass
from inspect import signature
from typing import get_type_hints

import pytest

import pandora_regret

click = pytest.importorskip("click")

from pandora_regret.cli import compare, monitor, next, recalibrate, study, validate, workup  # noqa: E402
from pandora_regret.cli import help as helping  # noqa: E402
from pandora_regret.cli.options import ListOptions, PriceOptions, RowOptions, read_options  # noqa: E402

COMMANDS = [
    (compare.compare, compare.CompareOptions),
    (compare.score, compare.ScoreFilesOptions),
    (next.next, next.NextOptions),
    (workup.learn, workup.LearnOptions),
    (workup.replay, workup.ReplayOptions),
    (recalibrate.recalibrate, recalibrate.RecalibrateOptions),
    (monitor.monitor, monitor.MonitorOptions),
    (validate.validate, validate.ValidateOptions),
    (study.run, study.RunOptions),
    (study.plan, study.PlanOptions),
    (study.resume, study.ResumeOptions),
    (study.table, study.TableOptions),
    (study.figure, study.FigureOptions),
    (study.figures, study.FiguresOptions),
    (study.status, study.StatusOptions),
    (helping.help, helping.HelpOptions),
]


def fields_of(options):
    """Every field of a class of options and of its parts, and those that need an option."""
    every = set()
    needed = set()
    hints = get_type_hints(options)
    for field in fields(options):
        if is_dataclass(hints[field.name]):
            every_of_part, needed_by_part = fields_of(hints[field.name])
            every |= every_of_part
            needed |= needed_by_part
        else:
            every.add(field.name)
            if field.default is MISSING:
                needed.add(field.name)
    return every, needed


@pytest.mark.parametrize(("command", "options"), COMMANDS, ids=lambda part: getattr(part, "__name__", ""))
def test_every_option_has_a_field_and_every_field_an_option(command, options):
    every, needed = fields_of(options)
    names = {parameter.name for parameter in command.params}
    assert names - every == set()
    assert needed - names == set()


def test_what_few_people_change_of_a_comparison_can_be_typed_too():
    keywords = [
        part for part in signature(pandora_regret.compare).parameters.values() if part.kind == part.KEYWORD_ONLY
    ]
    assert len(keywords) <= 15
    names = {parameter.name for parameter in compare.compare.params}
    library_only = {"progress"}  # which a command shows itself
    assert {field.name for field in fields(pandora_regret.ComparisonOptions)} - library_only <= names


def test_methods_of_recalibration_are_those_of_the_library():
    from pandora_regret.calibrate.maps import MAP_METHODS

    assert tuple(MAP_METHODS) == compare.RECALIBRATION_METHODS


def test_parts_take_their_fields_from_the_same_values():
    values = {"costs": "a=1,b=2", "sheet": "2", "label": "y", "files": ("p.csv",), "json": True}
    options = read_options(validate.ValidateOptions, values)
    assert options == validate.ValidateOptions(
        ("p.csv",), RowOptions(label="y", sheet="2"), ListOptions(), PriceOptions(costs="a=1,b=2", sheet="2"), True
    )
    with pytest.raises(FrozenInstanceError):
        options.json = False


@pytest.mark.parametrize(
    ("command", "options", "param"),
    [
        (compare.compare, ["a.csv"], "miss"),
        (monitor.monitor, ["a.csv", "--state", "s.json"], "miss"),
        (next.next, ["a=0.5,b=0.2"], "miss"),
        (workup.learn, ["a.csv", "--label", "fault", "--out", "w.toml"], "wrong"),
    ],
)
def test_an_amount_that_can_be_read_in_two_ways_is_refused_with_both(command, options, param):
    for typed, readings in (("1,250", {"1250", "1.25"}), ("1.125", {"1125", "1.125", "1.1250"})):
        with pytest.raises(click.BadParameter) as caught:
            command.make_context("pandora", [*options, f"--{param}", typed])
        assert caught.value.param.name == param
        assert readings <= {word.strip(":.") for word in caught.value.message.split()}
    context = command.make_context("pandora", [*options, f"--{param}", "1.1250"])
    assert context.params[param] == 1.125
