"""The small MPI program of `hob bench fabric` and `hob bench overhead`: compiled with the site's own mpicc, started
by `hob run`. Needs nothing of Hob's source, so that it works from an installation or a wheel."""

import json
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


class Probe:
    """The program, compiled into `folder`, which all nodes see."""

    def __init__(self, args, folder):
        self.words = ["--launcher", args.launcher] if args.launcher else []
        self.words += ["--nodes", args.nodes] if args.nodes else []
        self.words += ["--remote"] if args.remote else []
        self.program = Path(folder, "hob-fabric")
        command = [self._compiler(args), "-O2", str(SOURCE), "-o", str(self.program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")

    @staticmethod
    def _compiler(args):
        if args.mpicc or shutil.which("mpicc"):
            return args.mpicc or "mpicc"
        try:
            return next(iter(mpis().values()))["cc"]
        except (BenchError, StopIteration) as error:
            raise BenchError("no mpicc in PATH: --mpicc names it") from error

    def run(self, ranks, *words, only_start=False, timeout=120):
        """([row of the program, ...], seconds of the whole job)."""
        command = [COMMAND, "run", "-n", str(ranks), "--quiet", *self.words, *words]
        command += [str(self.program), *(["start"] if only_start else [])]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command,
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
        return [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"], spent
