"""Each rank with all others, on ever more nodes made of network namespaces (bench/ghost)."""

from hob.benchlib import Progress, median, program, rank_counts, run_mpi
from hob.benchpicture import View

NAME = "nodes"
HELP = (
    "accumulates and puts of each rank to all others on 2 to 4 network namespaces, over libfabric and over UCX: native, MPI's "
    "progress thread, ghosts (Fig. 5)"
)

BUSY_US = 100
# Waiting ranks give their core away: there are more of them than cores.
POLITE = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
# What MPICH 5 sends by: set-up and more variables. The second is the other implementation of one-sided operations.
NETWORKS = {
    "libfabric": ("namespaces", {}),
    "ucx": ("namespaces-ucx", {"MPIR_CVAR_CH4_NETMOD": "ucx"}),
}
VIEWS = (
    View(
        f"One operation to all others, {BUSY_US} us of computation, ten operations",
        "us, median",
        {"native_us": "native", "thread_us": "MPI's progress thread", "ghost_us": "ghost"},
        lambda row: f"{row['op']}, {row['nodes']} nodes, {row['network']}",
    ),
)


def add_arguments(parser):
    parser.add_argument("--nodes", default="2,3,4", help="namespaces (default: 2,3,4)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each variant (default: 3)")


VARIANTS = {
    "native": (None, {}),
    "thread": (None, {"MPIR_CVAR_ASYNC_PROGRESS": "1"}),
    "ghost": ({"ghosts": 1, "cache": "off"}, {}),
}


def _times(network, nodes, words, repeats, progress):
    """{operation: {variant: [us of each run]}}."""
    setup, own = NETWORKS[network]
    found = {}
    for _ in range(repeats):
        for name, (hob, more) in VARIANTS.items():
            done = run_mpi(
                program("ghost_bench"),
                words,
                ranks=nodes * (2 if hob else 1),
                setup=setup,
                hob=hob,
                environment={**POLITE, **own, **more},
                nodes=nodes,
                timeout=120,
            )
            for row in done.rows:
                found.setdefault(row["op"], {}).setdefault(name, []).append(row["us"])
            progress.tick(f"{network}, {nodes} nodes, {name}")
    return found


def run(args, bench):
    counts = [2] if args.quick else rank_counts(args.nodes)
    repeats = 1 if args.quick else args.repeats
    words = [
        "what=exchange",
        "ops=accumulate,put",
        f"busy={BUSY_US}",
        f"rounds={11 if args.quick else 31}",
    ]
    progress = Progress(NAME, len(NETWORKS) * len(counts) * repeats * len(VARIANTS))
    for network in NETWORKS:
        for nodes in counts:
            for op, times in _times(network, nodes, words, repeats, progress).items():
                cells = {f"{name}_us": median(of) for name, of in times.items()}
                bench.row(network=network, op=op, nodes=nodes, busy_us=BUSY_US, **cells)
    progress.done()
