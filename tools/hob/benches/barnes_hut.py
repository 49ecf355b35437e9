"""Barnes-Hut force phase (apps/barnes-hut; paper, section IV-B, Figs. 12-14)."""

from hob.appbench import Goals, add_ranks, compare, draw_modes
from hob.benchlib import plot, program

NAME = "barnes-hut"
GOALS = Goals(trips_spared=0.1)
HELP = "time per body of the force phase of apps/barnes-hut: native and every mode"


def add_arguments(parser):
    parser.add_argument(
        "--bodies", type=int, default=2500, help="bodies of all ranks together (default: 2500)"
    )
    add_ranks(parser)
    parser.add_argument("--repeats", type=int, default=5, help="runs of each variant (default: 5)")


def run(args, bench):
    bodies, repeats = (500, 1) if args.quick else (args.bodies, args.repeats)
    compare(
        bench,
        NAME,
        program("barnes-hut"),
        ["--bodies", bodies, "--steps", 1],
        args.ranks,
        repeats,
        time_of=lambda own: own["totals"]["microseconds_per_body"],
        answer_of=lambda own: own["checksum"],
        index_slots=max(4096, 8 * bodies),
        goals=GOALS,
    )


def draw(result, path):
    plot(path, draw_modes(result, "us per body, force phase", "Barnes-Hut"))
