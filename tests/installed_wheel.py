"""The binary wheel of a build, installed where nothing can be compiled or fetched."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def install(build, folder):
    """Packs what was built, and installs it into a new environment below `folder`: (wheel, environment)."""
    subprocess.run(
        [ROOT / "scripts" / "wheel", build, folder / "dist"], check=True, capture_output=True
    )
    (wheel,) = (folder / "dist").iterdir()
    there = folder / "there"
    # A venv with a pip of its own takes a package that Debian keeps apart.
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", there], check=True, capture_output=True
    )
    # Nothing to compile with, nothing to fetch from.
    nothing = folder / "nothing"
    nothing.mkdir()
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", there, "install", "--no-index", wheel],
        env={"PATH": str(nothing), "HOME": str(nothing)},
        check=True,
        capture_output=True,
    )
    return wheel, there
