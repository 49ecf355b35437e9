"""Commands that are timed in turns, and what their times say: a machine that gets slower or busier
meanwhile does so for all of them."""

import json
import statistics
import subprocess
import time
from pathlib import Path

from hob.report.words import number, seconds

# Differences of medians that are not worth a word, whatever the runs say.
LEAST = 0.02
# Fewer turns show nothing.
FEWEST = 3


def runner(command, environment, report):
    """A function that runs a command once, whose run writes the file `report`: (seconds from MPI_Init to
    MPI_Finalize, seconds of the whole command). None for the first where there is no report, for both
    where the command failed."""

    def once():
        Path(report).unlink(missing_ok=True)
        start = time.monotonic()
        done = subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL)
        took = time.monotonic() - start
        return (_own_time(report), took) if done.returncode == 0 else (None, None)

    return once


def _own_time(report):
    try:
        program = json.loads(Path(report).read_text())["program"]
        return program["seconds"] if program["complete"] else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def take(trials, turns, progress=lambda turn: None):
    """{name: [what a run returned, ...]}: each trial once in a turn, every second turn in reverse.
    `progress` hears of each turn that begins, from 1."""
    taken = {name: [] for name in trials}
    for turn in range(turns):
        progress(turn + 1)
        for name in list(trials)[:: -1 if turn % 2 else 1]:
            taken[name].append(trials[name]())
    return taken


def comparable(taken):
    """({name: [seconds or None]}, whether they are the programs' own) of what runners returned: the whole
    commands' where a run that did not fail has no report."""
    own = all(each[0] is not None or each[1] is None for runs in taken.values() for each in runs)
    return {name: [each[0 if own else 1] for each in runs] for name, runs in taken.items()}, own


def judge(plain, other):
    """(kind, ratio) of two lists of times that were taken in turns: faster, slower or noise, and
    the median without over the median with. Noise: not every turn says the same, or the medians
    differ by less than 2%. One turn says nothing but noise. (failed, None) where a run failed."""
    if not plain or None in plain or None in other:
        return "failed", None
    ratio = statistics.median(plain) / statistics.median(other)
    signs = {a > b for a, b in zip(plain, other)}
    if len(plain) < FEWEST or len(signs) > 1 or abs(ratio - 1) < LEAST:
        return "noise", ratio
    return ("faster" if ratio > 1 else "slower"), ratio


def verdict(times, base, usual):
    """What times taken in turns say, in one sentence: of `usual`, and of the best of the others where
    that one is clearly better than `usual`."""
    if None in times[base]:
        return f"A run {base} failed: nothing can be compared."
    judged = {name: judge(times[base], taken) for name, taken in times.items() if name != base}
    faster = {name: ratio for name, (kind, ratio) in judged.items() if kind == "faster"}
    kind, ratio = judged[usual]
    if len(times[base]) < FEWEST:
        return f"Too few turns for a verdict: take {FEWEST} or more (--turns)."
    best = max(faster, key=faster.get, default=None)
    if best not in (None, usual) and (
        kind != "faster" or judge(times[usual], times[best])[0] == "faster"
    ):
        than = {
            "failed": f"; {usual} it failed",
            "noise": f"; {usual} alone, no difference beyond noise",
        }
        return (
            f"{number(faster[best])} times as fast {best}"
            + than.get(kind, f"; {number(ratio)} times {usual} alone" if ratio else "")
            + "."
        )
    if kind == "faster":
        return f"{number(ratio)} times as fast {usual}."
    if kind == "failed":
        return f"A run {usual} failed."
    if kind == "slower":
        return f"Slower {usual}: {number(1 / ratio)} times the time. Run it {base}."
    return f"No difference beyond noise {usual}. More turns show smaller differences (--turns)."


def table(times, base):
    """Lines for the terminal: each trial's median and range, and how it compares with `base`."""
    width = max(map(len, times))
    lines = []
    for name, taken in times.items():
        if None in taken:
            lines.append(f"  {name:{width}}  failed")
            continue
        line = (
            f"  {name:{width}}  {seconds(statistics.median(taken)):>8}  "
            f"({seconds(min(taken))} to {seconds(max(taken))})"
        )
        if name != base:
            kind, ratio = judge(times[base], taken)
            if kind != "failed":
                line += f"  {ratio:.2f} x" + (
                    "" if kind != "noise" else ": " + _noise(times[base], taken)
                )
        lines.append(line)
    return lines


def _noise(plain, other):
    if len(plain) < FEWEST:
        return "too few turns for a verdict"
    ratios = [a / b for a, b in zip(plain, other)]
    return f"no difference beyond noise ({number(min(ratios))} to {number(max(ratios))} in single turns)"
