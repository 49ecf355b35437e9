"""Programs that a cache cannot help, with and without Hob (bench/mpi/rma_harm.cpp)."""

from hob.benchlib import Progress, duel, median, plot, program, ratio

NAME = "harm"
HELP = "programs with nothing to gain: same-node gets, no reuse, put and accumulate, ping-pong"

LIMIT = 1.05
# (what, set-up, bytes, operations a batch (a few milliseconds), further words)
CASES = (
    ("gets", "node", 8, 50000, ()),
    ("gets", "node", 4096, 20000, ()),
    ("gets", "node", 65536, 2000, ()),
    ("gets", "node", 8, 4000, ("window=create",)),
    ("stream", "node", 8, 20000, ()),
    ("stream", "node", 4096, 5000, ()),
    ("stream", "remote", 8, 500, ()),
    ("stream", "remote", 4096, 500, ()),
    ("stream", "remote", 65536, 300, ()),
    ("put", "node", 8, 50000, ()),
    ("put", "remote", 8, 500, ()),
    ("put", "remote", 4096, 500, ()),
    ("accumulate", "node", 8, 10000, ()),
    ("accumulate", "remote", 8, 300, ()),
    ("pingpong", "node", 8, 2000, ()),
    ("pingpong", "node", 65536, 200, ()),
    ("pingpong", "remote", 8, 500, ()),
    ("pingpong", "remote", 65536, 200, ()),
    ("exchange", "node", 8, 2000, ()),
    ("exchange", "remote", 8, 500, ()),
)


def add_arguments(parser):
    parser.add_argument(
        "--starts", type=int, default=9, help="how often each program is started (default: 9)"
    )
    parser.add_argument("--only", default="", help="only this program, e.g. gets")
    parser.add_argument(
        "--overlap",
        choices=("off", "auto", "on"),
        default="off",
        help="Hob's setting overlap: its thread, which has nothing to advance here (default: off)",
    )


def run(args, bench):
    # Several starts: where a process happens to lie in memory can double its cost for good.
    starts, batches = (3, 5) if args.quick else (args.starts, 15)
    path = program("rma_harm")
    cases = [case for case in CASES if args.only in ("", case[0])]
    progress = Progress(NAME, starts * (batches + 2) * len(cases))
    for what, setup, size, count, more in cases:
        words = [f"what={what}", f"size={size}", f"count={count}", *more]
        job = {"path": path, "args": words, "setup": setup}
        native, with_hob = [], []
        for start in range(starts):
            pair = {"native": job, "hob": {**job, "hob": {"overlap": args.overlap}}}
            if start % 2:
                pair = dict(reversed(pair.items()))
            lines, _ = duel(pair, batches, progress)
            native += [line["ns"] for line in lines["native"]]
            with_hob += [line["ns"] for line in lines["hob"]]
        name = " ".join([what, *more])
        where = "same node" if setup == "node" else "TCP"
        slowdown = ratio(with_hob, native)
        bench.row(
            program=name,
            where=where,
            bytes=size,
            native_ns=median(native),
            hob_ns=median(with_hob),
            ratio=slowdown,
        )
        bench.at_most(f"{name}, {where}, {size} B: time against native", slowdown, LIMIT)
    progress.done()


def draw(result, path):
    def figure(pyplot):
        rows = result["rows"]
        names = [f"{row['program']}, {row['where']}, {row['bytes']} B" for row in rows]
        pyplot.barh(names, [row["ratio"] for row in rows])
        pyplot.axvline(1.0, color="black")
        pyplot.axvline(LIMIT, color="red", linestyle=":", label=f"limit: {LIMIT}")
        pyplot.gca().invert_yaxis()
        pyplot.xlabel("time with Hob / without")
        pyplot.title("Programs with nothing to gain")
        pyplot.figlegend(loc="outside right upper")

    plot(path, figure)
