"""Libraries that only some functions need: imported there, and missed in one line."""

from importlib import import_module
from types import ModuleType


class MissingLibraryError(ImportError):
    """A library that this function needs is not installed; the message says what to install."""


def import_optional(module: str, *, extra: str) -> ModuleType:
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
        problem = f"{library} is not installed" if is_absent else _broken(library, error)
        raise MissingLibraryError(f"{problem}: pip install 'pandora-regret[{extra}]'.") from None


def failed_import(error: BaseException) -> str | None:
    """One line about the library that was being imported when this error came; None if none was."""
    from traceback import walk_tb

    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "<module>"]
    modules = [frame.f_globals["__name__"] for frame in frames]  # whose bodies ran
    modules += [error.name or ""] if isinstance(error, ImportError) else []
    for library in (module.split(".")[0] for module in modules):
        if library not in ("", "__main__", "pandora_regret"):
            return f"{_broken(library, error)}: pip install --force-reinstall {library}."
    return None


def _broken(library: str, error: BaseException) -> str:
    """A sentence that says why an installed library cannot be imported."""
    return f"{library} cannot be imported ({type(error).__name__}: {' '.join(str(error).split())})"
