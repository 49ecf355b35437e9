"""An epoch in which the target computes (bench/ghost)."""

from hob.benches.ghost_jobs import job
from hob.benchlib import Progress, median
from hob.benchpicture import View

NAME = "fences"
HELP = "operations in epochs of fences and of post-start-complete-wait whose target computes: native, ghosts (Fig. 4b)"

BUSY_US = 1000
EPOCHS = {"fences": "fence", "pscw": "post-start-complete-wait"}
VIEWS = (
    View(
        f"An epoch of which the target computes {BUSY_US:,} us",
        "us, median",
        {"native_us": "native", "thread_us": "MPI's progress thread", "ghost_us": "ghost"},
        lambda row: f"{row['epoch']}, {row['operations']:,} operations",
    ),
)


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    repeats = 1 if args.quick else args.repeats
    variants = {}
    for what in EPOCHS:
        words = [
            f"what={what}",
            f"busy={BUSY_US}",
            "counts=1,8,64" if args.quick else "counts=1,4,16,64,256,1024",
            f"rounds={11 if args.quick else 31}",
        ]
        variants["native", what] = lambda words=words: job(words)
        variants["thread", what] = lambda words=words: job(
            words, extra={"MPIR_CVAR_ASYNC_PROGRESS": "1"}
        )
        variants["ghost", what] = lambda words=words: job(words, ghosts=1)
    progress = Progress(NAME, repeats * len(variants))
    found = {}
    for _ in range(repeats):
        for (name, what), start in variants.items():
            for row in start():
                cell = found.setdefault((what, row["operations"]), {})
                cell.setdefault(name, []).append(row["us"])
            progress.tick(f"{name} {what}")
    progress.done()
    for (what, operations), times in found.items():
        bench.row(
            epoch=EPOCHS[what],
            operations=operations,
            busy_us=BUSY_US,
            **{f"{name}_us": median(of) for name, of in times.items()},
        )
