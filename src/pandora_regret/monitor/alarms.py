"""What a monitor keeps of cases whose class no forecast has, and of alarms that somebody has looked into."""

from dataclasses import dataclass

from pandora_regret.monitor.streams import History

A_TYPO = 1  # so many cases of an unknown class may be a label that was misspelt: more are an alarm


@dataclass
class UnknownClass:
    """A class that no column of the forecasts has, though it was the truth."""

    name: str
    cases: int = 0
    first: str | None = None  # the period of the first; None where there are no times
    is_acknowledged: bool = False
    is_known: bool = False  # whether forecasts have it by now

    @property
    def alarms(self) -> bool:
        """Whether somebody should look: it came more than once, nobody has looked, and no model has it by now."""
        return self.cases > A_TYPO and not self.is_acknowledged and not self.is_known


@dataclass
class Acknowledgement:
    """An alarm that somebody has looked into, and what was said of it."""

    note: str
    noticed: str | None  # when the model was noticed to cost more, or less, than it promises; None: it was not
    above: bool  # whether it cost more
    classes: list[str]  # unknown ones whose alarm this ended
    at: str  # the newest period or case at that time
    history: History | None  # what was paid and promised until then; None where evidence was not begun anew
