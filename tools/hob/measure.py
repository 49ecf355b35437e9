"""`hob run --measure` and `hob advise --measure`: a program without Hob, with it, and with the options to
try, in turns."""

import shlex
import sys
import tempfile
import time
from pathlib import Path

from hob import turns
from hob.launchline import is_launcher
from hob.report.next_step import as_option
from hob.report.words import seconds
from hob.where import HobError

BASE, USUAL = "without Hob", "with Hob"


def _typed(args):
    """Of the options, those that change what Hob does, as they were typed."""
    words = [as_option(item) for item in args.set]
    words += [f"--ghosts {args.ghosts}"] if args.ghosts else []
    words += [
        f"--{name} {getattr(args, name)}" for name in ("cache", "match") if getattr(args, name)
    ]
    return words


def trials(args, settings=()):
    """{name: what changes in the arguments}: without Hob, as Hob is by default, with the options that were
    typed, and with each of `settings` beside these."""
    bare = {"ghosts": 0, "cache": None, "match": None}
    found = {BASE: {**bare, "set": ["off=on"]}, USUAL: {**bare, "set": []}}
    typed = _typed(args)
    if typed:
        found[f"with {' '.join(typed)}"] = {}
    for setting in settings:
        changes = {"set": [*args.set, setting]}
        if setting.startswith("ghosts="):
            if is_launcher(args.program[0]):
                continue  # of the ranks that the line starts, some would be ghosts
            changes = {"ghosts": int(setting[7:])}
        found["with " + " ".join([*typed, as_option(setting)])] = changes
    return found


def plans(args, plan, report, settings=()):
    """{name: (command, environment)} of the trials; their runs write `report`. `plan` is that of hob run."""
    if args.ghosts and is_launcher(args.program[0]):
        raise HobError(
            "--measure with --ghosts starts different numbers of processes: say hob run -n N, without a launcher"
        )
    quiet = {"quiet": True, "json": report, "verify": None, "trace": None, "off": False}
    return {
        name: plan(type(args)(**{**vars(args), **quiet, **changes}))
        for name, changes in trials(args, settings).items()
    }


def _teller(count, total):
    """Says of each turn that begins which it is, and how long the rest may take."""
    start = time.monotonic()

    def begins(turn):
        done = turn - 1
        left = (time.monotonic() - start) / done * (total - done) if done else None
        print(
            f"hob: turn {turn} of {total}: {count} runs"
            + (f" (about {seconds(left)} left)" if left else ""),
            file=sys.stderr,
            flush=True,
        )

    return begins


def measure(args, plan, settings=()):
    """(text, document): what the times of the trials say, for the terminal and for scripts."""
    with tempfile.TemporaryDirectory(prefix="hob-measure-") as scratch:
        report = str(Path(scratch) / "turn.json")
        planned = plans(args, plan, report, settings)
        taken = turns.take(
            {name: turns.runner(*each, report) for name, each in planned.items()},
            args.turns,
            _teller(len(planned), args.turns),
        )
    times, own = turns.comparable(taken)
    what = "from MPI_Init to MPI_Finalize" if own else "start and end of the job included"
    sentence = turns.verdict(times, BASE, USUAL)
    head = f"Measured in {args.turns} turn{'s' * (args.turns > 1)}, {what} (median, range):"
    document = {
        "turns": args.turns,
        "times": "program" if own else "job",
        "verdict": sentence,
        "trials": [
            {
                "name": name,
                "seconds": times[name],
                "against_without_hob": dict(
                    zip(("kind", "ratio"), turns.judge(times[BASE], times[name]))
                ),
            }
            for name in times
        ],
    }
    return "\n".join([head, *turns.table(times, BASE), f"Measured: {sentence}"]), document


def shown(args, plan):
    """For --dry-run: the command of each trial."""
    width = max(map(len, trials(args)))
    return "\n".join(
        f"{name:{width}}  {shlex.join(command)}"
        for name, (command, _) in plans(args, plan, "turn.json").items()
    )
