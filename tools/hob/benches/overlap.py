"""Communication that goes on while the program computes (bench/mpi/overlap.cpp)."""

from hob.benchlib import Progress, alternate, median, plot, program, run_mpi

NAME = "overlap"
HELP = "how much of a large message or collective goes on while the program computes"

# Of the time that the communication takes alone, where it takes more than 200 us.
HIDDEN = 0.80
LEAST_NS = 200_000
# Where no processor is free: total time against native.
TOTAL = 1.02
MIB = 1 << 20
CASES = (
    ("exchange", 64 << 10),
    ("exchange", MIB),
    ("exchange", 8 * MIB),
    ("allreduce", 2 * MIB),
    ("alltoall", 2 * MIB),
    ("accumulate", 8),
)
KEYS = ("alone_ns", "start_ns", "wait_ns", "total_ns", "processor_ns")
VARIANTS = ("native", "library", "hob", "auto")


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument("--only", default="", help="only this communication, e.g. exchange")
    parser.add_argument("--mpi", default="mpich5", help="of which library (default: mpich5)")
    parser.add_argument(
        "--match",
        default="auto",
        help="with Hob, HOB_MATCH: always takes receives into Hob's queue",
    )
    parser.add_argument("--setups", default="remote,node", help="remote (TCP), node, or both")
    parser.add_argument("--compute-us", type=int, default=20_000, help="(default: 20000)")


def hidden(row):
    """The share of the communication that computing hid: 0 where it adds what it takes alone."""
    return 1 - (row["total_ns"] - row["compute_ns"]) / row["alone_ns"]


def run(args, bench):
    repeats = 3 if args.quick else args.repeats
    path = program("overlap", args.mpi)
    # Open MPI has no thread of its own for this.
    variants = [one for one in VARIANTS if one != "library" or not args.mpi.startswith("openmpi")]
    cases = [
        (what, size, how, setup)
        for setup in args.setups.split(",")
        for how in ("sleep", "spin")
        for what, size in CASES
        if args.only in ("", what)
    ]
    progress = Progress(NAME, len(variants) * repeats * len(cases))
    for what, size, how, setup in cases:

        def start(variant, what=what, size=size, how=how, setup=setup):
            words = [f"what={what}", f"bytes={size}", f"how={how}", f"compute_us={args.compute_us}"]
            overlap = {"hob": "on", "auto": "auto"}.get(variant)
            settings = {"overlap": overlap, "match": args.match} if overlap else None
            # The library's own thread.
            more = {"MPIR_CVAR_ASYNC_PROGRESS": "1"} if variant == "library" else None
            return run_mpi(
                path, words, setup=setup, mpi=args.mpi, hob=settings, environment=more
            ).rows[-1]

        found = alternate(
            {variant: lambda v=variant, s=start: s(v) for variant in variants}, repeats, progress
        )
        row = {
            "what": what,
            "bytes": size,
            "how": how,
            "where": "same node" if setup == "node" else "TCP",
        }
        for variant in variants:
            for key in KEYS:
                if key in found[variant][0]:
                    row[f"{variant}_{key}"] = median([one[key] for one in found[variant]])
            row[f"{variant}_added_ns"] = median(
                [one["total_ns"] - one["compute_ns"] for one in found[variant]]
            )
            row[f"{variant}_hidden"] = median([hidden(one) for one in found[variant]])
        bench.row(**row)
        name = f"{what} of {size} bytes, {how}, {row['where']}"
        if what == "accumulate":
            bench.at_most(f"{name}: us to a rank that computes", row["hob_total_ns"] / 1e3, 200)
        elif how == "spin":
            bench.at_most(
                f"{name}: total time against native",
                row["hob_total_ns"] / row["native_total_ns"],
                TOTAL,
            )
        elif row["native_alone_ns"] > LEAST_NS:
            # What is left for the wait after computing, and of what the library takes alone, with what
            # the thread adds to that. The calls that start it count there, which nothing can hide.
            bench.at_least(
                f"{name}: share of the wait hidden",
                1 - row["hob_wait_ns"] / row["native_wait_ns"],
                HIDDEN,
            )
            bench.at_least(
                f"{name}: share hidden", 1 - row["hob_added_ns"] / row["native_alone_ns"], HIDDEN
            )
    progress.done()


def draw(result, path):
    def figure(pyplot):
        rows = [row for row in result["rows"] if row["what"] != "accumulate"]
        names = [
            f"{row['what']} {row['bytes'] >> 10} KiB, {row['how']}, {row['where']}" for row in rows
        ]
        for variant, marker in zip(VARIANTS, "os^v"):
            if f"{variant}_added_ns" not in rows[0]:
                continue
            pyplot.plot(
                [row[f"{variant}_added_ns"] / 1e3 for row in rows], names, marker, label=variant
            )
        pyplot.xlabel("us on top of the computation")
        pyplot.title("Communication beside computing")
        pyplot.figlegend(loc="outside right upper")

    plot(path, figure)
