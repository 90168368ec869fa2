"""What a column of a prediction file can be besides a forecast: one table that every reader and command goes by.

A new role is a row of `ROLES`, a field of `Layout` (layout.py), of `Columns` with the function that finds it
(columns.py), of `Facts` with the function that reads and checks it (rows.py), of `Batch` (batch.py), and of the
command's `RowOptions` (cli/options.py).
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
    prefix: str | None = None  # the field of `Layout` where a role has one column per class

    @property
    def option(self) -> str:
        """The field of `Layout`, and the command's option."""
        return self.prefix or self.name


LABEL = Role("label", "labels", "label", "True classes.", ("y_true", "label", "target"))
ID = Role("id", "ids", "id", "Row ids, which match the rows of files.", ("id", "ids"))
WEIGHT = Role("weight", "weights", "weight", "Weights of rows.", ("weight", "sample_weight"))
GROUP = Role(  # clusters change what an interval means, so they have no usual name
    "group", "groups", "group", "Rows that belong together, such as patient_id."
)
MODEL = Role("model", "models", "model", "Names of models that share a file.", ("model",))
COSTS = Role(
    "costs", "costs", "cost", "What the columns of each row's own costs begin with.", prefix="cost_prefix"
)
VOTES = Role(
    "votes",
    "votes",
    "vote",
    "What the columns of votes for each class begin with, instead of one true class per row.",
    prefix="votes_prefix",
)
BY = Role("by", "values", "value", "Break results down")  # any number of columns; a file may lack some

ROLES = (LABEL, ID, WEIGHT, GROUP, MODEL, VOTES, COSTS, BY)
