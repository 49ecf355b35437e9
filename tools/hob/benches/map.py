"""Every kind of call, plainly and with Hob in turn (bench/mpi/map_rma.cpp, map_messages.cpp): where Hob gains, where it
costs nothing, and where it costs something."""

import argparse

from hob import mappicture
from hob.benchlib import Bench, BenchError, Progress, alternate, median, program, ratio, run_mpi
from hob.mapcells import KEYS, SETTINGS, cells, chosen, quick

NAME = "map"
HELP = (
    "the price and gain of Hob in every cell of operation, size, order, completion, place and reuse"
)
IN_ALL = False  # takes an hour and more

# Time with Hob against time without, in the last half of a cell and in its first thousand operations; and time with
# the default against time with the best setting.
LATE, FIRST, BEST = 1.03, 1.10, 1.05
# A machine that others use, or that changes its speed, shows one cell in four beyond a limit in few starts.
ROUNDS = 3
PLAIN, DEFAULT = "native", "hob"


def _only(text):
    """op=get,place=tcp+node -> {"op": {"get"}, "place": {"tcp", "node"}}."""
    out = {}
    for word in filter(None, text.split(",")):
        key, equals, values = word.partition("=")
        if not equals or key not in KEYS:
            raise argparse.ArgumentTypeError(
                f"'{word}' is not KEY=VALUE with one of the keys {', '.join(KEYS)}"
            )
        known = sorted({str(cell.values()[key]) for cell in cells()} - {""})
        wrong = [value for value in values.split("+") if value not in known]
        if wrong:
            raise argparse.ArgumentTypeError(
                f"no cell has {key}={wrong[0]}: there are {', '.join(known)}"
            )
        out[key] = set(values.split("+"))
    return out


def add_arguments(parser):
    parser.add_argument(
        "--only",
        type=_only,
        default={},
        metavar="KEY=VALUE+VALUE,...",
        help="only these cells, e.g. op=get,place=node+tcp,size=4096",
    )
    parser.add_argument(
        "--starts",
        type=int,
        default=5,
        help=f"how often each program is started; {ROUNDS} times as often where a limit is missed (default: 5)",
    )
    parser.add_argument(
        "--seconds", type=float, default=0.2, help="of operations in each start (default: 0.2)"
    )
    parser.add_argument(
        "--settings",
        action="store_true",
        help="also with each setting that could be better than the default",
    )
    parser.add_argument("--mpi", default="mpich5", help="the MPI library (default: mpich5)")
    parser.add_argument("--list", action="store_true", help="list the cells, and measure nothing")


def _variants(cell, with_settings):
    """{name: Hob's settings, None for without}."""
    out = {PLAIN: None, DEFAULT: {}}
    for setting in SETTINGS[cell.kind] if with_settings else ():
        [(key, value)] = setting.items()
        out[f"{key}={value}"] = setting
    return out


def _measure(cell, args, starts, seconds, progress):
    """{variant: [{"first_ns", "early_ns", "late_ns"} of each start]}. A cell beyond a limit is measured again, as often
    as ROUNDS says in all; all starts count."""
    path = program(cell.program(), args.mpi)
    variants = {
        name: lambda hob=hob: run_mpi(
            path,
            cell.words(seconds),
            setup=cell.setup(),
            hob=hob,
            mpi=args.mpi,
            timeout=120,
        ).rows[-1]
        for name, hob in _variants(cell, args.settings).items()
    }
    found = alternate(variants, starts, progress)
    for _ in range(ROUNDS - 1):
        if _judge(Bench(), cell, found):
            break
        progress.steps += starts * len(variants)
        for name, again in alternate(variants, starts, progress).items():
            found[name] += again
    return found


def _compare(found, one, other, what):
    return ratio([line[what] for line in found[one]], [line[what] for line in found[other]])


def _judge(bench, cell, found):
    """The limits and the row of a cell. Whether all of its limits hold."""
    before = len(bench.limits)
    late = _compare(found, DEFAULT, PLAIN, "late_ns")
    first = _compare(found, DEFAULT, PLAIN, "first_ns")
    row = {
        **cell.values(),
        "native_ns": median(line["late_ns"] for line in found[PLAIN]),
        "hob_ns": median(line["late_ns"] for line in found[DEFAULT]),
        "first": first,
        "early": _compare(found, DEFAULT, PLAIN, "early_ns"),
        "late": late,
        "starts": len(found[PLAIN]),
    }
    bench.at_most(f"{cell.name()}: last half", late, LATE)
    bench.at_most(f"{cell.name()}: first thousand", first, FIRST)
    others = [name for name in found if name not in (PLAIN, DEFAULT)]
    if others:
        row["best"] = min(others, key=lambda name: median(line["late_ns"] for line in found[name]))
        row["over_best"] = _compare(found, DEFAULT, row["best"], "late_ns")
        bench.at_most(f"{cell.name()}: default over {row['best']}", row["over_best"], BEST)
    bench.row(**row)
    return all(limit["ok"] for limit in bench.limits[before:])


def _measurable(cell, mpi):
    """Open MPI carries out one-sided calls between ranks of one machine in shared memory, whatever network it is given."""
    return not (mpi.startswith("openmpi") and cell.kind == "one-sided" and cell.place == "tcp")


def run(args, bench):
    candidates = [cell for cell in cells() if _measurable(cell, args.mpi)]
    selected = chosen(args.only, [cell for cell in candidates if not args.quick or quick(cell)])
    if not selected:
        raise BenchError("no cell is left: --only names combinations that there are not")
    if args.list:
        for cell in selected:
            print(cell.name())
        return
    starts, seconds = (3, 0.06) if args.quick else (args.starts, args.seconds)
    runs = sum(len(_variants(cell, args.settings)) for cell in selected)
    progress = Progress(NAME, starts * runs)
    failed = []
    for cell in selected:
        try:
            found = _measure(cell, args, starts, seconds, progress)
        except BenchError as error:
            failed.append(f"{cell.name()}: {error}")
            continue
        _judge(bench, cell, found)
    progress.done()
    if failed:
        raise BenchError("\n".join([f"{len(failed)} cells were not measured:", *failed]))


def draw(result, path):
    mappicture.draw(result["rows"], path)
