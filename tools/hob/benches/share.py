"""What ranks of one node gain by sharing what they fetched (apps/lcc on two nodes)."""

from hob.appbench import run_app
from hob.benchlib import BenchError, Progress, alternate, median, program, ratio
from hob.benchpicture import View

NAME = "share"
HELP = (
    "apps/lcc with two ranks on each of two nodes, sharing off and on, at shares of the footprint"
)

BUDGETS = (10, 25, 100)
# At the smallest budget: gets given to the MPI library, those to ranks of the same node included.
GETS = 0.5


def _label(row):
    if row["budget_percent"] is None:
        return "without Hob"
    return f"sharing {row['sharing']}, cache of {row['budget_percent']}%"


VIEWS = (
    View("Time per vertex", "us, median", {"us": "time"}, _label, log=False),
    View("Gets given to the MPI library", "gets", {"gets_issued": "issued"}, _label, log=False),
)


def add_arguments(parser):
    parser.add_argument(
        "--scale", type=int, default=12, help="the R-MAT graph has 2^SCALE vertices (default: 12)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    scale, repeats = (9, 1) if args.quick else (args.scale, args.repeats)
    path, words = program("lcc"), ["--rmat", scale, 16]
    first, _ = run_app(path, words, 4, setup="two-nodes")
    footprint = int(first["totals"]["footprint_bytes"])

    def variant(hob):
        return lambda: run_app(path, words, 4, hob, "two-nodes")

    variants = {("native", None): variant(None)}
    for budget in BUDGETS:
        for share in ("off", "on"):
            variants[(share, budget)] = variant(
                {
                    "cache_adapt": "off",
                    "cache_index": max(4096, 4 << scale),
                    "cache_size": max(1024, footprint * budget // 100),
                    "cache_share": share,
                }
            )
    progress = Progress(NAME, repeats * len(variants))
    runs = alternate(variants, repeats, progress)
    progress.done()

    times = {
        key: [own["totals"]["microseconds_per_vertex"] for own, _ in found]
        for key, found in runs.items()
    }
    issued = {}
    for key, found in runs.items():
        if any(own["totals"]["links"] != first["totals"]["links"] for own, _ in found):
            raise BenchError(f"{NAME}: sharing {key[0]} at {key[1]}% gave another answer")

        def count(name, found=found):
            return int(median([counters.get(name, 0) for _, counters in found]))

        issued[key] = count("native_gets") if key[1] else first["totals"]["gets"]
        bench.row(
            sharing=key[0],
            budget_percent=key[1],
            us=median(times[key]),
            gets_issued=issued[key],
            own_hits=count("hits_full"),
            shared_hits=count("shared_hits"),
            shared_inserts=count("shared_inserts"),
        )
    bench.at_most(
        f"sharing, {BUDGETS[0]}%: gets issued",
        issued[("on", BUDGETS[0])] / issued[("off", BUDGETS[0])],
        GETS,
    )
    for budget in BUDGETS:
        bench.at_most(
            f"sharing, {budget}%: time", ratio(times[("on", budget)], times[("off", budget)]), 1
        )
