"""What redirection costs where there is nothing to gain (bench/ghost)."""

from hob.benches.ghost_jobs import job
from hob.benchlib import Bench, Progress, median

NAME = "redirect"
HELP = (
    "operations to an attentive target, allocation, self-lock, fence, PSCW with ghosts (Figs. 3, 5)"
)

# The ghosts share the origin's core here: this machine has two. MPICH 5's own flush returns before a
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
REMEDY = {"MPIR_CVAR_CH4_OFI_ENABLE_RMA": "0"}


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args):
    repeats = 1 if args.quick else args.repeats
    variants = {}
    for what in ("operations", "calls"):
        words = [f"what={what}", f"rounds={11 if args.quick else 31}"]
        variants["native", what] = lambda words=words: job(words, extra=REMEDY)
        variants["native_fast", what] = lambda words=words: job(words)
        variants["ghost", what] = lambda words=words: job(words, ghosts=1)
    words = ["what=calls", f"rounds={11 if args.quick else 31}"]
    variants["cache", "calls"] = lambda words=words: job(words, ghosts=1, cache="auto")
    words = ["what=operations", f"rounds={11 if args.quick else 31}"]
    variants["native", "node"] = lambda: job(words, nodes=1)
    variants["ghost", "node"] = lambda: job(words, ghosts=1, nodes=1)
    # The target sleeps, so that its ghost has core 1 for itself.
    variants["own_core", "operations"] = lambda: job([*words, "quiet=1"], ghosts=1, own_core=True)
    progress = Progress(NAME, repeats * len(variants))
    found = {}
    for _ in range(repeats):
        for (who, what), start in variants.items():
            for row in start():
                where = "same node" if what == "node" else "two nodes"
                found.setdefault((where, row["name"]), {}).setdefault(who, []).append(row["us"])
            progress.tick(f"{who} {what}")
    progress.done()

    bench = Bench()
    for (where, name), times in found.items():
        native, ghost = median(times["native"]), median(times["ghost"])
        fast = median(times["native_fast"]) if "native_fast" in times else None
        bench.row(
            where=where,
            call=name,
            native_us=native,
            native_fast_us=fast,
            ghost_us=ghost,
            ratio=ghost / native,
            with_cache_us=median(times["cache"]) if "cache" in times else None,
            own_core_us=median(times["own_core"]) if "own_core" in times else None,
        )
        if "cache" in times and name == "win_allocate":
            bench.at_most(
                "win_allocate with the cache, too: times native",
                median(times["cache"]) / native,
                LIMITS[name],
            )
        if "own_core" in times and name in OPERATIONS:
            bench.at_most(
                f"{name}, the ghost on a core of its own: times native",
                median(times["own_core"]) / native,
                1.05,
            )
        if where == "two nodes" and name in LIMITS:
            bench.at_most(
                f"{name}, ghosts share the origin's core: times native",
                ghost / native,
                LIMITS[name],
            )
        if where == "same node" and name in SAME_NODE:
            bench.at_most(f"same-node {name}: us beyond native", ghost - native, 0.05)
    return bench.result()
