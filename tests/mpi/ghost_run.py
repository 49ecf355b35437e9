"""Runs one MPI program with ghosts and judges how it ended.

--expect pass    status 0
--expect end     the job ends within the time limit, and not with status 0
--expect refuse  it does not start, and says why once
After each, no process of it and no shared memory may be left.
"""

import argparse
import os
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
for name in ("mpi", "exec", "family", "library", "binding", "expect"):
    parser.add_argument(f"--{name}")
for name in ("ranks", "ghosts", "nodes"):
    parser.add_argument(f"--{name}", type=int)
parser.add_argument("command", nargs="+")
args = parser.parse_args()

settings = {"HOB_GHOSTS": args.ghosts, "HOB_GHOST_BINDING": args.binding, "HOB_REPORT": "silent"}
environment = dict(os.environ)
environment["GHOST_TEST_MARK"] = mark = f"{os.getpid()}-{time.time()}"
started = args.ranks + args.ghosts * args.nodes
library = f"{args.library}/libhob_{args.family}.so"
command = [args.exec, "-n", str(started)]
if args.family == "openmpi":
    for prefix in ("OMPI", "PRTE"):
        environment[f"{prefix}_ALLOW_RUN_AS_ROOT"] = environment[
            f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM"
        ] = "1"
    environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    environment["OMPI_MCA_osc"] = "^ucx"
    settings["HOB_GHOST_CLIQUES"] = args.nodes
    command += ["--oversubscribe", "-x", "GHOST_TEST_MARK", "-x", f"LD_PRELOAD={library}"]
    for name, value in settings.items():
        command += ["-x", f"{name}={value}"]
else:
    if args.mpi == "mpich4":
        settings["HOB_GHOST_CLIQUES"] = args.nodes
    else:
        settings |= {
            "MPIR_CVAR_NUM_CLIQUES": args.nodes,
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_MAX_SAVED": 1000000,
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE": 1,
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": 1,
        }
    for name, value in settings.items():
        command += ["-genv", name, str(value)]
    command += ["-genv", "LD_PRELOAD", library]
command += args.command


def left_behind():
    """Processes that carry this run's mark."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if f"GHOST_TEST_MARK={mark}".encode() in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            pass
    return found


memory_before = set(os.listdir("/dev/shm"))
limit = 60 if args.expect == "end" else 150
process = subprocess.Popen(
    command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
)
try:
    out, err = process.communicate(timeout=limit)
except subprocess.TimeoutExpired:
    for pid in left_behind():
        os.kill(pid, 9)
    out, err = process.communicate()
    sys.exit(f"still running after {limit} s\n{out}\n{err}")

problems = []
if args.expect == "pass" and (process.returncode != 0 or "No Errors" not in out):
    problems.append(f"status {process.returncode}")
if args.expect in ("end", "refuse") and process.returncode == 0:
    problems.append("status 0 although it ended badly")
if args.expect == "refuse" and err.count("hob: ") != 1:
    problems.append(f"{err.count('hob: ')} messages instead of one")
for _ in range(50):
    if not left_behind():
        break
    time.sleep(0.1)
else:
    problems.append(f"processes left behind: {left_behind()}")
    for pid in left_behind():
        os.kill(pid, 9)
if left := {name for name in set(os.listdir("/dev/shm")) - memory_before if "hob" in name}:
    problems.append(f"shared memory left behind: {left}")
if problems:
    sys.exit("\n".join([*problems, " ".join(command), out, err]))
