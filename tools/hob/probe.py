"""Programs that an installation or a wheel brings as source: compiled with the site's own MPI wrapper, started by
`hob run`. Probe is the small one of `hob bench fabric` and `hob bench overhead`; `hob demo` has another."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from hob.benchlib import BenchError, mpis
from hob.where import COMMAND

SOURCE = Path(__file__).with_name("benches") / "fabric.c"


def add_arguments(parser):
    parser.add_argument("--mpicc", metavar="CC", help="the MPI compiler wrapper (default: mpicc)")
    parser.add_argument(
        "--launcher", metavar="CMD", help="as of hob run, e.g. 'mpiexec -ppn 1 -hosts a,b'"
    )
    parser.add_argument("--nodes", metavar="N", help="as of hob run (default: Slurm's, or 1)")
    parser.add_argument(
        "--remote", action="store_true", help="each rank a node over TCP, on this machine (MPICH)"
    )


class SiteProgram:
    """A program that was compiled into `folder`, which all nodes see. options: of hob run, in every run."""

    def __init__(self, folder, name, compiler, words, options=()):
        self.options = [*options]
        self.program = Path(folder, name)
        command = [compiler, "-O2", *map(str, words), "-o", str(self.program)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise BenchError(f"{compiler}: {error.strerror}") from error
        if done.returncode != 0:
            raise BenchError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")

    def start(self, ranks, options, words, timeout=120, environment=None):
        """(standard output, seconds of the whole job)."""
        command = [COMMAND, "run", "-n", str(ranks), "--quiet", *self.options, *options]
        command += [str(self.program), *map(str, words)]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command,
                env=None if environment is None else {**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise BenchError(f"took more than {timeout} s: {' '.join(command)}") from late
        spent = time.monotonic() - begin
        if done.returncode != 0:
            raise BenchError(
                f"exit status {done.returncode} from {' '.join(command)}\n{done.stderr[-2000:]}"
            )
        return done.stdout, spent


def compiler(named, wrapper, kind):
    """The MPI compiler wrapper: the one that the user named, `wrapper` in PATH, or that of scripts/setup."""
    if named or shutil.which(wrapper):
        return named or wrapper
    try:
        return next(iter(mpis().values()))[kind]
    except (BenchError, StopIteration) as error:
        raise BenchError(f"no {wrapper} in PATH: --{wrapper} names it") from error


class Probe(SiteProgram):
    """The program of fabric and overhead."""

    def __init__(self, args, folder):
        options = ["--launcher", args.launcher] if args.launcher else []
        options += ["--nodes", args.nodes] if args.nodes else []
        options += ["--remote"] if args.remote else []
        super().__init__(
            folder, "hob-fabric", compiler(args.mpicc, "mpicc", "cc"), [SOURCE], options
        )

    def run(self, ranks, *options, only_start=False, timeout=120):
        """([row of the program, ...], seconds of the whole job)."""
        words = ["start"] if only_start else []
        out, spent = self.start(ranks, options, words, timeout)
        return [json.loads(line) for line in out.splitlines() if line[:1] == "{"], spent
