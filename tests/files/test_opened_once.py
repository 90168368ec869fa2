"""How often a command opens its files: the kernel counts."""

import ctypes
import os
import struct
import sys

import pytest
from cli_files import run
from prediction_files import CLASSES, table, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify counts")
OPENED = 0x20  # IN_OPEN


class Opens:
    """How often each of some files has been opened since."""

    def __init__(self, *paths):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = self._libc.inotify_init1(os.O_NONBLOCK)
        self._paths = {
            self._libc.inotify_add_watch(self._inotify, os.fsencode(path), OPENED): path for path in paths
        }
        assert all(watch >= 0 for watch in self._paths)

    def counted(self):
        counts, events = dict.fromkeys(self._paths.values(), 0), os.read(self._inotify, 1 << 16)
        for at in range(0, len(events), 16):  # of a file that is watched, events have no name
            counts[self._paths[struct.unpack_from("i", events, at)[0]]] += 1
        os.close(self._inotify)
        return counts


@pytest.mark.parametrize(("ending", "most"), [(".csv", 1), (".jsonl", 1), (".parquet", 5)])
def test_small_files_and_prices_are_opened_once(tmp_path, ending, most):
    models = [write(tmp_path / f"{name}{ending}", table()) for name in "ab"]
    prices = tmp_path / "prices.csv"
    prices.write_text("class,cost\n" + "".join(f'"{name}",{10 + k}\n' for k, name in enumerate(CLASSES)))
    for command in ("compare", "validate"):
        opens = Opens(*models, str(prices))
        result = run(command, *models, "--costs", prices)
        assert result.exit_code == 0, result.stderr
        counts = opens.counted()
        assert counts[str(prices)] == 1, command
        assert max(counts[path] for path in models) <= most, (command, counts)
