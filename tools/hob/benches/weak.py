"""Clustering coefficients with as many vertices for each rank (paper, Figs. 17 and 18)."""

from hob.appbench import run_app, trips
from hob.benchlib import BenchError, Progress, alternate, median, program, ratio
from hob.benchpicture import View

NAME = "weak"
HELP = "weak scaling of apps/lcc: the time per vertex with ever more ranks, native and by default"

VIEWS = (
    View(
        "Time per vertex",
        "us, median",
        {"native_us": "native", "us": "default"},
        lambda row: f"{row['ranks']} ranks",
    ),
)


def add_arguments(parser):
    parser.add_argument("--ranks", default="2,4,8", help="(default: 2,4,8)")
    parser.add_argument(
        "--scale", type=int, default=11, help="2^SCALE vertices for each rank (default: 11)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    try:
        counts = [2, 4] if args.quick else [int(word) for word in args.ranks.split(",")]
    except ValueError as fault:
        raise BenchError(f"--ranks {args.ranks}: numbers of ranks, separated by commas") from fault
    scale, repeats = (8, 1) if args.quick else (args.scale, args.repeats)
    path = program("lcc")
    progress = Progress(NAME, 2 * repeats * len(counts))
    for ranks in counts:
        # Each doubling of the ranks doubles the graph.
        words = ["--rmat", scale + (ranks - 1).bit_length(), 16]
        variants = {
            "native": lambda words=words, ranks=ranks: run_app(path, words, ranks),
            "default": lambda words=words, ranks=ranks: run_app(path, words, ranks, {}),
        }
        runs = alternate(variants, repeats, progress)
        times = {
            name: [own["totals"]["microseconds_per_vertex"] for own, _ in found]
            for name, found in runs.items()
        }
        links = {own["totals"]["links"] for found in runs.values() for own, _ in found}
        if len(links) != 1:
            raise BenchError(f"{NAME}: {ranks} ranks gave another answer with Hob")
        bench.row(
            ranks=ranks,
            native_us=median(times["native"]),
            us=median(times["default"]),
            speedup=ratio(times["native"], times["default"]),
            trips=median([trips(counters) for _, counters in runs["default"]]),
        )
    progress.done()
