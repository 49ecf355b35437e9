"""Other people's programs, plainly and with Hob: the same answers, and how much faster."""

from __future__ import annotations

import datetime
import fnmatch
import json
import os
import shutil
import statistics
from dataclasses import dataclass
from pathlib import Path

from hob.benchlib import BenchError, Progress, alternate, machine, run_mpi
from hob.benchpicture import View
from hob.real import PROGRAMS
from hob.real.page import page
from hob.report.data import Run

NAME = "real"
HELP = "programs that were not written for Hob, where they are installed: answers compared, ratios"

# Settings of each mode.
MODES = {
    "default": {},
    "always": {"cache": "always", "match": "always"},
    "unbatched": {"batch": "off"},
    # The thread in place of ghosts.
    "overlap": {"ghosts": 0, "overlap": "on"},
}

# Of a program that prints no answer, this share of hits is compared in the run that is counted and not timed; one that
# differs ends it with a status of its own.
VERIFIED = 0.1

# What the table shows of Hob's counters.
COUNTERS = (
    "gets",
    "hits_full",
    "native_gets",
    "own_rank",
    "acquires",
    "locks_skipped",
    "receives",
    "receives_in_prq",
    "ghost_redirected",
    "ghost_direct",
    "batched",
    "batches",
)

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
        help="where built programs lie (searched below DIR/MPI, as DIR/openmpi4, and below DIR); else the PATH. "
        "Hob fetches nothing: --list says where each comes from",
    )
    parser.add_argument("--only", metavar="PATTERN", default="*", help="names to run (gdi-*)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant, in turn")
    parser.add_argument("--timeout", type=int, default=300, help="seconds that a run may take")
    parser.add_argument(
        "--modes",
        default="default",
        help="with Hob: default, always, unbatched (HOB_BATCH=off), overlap (HOB_OVERLAP=on, no ghosts), or several "
        "separated by commas (default: default, and what a program's limits ask for)",
    )
    parser.add_argument("--list", action="store_true", help="say what is known, and run nothing")
    parser.add_argument(
        "--results",
        metavar="DIR",
        help="each program's rows are kept there, those of earlier runs too",
    )
    parser.add_argument(
        "--page",
        metavar="FILE",
        help="write the page about all programs there, from --results and this run; rows of others stay as they are there",
    )


def find(program, directories):
    """The executable, or None. What lies in DIR/MPI is taken first: the same program may be there for several."""
    for directory in [*(Path(one, program.mpi) for one in directories), *directories]:
        for path in sorted(Path(directory).rglob(program.executable)):
            if path.is_file() and os.access(path, os.X_OK):
                return path
    found = shutil.which(program.executable)
    return Path(found) if found else None


@dataclass
class One:
    """One run: seconds or rate, the time that cannot be beaten, the answer, Hob's report."""

    figure: float
    best: float | None
    answer: list
    run: Run | None


def _one(program, path, settings, timeout, report=False):
    """Without a report, which takes some of the time, but for counters."""
    hob = settings is not None
    ghosts = settings.get("ghosts", program.ghosts) if hob else 0
    with_hob = program.with_hob if ghosts == program.ghosts else {}
    nodes = 2 if program.setup.startswith("namespaces") else 1
    done = run_mpi(
        path,
        program.arguments,
        ranks=program.ranks + nodes * ghosts,
        setup=program.setup,
        hob={**program.settings, **settings, "ghosts": ghosts} if hob else None,
        mpi=program.mpi,
        report=report,
        timeout=timeout,
        environment={**program.environment, **(with_hob if hob else {})},
        inputs={name: text() if callable(text) else text for name, text in program.inputs.items()},
        figures=program.figures or program.answer_files,
    )
    said = done.output + done.errors + done.figures
    return One(
        program.figure(done.figures if program.figures else said) or done.seconds,
        program.best(said),
        program.answer(said),
        Run(done.report) if done.report else None,
    )


def _row(program, mode, runs, counted, plain):
    """The row of one mode, beside the runs without Hob. counted: one more run, with a report."""
    ratio = statistics.median(
        b.figure / a.figure if program.rate else a.figure / b.figure for a, b in zip(plain, runs)
    )
    wanted = plain[0].answer
    if program.answers and not wanted:
        raise BenchError(f"no line of its output is an answer: {program.answers}")
    if any(one.answer != wanted for one in plain):
        answers = "differ without Hob"
    elif all(one.answer == wanted for one in (*runs, counted)):
        answers = "same" if program.answers else _unprinted(program, counted.run)
    else:
        answers = "DIFFERENT"
    over_ideal = [one.figure / one.best for one in runs if one.best]
    return {
        "program": program.name,
        "hob": mode,
        "plain": statistics.median(one.figure for one in plain),
        "with_hob": statistics.median(one.figure for one in runs),
        "ratio": ratio,
        "over_ideal": statistics.median(over_ideal) if over_ideal else None,
        "answers": answers,
        "runs": len(runs),
        **{name: counted.run.counters.get(name) for name in COUNTERS},
        "dropped_by": ", ".join(f"{call} {times:,}" for call, times, _ in counted.run.drops[:3]),
    }


def _unprinted(program, run):
    """What is known of the answer of a program that prints none."""
    verified = run.counters.get("verified")
    compared = f"; {verified:,} hits compared, none differed" if verified else ""
    return (program.checked or "prints no answer") + compared


