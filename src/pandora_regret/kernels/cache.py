"""Where compiled loops are kept between processes. It does without numba: whoever asks may not need any loop."""

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def cache_folder() -> Path | None:
    """NUMBA_CACHE_DIR, the user's cache, or a folder among temporary files; None where none may be written to."""
    said = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    user = getattr(os, "getuid", lambda: "user")()
    for path in [said] if said else [f"{home}/pandora-regret", f"{tempfile.gettempdir()}/pandora-regret-{user}"]:
        with suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
            if os.access(path, os.W_OK) and (said or _is_own(path)):
                return Path(path)
    return None


def _is_own(path: str) -> bool:
    """Whether nobody else can write there: what is loaded from it is run."""
    about = os.stat(path)
    return not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o022)


def is_filled(folder: Path | None) -> bool:
    """Whether some process has kept loops there."""
    return folder is not None and any(folder.glob("*/*.nbi"))
