"""How the drivers progress, redirect, binding, idle-ghost and ghosts-cost start a program, most of them
bench/ghost/ghost_bench: two ranks of the program (or `users`) on two nodes that MPICH 5 pretends (TCP
between them), the origin on core 0, the target on core 1, and all ghosts with one of them."""

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
# Over libfabric's tcp, MPICH returns from a flush before short puts are at the target. By active
# messages it waits for the target's answer, as a flush has to, and as a ghost's does.
COMPLETE_FLUSHES = {"MPIR_CVAR_CH4_OFI_ENABLE_RMA": "0"}
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
    hob=None,
    started_on=None,
    name="ghost_bench",
    preloaded=(),
):
    """The JSON lines of one run. ghosts: per node; 0 runs without Hob, unless `hob` has settings (those
    that are left out of it are the defaults). ghosts_with: whose core the ghosts share, "origin" or
    "target" (core 0 or 1); None: nothing is pinned. started_on: in place of it, the cores that all
    processes start on. preloaded: libraries behind Hob's. casper: that library's ghosts in place of Hob's."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("HOB_") and k != "LD_PRELOAD"
    }
    environment |= TWO_NODES if nodes == 2 else ONE_NODE
    environment |= extra or {}
    if started_on:
        ghosts_with = None
        command = ["taskset", "-c", ",".join(map(str, started_on))]
    else:
        command = ["taskset", "-c", str(PINS[ghosts_with][0])] if ghosts_with else []
    command += [mpis()["mpich5"]["exec"], "-bind-to", "none", "-n", str(users + ghosts * nodes)]
    preloaded = [str(library) for library in preloaded]
    if casper:
        environment |= {"CSP_NG": str(ghosts)}
        preloaded = [str(casper), *preloaded]
    elif ghosts or hob is not None:
        settings = {
            "ghosts": ghosts,
            "report": "silent",
            **({"cache": cache} if hob is None else hob),
        }
        environment |= {f"HOB_{key.upper()}": str(value) for key, value in settings.items()}
        preloaded = [f"{build_dir()}/lib/libhob_mpich.so", *preloaded]
    if preloaded:
        command += ["env", "LD_PRELOAD=" + ":".join(preloaded)]
    command += [str(program(name)), *words]
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
