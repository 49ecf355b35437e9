"""Where the parts of this Hob are: in the source tree, or where it was installed."""

import os
import re
import subprocess
from pathlib import Path

# The `hob` script says; started as `python -m hob`, the source tree is assumed.
ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("_HOB_BIN", ROOT / "build" / "default" / "bin"))
COMMAND = os.environ.get("_HOB_COMMAND", str(ROOT / "hob"))
DEPS = Path(os.environ.get("HOB_DEPS") or ROOT / ".deps")


class HobError(RuntimeError):
    """Something the user can mend; the message says what and how. Exit status 2."""


def in_source():
    """Whether this Hob is its source tree, and not an installation."""
    return (ROOT / "CMakeLists.txt").exists()


def need_source(command):
    """Raises where this Hob is installed: `command` runs programs that only the source has."""
    if not in_source():
        raise HobError(
            f"{command} runs programs of Hob's source, which is not here ({ROOT}): "
            f"run `make bench-programs`, then `./{command}`, in the source directory"
        )


def to_build(target=""):
    """What to do where something that is built is not there: one command."""
    if in_source():
        return f"run `{' '.join(['make', target]).strip()}` in {ROOT}"
    return "this installation is not complete: install Hob again"


def binary(name):
    """The path of one of Hob's own programs."""
    path = BIN / name
    if not path.exists():
        raise HobError(f"{path} is not there: {to_build()}")
    return path


def run_binary(name, *arguments):
    """Standard output of one of Hob's own programs."""
    done = subprocess.run([binary(name), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HobError(done.stderr.strip() or f"{name} failed with status {done.returncode}")
    return done.stdout


def mpis():
    """{name: {"family", "cc", "exec", ...}} as scripts/setup found them; {} where it did not run."""
    found = {}
    path = DEPS / "mpis.cmake"
    text = path.read_text() if path.exists() else ""
    for name, what, value in re.findall(r'set\(HOB_MPI_(\w+?)_([A-Z]+) "?(.*?)"?\)', text):
        found.setdefault(name, {})[what.lower()] = value
    return found
