"""Other people's programs, plainly and with Hob: the same answers, and how much faster."""

import fnmatch
import os
import shutil
import statistics
from pathlib import Path

from hob.benchlib import BenchError, Progress, alternate, run_mpi
from hob.benchpicture import View
from hob.realprograms import PROGRAMS

NAME = "real"
HELP = "programs that nobody wrote for Hob, where they are installed: answers compared, ratios"

# What the table shows of Hob's counters.
COUNTERS = ("gets", "hits_full", "native_gets", "acquires", "receives_in_prq", "ghost_redirected")

VIEWS = (
    View(
        "Programs with Hob",
        "times faster than without Hob, median",
        {"ratio": "ratio"},
        lambda row: f"{row['program']}, {row['hob']}",
        line=1,
    ),
)


def add_arguments(parser):
    parser.add_argument(
        "--programs",
        metavar="DIR",
        action="append",
        default=[],
        help="where built programs lie (searched below DIR); else the PATH. Hob fetches nothing: "
        "--list says where each comes from",
    )
    parser.add_argument("--only", metavar="PATTERN", default="*", help="names to run (gdi-*)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant, in turn")
    parser.add_argument("--timeout", type=int, default=300, help="seconds that a run may take")
    parser.add_argument(
        "--modes",
        default="default",
        help="with Hob: default, always, or both separated by commas (default: default)",
    )
    parser.add_argument("--list", action="store_true", help="say what is known, and run nothing")


def find(name, directories):
    """The executable, or None."""
    for directory in directories:
        for path in sorted(Path(directory).rglob(name)):
            if path.is_file() and os.access(path, os.X_OK):
                return path
    found = shutil.which(name)
    return Path(found) if found else None


def _one(program, path, settings, timeout):
    """One run: (seconds or rate, answer, counters)."""
    ghosts = program.ghosts if settings is not None else 0
    done = run_mpi(
        path,
        program.arguments,
        ranks=program.ranks + ghosts,
        setup=program.setup,
        hob=None if settings is None else {**program.settings, **settings},
        mpi=program.mpi,
        report=settings is not None,
        timeout=timeout,
        environment=program.environment,
        inputs=program.inputs,
        figures=program.figures,
    )
    figure = program.figure(done.figures or done.output) if program.seconds else None
    return figure or done.seconds, program.answer(done.output), done.counters()


def _run(program, path, modes, args, bench, progress):
    variants = {"plain": lambda: _one(program, path, None, args.timeout)}
    for mode in modes:
        settings = {} if mode == "default" else {"cache": mode, "match": mode}
        variants[mode] = lambda settings=settings: _one(program, path, settings, args.timeout)
    runs = alternate(variants, args.repeats, progress)
    wanted = runs["plain"][0][1]
    for mode in modes:
        pairs = zip(runs["plain"], runs[mode])
        ratio = statistics.median((b / a if program.rate else a / b) for (a, *_), (b, *_) in pairs)
        same = all(answer == wanted for _, answer, _ in runs[mode])
        counters = runs[mode][-1][2]
        bench.row(
            program=program.name,
            hob=mode,
            plain=statistics.median(one[0] for one in runs["plain"]),
            with_hob=statistics.median(one[0] for one in runs[mode]),
            ratio=ratio,
            answers=("same" if same else "DIFFERENT") if program.answers else "not printed",
            **{name: counters.get(name) for name in COUNTERS},
        )
        if not same:
            raise BenchError(f"{program.name}: another answer with Hob ({mode})")
        if mode == "default" and program.at_least:
            bench.at_least(f"{program.name}: plain / Hob", ratio, program.at_least)


def run(args, bench):
    chosen = [one for one in PROGRAMS if fnmatch.fnmatch(one.name, args.only)]
    if not chosen:
        raise BenchError(f"--only {args.only}: there are {', '.join(one.name for one in PROGRAMS)}")
    modes = args.modes.split(",")
    for mode in modes:
        if mode not in ("default", "always"):
            raise BenchError(f"--modes {mode}: allowed are default and always")
    if args.quick:
        args.repeats = 1
    found = []
    for program in chosen:
        path = find(program.executable, args.programs)
        where = path if path else f"not here: {program.executable} from {program.origin}"
        if args.list or not path:
            print(f"{program.name:20} {program.what}; {where}")
        if path and not args.list:
            found.append((program, path))
    progress = Progress(NAME, len(found) * (1 + len(modes)) * args.repeats)
    failed = []
    for program, path in found:
        try:
            _run(program, path, modes, args, bench, progress)
        except BenchError as error:
            # One program that cannot be run here must not cost the others' results.
            failed.append(f"{program.name}: {error}")
    progress.done()
    for text in failed:
        print(f"not run to its end: {text}")
    if failed and not bench.rows:
        raise BenchError("none of the programs could be run")
    if any("another answer" in text for text in failed):
        raise BenchError("a program gave another answer with Hob")
