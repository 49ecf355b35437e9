"""Memory against the number of ranks: real ranks (bench/mpi/rma_scale.cpp), and simulated targets
in the pure part (hob-bench-cache)."""

import json
import subprocess
import tempfile
from pathlib import Path

from hob.benchlib import BenchError, Progress, plot, program, rank_counts, run_mpi, tool

NAME = "scale"
HELP = "memory of the cache against ranks and targets, real and simulated"

# With the same targets used, what may be added by more ranks in the communicator.
SLACK_BYTES_PER_RANK = 64


def add_arguments(parser):
    parser.add_argument("--ranks", default="2,4,8", help="real ranks (default: 2,4,8)")


def run(args, bench):
    counts = [2, 4] if args.quick else rank_counts(args.ranks)
    path = program("rma_scale")
    progress = Progress(NAME, 2 * len(counts) + 1)
    one_target = {}
    for ranks in counts:
        for targets in sorted({1, ranks - 1}):
            done = run_mpi(path, [f"targets={targets}"], ranks=ranks, hob={}, report=True)
            first = done.report["ranks"][0]
            memory = sum(window["counters"]["cache_memory"] for window in first["windows"])
            if targets == 1:
                one_target[ranks] = memory
            bench.row(
                kind="real ranks",
                ranks=ranks,
                targets_used=targets,
                memory_bytes=memory,
                bytes_per_target=memory / targets,
                process_bytes=first["memory_bytes"],
            )
            progress.tick(f"{ranks} ranks")
    low, high = min(counts), max(counts)
    bench.at_most(
        f"one target used, {high} ranks instead of {low}: bytes per further rank",
        (one_target[high] - one_target[low]) / max(1, high - low),
        SLACK_BYTES_PER_RANK,
    )
    simulate(bench, args.quick)
    progress.tick("simulated")
    progress.done()


def simulate(bench, quick):
    """The pure part with up to a million targets, from `hob-bench-cache scale`."""
    binary = tool("hob-bench-cache")
    with tempfile.TemporaryDirectory(prefix="hob-bench-") as scratch:
        out = Path(scratch) / "scale.json"
        command = [str(binary), "scale", "--json", str(out)] + (["--quick"] if quick else [])
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise BenchError(
                f"exit status {done.returncode} from {' '.join(command)}\n{done.stderr[-2000:]}"
            )
        written = json.loads(out.read_text())
    for row in written["rows"]:
        bench.row(kind="simulated", **row)
    bench.limits.extend(written["limits"])


def draw(result, path):
    def figure(pyplot):
        rows = [row for row in result["rows"] if row["kind"] == "real ranks"]
        one = [row for row in rows if row["targets_used"] == 1]
        pyplot.plot(
            [row["ranks"] for row in one],
            [row["memory_bytes"] / 1024 for row in one],
            marker="o",
            label="one target used",
        )
        every = [row for row in rows if row["targets_used"] == row["ranks"] - 1]
        pyplot.plot(
            [row["ranks"] for row in every],
            [row["memory_bytes"] / 1024 for row in every],
            marker="o",
            label="all targets used",
        )
        pyplot.xticks([row["ranks"] for row in one])
        pyplot.xlabel("ranks")
        pyplot.ylabel("memory of the cache at rank 0, KiB")
        pyplot.legend()
        pyplot.title("Memory by number of ranks")

    plot(path, figure)
