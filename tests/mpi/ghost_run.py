"""Runs one MPI program with ghosts and judges how it ended.

--expect pass    status 0, and what it says (--says)
--expect end     the job ends within the time limit, with a status of --status
--expect gone    the same, but the launcher may find status 0 good; --says is in what it prints, or what one of its
                 witnesses says (witness:hob,launcher: whoever sees it first; see WITNESSES), and no process crashed
--expect refuse  it does not start, and says why once
--redirected yes: its report tells of operations that ghosts served
--counts messages=20,tokens>40,redirected<99: what its report counts, summed over the ranks
After each, no process of it may be left, and no System V segment (where files are limited, Hob makes some; its
other shared memory and its sockets have no name: they go with the processes).
"""

import argparse
import json
import operator
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from run_compare import callers_environment  # noqa: E402

RELATIONS = {"=": operator.eq, "<": operator.lt, ">": operator.gt}

parser = argparse.ArgumentParser()
for name in ("mpi", "exec", "family", "library", "binding", "expect"):
    parser.add_argument(f"--{name}")
for name in ("ranks", "ghosts", "nodes"):
    parser.add_argument(f"--{name}", type=int)
parser.add_argument("--says", default="No Errors")
parser.add_argument("--noted", default="", help="what a note of the report must have")
parser.add_argument("--redirected", choices=["yes", "no", "any"], default="any")
parser.add_argument("--status", default="", help="what a job that ends badly may end with: 3,4")
parser.add_argument("--never", default="", help="what it must not say")
parser.add_argument("--counts", default="")
parser.add_argument(
    "--env", default="", help="settings that go before this script's: NAME=VALUE NAME=VALUE"
)
parser.add_argument("--runs", type=int, default=1, help="each within the time limit")
parser.add_argument("--file-limit", type=int, default=0, help="bytes, of files (ulimit -f)")
parser.add_argument("--launcher", default="", help="an option for the launcher")
parser.add_argument(
    "--inside",
    default="",
    help="words in front of the program, on each rank; skipped where they fail",
)
parser.add_argument("command", nargs="+")
args = parser.parse_args()

# Who may say that a process left without MPI_Finalize or was killed, and in what words.
WITNESSES = {
    "hob": r"hob: .{0,80}(?:left|ended) without MPI_Finalize",
    "launcher": r"EXIT STRING: Killed \(signal 9\)"
    r"|PROCESSES = PID \d+ RUNNING AT \S+ = EXIT CODE: [09] ="
    r"|has exited due to process rank \d+ with PID \d+ on node \S+ exiting improperly",
    # MPICH's network, where the peer is gone; and MPICH 4's launcher, which asserts that it is not.
    "library": r"Fatal error in \S+: Other MPI error|OFI poll failed|unable to forward PMI response",
}
# MPICH's launchers may end a job in silence where a process left with status 0 or was killed, and say 0 or what they
# killed with, or end by SIGPIPE where they write to a proxy that is gone.
SILENT = {mpi: (0, 9, -13) for mpi in ("mpich4", "mpich5", "abi5")}
CRASHED = (
    r"signal 11|signal 6\b|Segmentation fault|Aborted|terminate called|hob: .{0,40}(?:bug|internal)"
)

settings = {"HOB_GHOSTS": args.ghosts, "HOB_GHOST_BINDING": args.binding, "HOB_REPORT": "silent"}
own = dict(pair.split("=", 1) for pair in args.env.split())
folder = tempfile.TemporaryDirectory()
settings["HOB_JSON"] = report = f"{folder.name}/report.json"
# Settings are the test's; and of TESTS_SEED, which is for tests, Hob would say that it is none.
environment = callers_environment()
environment["GHOST_TEST_MARK"] = mark = f"{os.getpid()}-{time.time()}"
started = args.ranks + args.ghosts * args.nodes
library = f"{args.library}/libhob_{args.family}.so"
command = [args.exec, *args.launcher.split(), "-n", str(started)]
if args.family == "openmpi":
    for prefix in ("OMPI", "PRTE"):
        environment[f"{prefix}_ALLOW_RUN_AS_ROOT"] = environment[
            f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM"
        ] = "1"
    environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    environment["OMPI_MCA_osc"] = "^ucx"
    settings["HOB_GHOST_CLIQUES"] = args.nodes
    command += ["--oversubscribe", "-x", "GHOST_TEST_MARK", "-x", f"LD_PRELOAD={library}"]
    for name, value in (settings | own).items():
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
    for name, value in (settings | own).items():
        command += ["-genv", name, str(value)]
    command += ["-genv", "LD_PRELOAD", library]
