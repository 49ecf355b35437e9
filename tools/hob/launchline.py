"""Whole launch lines, as `mpiexec -n 4 ./app`: where in them the program begins."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from hob.where import HobError

# Launchers, and the variants of their names: mpiexec.hydra, mpirun.openmpi.
LAUNCHERS = ("mpiexec", "mpirun", "srun", "prun", "prterun", "orterun", "aprun", "jsrun", "ibrun")


def is_launcher(word):
    """Whether a word names a launcher of MPI programs."""
    return Path(word).name.partition(".")[0] in LAUNCHERS


# What `mpiexec --version` says, by the MPI library that the launcher belongs to.
OF_LIBRARY = (("openmpi", r"Open MPI|OpenRTE|PRRTE|prte"), ("mpich", r"HYDRA|Intel\(R\) MPI"))


def family_of(launcher):
    """Which MPI libraries' ranks a launcher starts: openmpi, mpich, or None where that is not known. The launchers of
    batch systems start those of any."""
    if not Path(launcher).name.startswith(("mpi", "orterun")):
        return None
    try:
        done = subprocess.run(
            [launcher, "--version"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout + done.stderr
    return next((family for family, words in OF_LIBRARY if re.search(words, said)), None)


def _segments(words):
    """The parts of a line that start programs of their own, each with the colon before it (MPMD)."""
    begins = [0, *(at for at, word in enumerate(words) if word == ":"), len(words)]
    return [words[begin:end] for begin, end in zip(begins, begins[1:])]


def _program_at(words):
    """Where the program stands behind a launcher or a colon; raises where that is not clear."""
    for at in range(1, len(words)):
        word = words[at]
        if not shutil.which(word):
            continue
        # A bare word behind an option may be the option's value: -launcher ssh.
        after_option = re.match("-[^=]*$", words[at - 1])
        if os.sep in word or not after_option:
            return at
    missing = next((word for word in words[1:] if re.match(r"\.{0,2}/", word)), None)
    if missing:
        raise HobError(f"{missing}: no such program")
    raise HobError(
        f"no program found in '{' '.join(words)}': put `hob exec` before it, and start the line without `hob run`"
    )


def programs(words):
    """The programs of a line, each with its arguments."""
    return [segment[_program_at(segment) :] for segment in _segments(words)]


def with_words(words, inserted):
    """The line with `inserted` in front of each of its programs."""
    line = []
    for segment in _segments(words):
        at = _program_at(segment)
        line += [*segment[:at], *inserted, *segment[at:]]
    return line
