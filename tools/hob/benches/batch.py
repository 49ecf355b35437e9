"""Many small operations before a completion, with and without Hob (bench/mpi/rma_bursts.cpp)."""

from hob.benchlib import Progress, duel, median, plot, program, ratio

NAME = "batch"
HELP = "many small operations before a flush, with requests and without, against the library alone"

KINDS = ("get", "put", "sum", "fetch", "rget", "rput")
# Measured with 8 bytes alone: of one element, or with requests.
SHORT = ("fetch", "rget", "rput")
COUNTS = (1, 8, 64, 512, 4096, 32768)
SIZES = (8, 64, 1024)
# How many times as fast, remote and for 8 bytes; elsewhere no slower than this.
TIMES = {"get": 30, "put": 20, "sum": 30, "fetch": 30, "rget": 15, "rput": 20}
TIMES_64 = 6
LEAST = 0.97
# Of a target's window: so much that blocks fetched ahead do not bring the gets that follow.
WINDOW = 32 << 20
OF_LIMIT = 2.0


def add_arguments(parser):
    parser.add_argument("--starts", type=int, default=3, help="starts of each (default: 3)")
    parser.add_argument("--only", default="", help="only this kind, e.g. put")
    parser.add_argument("--batch", default="auto", help="the setting (default: auto)")


def cases(args):
    """(kind, set-up, targets, bytes, operations before a flush)"""
    for kind in KINDS:
        if args.only not in ("", kind):
            continue
        for setup, targets in (("remote", 1), ("remote", 3), ("node", 1)):
            for size in SIZES[:1] if kind in SHORT else SIZES:
                for count in COUNTS:
                    many = count * size > 1 << 20
                    some = args.quick and (targets == 3 or size != 8 or count > 4096)
                    if not many and not some:
                        yield kind, setup, targets, size, count


def run(args, bench):
    starts, batches = (1, 5) if args.quick else (args.starts, 9)
    path = program("rma_bursts")
    chosen = list(cases(args))
    progress = Progress(NAME, starts * (batches + 2) * len(chosen))
    for kind, setup, targets, size, count in chosen:
        # Some tens of milliseconds natively.
        flushes = max(1, 2048 // count) if setup == "remote" else max(1, 32768 // count)
        words = [f"what={kind}", f"size={size}", f"n={count}", f"flushes={flushes}"]
        words.append(f"places={max(WINDOW // size, 4 * count)}")
        job = {"path": path, "args": words, "setup": setup, "ranks": targets + 1}
        pair = {
            "native": job,
            "hob": {**job, "hob": {"batch": args.batch}},
            "once": {**job, "args": [*words, "once=1"]},
            "message": {**job, "args": [*words, "once=2"]},
        }
        times = {name: [] for name in pair}
        for _ in range(starts):
            lines, _ = duel(pair, batches, progress)
            for name, own in times.items():
                own += [line["ns"] for line in lines[name]]
        gain = ratio(times["native"], times["hob"])
        of_limit = ratio(times["hob"], times["once"])
        bench.row(
            kind=kind,
            where="same node" if setup == "node" else "TCP",
            targets=targets,
            bytes=size,
            n=count,
            native_ns=median(times["native"]),
            hob_ns=median(times["hob"]),
            once_ns=median(times["once"]),
            message_ns=median(times["message"]),
            gain=gain,
            of_limit=of_limit,
        )
        name = f"{kind}, {size} B, {count} before a flush, {targets} targets, {setup}"
        bench.at_least(f"{name}: times as fast", gain, wanted(kind, setup, targets, size, count))
        requests = kind in ("rget", "rput")
        if setup == "remote" and targets == 1 and size == 8 and count >= 512 and not requests:
            bench.at_most(f"{name}: time of the indexed operation", of_limit, OF_LIMIT)
    progress.done()


def wanted(kind, setup, targets, size, count):
    if setup != "remote" or targets != 1 or size != 8 or count < 64:
        return LEAST
    return TIMES_64 if count < 512 else TIMES[kind]


def draw(result, path):
    def figure(pyplot):
        for kind in KINDS:
            rows = [
                row
                for row in result["rows"]
                if row["kind"] == kind
                and row["where"] == "TCP"
                and row["targets"] == 1
                and row["bytes"] == 8
            ]
            pyplot.loglog(
                [row["n"] for row in rows], [row["gain"] for row in rows], marker="o", label=kind
            )
        pyplot.axhline(1.0, color="black")
        pyplot.xlabel("operations of 8 bytes before a flush")
        pyplot.ylabel("times as fast as the library alone")
        pyplot.title("Batches over TCP")
        pyplot.legend()

    plot(path, figure)
