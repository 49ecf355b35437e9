"""Local clustering coefficients (apps/lcc; paper, section IV-C, Figs. 15-18)."""

from hob.appbench import add_ranks, compare, draw_modes
from hob.benchlib import plot, program

NAME = "lcc"
HELP = "time per vertex of apps/lcc: native and every mode, at shares of the footprint"


def add_arguments(parser):
    parser.add_argument(
        "--scale", type=int, default=13, help="the R-MAT graph has 2^SCALE vertices (default: 13)"
    )
    parser.add_argument(
        "--edge-factor", type=int, default=16, help="edges per vertex (default: 16)"
    )
    add_ranks(parser)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each variant (default: 5)")


def run(args, bench):
    scale, repeats = (10, 1) if args.quick else (args.scale, args.repeats)
    compare(
        bench,
        NAME,
        program("lcc"),
        ["--rmat", scale, args.edge_factor],
        args.ranks,
        repeats,
        time_of=lambda own: own["totals"]["microseconds_per_vertex"],
        answer_of=lambda own: (own["totals"]["links"], own["totals"]["gets"]),
        index_slots=max(4096, 4 << scale),
    )


def draw(result, path):
    plot(path, draw_modes(result, "us per vertex", "Local clustering coefficients, R-MAT"))
