"""Commands that are timed in turns, and what their times say: a machine that gets slower or busier
meanwhile does so for all of them."""

import statistics
import subprocess
import time

from hob.report.words import number, seconds

# Differences of medians that are not worth a word, whatever the runs say.
LEAST = 0.02


def runner(command, environment):
    """A function that runs a command once: its seconds, or None where it failed."""

    def once():
        start = time.monotonic()
        done = subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL)
        return time.monotonic() - start if done.returncode == 0 else None

    return once


def take(trials, turns):
    """{name: [seconds or None, ...]}: each trial once in a turn, every second turn in reverse."""
    times = {name: [] for name in trials}
    for turn in range(turns):
        for name in list(trials)[:: -1 if turn % 2 else 1]:
            times[name].append(trials[name]())
    return times


def judge(plain, other):
    """(kind, ratio) of two lists of times that were taken in turns: faster, slower or noise, and
    the median without over the median with. Noise: not every turn says the same, or the medians
    differ by less than 2%. One turn says nothing but noise. (failed, None) where a run failed."""
    if not plain or None in plain or None in other:
        return "failed", None
    ratio = statistics.median(plain) / statistics.median(other)
    signs = {a > b for a, b in zip(plain, other)}
    if len(plain) < 3 or len(signs) > 1 or abs(ratio - 1) < LEAST:
        return "noise", ratio
    return ("faster" if ratio > 1 else "slower"), ratio


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
    if len(plain) < 3:
        return "too few turns to tell"
    ratios = [a / b for a, b in zip(plain, other)]
    return f"no difference beyond noise ({number(min(ratios))} to {number(max(ratios))} in single turns)"
