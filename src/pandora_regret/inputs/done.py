"""What was changed or left out of what was handed in: nothing unless asked for, and all of it counted.

Whatever is read carries a tuple `done` of these: a file's table (`Source.done`, such as the separator that was
recognised), all rows of a model (`Predictions.done`), a price list. Whoever puts parts together joins the tuples,
and the result (`Comparison.done`, the JSON of the commands under "done") has them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from pandora_regret.inputs.numbers import FloatArray


@dataclass(frozen=True)
class Done:
    """One thing that was changed or left out."""

    what: str  # "rows left out", "rows rescaled", "columns ignored", "prices not used", "separator", ...
    count: int
    sentence: str  # a clause for people: "30 rows that Forest lacks left out of all"
    model: str | None = field(default=None, metadata={"optional": True})  # or file, where it is about one


@dataclass(frozen=True)
class Rescaled:
    """Rows that were divided by their sums: how many, and what the sums were."""

    rows: int = 0
    low: float = inf
    high: float = -inf

    @classmethod
    def of(cls, sums: FloatArray) -> Rescaled:
        """Rows that had these sums."""
        return cls(len(sums), float(sums.min()), float(sums.max())) if len(sums) else cls()

    def __add__(self, other: Rescaled) -> Rescaled:
        return Rescaled(self.rows + other.rows, min(self.low, other.low), max(self.high, other.high))

    def done(self, model: str) -> tuple[Done, ...]:
        """The same in words; nothing where no row was."""
        if not self.rows:
            return ()
        rows, sums = f"{self.rows:,} row{'s' * (self.rows != 1)}", [f"{end:.4g}" for end in (self.low, self.high)]
        sentence = f"{rows} of {model} rescaled (sums {' to '.join(dict.fromkeys(sums))})"
        return (Done("rows rescaled", self.rows, sentence, model),)


NOTHING_RESCALED = Rescaled()
