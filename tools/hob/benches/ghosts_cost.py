"""Small programs with ghosts, without, and without Hob (bench/mpi/rma_ghosts.cpp)."""

import os

from hob.benches.ghost_jobs import COMPLETE_FLUSHES, job
from hob.benchlib import BenchError, Progress, alternate, build_dir, median, ratio
from hob.benchpicture import View

NAME = "ghosts-cost"
HELP = "programs that ghosts cannot help, or could: what ghosts cost where targets wait or compute"

# Speed with ghosts against Hob without them: where a core is free for the ghosts, and where all
# processes share the cores that the ranks would have for themselves.
LIMITS = {"free": 0.95, "shared": 0.9}
PROGRAMS = ("reuse", "flags", "counters", "patches", "messages")
COMPUTE_US = 200
# Looks that give the core away when they find nothing, for where ranks share a core; the library's
# defaults where each has its own.
OWN_CORES = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "0",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "4096",
}
# What is between the two nodes. direct: a network that does puts and gets without the target's
# processor, as RDMA adapters do: here the kernel does, for UCX.
NETWORKS = {
    "tcp": {},
    "direct": {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "cma,sysv,self"},
}
VIEWS = (
    View(
        "Programs with ghosts and without",
        "speed against Hob without ghosts",
        {
            "against_hob": "with ghosts",
            "native_against_hob": "without Hob",
            "complete_against_hob": "without Hob, flushes that wait for the target",
        },
        lambda row: (
            f"{row['program']}, targets {row['targets']}, cores {row['cores']}, {row['network']}"
        ),
    ),
)


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=7, help="runs of each (default: 7)")
    parser.add_argument("--only", default="", help="only this program, e.g. reuse")
    parser.add_argument("--cores", default="", help="only free, or shared")
    parser.add_argument(
        "--network",
        default="tcp",
        choices=sorted(NETWORKS),
        help="between the nodes. direct: one that does puts and gets without their target's "
        "processor (default: tcp)",
    )


def placements():
    """{name: (cores that all processes start on, cores of the ranks or none, variables, preloaded)}."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise BenchError("ghosts need a core of their own for this: there is one only")
    shared = (usable[:2], [], OWN_CORES, ())
    if len(usable) < 4:
        # The ranks on one core, where they have to give way to one another, the ghosts on the other.
        gives_way = build_dir() / "lib" / "libhob_bench_polite.so"
        return {"free": (usable[1:2], usable[:1], {}, (gives_way,)), "shared": shared}
    return {"free": (usable[2:], usable[:2], OWN_CORES, ()), "shared": shared}


def run(args, bench):
    repeats = 1 if args.quick else args.repeats
    programs = [name for name in PROGRAMS if args.only in ("", name)]
    places = {name: how for name, how in placements().items() if args.cores in ("", name)}
    cases = [
        (name, compute, cores)
        for cores in places
        for name in programs
        for compute in (0, COMPUTE_US)
    ]
    progress = Progress(NAME, (4 if args.network == "tcp" else 3) * repeats * len(cases))
    for name, compute, cores in cases:
        started_on, ranks_on, variables, preloaded = places[cores]
        words = [f"what={name}", f"compute={compute}"]
        words += ["settle=20", "steps=20"] if args.quick else []
        if ranks_on:
            words.append("cores=" + ",".join(map(str, ranks_on)))

        placed = {
            "started_on": started_on,
            "extra": {**NETWORKS[args.network], **variables},
            "preloaded": preloaded,
        }

        def start(ghosts=0, hob=None, more=None, words=words, placed=placed):
            placed = {**placed, "extra": {**placed["extra"], **(more or {})}}
            return job(words, ghosts=ghosts, hob=hob, name="rma_ghosts", **placed)[-1]["ns"]

        variants = {
            "native": start,
            "hob": lambda: start(hob={}),
            "ghosts": lambda: start(ghosts=1, hob={}),
        }
        if args.network == "tcp":  # flushes of others wait for the target anyway
            variants["complete"] = lambda: start(more=COMPLETE_FLUSHES)
        found = alternate(variants, repeats, progress)
        speed = ratio(found["hob"], found["ghosts"])
        targets = "compute" if compute else "wait"
        bench.row(
            program=name,
            targets=targets,
            cores=cores,
            network=args.network,
            **{f"{variant}_us": median(times) / 1e3 for variant, times in found.items()},
            against_hob=speed,
            native_against_hob=ratio(found["hob"], found["native"]),
            complete_against_hob=ratio(found["hob"], found.get("complete", found["native"])),
            against_native=ratio(found["native"], found["ghosts"]),
        )
        bench.at_least(
            f"{name}, targets {targets}, cores {cores}: speed with ghosts against Hob without",
            speed,
            LIMITS[cores],
        )
    progress.done()
