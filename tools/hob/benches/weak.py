"""Both applications with as much work for each rank, on ever more ranks (paper, Figs. 14, 17 and 18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hob.appbench import accesses, run_app, trips
from hob.benchlib import BenchError, Progress, alternate, median, program, rank_counts, ratio
from hob.benchpicture import View

NAME = "weak"
HELP = "weak scaling of both applications: the time per vertex or body on ever more ranks, native and by default"

VIEWS = (
    View(
        "Time per vertex, or per body",
        "us, median",
        {"native_us": "native", "us": "default"},
        lambda row: f"{row['program']}, {row['ranks']} ranks",
    ),
)


@dataclass(frozen=True)
class Program:
    words: Callable[[int, object, bool], list]  # for so many ranks
    time: str  # of the program's own totals
    answer: Callable[[dict], object]  # must be the same with Hob as without


def _lcc(ranks, args, quick):
    # Each doubling of the ranks doubles the graph.
    return ["--rmat", (8 if quick else args.scale) + (ranks - 1).bit_length(), 16]


def _barnes_hut(ranks, args, quick):
    return ["--bodies", (200 if quick else args.bodies) * ranks, "--steps", 1]


PROGRAMS = {
    "lcc": Program(_lcc, "microseconds_per_vertex", lambda own: own["totals"]["links"]),
    "barnes-hut": Program(_barnes_hut, "microseconds_per_body", lambda own: own["checksum"]),
}


def add_arguments(parser):
    parser.add_argument("--ranks", default="2,4,8", help="(default: 2,4,8)")
    parser.add_argument(
        "--scale", type=int, default=11, help="2^SCALE vertices for each rank (default: 11)"
    )
    parser.add_argument(
        "--bodies", type=int, default=1250, help="bodies for each rank (default: 1,250)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


def run(args, bench):
    counts = [2, 4] if args.quick else rank_counts(args.ranks)
    repeats = 1 if args.quick else args.repeats
    progress = Progress(NAME, 2 * repeats * len(counts) * len(PROGRAMS))
    for name, kind in PROGRAMS.items():
        path = program(name)
        for ranks in counts:
            words = kind.words(ranks, args, args.quick)
            variants = {
                "native": lambda p=path, w=words, n=ranks: run_app(p, w, n),
                "default": lambda p=path, w=words, n=ranks: run_app(p, w, n, {}),
            }
            _row(bench, name, ranks, alternate(variants, repeats, progress))
    progress.done()


def _row(bench, name, ranks, runs):
    kind = PROGRAMS[name]
    times = {
        variant: [own["totals"][kind.time] for own, _ in found] for variant, found in runs.items()
    }
    if len({kind.answer(own) for found in runs.values() for own, _ in found}) != 1:
        raise BenchError(f"{NAME}: {name} on {ranks} ranks gave another answer with Hob")
    counters = runs["default"][-1][1]
    gets = max(1, counters.get("gets", 0) - counters.get("uncacheable", 0))
    bench.row(
        program=name,
        ranks=ranks,
        native_us=median(times["native"]),
        us=median(times["default"]),
        speedup=ratio(times["native"], times["default"]),
        trips=median([trips(found) for _, found in runs["default"]]),
        **accesses(counters, gets),
    )
