"""Local clustering coefficients (apps/lcc; paper, section IV-C, Figs. 15-18)."""

import subprocess
import sys
import tempfile

from hob.appbench import Goals, add_ranks, compare, draw_modes
from hob.benchlib import BenchError, plot, program
from hob.where import ROOT

NAME = "lcc"
GOALS = Goals(same_node=1.5, trips=0.005, speedups={25: 4, 10: 2.5})
HELP = "time per vertex of apps/lcc: native and every mode, at shares of the footprint"


def add_arguments(parser):
    parser.add_argument(
        "--scale", type=int, default=13, help="the R-MAT graph has 2^SCALE vertices (default: 13)"
    )
    parser.add_argument(
        "--edge-factor", type=int, default=16, help="edges per vertex (default: 16)"
    )
    parser.add_argument(
        "--graph",
        choices=("rmat", "debian"),
        default="rmat",
        help="R-MAT, or the packages that this Debian-like machine knows (default: rmat)",
    )
    add_ranks(parser)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each variant (default: 5)")


def run(args, bench):
    if args.graph == "rmat":
        scale = 10 if args.quick else args.scale
        return run_graph(args, bench, ["--rmat", scale, args.edge_factor], 4 << scale)
    with tempfile.NamedTemporaryFile(prefix="hob-bench-") as graph:
        maker = [sys.executable, str(ROOT / "apps" / "lcc" / "debian_graph.py"), graph.name]
        done = subprocess.run(maker, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(f"no graph: {done.stderr.strip()}")
        words = ["--snap", graph.name]
        run_graph(args, bench, [*words, "--vertices-limit", 1000] if args.quick else words, 1 << 18)


def run_graph(args, bench, words, index_slots):
    compare(
        bench,
        NAME,
        program("lcc"),
        words,
        args.ranks,
        1 if args.quick else args.repeats,
        time_of=lambda own: own["totals"]["microseconds_per_vertex"],
        answer_of=lambda own: (own["totals"]["links"], own["totals"]["gets"]),
        index_slots=max(4096, index_slots),
        goals=GOALS,
    )


def draw(result, path):
    plot(path, draw_modes(result, "us per vertex", "Local clustering coefficients"))
