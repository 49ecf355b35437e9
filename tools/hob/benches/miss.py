"""Added cost of a get that the cache does not have (bench/mpi/rma_miss.cpp)."""

from hob.benchlib import Progress, duel, median, plot, program, quantile, ratio

NAME = "miss"
HELP = "added cost of a miss by access type, median and p99, against the native remote get"

SIZES = (8, 512, 4096, 16384, 65536)
# Largest added share of the native get, by size up to which it holds.
MEDIAN_LIMITS = ((4096, 1.03), (65536, 1.10))
P99_LIMIT = 2.0
FIXED = {"cache_adapt": "off"}


def settings_for(kind, size):
    """Settings that make (nearly) every get of rma_miss an access of this kind."""
    line = max(64, (size + 63) // 64 * 64)
    if kind == "direct":
        return {**FIXED, "cache_size": "256M", "cache_index": 65536}
    if kind == "conflicting":
        return {**FIXED, "cache_size": "256M", "cache_index": 32}
    if kind == "capacity":
        return {**FIXED, "cache_size": max(1024, 16 * line), "cache_index": 65536}
    # failing: no single get fits (the smallest storage there is holds 1 KiB).
    return {**FIXED, "cache_size": 1024, "cache_index": 65536}


KINDS = ("direct", "conflicting", "capacity", "failing")

# The default policy refuses what it never saw before rather than evict for it. These variants have
# the same index and storage but always evict, so that (nearly) every get is what its row says.
EVICTING = {"conflicting, lru": "conflicting", "capacity, lru": "capacity"}


def add_arguments(parser):
    parser.add_argument(
        "--batches", type=int, default=60, help="batches of each variant, in turn (default: 60)"
    )
    parser.add_argument("--policy", default="default", help="cache_policy (default: default)")


def run(args, bench):
    batches = 10 if args.quick else args.batches
    path = program("rma_miss")
    progress = Progress(NAME, (batches + 2) * len(SIZES))
    for size in SIZES:
        job = {"path": path, "args": [f"size={size}", "count=250", "skip=50"]}
        kinds = {kind: kind for kind in KINDS if kind != "failing" or size > 1024} | EVICTING
        variants = {"native": job}
        for name, kind in kinds.items():
            policy = "lru" if name in EVICTING else args.policy
            variants[name] = {**job, "hob": {"cache_policy": policy, **settings_for(kind, size)}}
        lines, results = duel(variants, batches, progress)
        middles = {name: [median(line["ns"]) for line in lines[name]] for name in variants}
        # The tail of each batch, then the median: a batch that the system interrupted is no cost.
        tails = {name: [quantile(line["ns"], 0.99) for line in lines[name]] for name in variants}
        bench.row(
            bytes=size,
            access="native",
            median_ns=median(middles["native"]),
            p99_ns=median(tails["native"]),
        )
        limit = next(limit for upto, limit in MEDIAN_LIMITS if size <= upto)
        for name, kind in kinds.items():
            middle = ratio(middles[name], middles["native"])
            tail = ratio(tails[name], tails["native"])
            bench.row(
                bytes=size,
                access=name,
                median_ns=median(middles[name]),
                p99_ns=median(tails[name]),
                median_ratio=middle,
                p99_ratio=tail,
                share_of_kind=share(results[name], kind),
            )
            bench.at_most(f"{name}, {size} B: median against native", middle, limit)
            bench.at_most(f"{name}, {size} B: p99 against native", tail, P99_LIMIT)
    progress.done()


def share(result, kind):
    """The share of gets that were of this kind, from Hob's counters."""
    counters = result.counters()
    gets = counters.get("gets", 0)
    return counters.get(kind, 0) / gets if gets else None


def draw(result, path):
    def figure(pyplot):
        for kind in ("native", *KINDS, *EVICTING):
            rows = [row for row in result["rows"] if row["access"] == kind]
            sizes = [row["bytes"] for row in rows]
            (line,) = pyplot.loglog(
                sizes, [row["median_ns"] for row in rows], marker="o", label=kind
            )
            pyplot.loglog(
                sizes,
                [row["p99_ns"] for row in rows],
                linestyle=":",
                marker=".",
                color=line.get_color(),
                label=f"{kind}, p99",
            )
        pyplot.xlabel("bytes")
        pyplot.ylabel("get + flush, ns")
        pyplot.figlegend(loc="outside right upper")
        pyplot.title("Misses by access type (paper: Fig. 7)")

    plot(path, figure)
