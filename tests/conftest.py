import os
from pathlib import Path

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("house")

if not Path("/dev/nvidia0").exists():
    os.environ["TRITON_INTERPRET"] = "1"  # before anything imports triton: its own functions read it too
