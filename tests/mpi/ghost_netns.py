"""Runs programs with ghosts on two real nodes: network namespaces of this machine, joined by a bridge, which
MPICH's launcher takes for two hosts (shared memory inside each, TCP between them). Needs root.

    ghost_netns.py --exec MPIEXEC --library LIBHOB --users 2 --ghosts 1 -- PROGRAM [ARG...] [-- PROGRAM...]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from hob.namespaces import Namespaces, NoNamespaces  # noqa: E402

SKIP = 77

parser = argparse.ArgumentParser()
parser.add_argument("--exec")
parser.add_argument("--library")
parser.add_argument("--users", type=int, help="ranks of the program on each node")
parser.add_argument("--ghosts", type=int, help="on each node")
parser.add_argument("programs", nargs=argparse.REMAINDER)
args = parser.parse_args()


def run(nodes, folder, command):
    """What is wrong with it; empty if nothing."""
    report = f"{folder}/report.json"
    settings = {
        "LD_PRELOAD": args.library,
        "HOB_GHOSTS": args.ghosts,
        "HOB_REPORT": "silent",
        "HOB_JSON": report,
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "FI_PROVIDER": "tcp",
        "FI_TCP_MAX_SAVED": 1000000,
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": 1,
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": 1,
    }
    count = len(nodes.hosts)
    processes = count * (args.users + args.ghosts)
    launch = [args.exec, *nodes.launch(processes), "-n", str(processes)]
    for key, value in settings.items():
        launch += ["-genv", key, str(value)]
    try:
        done = subprocess.run(launch + command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "did not end within 120 s"
    if done.returncode != 0 or "No Errors" not in done.stdout:
        return f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    with open(report) as file:
        ranks = json.load(file)["ranks"]
    told = {rank["ghost"]["node"] for rank in ranks}
    redirected = sum(rank["ghost"]["redirected"] for rank in ranks)
    if len(ranks) != count * args.users or len(told) != count:
        return f"{len(ranks)} ranks on {len(told)} nodes"
    if redirected == 0 and not command[0].endswith("world"):
        return "no operation was redirected"
    return ""


def main():
    programs, current = [], []
    for word in [*args.programs[1:], "--"]:
        if word == "--":
            programs.append(current)
            current = []
        else:
            current.append(word)
    try:
        with tempfile.TemporaryDirectory() as folder, Namespaces(folder) as nodes:
            bad = {
                " ".join(each): problem
                for each in programs
                if (problem := run(nodes, folder, each))
            }
    except NoNamespaces as reason:
        print(f"SKIP: {reason}")
        return SKIP
    for program, problem in bad.items():
        print(f"{program}: {problem}")
    return 1 if bad else 0


sys.exit(main())
