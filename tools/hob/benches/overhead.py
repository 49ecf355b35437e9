"""What Hob itself costs: memory of a rank and of a window, the start of a job, one call."""

import tempfile
from pathlib import Path

from hob import probe
from hob.benchlib import BenchError, Progress, alternate, median, rank_counts
from hob.benchpicture import View
from hob.options import at_least

NAME = "overhead"
HELP = "what Hob costs: memory for each rank and window, starting 2 to 64 ranks, one call"
NEEDS_SOURCE = False

VIEWS = (
    View(
        "Starting and ending a job",
        "s, median",
        {"job_s": "without Hob", "job_hob_s": "with Hob"},
        lambda row: f"{row['ranks']} ranks",
    ),
)
# Of one window, or of one rank, beyond the MPI library's own.
MOST_BYTES_RANK, MOST_BYTES_WINDOW = 16 << 20, 256 << 10
MOST_NS_CALL = 50


def add_arguments(parser):
    parser.add_argument("--ranks", default="2,8,64", help="ranks of a job (default: 2,8,64)")
    parser.add_argument("--repeats", type=at_least(1), default=3, help="turns of each (default: 3)")
    probe.add_arguments(parser)


def run(args, bench):
    counts = [2] if args.quick else rank_counts(args.ranks)
    repeats = 1 if args.quick else args.repeats
    progress = Progress(NAME, 2 * repeats * len(counts))
    with tempfile.TemporaryDirectory(prefix="hob-bench-", dir=Path.cwd()) as folder:
        program = probe.Probe(args, folder)
        for ranks in counts:
            runs = alternate(
                {
                    "without": lambda n=ranks: program.run(n, "--off", only_start=True),
                    "with": lambda n=ranks: program.run(n, only_start=True),
                },
                repeats,
                progress,
            )
            _row(bench, ranks, {name: _medians(results) for name, results in runs.items()})
    progress.done()


def _medians(results):
    """{quantity: median over the runs}."""
    found = {"job": [], "rank": [], "window": [], "window_s": [], "probe_s": []}
    for rows, seconds in results:
        by = {row["what"]: row for row in rows}
        if not {"start", "windows", "probe"} <= by.keys():
            raise BenchError("the program ended before it had measured")
        found["job"].append(seconds)
        found["rank"].append(by["start"]["bytes"])
        found["window"].append(by["windows"]["bytes"])
        found["window_s"].append(by["windows"]["seconds"])
        found["probe_s"].append(by["probe"]["seconds"])
    return {name: median(values) for name, values in found.items()}


def _row(bench, ranks, of):
    plain, hob = of["without"], of["with"]
    row = {
        "ranks": ranks,
        "job_s": plain["job"],
        "job_hob_s": hob["job"],
        "rank_mib": plain["rank"] / (1 << 20),
        "rank_hob_mib": hob["rank"] / (1 << 20),
        "window_kib": plain["window"] / 1024,
        "window_hob_kib": hob["window"] / 1024,
        "make_window_us": 1e6 * plain["window_s"],
        "make_window_hob_us": 1e6 * hob["window_s"],
        "probe_ns": 1e9 * plain["probe_s"],
        "probe_hob_ns": 1e9 * hob["probe_s"],
    }
    bench.row(**row)
    bench.at_most(
        f"{ranks} ranks: MiB that Hob adds to a rank at its start",
        row["rank_hob_mib"] - row["rank_mib"],
        MOST_BYTES_RANK / (1 << 20),
    )
    bench.at_most(
        f"{ranks} ranks: KiB that Hob adds to a window",
        row["window_hob_kib"] - row["window_kib"],
        MOST_BYTES_WINDOW / 1024,
    )
    bench.at_most(
        f"{ranks} ranks: ns that Hob adds to a call that it looks at",
        row["probe_hob_ns"] - row["probe_ns"],
        MOST_NS_CALL,
    )
