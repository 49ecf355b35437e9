"""What hob advise says that a mechanism saves, against what it then saves."""

from dataclasses import dataclass

from hob.benchlib import Progress, alternate, median, program, run_mpi
from hob.benchpicture import View
from hob.report.data import Run

NAME = "advise"
HELP = "savings that hob advise estimates against measured ones, of each mechanism"

# Estimated and measured savings: neither may be more than this many times the other.
FACTOR = 1.5
# Of the time of a program that has nothing to gain: what an estimate may promise.
NOTHING = 0.05

VIEWS = (
    View(
        "Savings on each rank",
        "s",
        {"estimated": "estimated", "saved": "measured"},
        lambda row: f"{row['program']} ({row['mechanism']})",
    ),
)


@dataclass(frozen=True)
class Case:
    """A program, and what one run of it says that a mechanism saves. For the cache and for matching
    that run has it, compared with one without Hob; for ghosts it has none, compared with one that has."""

    name: str
    mechanism: str
    program: str
    words: tuple
    setup: str = "remote"
    gains: bool = True

    def estimate(self, result):
        run = Run(result.report)
        return {
            "cached gets": run.saved_seconds,
            "matching": run.match_saved_seconds,
            "ghosts": run.late_seconds,
        }[self.mechanism]

    def job(self, hob=None, ranks=2):
        return run_mpi(
            program(self.program), self.words, ranks, self.setup, hob, report=hob is not None
        )

    def variants(self):
        """{"before": ..., "after": ...}, and which of them makes the estimate."""
        if self.mechanism == "ghosts":
            ghosts = lambda: self.job({"ghosts": 1}, ranks=4)
            return {"before": lambda: self.job({}), "after": ghosts}, "before"
        return {"before": self.job, "after": lambda: self.job({})}, "after"


def cases(quick):
    lcc = ("--rmat", 9 if quick else 11, 16)
    tasks = 100 if quick else 1200
    depth = 2048 if quick else 8192
    return (
        Case("lcc", "cached gets", "lcc", lcc),
        Case("barnes-hut", "cached gets", "barnes-hut", ("--bodies", 200 if quick else 800)),
        Case("fds-proxy", "matching", "fds-proxy", ("--depth", depth), "node"),
        Case("task-counter", "ghosts", "task-counter", (tasks, 5000), "two-nodes"),
        Case("lcc, same node", "cached gets", "lcc", lcc, "node", False),
        Case("fds-proxy, short", "matching", "fds-proxy", ("--depth", 16), "node", False),
        Case(
            "task-counter, attentive",
            "ghosts",
            "task-counter",
            (tasks, 5000, "attentive"),
            "two-nodes",
            False,
        ),
    )


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=5, help="runs of each variant (default: 5)")


def run(args, bench):
    repeats = 1 if args.quick else args.repeats
    todo = cases(args.quick)
    progress = Progress(NAME, 2 * repeats * len(todo))
    for case in todo:
        variants, informed = case.variants()
        runs = alternate(variants, repeats, progress)
        # Start and end of the job included: what a user waits for.
        before, after = (median([one.seconds for one in runs[key]]) for key in variants)
        estimated = median([case.estimate(one) for one in runs[informed]])
        saved = before - after
        bench.row(
            program=case.name,
            mechanism=case.mechanism,
            seconds_before=before,
            seconds_after=after,
            saved=saved,
            estimated=estimated,
        )
        if not case.gains:
            bench.at_most(f"{case.name}: promised, of its time", estimated / before, NOTHING)
        elif saved > 0 and estimated > 0:
            wrong = max(estimated / saved, saved / estimated)
            bench.at_most(f"{case.name}: times between estimate and saving", wrong, FACTOR)
        else:
            bench.at_least(f"{case.name}: estimated and saved, s", min(estimated, saved), 0.001)
    progress.done()
