"""Places that are read again in each iteration, their bytes written anew before it (bench/mpi/rma_iterate.cpp), and
solvers that read so (bench/mpi/rma_solver.cpp)."""

from hob.benchlib import BenchError, Progress, alternate, median, plot, program, ratio, run_mpi

NAME = "iterate"
HELP = "places that are read again when their bytes have changed: native, with recall=off and recall=auto"

# Of each program: what it reads, and the speed against native from the fourth iteration on.
CASES = {
    "same": ("1,000 places, get and flush each", 40),
    "shuffled": ("the same, in another order each time", 40),
    "tenth": ("nine tenths the same", 8),
    "requests": ("MPI_Rget and MPI_Wait each", 25),
    "phases": ("three kinds of phases in turn", 30),
    "rows": ("64 rows of 8 KiB", 3),
    "locks": ("lock, five gets and flushes, unlock", 2),
    "fences": ("two rows between two fences", 1.5),
    "other": ("other places each time", 0.97),
    "far": ("the same, 128 KiB apart", 0.97),
    "once": ("places that are read once", 0.97),
    "sequential": ("all places in turn", 0.97),
    "sizes": ("1,000 places, of other sizes each time", 0.97),
    "ghost": ("1,000 places through a ghost, target computing", 30),
    "cg": ("conjugate gradients, 200 scattered values", 4.5),
    "stencil": ("Jacobi's method, 48 rows of 384 B", 3.5),
}
SOLVERS = ("cg", "stencil")
# What does not come again must cost nothing, from the first iteration on.
NEVER_AGAIN = ("other", "far", "once", "sequential", "sizes")
# Two ranks on two nodes with a ghost each, which share the cores, against two ranks alone whose target waits
# inside MPI.
GHOST = "ghost"
COMPUTE_US = 20_000
# The second iteration, and what is not recalled.
LEAST = 0.97


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=7, help="runs of each (default: 7)")
    parser.add_argument("--only", default="", help=f"only one of {', '.join(CASES)}")


def run(args, bench):
    repeats = 3 if args.quick else args.repeats
    cases = {what: of for what, of in CASES.items() if args.only in ("", what)}
    progress = Progress(NAME, 3 * repeats * len(cases))
    for what, (words, limit) in cases.items():
        path = program("rma_solver" if what in SOLVERS else "rma_iterate")

        def start(recall, what=what, path=path):
            hob = {"recall": recall} if recall else None
            if what != GHOST:
                return run_mpi(path, [f"what={what}"], hob=hob).rows[-1]
            if not hob:
                return run_mpi(path, ["what=same"], setup="two-nodes").rows[-1]
            words = ["what=same", f"compute={COMPUTE_US}"]
            return run_mpi(path, words, ranks=4, setup="two-nodes", hob=hob | {"ghosts": 1}).rows[
                -1
            ]

        found = alternate(
            {
                "native": lambda: start(None),
                "off": lambda: start("off"),
                "hob": lambda: start("auto"),
            },
            repeats,
            progress,
        )

        if len({row.get("answer") for rows in found.values() for row in rows}) != 1:
            raise BenchError(f"{words}: the answers differ")

        def times(variant, which, found=found):
            return [row[f"{which}_us"] for row in found[variant]]

        speed = {
            f"{which}_{variant}": ratio(times("native", which), times(variant, which))
            for which in ("second", "later")
            for variant in ("off", "hob")
        }
        bench.row(
            program=words,
            **{
                f"{variant}_{which}_us": median(times(variant, which))
                for which in ("second", "later")
                for variant in found
            },
            **speed,
        )
        bench.at_least(f"{words}: speed against native", speed["later_hob"], limit)
        bench.at_least(f"{words}: the second iteration", speed["second_hob"], LEAST)
        if what in NEVER_AGAIN:
            sums = [[sum(row["each_us"]) for row in found[which]] for which in ("off", "hob")]
            bench.at_least(f"{words}: all iterations, against recall=off", ratio(*sums), LEAST)
    progress.done()


def draw(result, path):
    def figure(pyplot):
        rows = result["rows"]
        names = [row["program"] for row in rows]
        for variant, marker in (("off", "s"), ("hob", "o")):
            speed = [row["native_later_us"] / row[f"{variant}_later_us"] for row in rows]
            pyplot.plot(
                speed, names, marker, label="recall=" + {"off": "off", "hob": "auto"}[variant]
            )
        pyplot.axvline(1.0, color="black")
        pyplot.xscale("log")
        pyplot.gca().invert_yaxis()
        pyplot.xlabel("speed with Hob / without, from the fourth iteration on")
        pyplot.title("Places that are read again in each iteration")
        pyplot.figlegend(loc="outside right upper")

    plot(path, figure)
