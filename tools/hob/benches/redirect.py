"""What redirection costs where there is nothing to gain (bench/ghost)."""

from hob.benches.ghost_jobs import COMPLETE_FLUSHES, job
from hob.benchlib import Progress, median, ratio
from hob.benchpicture import View

NAME = "redirect"
HELP = (
    "operations to an attentive target, allocation, self-lock, fence, PSCW with ghosts (Figs. 3, 5)"
)

# A ghost belongs to its target's node: the core that it shares is the target's, where `target_core` has
# it. With two cores for two nodes it may as well be the origin's, which costs two switches between
# processes on the way. MPICH 5's own flush returns before a
# small put has arrived (docs/ghosts.md), so the native times are those with its remedy,
# MPIR_CVAR_CH4_OFI_ENABLE_RMA=0; the others stand beside them as `native_fast`.
LIMITS = {
    "put": 1.35,
    "get": 1.35,
    "accumulate": 1.35,
    "get_accumulate": 1.35,
    "strided_put": 1.35,
    "win_allocate": 2.5,
    "self_lock": 3,
    "fence 128": 1.1,
    "pscw 128": 1.1,
}
SAME_NODE = ("put", "get")
OPERATIONS = ("put", "get", "accumulate", "get_accumulate", "strided_put")
VIEWS = (
    View(
        "Calls with ghosts and without",
        "us, median",
        {
            "native_us": "native",
            "native_fast_us": "native, as MPICH is",
            "ghost_us": "ghost on the origin's core",
            "target_core_us": "ghost on the target's core",
            "own_core_us": "ghost on its own core",
            "with_cache_us": "ghost and cache",
        },
        lambda row: f"{row['call']}, {row['where']}",
    ),
)


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=9, help="runs of each variant (default: 9)")


def run(args, bench):
    repeats = 1 if args.quick else args.repeats
    variants = {}
    for what in ("operations", "calls"):
        words = [f"what={what}", f"rounds={11 if args.quick else 31}"]
        variants["native", what] = lambda words=words: job(words, extra=COMPLETE_FLUSHES)
        variants["native_fast", what] = lambda words=words: job(words)
        variants["ghost", what] = lambda words=words: job(words, ghosts=1)
    words = ["what=calls", f"rounds={11 if args.quick else 31}"]
    variants["cache", "calls"] = lambda words=words: job(words, ghosts=1, cache="auto")
    words = ["what=operations", f"rounds={11 if args.quick else 31}"]
    variants["native", "node"] = lambda: job(words, nodes=1)
    variants["ghost", "node"] = lambda: job(words, ghosts=1, nodes=1)
    variants["target_core", "operations"] = lambda: job(words, ghosts=1, ghosts_with="target")
    # The target sleeps, so that its ghost has core 1 for itself.
    variants["own_core", "operations"] = lambda: job(
        [*words, "quiet=1"], ghosts=1, ghosts_with=None
    )
    progress = Progress(NAME, repeats * len(variants))
    found = {}
    for _ in range(repeats):
        for (who, what), start in variants.items():
            for row in start():
                where = "same node" if what == "node" else "two nodes"
                found.setdefault((where, row["name"]), {}).setdefault(who, []).append(row["us"])
            progress.tick(f"{who} {what}")
    progress.done()

    for (where, name), times in found.items():

        def times_native(who, times=times):
            return ratio(times[who], times["native"]) if who in times else None

        def us(who, times=times):
            return median(times[who]) if who in times else None

        bench.row(
            where=where,
            call=name,
            native_us=us("native"),
            native_fast_us=us("native_fast"),
            ghost_us=us("ghost"),
            ratio=times_native("ghost"),
            with_cache_us=us("cache"),
            target_core_us=us("target_core"),
            target_core_ratio=times_native("target_core"),
            own_core_us=us("own_core"),
            own_core_ratio=times_native("own_core"),
        )
        if "cache" in times and name == "win_allocate":
            bench.at_most(
                "win_allocate with the cache, too: times native",
                times_native("cache"),
                LIMITS[name],
            )
        if "own_core" in times and name in OPERATIONS:
            bench.at_most(
                f"{name}, the ghost on a core of its own: times native",
                times_native("own_core"),
                1.05,
            )
            bench.at_most(
                f"{name}, the ghost shares the target's core: times native",
                times_native("target_core"),
                LIMITS[name],
            )
        if where == "two nodes" and name in LIMITS:
            bench.at_most(
                f"{name}, ghosts share the origin's core: times native",
                times_native("ghost"),
                LIMITS[name],
            )
        if where == "same node" and name in SAME_NODE:
            bench.at_most(f"same-node {name}: us beyond native", us("ghost") - us("native"), 0.05)
