"""Round trip and message rate against queue depth, native and with Hob (bench/mpi/match_mpi.cpp)."""

import os

from hob.benchlib import Bench, Progress, alternate, median, mpis, plot, program, ratio, run_mpi

NAME = "match-mpi"
HELP = "round trip and message rate against posted and unexpected depth, native and with Hob"

DEPTHS = (0, 64, 1024, 4096, 16384)
SIZES = (1, 4096, 65536, 1048576)
# Never slower by itself; at these depths so much faster, wherever the library is not flat already.
NOT_BELOW, DEEP, VERY_DEEP = 0.97, (1024, 3), (16384, 100)
FLAT = 1.5  # a library is flat at a depth if it takes no more than this times its time at depth 0


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="runs of each variant (default: 5)")
    parser.add_argument("--mpi", action="append", help="only this MPI library (repeatable)")
    parser.add_argument("--node-only", action="store_true", help="not over TCP")
    parser.add_argument(
        "--seconds", type=float, default=0.2, help="time for each depth and size (default: 0.2)"
    )
    parser.add_argument(
        "--clear", type=int, default=0, help="megabytes walked through before each step"
    )


def _setups(mpi):
    tcp = "remote" if mpi == "mpich5" else "ucx-tcp" if mpi == "mpich4" else "openmpi-tcp"
    return ("node", tcp)


def _measure(bench, mpi, setup, args):
    depths = DEPTHS[:3] if args.quick else DEPTHS
    sizes = SIZES[:1] if args.quick else SIZES
    words = ["--pin", "--seconds", min(args.seconds, 0.05) if args.quick else args.seconds]
    if args.clear:
        words += ["--clear", args.clear]
    for what in ("posted", "unexpected", "rate"):
        words += ["--what", what]
    for depth in depths:
        words += ["--depth", depth]
    for size in sizes:
        words += ["--bytes", size]
    path = program("match_mpi", mpi)
    variants = {
        "native": lambda: run_mpi(path, words, setup=setup, mpi=mpi),
        "auto": lambda: run_mpi(path, words, setup=setup, mpi=mpi, hob={}),
        "always": lambda: run_mpi(path, words, setup=setup, mpi=mpi, hob={"match": "always"}),
    }
    repeats = 3 if args.quick else args.repeats
    progress = Progress(f"{NAME} {mpi} {setup}", repeats * len(variants))
    runs = alternate(variants, repeats, progress)
    progress.done()

    def times(variant, what, depth, size):
        return [
            row["us"]
            for result in runs[variant]
            for row in result.rows
            if (row["what"], row["depth"], row["bytes"]) == (what, depth, size)
        ]

    for what in ("posted", "unexpected", "rate"):
        for size in sizes:
            shallow = median(times("native", what, 0, size))
            for depth in depths:
                native, auto, always = (times(v, what, depth, size) for v in variants)
                label = f"{mpi} {setup} {what} depth {depth}, {size} B"
                bench.row(
                    mpi=mpi,
                    setup=setup,
                    what=what,
                    depth=depth,
                    bytes=size,
                    native_us=median(native),
                    auto_us=median(auto),
                    always_us=median(always),
                    auto_speedup=ratio(native, auto),
                    always_speedup=ratio(native, always),
                )
                bench.at_least(f"{label}: native/auto", ratio(native, auto), NOT_BELOW)
                if depth == 0:
                    extra = median(always) - 1.1 * median(native)
                    bench.at_most(f"{label}: ns of always beyond 1.1 x native", 1000 * extra, 50)
                if (
                    what == "posted"
                    and size == 1
                    and setup == "node"
                    and median(native) > FLAT * shallow
                ):
                    for at, factor in (DEEP, VERY_DEEP):
                        if depth == at:
                            bench.at_least(f"{label}: native/always", ratio(native, always), factor)


def run(args):
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    # Without it, libfabric's tcp provider loses messages beyond 64 unexpected ones.
    os.environ.setdefault("FI_TCP_MAX_SAVED", "1000000")
    bench = Bench()
    for mpi in args.mpi or [name for name in mpis() if name != "abi5"]:
        for setup in _setups(mpi)[: 1 if args.node_only else 2]:
            _measure(bench, mpi, setup, args)
    return bench.result()


def draw(result, path):
    def figure(pyplot):
        rows = [
            r
            for r in result["rows"]
            if r["what"] == "posted" and r["bytes"] == 1 and r["setup"] == "node"
        ]
        for mpi in sorted({r["mpi"] for r in rows}):
            own = [r for r in rows if r["mpi"] == mpi]
            depths = [r["depth"] + 1 for r in own]
            pyplot.loglog(depths, [r["native_us"] for r in own], marker="o", label=f"{mpi} native")
            pyplot.loglog(depths, [r["always_us"] for r in own], marker="x", label=f"{mpi} Hob")
        pyplot.xlabel("receives posted before, plus one")
        pyplot.ylabel("round trip of one byte, us")
        pyplot.legend()

    plot(path, figure)
