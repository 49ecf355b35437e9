"""NWChem's coupled cluster on two nodes, by what serves its one-sided operations (Debian's nwchem-mpich)."""

import re
import shutil
import statistics

from hob.benchlib import BenchError, Progress, alternate, median, run_mpi
from hob.benchpicture import View
from hob.real.ghosts import CCSDT, ENERGIES, GHOST_MEMORY, TCE, TCE_ENERGIES

NAME = "nwchem"
HELP = (
    "NWChem's CCSD(T) on two network namespaces: native, ghosts, MPI's progress threads on the ranks' cores or on cores of "
    "their own (Fig. 8, Table I)"
)

EXECUTABLE = "nwchem.mpich"
# Progress threads that spin on the cores of their ranks may take many times the native time.
LONGEST_S = 120
THREAD = {"MPIR_CVAR_ASYNC_PROGRESS": "1"}
# name: nodes, ranks, ghosts for each node, more variables. One rank leaves a core to its thread.
DEPLOYMENTS = {
    "native": (2, 2, 0, {}),
    "ghosts": (2, 2, 1, {}),
    "threads, oversubscribed": (2, 2, 0, THREAD),
    "threads, dedicated": (1, 1, 0, THREAD),
}
# name: input, its energies, and what it says of its parts in seconds: the median of the first groups.
TASKS = {
    "ccsd(t)": (CCSDT, ENERGIES, {}),
    "tce": (
        TCE,
        TCE_ENERGIES,
        {
            "iteration_s": r"^ +\d+ +\d\.\d+ +-\d\.\d+ +[0-9.]+ +([0-9.]+) *$",
            "triples_s": r"CCSD\(T\) total energy.*\n *Cpu & wall time / sec +[0-9.]+ +([0-9.]+)",
        },
    ),
}
VIEWS = (
    View(
        "NWChem, coupled cluster of water",
        "s, median",
        {"seconds": "the job"},
        lambda row: f"{row['task']}, {row['deployment']}",
    ),
)


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each (default: 3)")


def _job(path, task, deployment):
    """({column: seconds}, energies) of one run."""
    text, energies, parts = TASKS[task]
    nodes, ranks, ghosts, more = DEPLOYMENTS[deployment]
    done = run_mpi(
        path,
        ["water.nw"],
        ranks=ranks + nodes * ghosts,
        setup="namespaces-ucx",
        hob={"ghosts": ghosts} if ghosts else None,
        mpi="mpich4",
        environment={**GHOST_MEMORY, **more},
        inputs={"water.nw": text},
        nodes=nodes,
        timeout=LONGEST_S,
    )
    found = re.findall(energies, done.output)
    if not found:
        raise BenchError(f"NWChem, {task}, {deployment}: no energies in what it said")
    times = {"seconds": done.seconds}
    for name, pattern in parts.items():
        said = [float(one) for one in re.findall(pattern, done.output, re.MULTILINE)]
        if said:
            times[name] = statistics.median(said)
    return times, found


def _with_threads(path, task, deployment):
    """_job, or None where it does not end."""
    try:
        return _job(path, task, deployment)
    except BenchError:
        return None


def _rows(task, found, bench):
    native, energies = found["native"][0]
    for name, runs in found.items():
        nodes, ranks, ghosts, more = DEPLOYMENTS[name]
        cells = {
            "task": task,
            "deployment": name,
            "computing_cores": ranks,
            "ghosts": nodes * ghosts,
            "threads": ranks if more else 0,
        }
        both = [(a, b) for a, b in zip(found["native"], runs) if b is not None]
        if any(of != energies for _, (_, of) in both):
            raise BenchError(f"NWChem, {task}, {name}: other energies than natively")
        if both:
            cells |= {part: median([times[part] for _, (times, _) in both]) for part in native}
            cells["times_faster"] = median([a[0]["seconds"] / b[0]["seconds"] for a, b in both])
        bench.row(**cells)


def run(args, bench):
    path = shutil.which(EXECUTABLE)
    if not path:
        raise BenchError(f"{EXECUTABLE} is not installed (Debian's nwchem-mpich)")
    repeats = 1 if args.quick else args.repeats
    tasks = ["tce"] if args.quick else list(TASKS)
    progress = Progress(NAME, repeats * len(tasks) * len(DEPLOYMENTS))
    for task in tasks:
        variants = {}
        for name, (_, _, _, more) in DEPLOYMENTS.items():
            job = _with_threads if more else _job
            variants[name] = lambda job=job, name=name, task=task: job(path, task, name)
        _rows(task, alternate(variants, repeats, progress), bench)
    progress.done()
