"""Origin's lock_all-operation-unlock_all time while the target computes (bench/ghost)."""

from pathlib import Path

from hob.benches.ghost_jobs import job
from hob.benchlib import BenchError, Progress, median
from hob.benchpicture import View

NAME = "progress"
HELP = "one-sided operations to a computing target: native, MPI's progress thread, ghosts (Fig. 4)"

HINT = "epochs=lockall"  # what the program could say about its windows
VIEWS = (
    View(
        "An operation while its target computes",
        "us, median",
        {
            "native_us": "native",
            "thread_us": "MPI's progress thread",
            "ghost_us": "ghost",
            "ghost_hint_us": "ghost, with hints",
            "ghost_idle_us": "ghost, target idle as long",
            "casper_us": "Casper",
            "casper_hint_us": "Casper, with hints",
        },
        lambda row: f"{row['op']}, target computes {row['busy_us']:,} us",
    ),
)
OPERATIONS = ("accumulate", "get_accumulate", "fetch_and_op", "strided_put", "get")


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")
    parser.add_argument(
        "--casper",
        metavar="LIBCASPER.SO",
        help="run the public Casper beside it: its library, built for this MPI (docs/ghosts.md)",
    )


def run(args, bench):
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
        "ghost_hint": lambda: job([*words, HINT], ghosts=1),
        "ghost_idle": lambda: job([*words, "rest=1"], ghosts=1),
    }
    if args.casper:
        library = Path(args.casper).resolve()
        if not library.exists():
            raise BenchError(f"{library} is missing")
        variants["casper"] = lambda: job(words, ghosts=1, casper=library)
        variants["casper_hint"] = lambda: job([*words, HINT], ghosts=1, casper=library)
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

    for op in OPERATIONS:
        for wait in busy:
            bench.row(
                op=op,
                busy_us=wait,
                **{f"{name}_us": value(op, wait, name) for name in variants},
                target_slowdown=value(op, wait, "ghost", "slowdown"),
            )
        for wait in busy:
            if wait < 1000:
                continue
            for name, said in (("ghost", ""), ("ghost_hint", " (hints)")):
                bench.at_most(
                    f"{op}{said}, target computes {wait} us: times the idle-target time",
                    value(op, wait, name) / value(op, 0, name),
                    2,
                )
            bench.at_most(
                f"{op}, target computes {wait} us: times an idle target's after as long a pause",
                value(op, wait, "ghost") / value(op, wait, "ghost_idle"),
                2,
            )
            bench.at_most(
                f"{op}, target computes {wait} us: its slow-down",
                value(op, wait, "ghost", "slowdown"),
                1.03,
            )
            for name in ("casper", "casper_hint") if args.casper else ():
                bench.at_most(
                    f"{op}, target computes {wait} us: times {name.replace('_', ' with ')}",
                    value(op, wait, "ghost") / value(op, wait, name),
                    1,
                )
