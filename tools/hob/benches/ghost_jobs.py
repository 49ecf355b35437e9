"""How the drivers progress, redirect, binding and idle-ghost start bench/ghost/ghost_bench: two ranks of
the program (or `users`) on two nodes that MPICH 5 pretends (TCP between them), the origin on core 0, the
target on core 1, and all ghosts with one of them."""

import json
import os
import subprocess

from hob.benchlib import BenchError, build_dir, mpis, program

TWO_NODES = {
    "MPIR_CVAR_NUM_CLIQUES": "2",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "FI_TCP_MAX_SAVED": "1000000",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
ONE_NODE = {**TWO_NODES, "MPIR_CVAR_NUM_CLIQUES": "1"}

# The core on which all are started, and the rank that moves to the other one.
PINS = {"origin": (0, 1), "target": (1, 0)}


def job(
    words,
    ghosts=0,
    nodes=2,
    users=2,
    ghosts_with="origin",
    extra=None,
    cache="off",
    timeout=300,
    casper=None,
):
    """The JSON lines of one run. ghosts: per node; 0 runs without Hob. ghosts_with: whose core the
    ghosts share, "origin" or "target" (core 0 or 1); None: nothing is pinned. casper: that library's
    ghosts in place of Hob's."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("HOB_") and k != "LD_PRELOAD"
    }
    environment |= TWO_NODES if nodes == 2 else ONE_NODE
    environment |= extra or {}
    command = ["taskset", "-c", str(PINS[ghosts_with][0])] if ghosts_with else []
    command += [mpis()["mpich5"]["exec"], "-bind-to", "none", "-n", str(users + ghosts * nodes)]
    if casper:
        environment |= {"CSP_NG": str(ghosts)}
        command += ["env", f"LD_PRELOAD={casper}"]
    elif ghosts:
        environment |= {"HOB_GHOSTS": str(ghosts), "HOB_REPORT": "silent", "HOB_CACHE": cache}
        command += ["env", f"LD_PRELOAD={build_dir()}/lib/libhob_mpich.so"]
    command += [str(program("ghost_bench")), *words]
    if ghosts_with:
        command.append(f"pin={PINS[ghosts_with][1]}")
    try:
        done = subprocess.run(
            command,
            env=environment,
            timeout=timeout,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as late:
        raise BenchError(f"took more than {timeout} s: {' '.join(command)}") from late
    if done.returncode != 0:
        raise BenchError(
            f"exit status {done.returncode} from {' '.join(command)}\n{done.stderr[-2000:]}"
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
