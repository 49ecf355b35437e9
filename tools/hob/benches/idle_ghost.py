"""What a ghost costs that has nothing to do (bench/ghost)."""

import os
import subprocess
import tempfile
import time

from hob.benches.ghost_jobs import TWO_NODES, job
from hob.benchlib import BenchError, build_dir, mpis, program
from hob.benchpicture import View

NAME = "idle-ghost"
ASLEEP_US = 50000
HELP = "processor time of idle ghosts, wake-up latency, slow-down of who shares the core"

VIEWS = (
    View(
        "A put, by what the ghost did before",
        "us, median",
        {"value": "put"},
        lambda row: row["what"].removesuffix(", us"),
        lambda row: row["what"].endswith(", us"),
        log=False,
    ),
)


def add_arguments(parser):
    parser.add_argument("--seconds", type=int, default=5, help="how long to watch (default: 5)")


def _children(pid):
    out = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            for child in map(int, file.read().split()):
                out += [child, *_children(child)]
    return out


def _processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _idle_share(seconds):
    """Processor time per second of each ghost of a job whose ranks compute outside MPI."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("HOB_")},
        **TWO_NODES,
        "HOB_GHOSTS": "1",
        "HOB_REPORT": "silent",
        "LD_PRELOAD": "",
    }
    busy = (seconds + 4) * 1_000_000
    command = [
        mpis()["mpich5"]["exec"],
        "-bind-to",
        "none",
        "-n",
        "4",
        "env",
        f"LD_PRELOAD={build_dir()}/lib/libhob_mpich.so",
        str(program("ghost_bench")),
        "what=progress",
        "ops=put",
        f"busy={busy}",
        "rounds=1",
    ]
    with tempfile.TemporaryFile() as nowhere:
        process = subprocess.Popen(command, env=environment, stdout=nowhere, stderr=nowhere)
        try:
            time.sleep(3)
            ghosts = []
            for pid in _children(process.pid):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        variables = file.read().split(b"\0")
                    with open(f"/proc/{pid}/comm") as file:
                        own = file.read().strip().startswith("ghost_bench")
                except OSError:
                    continue
                # The second half of the ranks: the last of each node of two.
                rank = next((int(v[9:]) for v in variables if v.startswith(b"PMI_RANK=")), None)
                if own and rank is not None and os.readlink(f"/proc/{pid}/fd/1") == "/dev/null":
                    ghosts.append(pid)
            if not ghosts:
                raise BenchError("no ghost found among the processes of the job")
            before = [_processor_seconds(pid) for pid in ghosts]
            start = time.monotonic()
            time.sleep(seconds)
            spent = time.monotonic() - start
            return [(_processor_seconds(p) - b) / spent for p, b in zip(ghosts, before)]
        finally:
            process.terminate()
            process.wait()


def run(args, bench):
    seconds = 2 if args.quick else args.seconds
    shares = _idle_share(seconds)
    # Long enough for the ghost to have gone to sleep beside an origin that only waits.
    words = ["what=progress", "ops=put", f"busy=0,{ASLEEP_US}", "rounds=31"]
    rows = {row["busy_us"]: row for row in job(words, ghosts=1)}
    asleep = rows[ASLEEP_US]
    # After as long a pause, but by a ghost that never sleeps: caches are as cold.
    awake = job(words, ghosts=1, extra={"HOB_GHOST_WAIT": "yield"})[-1]
    wake = asleep["us"] - awake["us"]
    bench.row(what="processor share of an idle ghost", value=max(shares))
    bench.row(what="put to a ghost that just worked, us", value=rows[0]["us"])
    bench.row(what="put to one that kept polling for as long, us", value=awake["us"])
    bench.row(what="put to a sleeping ghost, us", value=asleep["us"])
    bench.row(what="slow-down of the computing target", value=asleep["slowdown"])
    bench.at_most("processor share of an idle ghost", max(shares), 0.01)
    bench.at_most("wake-up, us", wake, 100)
    # With what the caches lost meanwhile, too.
    bench.at_most("beyond a put to a ghost that just worked, us", asleep["us"] - rows[0]["us"], 100)
    bench.at_most("slow-down of a computation beside it", asleep["slowdown"], 1.03)
