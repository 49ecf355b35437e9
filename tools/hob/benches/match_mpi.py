"""Round trip and message rate against queue depth, native and with Hob (bench/mpi/match_mpi.cpp)."""

import os

from hob.benchlib import (
    Bench,
    BenchError,
    Progress,
    alternate,
    median,
    mpis,
    plot,
    program,
    ratio,
    run_mpi,
)

NAME = "match-mpi"
HELP = "round trip and message rate against posted and unexpected depth, native and with Hob"

DEPTHS = (0, 64, 1024, 4096, 16384)
SIZES = (1, 4096, 65536, 1048576)
# Never slower by itself; at these depths so much faster, wherever the library is not flat already.
NOT_BELOW, DEEP, VERY_DEEP = 0.97, (1024, 3), (16384, 100)
# A cell that misses a limit is measured again, this many times as often as before, and judged by all
# its runs: of some hundred cells, a few miss by the luck of a run. Native runs are then compared
# with native ones, too, which shows how much is chance.
AGAIN = (2, 4)
# Seconds. One job in twenty of MPICH 4 over TCP never comes back from MPI_Finalize, without Hob
# too: a job that does not end is tried once more.
TIMEOUT = 60
FLAT = 1.5  # a library is flat at a depth if it takes no more than this times its time at depth 0


WHATS = ("posted", "unexpected", "rate")
# Hob's settings; None: without Hob.
VARIANTS = {"native": None, "auto": {}, "always": {"match": "always"}}
CONTROL = "control"


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="runs of each variant (default: 5)")
    parser.add_argument("--mpi", action="append", help="only this MPI library (repeatable)")
    parser.add_argument("--node-only", action="store_true", help="not over TCP")
    parser.add_argument("--tcp-only", action="store_true", help="only over TCP")
    parser.add_argument("--what", action="append", choices=WHATS, help="only this (repeatable)")
    parser.add_argument("--depth", type=int, action="append", help="only this depth (repeatable)")
    parser.add_argument("--bytes", type=int, action="append", help="only this size (repeatable)")
    parser.add_argument(
        "--seconds", type=float, default=0.2, help="time for each depth and size (default: 0.2)"
    )
    parser.add_argument(
        "--clear", type=int, default=0, help="megabytes walked through before each step"
    )


class _Cells:
    """Times of one library and set-up: {(what, depth, bytes): {variant: [us, ...]}}."""

    def __init__(self, mpi, setup, args):
        self.mpi, self.setup = mpi, setup
        seconds = min(args.seconds, 0.05) if args.quick else args.seconds
        self.options = ["--pin", "--seconds", seconds]
        if args.clear:
            self.options += ["--clear", args.clear]
        self.repeats = 3 if args.quick else args.repeats
        self.times = {}

    def again(self, cell, times):
        what, depth, size = cell
        self.run([what], [depth], [size], times * self.repeats, {**VARIANTS, CONTROL: None})

    def control(self, cell):
        """Native against native, where the cell was measured again."""
        times = self.times[cell].get(CONTROL)
        return ratio(self.times[cell]["native"][-len(times) :], times) if times else None

    def run(self, whats, depths, sizes, repeats, variants=VARIANTS, progress=None):
        words = list(self.options)
        for option, values in (("--what", whats), ("--depth", depths), ("--bytes", sizes)):
            for value in values:
                words += [option, value]
        path = program("match_mpi", self.mpi)

        def job(hob):
            def once():
                return run_mpi(
                    path, words, setup=self.setup, mpi=self.mpi, hob=hob, timeout=TIMEOUT
                )

            def run():
                try:
                    return once()
                except BenchError:
                    return once()

            return run

        jobs = {name: job(hob) for name, hob in variants.items()}
        for variant, results in alternate(jobs, repeats, progress).items():
            for result in results:
                for row in result.rows:
                    cell = self.times.setdefault((row["what"], row["depth"], row["bytes"]), {})
                    cell.setdefault(variant, []).append(row["us"])


