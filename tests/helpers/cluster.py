"""A Dask scheduler and workers on this machine, as processes of their own, for whoever tests work on a cluster."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent


@contextmanager
def loopback_cluster(workers=2, **settings):
    """The scheduler's address and the worker processes; what they do may be imported from this folder too.

    Settings are Dask's, as environment variables, such as ``DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1"``.
    """
    from distributed import Client

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        known = Path(folder) / "scheduler.json"
        common = ["--scheduler-file", str(known), "--dashboard-address", "127.0.0.1:0"]
        scheduler = _process(stack, settings, "dask_scheduler", "--host", "127.0.0.1", "--port", "0", *common)
        address = _address(known, scheduler)
        options = [*common, "--nthreads", "1", "--no-nanny", "--local-directory", folder]
        started = [_process(stack, settings, "dask_worker", *options) for _ in range(workers)]
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=120)
        yield address, started


def _process(stack, settings, module, *options):
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *options],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def _address(known, scheduler):
    """What the scheduler writes down as soon as it listens."""
    while scheduler.poll() is None:
        try:
            return json.loads(known.read_text())["address"]
        except (FileNotFoundError, ValueError):
            time.sleep(0.05)
    raise RuntimeError(f"the scheduler ended with code {scheduler.returncode}")
