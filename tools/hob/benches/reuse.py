"""What applications read again: recorded gets, counted and replayed (paper, Figs. 2, 3, 10 and 11)."""

import json
import struct
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from hob.benchlib import BenchError, Progress, program, run_mpi, tool
from hob.benchpicture import View

NAME = "reuse"
HELP = "how often apps repeat their gets, how long these are, and how well the paper's scores keep them"

BLOCK = 5 << 10  # bytes: the paper's example of a block (Fig. 3)
# Of what a rank reads: where the choice of a victim matters.
BUDGET = "25%"
SCORES = ("paper", "temporal", "positional")
# Slots of the index, times the ranges that are asked for.
INDEXES = (0.25, 0.5, 1, 2, 4)
HEADER = 24
RECORD = struct.Struct("<BBHIQQQQ")  # kind, -, window, target, displacement, size, layout, extent
GET = 0

VIEWS = (
    View(
        f"Hits with {BUDGET} of what is read, by the paper's score",
        "of the gets",
        {score: score for score in SCORES},
        lambda row: row["program"],
        log=False,
    ),
    View(
        f"By the size of the index, with {BUDGET} of what is read",
        "share",
        {
            "hits": "hits",
            "occupied": "storage in use",
            "visited_empty": "empty slots of those visited",
        },
        lambda row: f"{row['program']}, {row['score']}, {row['index']:,} slots",
        log=False,
    ),
    View(
        "Gets of the same bytes",
        "times",
        {"repeats_mean": "mean", "repeats_most": "most"},
        lambda row: row["program"],
    ),
)


def add_arguments(parser):
    pass


def _count(trace):
    """(times that each range was asked for, bytes of each get)."""
    keys, sizes = Counter(), Counter()
    content = memoryview(trace.read_bytes())[HEADER:]
    content = content[: len(content) - len(content) % RECORD.size]
    for kind, _, window, target, displacement, size, _, _ in RECORD.iter_unpack(content):
        if kind == GET:
            keys[window, target, displacement] += 1
            sizes[size] += 1
    return keys, sizes


def _replay(trace, scratch, *words):
    """{score: the row of hob-replay}, with readahead off as in the paper."""
    out = Path(scratch, "replay.json")
    done = subprocess.run(
        [tool("hob-replay"), trace, "--policy", ",".join(SCORES)]
        + ["--size", BUDGET, "--readahead", "off", "--json", out, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"hob-replay: {done.stderr.strip()[-500:]}")
    rows = json.loads(out.read_text())["rows"]
    return {row["policy"]: row for row in rows if row["policy"] in SCORES}


def _by_index(bench, name, trace, scratch, distinct):
    """Rows by the size of the index: hits, what is occupied, and what the search for a victim visits."""
    for times in INDEXES:
        slots = max(64, int(times * distinct))
        for score, row in _replay(trace, scratch, "--index", str(slots)).items():
            bench.row(
                program=name,
                score=score,
                index=slots,
                hits=row["hit_ratio"],
                occupied=row["occupied"],
                visited=row["visited_per_victim"],
                visited_empty=row["visited_empty"],
            )


def run(args, bench):
    programs = (
        ("barnes-hut", ("--bodies", 400 if args.quick else 4000)),
        ("lcc", ("--rmat", 9 if args.quick else 13, 16)),
    )
    progress = Progress(NAME, 3 * len(programs))
    for name, words in programs:
        with tempfile.TemporaryDirectory(prefix="hob-bench-") as scratch:
            run_mpi(program(name), words, hob={"trace": scratch})
            progress.tick(name)
            trace = Path(scratch, "rank-0.trace")
            keys, sizes = _count(trace)
            gets = sum(sizes.values())
            bench.row(
                program=name,
                gets=gets,
                distinct=len(keys),
                repeats_mean=gets / len(keys),
                repeats_most=max(keys.values()),
                bytes_mean=sum(size * times for size, times in sizes.items()) / gets,
                bytes_most=max(sizes),
                in_a_block=sum(times for size, times in sizes.items() if size <= BLOCK) / gets,
                **{score: row["hit_ratio"] for score, row in _replay(trace, scratch).items()},
            )
            progress.tick(f"{name}, replayed")
            _by_index(bench, name, trace, scratch, len(keys))
            progress.tick(f"{name}, by size of the index")
    progress.done()
