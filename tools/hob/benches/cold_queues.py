"""Messages behind many posted receives, with cold caches, by how Hob keeps its queue (bench/mpi/match_mpi.cpp)."""

from hob.benchlib import Progress, alternate, median, program, ratio, run_mpi
from hob.benchpicture import View

NAME = "cold-queues"
HELP = "messages to receives behind others, caches cleared before, by structure of Hob's queue (Figs. 4, 5)"

# The arrays of the papers' linked lists, in entries, and what they are compared with.
ARRAYS = (2, 4, 8, 16, 32, 64)
STRATEGIES = ("list", *(f"lla-{entries}" for entries in ARRAYS), "flat")
DEPTHS, SIZES = (64, 1024, 4096), (1, 4096)
SWEEP_MB = 64  # walked through before each burst: more than a core's share of the last cache
VIEWS = (
    View(
        "A message of a burst, caches cleared",
        "us, median",
        {"native": "MPI library", **{name: name for name in STRATEGIES}},
        lambda row: f"{row['depth']:,} receives before, {row['bytes']:,} B",
    ),
)


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    depths, sizes = (DEPTHS[:2], SIZES[:1]) if args.quick else (DEPTHS, SIZES)
    repeats = 1 if args.quick else args.repeats
    words = ["--what", "rate", "--clear", SWEEP_MB, "--pin"]
    words += ["--seconds", 0.1 if args.quick else 0.2]
    for option, values in (("--depth", depths), ("--bytes", sizes)):
        for value in values:
            words += [option, value]

    def job(strategy=None):
        hob = {"match": "always", "match_strategy": strategy} if strategy else None
        return lambda: run_mpi(program("match_mpi"), words, setup="node", hob=hob).rows

    variants = {"native": job(), **{name: job(name) for name in STRATEGIES}}
    progress = Progress(NAME, repeats * len(variants))
    times = {}
    for name, runs in alternate(variants, repeats, progress).items():
        for row in (row for rows in runs for row in rows):
            cell = times.setdefault((row["depth"], row["bytes"]), {})
            cell.setdefault(name, []).append(row["us"])
    progress.done()
    for (depth, size), of in times.items():
        bench.row(
            depth=depth,
            bytes=size,
            **{name: median(of[name]) for name in variants},
            arrays_x=max(ratio(of["list"], of[f"lla-{entries}"]) for entries in ARRAYS),
            flat_x=ratio(of["list"], of["flat"]),
        )
