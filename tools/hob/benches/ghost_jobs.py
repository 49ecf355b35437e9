"""How the drivers progress, redirect, binding and idle-ghost start bench/ghost/ghost_bench: two ranks of
the program (or `users`) on two nodes that MPICH 5 pretends (TCP between them), the target alone on core
1, the origin and all ghosts on core 0."""

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


def job(words, ghosts=0, nodes=2, users=2, own_core=False, extra=None, cache="off", timeout=300):
    """The JSON lines of one run. ghosts: per node; 0 runs without Hob. own_core: nothing is pinned."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("HOB_") and k != "LD_PRELOAD"
    }
    environment |= TWO_NODES if nodes == 2 else ONE_NODE
    environment |= extra or {}
    command = [] if own_core else ["taskset", "-c", "0"]
    command += [mpis()["mpich5"]["exec"], "-bind-to", "none", "-n", str(users + ghosts * nodes)]
    if ghosts:
        environment |= {"HOB_GHOSTS": str(ghosts), "HOB_REPORT": "silent", "HOB_CACHE": cache}
        command += ["env", f"LD_PRELOAD={build_dir()}/lib/libhob_mpich.so"]
    command += [str(program("ghost_bench")), *words]
    if not own_core:
        command.append("pin=1")
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
