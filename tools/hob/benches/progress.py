"""Origin's lock_all-operation-unlock_all time while the target computes (bench/ghost)."""

from hob.benches.ghost_jobs import job
from hob.benchlib import Bench, Progress, median

NAME = "progress"
HELP = "one-sided operations to a computing target: native, MPI's progress thread, ghosts (Fig. 4)"

OPERATIONS = ("accumulate", "get_accumulate", "fetch_and_op", "strided_put", "get")


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args):
    repeats = 1 if args.quick else args.repeats
    busy = (0, 1000) if args.quick else (0, 10, 100, 1000, 10000)
    words = [
        "what=progress",
        "busy=" + ",".join(map(str, busy)),
        f"rounds={11 if args.quick else 31}",
    ]
    variants = {
        "native": lambda: job(words),
        "thread": lambda: job(words, extra={"MPIR_CVAR_ASYNC_PROGRESS": "1"}),
        "ghost": lambda: job(words, ghosts=1),
    }
    progress = Progress(NAME, repeats * len(variants))
    found = {}
    for _ in range(repeats):
        for name, start in variants.items():
            for row in start():
                found.setdefault((row["op"], row["busy_us"], name), []).append(row)
            progress.tick(name)
    progress.done()

    def value(op, wait, name, column="us"):
        return median([row[column] for row in found[op, wait, name]])

    bench = Bench()
    for op in OPERATIONS:
        for wait in busy:
            bench.row(
                op=op,
                busy_us=wait,
                native_us=value(op, wait, "native"),
                thread_us=value(op, wait, "thread"),
                ghost_us=value(op, wait, "ghost"),
                target_slowdown=value(op, wait, "ghost", "slowdown"),
            )
        for wait in busy:
            if wait < 1000:
                continue
            bench.at_most(
                f"{op}, target computes {wait} us: times the idle-target time",
                value(op, wait, "ghost") / value(op, 0, "ghost"),
                2,
            )
            bench.at_most(
                f"{op}, target computes {wait} us: its slow-down",
                value(op, wait, "ghost", "slowdown"),
                1.03,
            )
    return bench.result()
