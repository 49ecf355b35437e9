"""What accumulates cost a rank that multiplies matrices, and how often its core is interrupted (bench/ghost)."""

from hob.benches.ghost_jobs import job
from hob.benchlib import Progress, median
from hob.benchpicture import View

NAME = "product"
HELP = "what a target's matrix product loses to accumulates, and the interrupts of its core: native, MPI's progress thread, ghosts (Fig. 4c)"

BUSY_US = 10_000
VIEWS = (
    View(
        f"A matrix product of {BUSY_US // 1000} ms beside accumulates to it",
        "time beside them over time alone, median",
        {
            "native_slowdown": "native",
            "thread_slowdown": "MPI's progress thread",
            "ghost_slowdown": "ghost",
        },
        lambda row: f"{row['operations']:,} accumulates",
        line=1,
    ),
)


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    repeats = 1 if args.quick else args.repeats
    words = [
        "what=product",
        f"busy={BUSY_US}",
        "counts=1,64" if args.quick else "counts=1,16,64,256,1024",
        f"rounds={11 if args.quick else 31}",
    ]
    variants = {
        "native": lambda: job(words),
        # The thread on the core of its rank, as where all cores compute.
        "thread": lambda: job([*words, "threads=1"], extra={"MPIR_CVAR_ASYNC_PROGRESS": "1"}),
        "ghost": lambda: job(words, ghosts=1),
    }
    progress = Progress(NAME, repeats * len(variants))
    found = {}
    for _ in range(repeats):
        for name, start in variants.items():
            for row in start():
                found.setdefault(row["operations"], {}).setdefault(name, []).append(row)
            progress.tick(name)
    progress.done()
    for operations, runs in found.items():
        cells = {}
        for name, rows in runs.items():
            of = lambda column, rows=rows: median([row[column] for row in rows])
            cells[f"{name}_us"] = of("us")
            cells[f"{name}_slowdown"] = median([row["beside_us"] / row["alone_us"] for row in rows])
            cells[f"{name}_interrupts"] = of("interrupts")
            cells[f"{name}_preemptions"] = of("preemptions")
        bench.row(operations=operations, busy_us=BUSY_US, **cells)
