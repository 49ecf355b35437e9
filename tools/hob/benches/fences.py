"""An epoch between two fences in which the target computes (bench/ghost)."""

from hob.benches.ghost_jobs import job
from hob.benchlib import Progress, median
from hob.benchpicture import View

NAME = "fences"
HELP = "operations between two fences while their target computes: native, ghosts (Fig. 4b)"

BUSY_US = 1000
VIEWS = (
    View(
        f"An epoch between two fences; the target computes {BUSY_US:,} us of it",
        "us, median",
        {"native_us": "native", "thread_us": "MPI's progress thread", "ghost_us": "ghost"},
        lambda row: f"{row['op']}, {row['operations']:,} operations",
    ),
)


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    repeats = 1 if args.quick else args.repeats
    words = [
        "what=fences",
        f"busy={BUSY_US}",
        "counts=1,8,64" if args.quick else "counts=1,4,16,64,256,1024",
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
                found.setdefault((row["op"], row["operations"]), {}).setdefault(name, []).append(
                    row["us"]
                )
            progress.tick(name)
    progress.done()
    for (op, operations), times in found.items():
        bench.row(
            op=op,
            operations=operations,
            busy_us=BUSY_US,
            **{f"{name}_us": median(times[name]) for name in variants},
        )
