"""Work for tests, in a module that worker processes can import."""

import os
import signal
import time
from pathlib import Path


def square(number):
    return number * number


def slow_square(number, seconds=0.1):
    time.sleep(seconds)
    return number * number


def fail_at_three(number):
    if number == 3:
        raise ZeroDivisionError("three is not allowed")
    return number


def time_out(number):
    raise TimeoutError(f"{number} took too long")


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def mark_and_wait(folder, number):
    """Says which process does what, then takes its time."""
    (Path(folder) / f"{number}-{os.getpid()}").touch()
    time.sleep(0.1)
    return os.getpid()
