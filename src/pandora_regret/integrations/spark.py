"""Full-fidelity scores of a Spark frame: every row checked, intervals, bootstrap, groups.

The mechanism is `score_stream`'s: each partition becomes a tally where it lies, through `mapInArrow`, and only
tallies travel. They are merged by partition number, so a task that ran twice, its executor having died, changes no
digit.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
from numpy.typing import ArrayLike

from pandora_regret.comparison.charge import Pricing
from pandora_regret.comparison.request import read_interval
from pandora_regret.comparison.result import Comparison
from pandora_regret.core.inputs import InputError
from pandora_regret.core.priors import Prior
from pandora_regret.files import Layout, Predictions
from pandora_regret.files.arrow_columns import kinds_of_schema
from pandora_regret.files.columns import find_columns
from pandora_regret.files.source import Records, Source
from pandora_regret.optional import import_optional
from pandora_regret.stream.conclude import concluded
from pandora_regret.stream.score import tally
from pandora_regret.stream.settings import read_settings

TALLIES = "partition int, tally binary"


class SparkFrame(Protocol):
    """What is used of a `pyspark.sql.DataFrame`."""

    @property
    def schema(self) -> object:
        """The columns and their types."""

    def select(self, *columns: str) -> SparkFrame:
        """A frame of these columns."""

    def mapInArrow(
        self, func: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
    ) -> SparkFrame:
        """What a function makes of the batches of each partition."""

    def collect(self) -> list[tuple[int, bytes]]:
        """All rows, brought to the driver: a number and bytes each."""


@dataclass(frozen=True)
class Partition(Source):
    """Rows of a partition, as they come; they can be read once."""

    batches: Iterable[pa.RecordBatch] = field(default=(), compare=False, repr=False)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """The batches that Spark hands over."""
        return (batch.select(list(columns)) for batch in self.batches)

    def expected_rows(self) -> int:
        """Many: rows that can be read once are not counted beforehand."""
        return 1 << 30


def score_spark(
    frame: SparkFrame,
    layout: Layout,
    *,
    name: str = "Spark frame",
    prior: Prior | None = None,
    costs: ArrayLike | Mapping[str, float] | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    seed: int = 0,
    pairs: bool = False,
) -> Comparison:
    """Score the rows of a Spark frame where they lie; the same numbers as `score_stream` of a file of them.

    Parameters
    ----------
    frame
        A `pyspark.sql.DataFrame`; pandora-regret must be installed wherever Spark runs Python.
    layout
        Which column is what; its `label` and its `classes` (or `proba_prefix`) must be said. A bootstrap needs an
        `id` or a `group` too: rows have no numbers in Spark.
    name
        What to call the frame in the result.
    prior, costs, bootstrap, level, seed, pairs
        As in `score_stream`.

    Returns
    -------
    Comparison
        As for `score_stream`.
    """
    import_optional("pyspark", extra="engines")
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(frame.schema)
    if layout.label is None or (layout.classes is None and layout.proba_prefix is None):
        fix = "say label, and classes or proba_prefix"
        raise InputError("leaves columns to be guessed", argument="layout", fix=fix)
    if bootstrap and layout.id is None and layout.group is None:
        fix = "say id or group: a bootstrap tells rows apart by them"
        raise InputError("names no column of ids", argument="layout", fix=fix)
    source = Partition(name, kinds_of_schema(schema))
    columns = find_columns(layout, source)
    model = Predictions(name, (source,), columns, layout)
    interval = read_interval(level, bootstrap, seed)
    settings = read_settings(model, Pricing(prior, costs), interval, pairs)

    def tally_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        part = Partition(f"{name}, partition {number}", source.kinds, batches=batches)
        score = tally(Predictions(name, (part,), columns, layout, watched=columns.id), settings)
        yield pa.RecordBatch.from_pydict(
            {"partition": pa.array([number], pa.int32()), "tally": [pickle.dumps(score)]}
        )

    rows = frame.select(*columns.names).mapInArrow(tally_partition, TALLIES)
    parts = ((number, pickle.loads(part)) for number, part in rows.collect())  # pickled by our own code, above
    return concluded(model, settings, parts)
