"""pip's way to build Hob: scripts/setup gets what the build needs, then CMake builds as ever."""

import os
import subprocess
from pathlib import Path

from scikit_build_core.build import *  # noqa: F403  the hooks that pip calls
from scikit_build_core.build import build_wheel as _build_wheel

ROOT = Path(__file__).resolve().parents[2]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Sets up, unless the caller names the MPI to build for (config setting HOB_MPICC)."""
    named = any("HOB_MPICC" in key for key in config_settings or {})
    if not named:
        deps = os.environ.setdefault("HOB_DEPS", str(ROOT / ".deps"))
        subprocess.run([ROOT / "scripts" / "setup"], check=True)
        os.environ["PATH"] = f"{deps}/venv/bin{os.pathsep}{os.environ['PATH']}"
    return _build_wheel(wheel_directory, config_settings, metadata_directory)
