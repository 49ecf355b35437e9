"""How evenly each binding loads the ghosts of a node: on real ghosts here, and simulated for 16 nodes of 24
ranks (bench/ghost)."""

import json
import subprocess
import tempfile
from pathlib import Path

from hob.benches.ghost_jobs import job
from hob.benchlib import BenchError, Progress, tool
from hob.benchpicture import View

NAME = "binding"
HELP = "load per ghost for uneven targets, sizes and operations, by binding (Figs. 6, 7)"

BINDINGS = ("rank", "segment", "random", "operations", "bytes")
VIEWS = (
    View(
        "Load of ghosts, by binding",
        "most loaded ghost / average of its node (1: balanced)",
        {binding: binding for binding in BINDINGS},
        lambda row: f"{row['where']}\n{row['pattern']}, {row['ghosts']} ghosts",
        log=False,
        line=1,
    ),
)
GHOSTS = 2
# The patterns of bench/ghost/binding_bench.cpp, from two origins to two targets with two ghosts.
PATTERNS = {
    "uneven windows, accumulates (Fig. 6c)": (
        "operations",
        "puts=0 accumulates=512 window=4096 uneven=1",
    ),
    "uneven puts (Fig. 7a)": ("operations", "puts=256"),
    "uneven puts and accumulates (Fig. 7b)": ("operations", "puts=256 accumulates=64"),
    "uneven sizes (Fig. 7c)": (
        "bytes",
        "puts=64 accumulates=64 put_bytes=8192 accumulate_bytes=2048 others=64",
    ),
}


def add_arguments(parser):
    pass


def _real(binding, counter, words):
    """The most loaded ghost of the targets' node over the average."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        extra = {"HOB_GHOST_BINDING": binding, "HOB_JSON": str(report)}
        job(["what=binding", *words.split()], ghosts=GHOSTS, users=4, ghosts_with=None, extra=extra)
        ranks = json.loads(report.read_text())["ranks"]
    node = ranks[-1]["ghost"]["node"]
    for rank in ranks:
        if rank["ghost"]["node"] == node and "ghosts" in rank["ghost"]:
            loads = [ghost[counter] for ghost in rank["ghost"]["ghosts"]]
            return max(loads) * len(loads) / sum(loads)
    raise BenchError("the report has nothing about the targets' ghosts")


def _simulated():
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        program = tool("hob-bench-binding")
        done = subprocess.run([program, "--json", out], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise BenchError(f"{program} ended with status {done.returncode}: {done.stderr}")
        return json.loads(out.read_text())


def run(args, bench):
    progress = Progress(NAME, len(PATTERNS) * len(BINDINGS))
    real = {}
    for pattern, (counter, words) in PATTERNS.items():
        for binding in BINDINGS:
            real[pattern[-3:-1], binding] = _real(binding, counter, words)
            progress.tick(binding)
        bench.row(
            where="real, 2 nodes x 2 ranks",
            pattern=pattern,
            ghosts=GHOSTS,
            **{binding: real[pattern[-3:-1], binding] for binding in BINDINGS},
        )
    progress.done()

    def ratio(figure, better, than, limit):
        value = real[figure, better] / real[figure, than]
        bench.at_most(f"real {figure}: {better} / {than}", value, limit)

    ratio("6c", "segment", "rank", 0.9)
    ratio("7a", "random", "rank", 0.9)
    ratio("7b", "operations", "random", 0.999)
    ratio("7b", "random", "rank", 0.999)
    ratio("7c", "bytes", "operations", 0.999)
    ratio("7c", "bytes", "random", 0.999)
    bench.at_most("real: byte counting beyond perfect balance", real["7c", "bytes"], 1.1)

    simulated = _simulated()
    for row in simulated["rows"]:
        bench.row(where="simulated, 16 nodes x 24 ranks", **row)
    bench.limits += [
        {**limit, "name": f"simulated {limit['name']}"} for limit in simulated["limits"]
    ]
