"""What the tests of the tools share."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("HOB_TEST_ROOT", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("HOB_TEST_BUILD", ROOT / "build" / "default"))
BIN = BUILD / "bin"
os.environ["_HOB_BIN"] = str(BIN)
sys.path.insert(0, str(ROOT / "tools"))


# Ranks of MPICH that wait give their core to those that do not: there are more ranks than cores.
YIELDING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}


def clean_environment(**more):
    """The environment without Hob's settings and without a launcher's variables."""
    mine = {
        name: value
        for name, value in os.environ.items()
        if name == "HOB_LIBDIR"
        or not name.startswith(("HOB_", "PMI", "OMPI_", "SLURM_", "LD_PRELOAD"))
    }
    return {**mine, "HOB_DEPS": os.environ.get("HOB_DEPS", str(ROOT / ".deps")), **more}


def run(command, cwd=None, **environment):
    """(status, standard output, standard error) of a command, run in directory `cwd`."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env=clean_environment(**environment),
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def hob_exec(*words, **environment):
    return run([BIN / "hob-exec", *words], **environment)


def hob(*words, cwd=None, **environment):
    """`python -m hob`, as the hob script starts it, with this build's programs."""
    paths = f"{ROOT / 'tools'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return run(
        [sys.executable, "-m", "hob", *words],
        cwd=cwd,
        PYTHONPATH=paths,
        _HOB_BIN=str(BIN),
        **environment,
    )


def mpis():
    """The MPI libraries that this build was made for. The quick tier leaves some out (tests/tiers.cmake)."""
    from hob.where import mpis as known

    return {
        name: mpi
        for name, mpi in known().items()
        if (BUILD / f"lib/libhob_{mpi['family']}.so").exists()
    }


def install(prefix):
    """`cmake --install` into a prefix; raises with what it said. It wants the target `shipped`."""
    words = ["cmake", "--install", BUILD, "--prefix", prefix]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"cmake --install: {done.stdout[-1000:]}{done.stderr[-2000:]}")


def write_json(directory, document, name="run.json"):
    path = Path(directory) / name
    path.write_text(json.dumps(document))
    return path
