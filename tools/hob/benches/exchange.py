"""A halo exchange that finds its receives behind many others (apps/fds-proxy; matching, Fig. 10)."""

from hob.appbench import run_app
from hob.benchlib import BenchError, Progress, alternate, median, program, ratio
from hob.benchpicture import View

NAME = "exchange"
HELP = "apps/fds-proxy: the time of a message by the receives posted ahead, native and in each mode"

VIEWS = (
    View(
        "A message of an exchange",
        "us, median",
        {"native_us": "native", "auto_us": "auto", "always_us": "always"},
        lambda row: f"{row['posted']:,} receives posted, {row['completion']}",
    ),
)

# All at once, and one after the other as they come; from persistent receives, as FDS has them, and others.
COMPLETIONS = (("waitall", "persistent"), ("waitany", "nonblocking"), ("testany", "persistent"))
# Receives that Hob has in its own queue, since so many are posted.
DEEP = 1024


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    depths = (16, 1024) if args.quick else (16, 256, 1024, 4096)
    repeats = 1 if args.quick else args.repeats
    path = program("fds-proxy")
    kinds = [(depth, *how) for how in COMPLETIONS for depth in depths]
    progress = Progress(NAME, 3 * repeats * len(kinds))
    for depth, completion, receives in kinds:
        words = ["--depth", depth, "--completion", completion, "--receives", receives]
        variants = {
            mode: lambda hob=hob, words=words: run_app(path, words, 2, hob, "node")
            for mode, hob in (
                ("native", None),
                ("auto", {}),
                ("always", {"match": "always"}),
            )
        }
        runs = alternate(variants, repeats, progress)
        if any(own["totals"].get("wrong_words") for found in runs.values() for own, _ in found):
            raise BenchError(f"{NAME}: wrong words arrived at a depth of {depth}, {completion}")
        times = {
            mode: [own["totals"]["microseconds_per_message"] for own, _ in found]
            for mode, found in runs.items()
        }
        bench.row(
            posted=depth,
            completion=completion,
            **{f"{mode}_us": median(found) for mode, found in times.items()},
            speedup=ratio(times["native"], times["auto"]),
        )
        if completion != "waitall" and depth >= DEEP:
            bench.at_most(
                f"{completion}, {depth} receives: auto / native",
                ratio(times["auto"], times["native"]),
                1,
            )
    progress.done()