inside = args.inside.split()
if inside and subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
    print(f"skipped: {args.inside} is not allowed here")
    sys.exit(77)
command += [*inside, *args.command]


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


def segments():
    """System V segments that nobody uses, and whose maker is gone."""
    with open("/proc/sysvipc/shm") as file:
        rows = [line.split() for line in file][1:]
    return {row[1] for row in rows if row[6] == "0" and not os.path.exists(f"/proc/{row[4]}")}


def witnessed():
    """Whether one of the witnesses that --says names said so, and nobody anything worse."""
    said = " ".join((out + err).split())
    names = args.says.removeprefix("witness:").split(",")
    if re.search(CRASHED, said):
        return False
    if "launcher" in names and not said and process.returncode in SILENT.get(args.mpi, ()):
        return True
    return any(re.search(WITNESSES[name], said) for name in names)


def limit_files():
    if args.file_limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (args.file_limit, args.file_limit))


limit = 60 if args.expect in ("end", "gone") else 150
limit = max(limit // args.runs, 20)
segments_before = segments()
for _ in range(args.runs):
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit_files,
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        for pid in left_behind():
            os.kill(pid, 9)
        out, err = process.communicate()
        sys.exit(f"still running after {limit} s\n{out}\n{err}")
    if process.returncode != 0:
        break

# In one of some 40 runs MPICH 5's launcher does not end the other ranks of a program that one has aborted, without
# Hob too: then the ghost ends them, as it should.
ended_by_ghost = (
    args.expect == "end"
    and args.mpi in ("mpich5", "abi5")
    and process.returncode == 1
    and "ended without MPI_Finalize" in err
)

problems = []
if args.expect == "pass" and (process.returncode != 0 or args.says not in " ".join(out.split())):
    problems.append(f"status {process.returncode}, or it does not say {args.says}")
if args.expect == "pass" and "hob: " in err:
    problems.append("Hob complains about a program that is well")
if args.redirected != "any" and process.returncode == 0:
    with open(report) as file:
        ranks = json.load(file)["ranks"]
    redirected = sum(rank["ghost"]["redirected"] for rank in ranks)
    if (redirected > 0) != (args.redirected == "yes"):
        problems.append(f"{redirected} operations went through ghosts")
if args.noted and process.returncode == 0:
    with open(report) as file:
        notes = json.load(file)["notes"]
    if not any(args.noted in note for note in notes):
        problems.append(f"no note has {args.noted!r}: {notes}")
if args.counts and process.returncode == 0:
    with open(report) as file:
        ranks = json.load(file)["ranks"]
    for name, relation, wanted in (
        re.fullmatch(r"(\w+)([=<>])(\d+)", pair).groups() for pair in args.counts.split(",")
    ):
        found = sum(rank["ghost"][name] for rank in ranks)
        if not RELATIONS[relation](found, int(wanted)):
            problems.append(f"{name}: {found}, not {relation}{wanted}")
if not ended_by_ghost and args.status and str(process.returncode) not in args.status.split(","):
    problems.append(f"status {process.returncode} instead of {args.status}")
if args.expect == "refuse" and process.returncode != 2:
    problems.append(f"status {process.returncode} instead of 2 although it did not start")
if args.expect == "gone" and not (
    witnessed() if args.says.startswith("witness:") else args.says in out + err
):
    problems.append(f"status {process.returncode}; it does not say {args.says}")
if not ended_by_ghost and args.never and args.never in out + err:
    problems.append(f"it says {args.never}")
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
for _ in range(50):
    if not segments() - segments_before:
        break
    time.sleep(0.1)
else:
    problems.append(f"System V segments left behind: {segments() - segments_before}")
if problems:
    sys.exit("\n".join([*problems, " ".join(command), out, err]))
