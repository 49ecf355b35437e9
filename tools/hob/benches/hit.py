"""Cost of a get and flush of cached data (bench/mpi/rma_hit.cpp)."""

from hob.benchlib import Progress, alternate, median, plot, program, ratio, run_mpi

NAME = "hit"
HELP = "get + flush of cached data against memcpy, the native get over TCP, and same-node"

SIZES = (8, 64, 512, 1024, 4096, 16384, 65536)
# What a hit may cost beyond the copy, and the factor on the copy for large gets.
EXTRA_NS, LARGE_FACTOR, LARGE_ABOVE = 40, 1.5, 1024
# Published: how much faster than foMPI's get a hit was (section IV-A1).
PAPER = {4096: 9.3, 16384: 3.7}


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=9, help="runs of each variant (default: 9)")


def run(args, bench):
    repeats = 3 if args.quick else args.repeats
    rounds = 9 if args.quick else 31
    path = program("rma_hit")
    sizes = ",".join(map(str, SIZES))
    hit = [f"sizes={sizes}", f"rounds={rounds}"]
    # Natively a batch is long anyway: few rounds are enough.
    native = [f"sizes={sizes}", "rounds=5", "warm=1"]
    variants = {
        "native remote": lambda: run_mpi(path, native),
        "native same-node": lambda: run_mpi(path, hit, setup="node"),
        "auto": lambda: run_mpi(path, hit, hob={}),
        "always": lambda: run_mpi(path, hit, hob={"cache": "always"}),
    }
    progress = Progress(NAME, repeats * len(variants))
    runs = alternate(variants, repeats, progress)
    progress.done()

    def over_runs(variant, size, column):
        return [
            row[column] for result in runs[variant] for row in result.rows if row["size"] == size
        ]

    for size in SIZES:
        columns = {"bytes": size}
        remote = over_runs("native remote", size, "get_ns")
        columns["native_remote_ns"] = median(remote)
        columns["native_same_node_ns"] = median(over_runs("native same-node", size, "get_ns"))
        for mode in ("auto", "always"):
            copy, get = over_runs(mode, size, "memcpy_ns"), over_runs(mode, size, "get_ns")
            columns[f"{mode}_memcpy_ns"] = median(copy)
            columns[f"{mode}_ns"] = median(get)
            columns[f"{mode}_over_memcpy_ns"] = median(over_runs(mode, size, "over_ns"))
            columns[f"{mode}_mean_ns"] = median(over_runs(mode, size, "get_mean_ns"))
            columns[f"{mode}_speedup"] = ratio(remote, get)
        columns["paper_speedup"] = PAPER.get(size)
        bench.row(**columns)
        for mode in ("auto", "always"):
            allowed = EXTRA_NS
            if size > LARGE_ABOVE:
                allowed += (LARGE_FACTOR - 1) * columns[f"{mode}_memcpy_ns"]
            bench.at_most(
                f"{mode}, {size} B: ns beyond memcpy", columns[f"{mode}_over_memcpy_ns"], allowed
            )
        # Alike: within a tenth of each other, or within what the clock of a batch resolves.
        gap = abs(columns["auto_ns"] - columns["always_ns"])
        bench.at_most(
            f"auto and always alike, {size} B: ns between them",
            gap,
            max(5.0, 0.1 * columns["always_ns"]),
        )


def draw(result, path):
    def figure(pyplot):
        rows = result["rows"]
        x = [row["bytes"] for row in rows]
        for column, label in (
            ("native_remote_ns", "native, TCP"),
            ("native_same_node_ns", "native, same node"),
            ("auto_ns", "Hob, auto"),
            ("always_ns", "Hob, always"),
            ("auto_memcpy_ns", "memcpy"),
        ):
            pyplot.loglog(x, [row[column] for row in rows], marker="o", label=label)
        pyplot.xlabel("bytes")
        pyplot.ylabel("get + flush, ns")
        pyplot.legend()
        pyplot.title("A hit, against the copy and the native get")

    plot(path, figure)
