"""Libraries that only some functions need: imported there, and missed in one line."""

from importlib import import_module
from typing import Any


class MissingLibraryError(ImportError):
    """A library that this function needs is not installed; the message says what to install."""


def import_optional(module: str, *, extra: str) -> Any:
    """The module, or one line that says which extra installs it.

    Parameters
    ----------
    module
        The module's name.
    extra
        The extra of pandora-regret that installs it.

    Returns
    -------
    module
        The imported module.

    Examples
    --------
    >>> import_optional("math", extra="zoo").sqrt(9.0)
    3.0
    >>> import_optional("unheard_of", extra="zoo")
    Traceback (most recent call last):
    pandora_regret.optional.MissingLibraryError: unheard_of is not installed: pip install 'pandora-regret[zoo]'.
    """
    library = module.split(".")[0]
    try:
        return import_module(module)
    except Exception as error:  # of a library that is broken, any
        is_absent = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == library
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        problem = "is not installed" if is_absent else f"cannot be imported ({reason})"
        raise MissingLibraryError(f"{library} {problem}: pip install 'pandora-regret[{extra}]'.") from None