def _judge(bench, cells, cell, shallow):
    """The limits of one cell, added to `bench`; whether they are met."""
    what, depth, size = cell
    native, auto, always = (cells.times[cell][v] for v in VARIANTS)
    label = f"{cells.mpi} {cells.setup} {what} depth {depth}, {size} B"
    before = len(bench.limits)
    bench.at_least(f"{label}: native/auto", ratio(native, auto), NOT_BELOW)
    if depth == 0:
        extra = median(always) - 1.1 * median(native)
        bench.at_most(f"{label}: ns of always beyond 1.1 x native", 1000 * extra, 50)
    if what == "posted" and size == 1 and cells.setup == "node" and shallow is not None:
        for at, factor in (DEEP, VERY_DEEP):
            if depth == at and median(native) > FLAT * shallow:
                bench.at_least(f"{label}: native/always", ratio(native, always), factor)
    return all(limit["ok"] for limit in bench.limits[before:])


def _measure(bench, mpi, setup, args):
    depths = args.depth or (DEPTHS[:3] if args.quick else DEPTHS)
    sizes = args.bytes or (SIZES[:1] if args.quick else SIZES)
    whats = args.what or WHATS
    cells = _Cells(mpi, setup, args)
    progress = Progress(f"{NAME} {mpi} {setup}", cells.repeats * len(VARIANTS))
    cells.run(whats, depths, sizes, cells.repeats, progress=progress)
    progress.done()
    order = [(what, depth, size) for what in whats for size in sizes for depth in depths]

    def shallow(cell):
        what, _, size = cell
        return median(cells.times[what, 0, size]["native"]) if 0 in depths else None

    try:
        missed = [cell for cell in order if not _judge(Bench(), cells, cell, shallow(cell))]
        for times in AGAIN:
            progress = Progress(f"{NAME} {mpi} {setup}, missed cells again", len(missed))
            for what, depth, size in missed:
                cells.again((what, depth, size), times)
                progress.tick(f"{what} depth {depth}, {size} B")
            progress.done()
            missed = [cell for cell in missed if not _judge(Bench(), cells, cell, shallow(cell))]
    finally:
        for cell in order:
            _add(bench, cells, cell, shallow(cell))


def _add(bench, cells, cell, shallow):
    """A cell's row and limits."""
    what, depth, size = cell
    native, auto, always = (cells.times[cell][v] for v in VARIANTS)
    bench.row(
        mpi=cells.mpi,
        setup=cells.setup,
        what=what,
        depth=depth,
        bytes=size,
        runs=len(native),
        native_us=median(native),
        auto_us=median(auto),
        always_us=median(always),
        auto_speedup=ratio(native, auto),
        always_speedup=ratio(native, always),
        native_native=cells.control(cell),
    )
    _judge(bench, cells, cell, shallow)


def run(args, bench):
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    # Without it, libfabric's tcp provider loses messages beyond 64 unexpected ones.
    os.environ.setdefault("FI_TCP_MAX_SAVED", "1000000")
    for mpi in args.mpi or [name for name in mpis() if name != "abi5"]:
        for setup in (
            ("node",) if args.node_only else ("remote",) if args.tcp_only else ("node", "remote")
        ):
            _measure(bench, mpi, setup, args)


def draw(result, path):
    def kind(row):
        return row["what"], row["bytes"], row["setup"] == "node"

    def figure(pyplot):
        # The first cell that was asked for: by default receives posted, one byte, one node.
        what, size, node = kind(result["rows"][0])
        rows = [r for r in result["rows"] if kind(r) == (what, size, node)]
        for mpi in sorted({r["mpi"] for r in rows}):
            own = [r for r in rows if r["mpi"] == mpi]
            depths = [r["depth"] + 1 for r in own]
            pyplot.loglog(depths, [r["native_us"] for r in own], marker="o", label=f"{mpi} native")
            pyplot.loglog(depths, [r["always_us"] for r in own], marker="x", label=f"{mpi} Hob")
        pyplot.xlabel("depth of the queue, plus one")
        pyplot.ylabel("us a message" if what == "rate" else "us, round trip")
        pyplot.title(f"{what}, {size:,} B, {'one node' if node else 'TCP'}")
        pyplot.legend()

    plot(path, figure)
