"""What a column of a prediction file can be besides a forecast: one table that every reader and command goes by.

A new role is a row of `ROLES`, a field of `Layout` (layout.py), `Columns` (classes.py), `Batch` (batch.py) and the
command's `RowOptions` (cli/options.py).
A method of `Rows` (columns.py) reads and checks it, and `Predictions` (predictions.py) calls that.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """What a column is for, and how it is found, read and checked."""

    name: str  # of the field of `Columns`, and in the JSON of `pandora validate`
    title: str  # of many values, for people
    singular: str  # of one value, for people
    help: str  # of the command's option
    usual: tuple[str, ...] = ()  # names of columns by which it is recognised
    field: str = ""  # of `Batch`; empty: it is not kept with the rows
    prefix: str | None = None  # the field of `Layout` where a role has one column per class
    many: bool = False  # whether it is any number of columns, of which a file need not have all

    @property
    def option(self) -> str:
        """The field of `Layout`, and the command's option."""
        return self.prefix or self.name


LABEL = Role("label", "labels", "label", "True classes.", ("y_true", "label", "target"), "truth")
ID = Role("id", "ids", "id", "Row ids, which match the rows of files.", ("id", "ids"), "ids")
WEIGHT = Role("weight", "weights", "weight", "Weights of rows.", ("weight", "sample_weight"), "weights")
GROUP = Role(  # clusters change what an interval means, so they have no usual name
    "group",
    "groups",
    "group",
    "Rows that belong together, such as patient_id.",
    field="groups",
)
MODEL = Role("model", "models", "model", "Names of models that share a file.", ("model",))
COSTS = Role(
    "costs",
    "costs",
    "cost",
    "What the columns of each row's own costs begin with.",
    field="costs",
    prefix="cost_prefix",
)
VOTES = Role(
    "votes",
    "votes",
    "vote",
    "What the columns of votes for each class begin with, instead of one true class per row.",
    field="votes",
    prefix="votes_prefix",
)
BY = Role("by", "values", "value", "Break results down", field="by", many=True)

ROLES = (LABEL, ID, WEIGHT, GROUP, MODEL, VOTES, COSTS, BY)
SINGLE = tuple(role for role in ROLES if role.prefix is None and not role.many)  # of one column each
KEPT = tuple(role for role in ROLES if role.field)  # of which each row of a `Batch` has a value
