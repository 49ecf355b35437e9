"""Shared by the benchmarks of applications: one program, natively and with Hob in every mode, at
budgets that are shares of what it fetches (paper, section IV-B and IV-C)."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hob.benchlib import BenchError, Progress, alternate, median, ratio, run_mpi

BUDGETS = (10, 25, 50, 100)
# auto against always; speed-up at a budget of 100%.
AUTO_FACTOR, FULL_SPEEDUP = 1.05, 5.0
# Variants this many times faster than the native program run this many times as often again.
BRISK, BRISK_ROUNDS = 5, 3
HITS = ("full", "partial", "pending")
KINDS = (*HITS, "direct", "conflicting", "capacity", "failing")


@dataclass
class Goals:
    """What one application must reach beside what all must, in mode auto; None: not asked."""

    same_node: float | None = None  # times the same-node time without Hob, at 100%, at most
    trips: float | None = None  # gets given to the network at 100%, of all, at most
    speedups: dict = field(default_factory=dict)  # budget: times faster than native, at least
    # Against the same with readahead=off: trips at 100% at most this share, and time at every
    # budget at most AUTO_FACTOR of it.
    trips_spared: float | None = None


def add_ranks(parser):
    # A rank without a core of its own measures the scheduler: 15% from run to run.
    ranks = min(4, max(2, os.cpu_count() or 2))
    parser.add_argument(
        "--ranks",
        type=int,
        default=ranks,
        help=f"(default: one for each core, 2 to 4; here {ranks})",
    )


def run_app(path, words, ranks, hob=None, setup="remote"):
    """One run: (the program's own JSON, Hob's counters)."""
    with tempfile.TemporaryDirectory(prefix="hob-bench-") as scratch:
        out = f"{scratch}/run.json"
        result = run_mpi(
            path,
            [*words, "--json", out],
            ranks=ranks,
            setup=setup,
            hob=hob,
            report=hob is not None,
        )
        try:
            own = json.loads(Path(out).read_text())
        except (OSError, ValueError) as fault:
            raise BenchError(f"{path} wrote no result: {fault}") from fault
    return own, result.counters()


def accesses(counters, gets):
    """{kind of KINDS: its share of so many gets}."""
    return {
        kind: counters.get(f"hits_{kind}" if kind in HITS else kind, 0) / gets for kind in KINDS
    }


def trips(counters):
    """Gets given to the network, those of blocks included, as a share of all gets."""
    gets = counters.get("gets", 0)
    return counters.get("native_gets", 0) / gets if gets else 1.0


def compare(
    bench,
    name,
    path,
    words,
    ranks,
    repeats,
    time_of,
    answer_of,
    index_slots,
    budgets=BUDGETS,
    goals=None,
):
    """Runs all variants in turn and judges them in `bench`. time_of(own JSON): the time that counts.
    answer_of(own JSON): what must be the same in all runs."""
    first, _ = run_app(path, words, ranks)
    footprint = int(first["totals"]["footprint_bytes"])

    def variant(hob):
        return lambda: run_app(path, words, ranks, hob)

    goals = goals or Goals()
    fixed = {"cache_adapt": "off", "cache_index": index_slots}
    variants = {
        ("native", None): variant(None),
        ("strict", 100): variant({**fixed, "cache": "strict", "cache_size": footprint}),
        ("auto, adaptive", None): variant({}),
    }
    if goals.same_node:
        variants[("same node, without Hob", None)] = lambda: run_app(
            path, words, ranks, setup="node"
        )
    for budget in budgets:
        size = {**fixed, "cache_size": max(1024, footprint * budget // 100)}
        variants[("auto", budget)] = variant(size)
        variants[("always", budget)] = variant({**size, "cache": "always"})
        if goals.trips_spared:
            variants[("auto, readahead off", budget)] = variant({**size, "readahead": "off"})
        variants[("always, paper's policy", budget)] = variant(
            {**size, "cache": "always", "cache_policy": "paper"}
        )
    progress = Progress(name, repeats * len(variants))
    runs = alternate(variants, repeats, progress)
    progress.done()
    # Short runs differ clearly only where there are many, and these are cheap.

    def times_of(key):
        return [time_of(own) for own, _ in runs[key]]

    native = median(times_of(("native", None)))
    brisk = {
        key: run
        for key, run in variants.items()
        if key[0].startswith(("auto", "always"))
        and all(
            median(times_of(other)) * BRISK < native
            for other in variants
            if other[1] == key[1] and other[1] is not None and other[0] != "strict"
        )
    }
    progress = Progress(f"{name}, short runs again", BRISK_ROUNDS * repeats * len(brisk))
    for key, more in alternate(brisk, BRISK_ROUNDS * repeats, progress).items():
        runs[key] += more
    progress.done()

    times = {key: times_of(key) for key in runs}
    for key, results in runs.items():
        own, counters = results[-1]
        columns = {
            "mode": key[0],
            "budget_percent": key[1],
            "us": median(times[key]),
            "speedup": ratio(times[("native", None)], times[key]),
        }
        gets = counters.get("gets", 0)
        if gets:
            columns["trips"] = trips(counters)
            columns |= accesses(counters, gets)
        bench.row(**columns)
        for other, _ in results:
            if answer_of(other) != answer_of(first):
                raise BenchError(
                    f"{name}: {key[0]} at {key[1]}% gave another answer: "
                    f"{answer_of(other)}, not {answer_of(first)}"
                )
    for budget in budgets:
        bench.at_most(
            f"auto against always, {budget}%: time",
            ratio(times[("auto", budget)], times[("always", budget)]),
            AUTO_FACTOR,
        )
    bench.at_least(
        "auto, 100%: times faster than native",
        ratio(times[("native", None)], times[("auto", 100)]),
        FULL_SPEEDUP,
    )
    for budget in budgets:
        against = ratio(times[("always", budget)], times[("always, paper's policy", budget)])
        if budget == 25:
            bench.at_most("default policy against the paper's, 25%: time (ahead)", against, 0.99)
        else:
            bench.at_most(
                f"default policy against the paper's, {budget}%: time (not behind)",
                against,
                AUTO_FACTOR,
            )
    _judge(bench, goals, times, runs, budgets)
    bench.also["footprint_bytes"] = footprint


def _judge(bench, goals, times, runs, budgets):
    full = runs[("auto", 100)][-1][1]
    if goals.same_node:
        bench.at_most(
            "auto, 100%: time against the same node without Hob",
            ratio(times[("auto", 100)], times[("same node, without Hob", None)]),
            goals.same_node,
        )
    if goals.trips:
        bench.at_most("auto, 100%: trips, of the gets", trips(full), goals.trips)
    for budget, least in goals.speedups.items():
        bench.at_least(
            f"auto, {budget}%: times faster than native",
            ratio(times[("native", None)], times[("auto", budget)]),
            least,
        )
    if goals.trips_spared:
        off = runs[("auto, readahead off", 100)][-1][1]
        bench.at_most(
            "auto, 100%: trips against readahead=off", trips(full) / trips(off), goals.trips_spared
        )
        for budget in budgets:
            bench.at_most(
                f"auto, {budget}%: time against readahead=off",
                ratio(times[("auto", budget)], times[("auto, readahead off", budget)]),
                AUTO_FACTOR,
            )


def draw_modes(result, unit, title):
    """A picture: time over the budget."""

    def figure(pyplot):
        for mode in ("auto", "always", "always, paper's policy"):
            rows = [row for row in result["rows"] if row["mode"] == mode]
            pyplot.plot(
                [row["budget_percent"] for row in rows],
                [row["us"] for row in rows],
                marker="o",
                label=mode,
            )
        for row in result["rows"]:
            if row["mode"] in ("native", "strict"):
                pyplot.axhline(
                    row["us"],
                    linestyle=":",
                    label=row["mode"],
                    color="black" if row["mode"] == "native" else "grey",
                )
        pyplot.yscale("log")
        pyplot.xlabel("budget, % of the footprint")
        pyplot.ylabel(unit)
        pyplot.legend()
        pyplot.title(title)

    return figure
