"""What the figures and tables of the three papers show, and where the same is measured here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hob.report.words import share

PAPERS = {
    "caching": "Transparent caching for RMA systems (CLaMPI): cached gets",
    "ghosts": "Casper, asynchronous progress for MPI RMA: ghosts",
    "matching": "Semi-permanent cache occupancy: message matching",
}
MEASURED, ANOTHER, NOT_HERE = STATES = ("measured", "another question", "not here")
FEW_CORES = (
    "It asks how many of a node's 16 to 24 cores ghosts should have, each a core of its own. Here two ghosts and the ranks that "
    "they serve would share two cores: a second ghost takes the time that the first one needs, whatever the number of ranks."
)
SEARCH_ALONE = "The search alone on this processor, without a network; the figure has the bandwidth of messages behind the queue."
WEAK = (
    "The same on up to 8 ranks, which share the cores of one machine: natively, targets answer late, which the figure's "
    "16 to 128 processes do not."
)
NEEDS_ROOT = "Nodes are made of network namespaces, for which root and the program ip are needed."
NAMESPACES = (
    "Nodes are network namespaces of one machine, 2 to 4, whose ranks and ghosts share its cores; the figure has a core for "
    "each, and nodes from 16 up."
)


@dataclass(frozen=True)
class Figure:
    paper: str
    name: str
    what: str
    theirs: str
    bench: str = ""  # of `hob bench` that measures it here
    ours: Callable[[list], str] | None = None  # what its rows say, in words
    why: str = ""  # nothing measures it
    question: str = ""  # what ours answers, where that is not what the figure asks

    def state(self, has_result):
        """Of its row: what the figure asks was measured, something near it, or nothing."""
        if not has_result:
            return NOT_HERE
        return ANOTHER if self.question else MEASURED


def _row(rows, **columns):
    """The first row with these columns."""
    return next(row for row in rows if all(row.get(k) == v for k, v in columns.items()))


def _percent(part):
    return share(part, 1)


def _latency(rows):
    row = _row(rows, bytes=8)
    return (
        f"8 B: {row['native_remote_ns'] / 1000:.1f} us remote, {row['native_same_node_ns']:.0f} ns on the same "
        f"node, {row['auto_memcpy_ns']:.0f} ns where the CPU has it: "
        f"{row['native_remote_ns'] / row['auto_memcpy_ns']:,.0f} to 1. A hit: {row['auto_ns']:.0f} ns."
    )


def _hits(rows):
    ratios = [
        f"{row['bytes']:,} B: {row['auto_speedup']:.0f} x" for row in rows if row["bytes"] >= 4096
    ]
    return f"A hit against a native remote get: {', '.join(ratios)}."


def _misses(rows):
    parts = []
    for access in ("conflicting", "capacity", "failing"):
        cells = [
            f"{row['median_ratio'] - 1:+.1%} at {row['bytes']:,} B"
            for row in rows
            if row["access"] == access and row["share_of_kind"] > 0.9
        ]
        if cells:
            parts.append(f"{access}: {', '.join(cells)}")
    served = [
        f"{1 / row['median_ratio']:.0f} x at {row['bytes']:,} B"
        for row in rows
        if row["access"] == "direct"
    ]
    return (
        f"Median against the native get, where at least nine gets in ten are of the kind: {'; '.join(parts)}. "
        f"In order, readahead leaves few misses: {', '.join(served)} faster."
    )


def _index_sizes(rows):
    parts = []
    fixed = [row for row in rows if row["kind"] == "fixed"]
    storage = fixed[-1]["storage"]
    for row in fixed:
        if row["storage"] != storage:
            continue
        adaptive = _row(rows, kind="adaptive", storage=storage, index=row["index"])
        parts.append(
            f"{row['index']:,}: {row['ms']:.0f} ms fixed, {adaptive['ms']:.0f} ms adaptive"
        )
    native = _row(rows, kind="native")["ms"]
    return f"Native {native:.0f} ms. By the entries of the index at first: {'; '.join(parts)}."


def _speedups(rows):
    parts = [
        f"{row['budget_percent']}%: {row['speedup']:.1f} x"
        for row in rows
        if row["mode"] == "auto" and row["budget_percent"]
    ]
    own = _row(rows, mode="auto, adaptive")
    native = _row(rows, mode="native")
    return (
        f"{native['us']:,.0f} us natively, {own['us']:,.0f} us by default ({own['speedup']:.0f} x). "
        f"With so much of what is read: {', '.join(parts)}."
    )


def _accesses(rows):
    parts = [
        f"{row['budget_percent']}%: {_percent(row['full'])} hits, {_percent(row['capacity'] + row['failing'])} "
        f"capacity or failing, {_percent(row['conflicting'])} conflicting"
        for row in rows
        if row["mode"] == "always, paper's policy"
    ]
    own = _row(rows, mode="auto, adaptive")
    return (
        f"The paper's policy with so much of what is read: {'; '.join(parts)}. Hob's own, adaptive: "
        f"{_percent(own['full'])} hits."
    )


def _allocation(rows):
    row = _row(rows, call="win_allocate")
    return f"{row['ghost_us'] / row['native_us']:.1f} x the native time, without hints."


def _epochs(rows):
    parts = []
    for call in ("fence 1", "fence 128", "pscw 1", "pscw 128"):
        row = _row(rows, call=call)
        parts.append(f"{call}: {row['ghost_us'] / row['native_us']:.2f}")
    return f"Time against native, by operations in the epoch: {', '.join(parts)}."


def _waits(rows):
    parts = [
        f"{row['busy_us']:,} us: {row['native_us']:,.0f} natively, {row['thread_us']:,.0f} with the library's "
        f"thread, {row['ghost_us']:,.0f} with a ghost"
        for row in rows
        if row["op"] == "accumulate" and row["busy_us"] > 0
    ]
    return f"Microseconds of an accumulate while its target computes for {'; '.join(parts)}."


def _product(rows):
    names = ("native", "thread", "ghost")
    parts = [
        f"{row['operations']:,}: "
        + ", ".join(f"{row[f'{name}_slowdown']:.3f}" for name in names)
        + " ("
        + ", ".join(f"{row[f'{name}_interrupts']:.0f}" for name in names)
        + " interrupts)"
        for row in rows
    ]
    return (
        f"A matrix product of {rows[0]['busy_us'] / 1000:.0f} ms on the target: its time as a multiple of its time alone, natively, with "
        f"the library's thread, with a ghost, and its core serves so many interrupts, by accumulates: {'; '.join(parts)}. TCP on one machine "
        "interrupts the core that sends; what slows the product is the thread, which takes its core."
    )


def _nodes(op, network="libfabric"):
    def words(rows):
        parts = [
            f"{row['nodes']} nodes: {row['native_us']:,.0f} natively, {row['thread_us']:,.0f} with the library's thread, "
            f"{row['ghost_us']:,.0f} with a ghost ({row['native_us'] / row['ghost_us']:.2f} x)"
            for row in rows
            if row["op"] == op and row["network"] == network
        ]
        if not parts:
            raise LookupError(network)
        return (
            f"Microseconds of one {op} to all others, {rows[0]['busy_us']} us of computation and ten {op}s: "
            f"{'; '.join(parts)}."
        )

    return words


def _binding(figure):
    def words(rows):
        row = next(row for row in rows if figure in str(row.get("pattern")))
        kinds = ("rank", "segment", "random", "operations", "bytes")
        loads = ", ".join(f"{kind} {row[kind]:.2f}" for kind in kinds)
        return f"Most loaded ghost over the average of two (1: balanced), by binding: {loads}."

    return words


def _decompositions(rows):
    worst = max(
        min(abs(row[order] / row["paper depth"] - 1) for order in ("any order", "by thread"))
        for row in rows
    )
    return (
        f"{len(rows)} rows with the paper's numbers of threads and lengths; mean search depths simulated in any "
        f"order, or thread by thread: the nearer one is at most {_percent(worst)} away."
    )


def _motifs(rows):
    parts = [
        f"{row['motif']} ({row['processes']:,} processes): posted median {row['posted median']}, longest "
        f"{row['longest']}; unexpected median {row['unexpected median']}, longest {row['longest ']}"
        for row in rows
        if "matches" in row
    ]
    return f"Simulated. {'. '.join(parts)}."


def _arrays(rows):
    parts = []
    for row in rows:
        kinds = [key for key in row if key.startswith("lla-")]
        gains = ", ".join(f"{kind[4:]}: {row['list'] / row[kind]:.2f} x" for kind in kinds)
        parts.append(
            f"{row['bytes']:,} B behind {row['depth']:,}, {gains}, Hob's own structure: {row['list'] / row['flat']:.2f} x"
        )
    return (
        "Messages a second on one node, caches cleared before each burst, against a plain list, by entries in an array: "
        f"{'; '.join(parts)}."
    )


def _heater(rows):
    parts = [
        f"{row['strategy']}, {row['depth']:,} deep: {row['gain']:.2f} x (computing {row['computing x']:.2f} x)"
        for row in rows
        if "gain" in row
    ]
    return (
        f"A search with the heater against one without, and what computing beside it takes: {'; '.join(parts)}. "
        "Off unless it is measured to pay."
    )


def _repeated(rows):
    row = _row(rows, program="barnes-hut")
    return (
        f"{row['gets']:,} gets of rank 0 ask for {row['distinct']:,} different ranges: {row['repeats_mean']:,.0f} times "
        f"each, {row['repeats_most']:,} at most."
    )


def _lengths(rows):
    row = _row(rows, program="lcc")
    return (
        f"5 KB blocks would hold {_percent(row['in_a_block'])} of {row['gets']:,} gets, of {row['bytes_mean']:,.0f} B on "
        f"average and {row['bytes_most']:,} B at most."
    )


def _indexed(rows):
    """{(program, index): {score: row}} of the rows by the size of the index."""
    found = {}
    for row in rows:
        if "score" in row:
            found.setdefault((row["program"], row["index"]), {})[row["score"]] = row
    return found


def _occupied(rows):
    found = _indexed(rows)
    parts = []
    for name in dict.fromkeys(program for program, _ in found):
        of = found[max(key for key in found if key[0] == name)]
        parts.append(
            f"{name}: {_percent(of['paper']['occupied'])} with the full score, "
            f"{_percent(of['positional']['occupied'])} positional, {_percent(of['temporal']['occupied'])} temporal"
        )
    return (
        f"Storage in use over the later half of the gets, which are replayed with a quarter of what is read: "
        f"{'; '.join(parts)}. `hob report` draws it get by get for any run."
    )


def _victims(rows):
    found = _indexed(rows)
    # Of each program the smallest index and the largest.
    ends = set()
    for name in {program for program, _ in found}:
        own = [key for key in found if key[0] == name]
        ends |= {min(own), max(own)}
    parts = [
        f"{program} with {index:,} slots: hits {_percent(of['paper']['hits'])} (temporal {_percent(of['temporal']['hits'])}, "
        f"positional {_percent(of['positional']['hits'])}), {of['paper']['visited']:.0f} slots visited for a victim, "
        f"{_percent(of['paper']['visited_empty'])} of them empty, {_percent(1 - of['paper']['occupied'])} of the storage free"
        for (program, index), of in found.items()
        if (program, index) in ends
    ]
    return f"Replayed with a quarter of what is read, full score: {'; '.join(parts)}."


def _weak_accesses(rows):
    parts = [
        f"{row['ranks']} ranks: {_percent(row['full'])} hits, {_percent(row['direct'])} direct, "
        f"{_percent(row['capacity'] + row['failing'])} capacity or failing"
        for row in rows
        if row["program"] == "lcc"
    ]
    return f"By default: {'; '.join(parts)}."


def _weak_bodies(rows):
    return _weak(rows, "barnes-hut")


def _weak(rows, program="lcc"):
    parts = [
        f"{row['ranks']} ranks: {row['native_us']:,.0f} us natively, {row['us']:,.1f} us by default "
        f"({row['speedup']:.0f} x)"
        for row in rows
        if row["program"] == program
    ]
    return f"{'; '.join(parts)}. All ranks share the cores of one machine, so that natively targets answer late."


def _fences(rows):
    said = []
    for epoch in dict.fromkeys(row["epoch"] for row in rows):
        parts = [
            f"{row['operations']:,}: {row['native_us']:,.0f} natively, {row['thread_us']:,.0f} with the library's thread, "
            f"{row['ghost_us']:,.0f} with a ghost"
            for row in rows
            if row["epoch"] == epoch
        ]
        said.append(f"{epoch}, {'; '.join(parts)}.")
    return (
        f"Microseconds of an epoch in which the target computes {rows[0]['busy_us']:,} us, by accumulates: "
        f"{' '.join(said)}"
    )


def _nwchem(rows):
    parts = {"iteration_s": "a CCSD iteration", "triples_s": "(T)"}
    said = []
    for row in rows:
        if "seconds" not in row:
            said.append(f"{row['task']}, {row['deployment']}: not at its end after two minutes")
            continue
        more = ", ".join(f"{name} {row[part]:.2f}" for part, name in parts.items() if part in row)
        said.append(
            f"{row['task']}, {row['deployment']}: {row['seconds']:.1f}{f' ({more})' if more else ''}, "
            f"{row['times_faster']:.2f} x"
        )
    return f"Seconds of the job, and the native time over it, the energies the same. {'; '.join(said)}."


def _deployments(rows):
    parts = [
        f"{row['deployment']}: {row['computing_cores']} compute, {row['ghosts']} ghosts, {row['threads']} threads"
        for row in rows
        if row["task"] == rows[0]["task"]
    ]
    return (
        f"On two cores, one for each node (with dedicated threads one node, whose rank has no other to ask), {'; '.join(parts)}. "
        "What each takes is at Fig. 8."
    )


def _exchange(rows):
    parts = [
        f"{row['posted']:,} posted: {row['native_us']:.1f} us a message natively, {row['auto_us']:.1f} by default"
        for row in rows
        if row["completion"] == "waitall"
    ]
    return (
        f"An exchange as FDS makes it (apps/fds-proxy), 2 ranks of one node: {'; '.join(parts)}. FDS and MiniFE "
        "themselves: docs/real-programs.md."
    )


FIGURES = (
    Figure(
        "caching",
        "Fig. 1",
        "latency by distance",
        "Less than 10 ns in the CPU's cache, less than 100 ns in local memory, 2 to 3 us remote: three orders of "
        "magnitude.",
        "hit",
        _latency,
    ),
    Figure(
        "caching",
        "Fig. 2",
        "how often gets are repeated, Barnes-Hut",
        "Up to 3,500 times.",
        "reuse",
        _repeated,
    ),
    Figure(
        "caching",
        "Fig. 3",
        "sizes of gets, clustering coefficients",
        "5 KB blocks would hold 82% of the requests, whose average is about 1 KB.",
        "reuse",
        _lengths,
    ),
    Figure(
        "caching",
        "Fig. 7, hits",
        "time of a hit",
        "Up to 9.3 x faster than the native get at 4 KB, 3.7 x at 16 KB.",
        "hit",
        _hits,
    ),
    Figure(
        "caching",
        "Fig. 7, other accesses",
        "cost of other accesses, by type",
        "Drawn against a line at 25% of the native latency; an eviction costs the same at each size, a failing "
        "access copies nothing.",
        "miss",
        _misses,
    ),
    Figure(
        "caching",
        "Fig. 8",
        "communication that computation overlaps",
        "Up to 85% natively at 64 KB; failing accesses overlap more than those that copy.",
        why="It overlaps gets that the network's hardware moves while the program computes. Over TCP the bytes of gets move "
        "inside MPI calls, so that natively nothing overlaps. `hob bench overlap` has large messages and collectives.",
    ),
    Figure(
        "caching",
        "Fig. 9",
        "completion time by the size of the index",
        "Fixed is slow while the index has fewer entries than there are distinct gets; adaptive is not.",
        "micro",
        _index_sizes,
    ),
    Figure(
        "caching",
        "Fig. 10",
        "occupied storage, get by get",
        "The full and the positional score keep about 90% of the storage occupied, the temporal one less and less.",
        "reuse",
        _occupied,
    ),
    Figure(
        "caching",
        "Fig. 11",
        "victims: entries visited, hits, free space",
        "The full score has the most hits; the larger the index, the more empty entries are visited.",
        "reuse",
        _victims,
    ),
    Figure(
        "caching",
        "Fig. 12",
        "Barnes-Hut, time per body",
        "1.53 ms natively, 20,000 bodies on 16 processes; the adaptive strategy is the fastest of all.",
        "barnes-hut",
        _speedups,
        question="The same program on 2 ranks, by the cache's share of what is read; no UPC cache beside it.",
    ),
    Figure(
        "caching",
        "Fig. 13",
        "Barnes-Hut, types of accesses",
        "An index of 1,000 entries has many conflicting accesses.",
        "barnes-hut",
        _accesses,
        question="Types of accesses by the size of the storage on 2 ranks; the figure varies the index at 1 MB.",
    ),
    Figure(
        "caching",
        "Fig. 14",
        "Barnes-Hut, weak scaling",
        "Up to 5 x on 16 to 128 processes with 1,500 bodies each.",
        "weak",
        _weak_bodies,
        question=WEAK,
    ),
    Figure(
        "caching",
        "Fig. 15",
        "clustering coefficients, time per vertex",
        "Adaptive is as fast as the best fixed setting, wherever it starts.",
        "lcc",
        _speedups,
        question="Time by the cache's share of what is read, on a smaller graph and 2 ranks; the figure varies index and "
        "storage at the start.",
    ),
    Figure(
        "caching",
        "Fig. 16",
        "clustering coefficients, types of accesses",
        "64 MB: about 60% of the gets capacity or failing, with 128 MB less than 5%; adaptive always above 60% hits.",
        "lcc",
        _accesses,
    ),
    Figure(
        "caching",
        "Fig. 17",
        "clustering coefficients, weak scaling",
        "The gain shrinks with the number of processes, since data are reused less.",
        "weak",
        _weak,
        question=WEAK,
    ),
    Figure(
        "caching",
        "Fig. 18",
        "clustering coefficients, weak scaling, accesses",
        "Direct accesses become more with the number of processes; fixed, capacity and failing ones do as well.",
        "weak",
        _weak_accesses,
        question=WEAK,
    ),
    Figure(
        "ghosts",
        "Fig. 3a",
        "MPI_Win_allocate",
        "More than twice the original's time with hints, and much more without.",
        "redirect",
        _allocation,
    ),
    Figure(
        "ghosts",
        "Fig. 3b",
        "fences and post-start-complete-wait",
        "100 to 200% more for few operations, nothing for many.",
        "redirect",
        _epochs,
    ),
    Figure(
        "ghosts",
        "Fig. 4a",
        "accumulate to a rank that computes",
        "The original's time grows with the target's computation; the ghost's does not, and it is below that of "
        "the threads.",
        "progress",
        _waits,
    ),
    Figure(
        "ghosts",
        "Fig. 4b",
        "epochs whose target computes",
        "Of use while the operations take less time than the target computes.",
        "fences",
        _fences,
    ),
    Figure(
        "ghosts",
        "Fig. 4c",
        "a matrix product beside accumulates, and interrupts",
        "Interrupts of the network's own progress slow it, more with more operations.",
        "product",
        _product,
    ),
    Figure(
        "ghosts",
        "Fig. 5a",
        "accumulates on more and more nodes",
        "Ahead of the original and of threads at each number of nodes.",
        "nodes",
        _nodes("accumulate"),
        NEEDS_ROOT,
        question=NAMESPACES,
    ),
    Figure(
        "ghosts",
        "Fig. 5b",
        "puts on more and more nodes",
        "As the original: the hardware does them; threads are the slowest.",
        "nodes",
        _nodes("put"),
        NEEDS_ROOT,
        question=NAMESPACES + " Software does the puts here.",
    ),
    Figure(
        "ghosts",
        "Fig. 5c",
        "accumulates on more nodes, another network",
        "Ahead of the original; threads cost most.",
        "nodes",
        _nodes("accumulate", "ucx"),
        NEEDS_ROOT,
        question=NAMESPACES + " The other implementation is MPICH 5 over UCX.",
    ),
    Figure(
        "ghosts",
        "Fig. 6a",
        "how many ghosts pay, by processes",
        "Two for up to 32 processes, more beyond.",
        why=FEW_CORES,
    ),
    Figure(
        "ghosts",
        "Fig. 6b",
        "how many ghosts pay, by operations",
        "Two for up to 8 operations on 32 processes, more beyond.",
        why=FEW_CORES,
    ),
    *(
        Figure("ghosts", name, what, theirs, "binding", _binding(name))
        for name, what, theirs in (
            (
                "Fig. 6c",
                "windows of uneven sizes",
                "Segments balance them, the better the more ghosts there are.",
            ),
            (
                "Fig. 7a",
                "uneven numbers of puts",
                "Random choice is much better than static binding.",
            ),
            (
                "Fig. 7b",
                "uneven numbers of puts and accumulates",
                "Counting operations is better than random choice.",
            ),
            ("Fig. 7c", "uneven sizes", "Counting bytes is better than both."),
        )
    ),
    Figure(
        "ghosts",
        "Fig. 8",
        "NWChem",
        "CCSD(T) almost twice as fast.",
        "nwchem",
        _nwchem,
        "NWChem is not installed here (Debian's nwchem-mpich), or nodes cannot be made, for which root and the program ip are "
        "needed.",
        "One and two molecules of water on two nodes of one core, which the ghosts share; the figure has 16 molecules, C20 and "
        "thousands of cores, of which ghosts have a sixth.",
    ),
    Figure(
        "ghosts",
        "Table I",
        "NWChem: cores for ghosts, or for threads",
        "With ghosts 20 of 24 cores compute, with oversubscribed threads 24, with dedicated ones 12.",
        "nwchem",
        _deployments,
        "NWChem is not installed here, or nodes cannot be made (Fig. 8).",
        "Two cores: ghosts share those of the ranks.",
    ),
    Figure(
        "matching",
        "Table 1",
        "queues of multithreaded decompositions",
        "Lengths from 128 to 6,146, mean search depths from 32.5 to 1,294.5.",
        "decomposition",
        _decompositions,
    ),
    Figure(
        "matching",
        "Fig. 1",
        "queue lengths at scale",
        "Adaptive meshes: mostly up to the mid hundreds; sweeps the same but for few very long ones; halos short.",
        "motifs",
        _motifs,
    ),
    Figure(
        "matching",
        "Fig. 4",
        "linked lists of arrays, Sandy Bridge",
        "Up to 2 x the bandwidth at a search depth of 1,024; nothing more beyond 8 entries in an array.",
        "cold-queues",
        _arrays,
    ),
    Figure(
        "matching",
        "Fig. 5",
        "linked lists of arrays, Broadwell",
        "Likewise, on a newer processor.",
        "cold-queues",
        _arrays,
    ),
    Figure(
        "matching",
        "Fig. 6",
        "heating the cache, Sandy Bridge",
        "Of use for short and middle queues.",
        "heat",
        _heater,
        question=SEARCH_ALONE,
    ),
    Figure(
        "matching",
        "Fig. 7",
        "heating the cache, Broadwell",
        "A slight loss.",
        "heat",
        _heater,
        question=SEARCH_ALONE,
    ),
    Figure(
        "matching",
        "Fig. 8",
        "AMG2013",
        "Gains 2.9% with arrays.",
        why="A run of 1,024 processes and more; with the two that have a core each here, its queues hold a few receives, which "
        "any structure finds at once: there is no gain to measure. `hypre-ij` in docs/real-programs.md is its solver on two ranks.",
    ),
    Figure(
        "matching",
        "Fig. 9",
        "MiniFE by the length of its queues",
        "Gains 2.3% with 2,048 receives posted, 512 processes.",
        why="512 processes on as many cores, with receives added to MiniFE's source. Unmodified, on two ranks, its queues hold a "
        "few: docs/real-programs.md. `hob bench exchange` has 128 to 4,096 receives posted.",
    ),
    Figure(
        "matching",
        "Fig. 10",
        "FDS at scale",
        "1.21 x on 1,024 processes, 2 x on 4,096.",
        "exchange",
        _exchange,
        question="FDS's exchange alone (apps/fds-proxy), on 2 ranks of one node, by the receives that are posted.",
    ),
)
