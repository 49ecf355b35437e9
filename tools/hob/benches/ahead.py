"""Remote memory that is read once (bench/mpi/once_bench.cpp): what fetching ahead gains."""

from hob.benchlib import Progress, duel, median, program, ratio
from hob.benchpicture import View

NAME = "ahead"
HELP = "64 B gets of which none is repeated: in order, strided, rows, at random, a list"

# (what, further words, times faster than native at least; None: no slower)
CASES = (
    ("order", ("mib=2",), 20),
    ("stride", ("mib=4",), None),
    ("rows", ("mib=2",), 5),
    ("tenth", ("mib=8",), None),
    ("scattered", ("count=10000",), None),
    ("chase", ("mib=1",), None),
)
# Where nothing is to be gained: time and bytes against the native program.
SLOWER, MORE_BYTES = 1.03, 1.1
# The cache alone, for comparison.
OFF = {"readahead": "off"}
VIEWS = (
    View(
        "Gets of 64 B, none repeated",
        "ns per get, median",
        {"native_ns": "native", "off_ns": "readahead off", "hob_ns": "Hob"},
        lambda row: row["program"],
    ),
)


def add_arguments(parser):
    parser.add_argument(
        "--batches", type=int, default=9, help="batches of each variant, in turn (default: 9)"
    )
    parser.add_argument("--only", default="", help="only this program, e.g. order")


def run(args, bench):
    batches = 2 if args.quick else args.batches
    path = program("once_bench")
    cases = [case for case in CASES if args.only in ("", case[0])]
    progress = Progress(NAME, (batches + 1) * len(cases))
    for what, more, faster in cases:
        job = {"path": path, "args": [f"what={what}", *more]}
        variants = {"native": job, "hob": {**job, "hob": {}}, "off": {**job, "hob": OFF}}
        lines, results = duel(variants, batches, progress, discard=1)
        times = {name: [line["ns"] for line in lines[name]] for name in lines}
        counters = results["hob"].counters()
        gets = counters["gets"]
        asked = gets * 64
        fetched = counters["bytes_from_network"] + counters["ahead_bytes"]
        bench.row(
            program=what,
            gets=int(lines["native"][0]["gets"]),
            native_ns=median(times["native"]),
            off_ns=median(times["off"]),
            hob_ns=median(times["hob"]),
            speedup=ratio(times["native"], times["hob"]),
            trips=1 - (counters["hits_full"] + counters["hits_pending"]) / gets,
            bytes=fetched / asked,
        )
        if faster:
            bench.at_least(
                f"{what}: times faster than native", ratio(times["native"], times["hob"]), faster
            )
        else:
            bench.at_most(
                f"{what}: time against native", ratio(times["hob"], times["native"]), SLOWER
            )
        if what == "scattered":
            bench.at_most(f"{what}: bytes against native", fetched / asked, MORE_BYTES)
    progress.done()
