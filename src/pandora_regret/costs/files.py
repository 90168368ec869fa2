"""Finding a pathway file, by the name of a shipped one or by path."""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pandora_regret.costs.format import read_format
from pandora_regret.costs.pathways import Pathways
from pandora_regret.costs.section import parse_toml
from pandora_regret.inputs import InputError, InputTypeError


def available_costs() -> tuple[str, ...]:
    """The names of the shipped pathway files.

    Returns
    -------
    tuple of str
        Names that `load_costs` takes.

    Examples
    --------
    >>> available_costs()
    ('dermamnist', 'octmnist', 'pump_fault')
    """
    return tuple(sorted(_shipped()))


def load_costs(name_or_path: str | os.PathLike[str]) -> Pathways:
    """Read a pathway file, check it, and work out what testing each class costs.

    Parameters
    ----------
    name_or_path
        The name of a shipped file (see `available_costs`), or the path of a file of your own. A shipped name
        comes first; for a file of your own with that name, write ``./name``.

    Returns
    -------
    Pathways
        Costs by class, their currency, and the steps behind them.

    References
    ----------
    Flores et al. (2026), Appendix E [flores26]_.
    Centers for Medicare & Medicaid Services (2026), the fees [cms2026pfs]_.

    Examples
    --------
    >>> load_costs("octmnist").costs
    {'CNV': 343.913, 'DME': 343.913, 'drusen': 186.71, 'normal': 149.64}
    """
    file, content = _read_bytes(name_or_path)
    return read_format(parse_toml(content, file), file)


def _shipped() -> dict[str, Traversable]:
    """The shipped files by name; they may lie in a zip archive, so they are no paths."""
    folder = files("pandora_regret.costs") / "data"
    return {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}


def _read_bytes(name_or_path: Any) -> tuple[str, bytes]:
    """What error messages call the file, and its content."""
    if not isinstance(name_or_path, (str, os.PathLike)):
        problem = f"must be a name or a path, got {name_or_path!r:.200}"
        raise InputTypeError(problem, argument="name_or_path", value=name_or_path)
    if (shipped := _shipped().get(str(name_or_path))) and isinstance(name_or_path, str):
        return shipped.name, shipped.read_bytes()
    try:
        return str(name_or_path), Path(name_or_path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"is not a file that can be read ({reason}), nor the name of a shipped one",
            argument="name_or_path",
            value=str(name_or_path),
            place=f"{str(name_or_path)!r}",
            fix=f"pass the path of a pathway file, or one of {', '.join(available_costs())}",
        ) from None