def _repeats(program, args):
    return args.repeats if args.quick else max(args.repeats, program.repeats)


def _modes_of(program, modes):
    """A program that is judged beside `always`, or without batches, needs these."""
    asked = {"always": program.beside_always, "unbatched": program.unbatched}
    return list(dict.fromkeys([*modes, *(mode for mode, limit in asked.items() if limit)]))


def _steps(program, modes, args):
    """Runs of a program: the plain ones, those of each mode, and one with a report of each."""
    own = len(_modes_of(program, modes))
    return (1 + own) * _repeats(program, args) + own


def _run(program, path, modes, args, bench, progress):
    """Runs a program in each mode; its rows are in `bench` even where a limit cannot be judged."""
    variants = {"plain": lambda: _one(program, path, None, args.timeout)}
    for mode in modes:
        variants[mode] = lambda mode=mode: _one(program, path, MODES[mode], args.timeout)
    runs = alternate(variants, _repeats(program, args), progress)
    rows = {}
    for mode in modes:
        counting = MODES[mode] if program.answers else {**MODES[mode], "verify": VERIFIED}
        counted = _one(program, path, counting, args.timeout, report=True)
        progress.tick(f"{mode}, counted")
        rows[mode] = _row(program, mode, runs[mode], counted, runs["plain"])
    for row in rows.values():
        bench.row(**row)
    if "default" in rows:
        _judge(program, rows, runs, bench)
    if "overlap" in rows:
        _judge_overlap(program, rows["overlap"], bench)
    for mode, row in rows.items():
        if row["answers"] == "DIFFERENT":
            raise BenchError(f"another answer with Hob ({mode})")
    return list(rows.values())


def _judge(program, rows, runs, bench):
    row = rows["default"]
    if program.at_least:
        bench.at_least(f"{program.name}: plain / Hob", row["ratio"], program.at_least)
    if program.within and row["over_ideal"]:
        bench.at_most(f"{program.name}: Hob / ideal", row["over_ideal"], program.within)
    if program.unbatched and "unbatched" in rows:
        ratio = rows["unbatched"]["ratio"]
        bench.at_least(f"{program.name}: plain / unbatched", ratio, program.unbatched)
    if program.beside_always and "always" in rows:
        beside = statistics.median(
            a.figure / d.figure for a, d in zip(runs["always"], runs["default"])
        )
        bench.at_least(f"{program.name}: always / default", beside, program.beside_always)


def _judge_overlap(program, row, bench):
    if program.overlap:
        bench.at_least(f"{program.name}: plain / overlap", row["ratio"], program.overlap)
    if program.overlap_within and row["over_ideal"]:
        bench.at_most(f"{program.name}: overlap / ideal", row["over_ideal"], program.overlap_within)


def _modes(text):
    modes = text.split(",")
    for mode in modes:
        if mode not in MODES:
            raise BenchError(f"--modes {mode}: allowed are {', '.join(MODES)}")
    return modes


def _today():
    return datetime.date.today().isoformat()


def _keep(directory, program, rows, limits):
    if directory:
        Path(directory).mkdir(parents=True, exist_ok=True)
        kept = {"machine": machine(), "date": _today(), "rows": rows, "limits": limits}
        Path(directory, f"{program.name}.json").write_text(json.dumps(kept, indent=1) + "\n")


def _kept(directory):
    """{program: what _keep wrote}."""
    found = {}
    for program in PROGRAMS if directory else ():
        path = Path(directory, f"{program.name}.json")
        if path.exists():
            found[program.name] = json.loads(path.read_text())
    return found


def run(args, bench):
    chosen = [one for one in PROGRAMS if fnmatch.fnmatch(one.name, args.only)]
    if not chosen:
        raise BenchError(f"--only {args.only}: there are {', '.join(one.name for one in PROGRAMS)}")
    modes = _modes(args.modes)
    if args.quick:
        args.repeats = 1
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    found, results, failed = [], _kept(args.results), {}
    for program in chosen:
        path = find(program, args.programs)
        absent = "" if path else f"not here: {program.executable} from {program.origin}"
        skipped = program.fails or absent
        if args.list or skipped:
            print(f"{program.name:20} {program.what}; {skipped or path}")
        else:
            found.append((program, path))
    progress = Progress(NAME, sum(_steps(program, modes, args) for program, _ in found))
    for program, path in found:
        before = len(bench.limits)
        try:
            rows = _run(program, path, _modes_of(program, modes), args, bench, progress)
            results[program.name] = {
                "date": _today(),
                "rows": rows,
                "limits": bench.limits[before:],
            }
            _keep(args.results, program, rows, bench.limits[before:])
        except BenchError as error:
            # One program that cannot be run here must not cost the others' results.
            failed[program.name] = str(error)
    progress.done()
    for name, text in failed.items():
        print(f"not run to its end: {name}: {text}")
    if args.page:
        written = Path(args.page)
        before = written.read_text() if written.exists() else ""
        written.write_text(page(PROGRAMS, results, failed, machine(), before))
    if failed and not bench.rows:
        raise BenchError("none of the programs could be run")
    if any("another answer" in text for text in failed.values()):
        raise BenchError("a program gave another answer with Hob")
