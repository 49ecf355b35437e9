"""What applications read again: recorded gets, counted and replayed (paper, Figs. 2, 3 and 11)."""

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


def _hits(trace, scratch):
    """{score: hits, of the gets}, with readahead off as in the paper."""
    out = Path(scratch, "replay.json")
    done = subprocess.run(
        [tool("hob-replay"), trace, "--policy", ",".join(SCORES)]
        + ["--size", BUDGET, "--readahead", "off", "--json", out],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"hob-replay: {done.stderr.strip()[-500:]}")
    rows = json.loads(out.read_text())["rows"]
    return {row["policy"]: row["hit_ratio"] for row in rows if row["policy"] in SCORES}


def run(args, bench):
    programs = (
        ("barnes-hut", ("--bodies", 400 if args.quick else 4000)),
        ("lcc", ("--rmat", 9 if args.quick else 13, 16)),
    )
    progress = Progress(NAME, 2 * len(programs))
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
                **_hits(trace, scratch),
            )
            progress.tick(f"{name}, replayed")
    progress.done()
