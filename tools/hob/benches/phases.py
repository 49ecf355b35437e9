"""Programs that gain from Hob, stop, and gain again (bench/mpi/rma_phases.cpp)."""

from hob.benchlib import Progress, alternate, median, plot, program, ratio, run_mpi

NAME = "phases"
HELP = "programs that gain, stop, and gain again: what a gain costs once it is over"

# After a thousand calls without a gain: native time against Hob's.
LIMIT = 0.97
# After a thousand calls more with one: time against the first phase's.
BACK = 1.25
# (what, set-up)
CASES = (("gets", "remote"), ("barriers", "remote"), ("writes", "remote"), ("match", "node"))


def add_arguments(parser):
    parser.add_argument("--repeats", type=int, default=7, help="runs of each (default: 7)")
    parser.add_argument("--only", default="", help="only this program, e.g. barriers")


def run(args, bench):
    repeats = 3 if args.quick else args.repeats
    path = program("rma_phases")
    cases = [case for case in CASES if args.only in ("", case[0])]
    progress = Progress(NAME, 2 * repeats * len(cases))
    for what, setup in cases:

        def start(hob, what=what, setup=setup):
            return run_mpi(path, [f"what={what}"], setup=setup, hob=hob).rows[-1]

        found = alternate(
            {"native": lambda: start(None), "hob": lambda: start({})}, repeats, progress
        )

        def times(variant, phase, found=found):
            return [row[f"{phase}_ns"] for row in found[variant]]

        kept = ratio(times("native", "none"), times("hob", "none"))
        back = ratio(times("hob", "again"), times("hob", "gain"))
        bench.row(
            program=what,
            where="same node" if setup == "node" else "TCP",
            **{
                f"{variant}_{phase}_ns": median(times(variant, phase))
                for phase in ("gain", "none", "again")
                for variant in ("native", "hob")
            },
            kept=kept,
            back=back,
        )
        bench.at_least(f"{what}: speed against native once nothing is gained", kept, LIMIT)
        bench.at_most(f"{what}: time of the second gain against the first", back, BACK)
    progress.done()


def draw(result, path):
    def figure(pyplot):
        names = [f"{row['program']}, {row['where']}" for row in result["rows"]]
        for phase, marker in (("gain", "o"), ("none", "s"), ("again", "^")):
            speed = [row[f"native_{phase}_ns"] / row[f"hob_{phase}_ns"] for row in result["rows"]]
            pyplot.plot(speed, names, marker, label=phase)
        pyplot.axvline(1.0, color="black")
        pyplot.xscale("log")
        pyplot.xlabel("speed with Hob / without")
        pyplot.title("Programs that gain, stop, and gain again")
        pyplot.figlegend(loc="outside right upper")

    plot(path, figure)
