"""What may come through the door: the types of the arguments that a user hands in."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from numpy.random import Generator  # loaded where something is drawn


class Frame(Protocol):
    """A table whose columns have names: of pandas, Polars or Arrow. All else of it is narwhals's to know."""

    @property
    def columns(self) -> object:
        """The columns' names, or the columns."""


class NamedValues(Protocol):
    """Values by name: a mapping, or a pandas series."""

    def keys(self) -> Iterable[Hashable]:
        """The names."""

    def items(self) -> Iterable[tuple[Hashable, object]]:
        """The names and their values."""

    def __len__(self) -> int: ...


Table: TypeAlias = ArrayLike | Frame  # (N, K), one column per class
Labels: TypeAlias = ArrayLike | Sequence[object] | Frame  # true classes (N,), or a table of votes (N, K)
ByClass: TypeAlias = ArrayLike | NamedValues | Frame  # numbers of the classes: (K,) or (N, K), or named by class
PastCases: TypeAlias = Frame | Mapping[str, Iterable[object]]  # one row per case: its class, what tests have shown
Seed: TypeAlias = "int | Sequence[int] | Generator | None"  # of random numbers; None: fresh ones


def is_frame(table: object) -> TypeGuard[Frame]:
    """Whether columns have names (pandas, polars, pyarrow); asked of the type, as a lazy frame is slow to say."""
    return hasattr(type(table), "columns")


def has_names(values: object) -> TypeGuard[NamedValues]:
    """Whether values carry the names of what they are about, as a mapping or a pandas series does."""
    return hasattr(values, "keys")
