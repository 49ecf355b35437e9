"""What the wrappers have for one-sided calls, their windows, and calls that fill a window's memory."""

import re
import sys

import plan
from calls import has_parameter, library_call, still_asked
from plan import CALLS

HEADERS = """
    mpi/rma/direct.hpp mpi/rma/incoming.hpp mpi/rma/joint_acquire.hpp
    mpi/rma/untracked_windows.hpp
    """

# Windows.
CALLS.add(
    """
    Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_shared_query_c
    """,
    "hook",
)
CALLS.add("Win_free", "hook everywhere")
CALLS.add("Win_set_info", "hook decides")
CALLS.add("Win_get_attr Win_shared_query", "hook local")

# Synchronisation of windows. It matters only to windows from which something was fetched.
CALLS.add(
    """
    Win_fence Win_start Win_complete Win_wait Win_lock Win_lock_all
    """,
    "hook decides only_tracked",
    at_rest="",
    passes="untracked()",
)
CALLS.add(
    "Win_post Win_sync", "hook decides patient only_tracked", at_rest="", passes="untracked()"
)
CALLS.add("Win_test", "hook decides polls only_tracked", at_rest="", passes="untracked()")
# They wait for targets: now and then Hob sees them while tracking is off, too, to time them.
TIMED = "Win_flush Win_unlock Win_unlock_all Win_flush_all Win_flush_local Win_flush_local_all"
for name in TIMED.split():
    CALLS.add(
        name,
        f"hook decides only_tracked early{' quick' if name == 'Win_flush' else ''}",
        at_rest="all_windows.timed.passes()",
        passes="untracked_untimed()",
    )

# Operations, which may be only counted while tracking is off (untracked_windows.hpp): in which member of
# UntrackedWindow.
COUNTED = {
    "Get": "gets",
    "Put": "puts",
    "Accumulate": "accumulates",
    "Rget": "gets",
    "Rput": "puts",
    "Raccumulate": "accumulates",
    "Fetch_and_op": "atomics",
    "Compare_and_swap": "atomics",
}


def only_counted(name, slot):
    """C++ that counts a call on a window, if that is all there is to do, in what `slot` says."""
    which = COUNTED[name]
    if which in ("gets", "atomics"):
        counted = f"counted_{which[:-1]}({slot}, win, target_rank)"
    else:
        counted = f"counted({slot}, win, &UntrackedWindow::{which})"
    return f"counted_request({slot}, {counted})" if name.startswith("R") else counted


for name in COUNTED:
    CALLS.add(
        name,
        f"hook decides patient only_tracked early{' quick' if name == 'Get' else ''}",
        at_rest=only_counted(name, "untracked_windows.last"),
        passes=f"(tracking_off() && {only_counted(name, 'untracked_windows.of(win)')}) || pass_through()",
    )
CALLS.add("Get_accumulate Rget_accumulate", "hook decides patient")

# Every member waits for every other: in it, they may report to each other who wrote (validation.hpp). Hob must
# see it wherever the program makes it, since all members have to do the same.
JOINT = """
    Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block
    """
EVEN_IN_CALLBACKS = "pass_through() && (!active || !calling_thread.unserved_callback)"
CALLS.add("Barrier", "hook decides", passes=EVEN_IN_CALLBACKS)
CALLS.add(JOINT, "", passes=EVEN_IN_CALLBACKS)
JOINT = frozenset(JOINT.split())

# Calls that fill a buffer with stores of the processor alone.
STORES = {"Pack", "Pack_external", "Unpack", "Unpack_external"}


def filled_blocks(call, rest):
    """C++ that names what of the buffer a call fills; `rest`: its parameters from the buffer on."""
    (_, buffer, _, _), *rest = rest
    names = [name for _, name, _, _ in rest]
    kinds = [kind for _, _, kind, _ in rest]
    arrays = ["[" in declaration for declaration, *_ in rest]
    base = call.base.removesuffix("_init")
    neighbors = "eighbor_" in base
    who = "neighbors" if neighbors else "senders"
    if kinds[:1] == ["DATATYPE"]:
        return f"fill({buffer}, 1, {names[0]})"
    if kinds[1:2] == ["DATATYPE"] and not arrays[0]:
        if re.search(r"(?i:gather|alltoall)$", base):
            everybody = "neighbors" if neighbors else "all"
            return f"fill_from_{everybody}({buffer}, {names[0]}, {names[1]}, comm)"
        return f"fill({buffer}, {names[0]}, {names[1]})"
    if kinds[1:2] == ["DATATYPE"]:  # MPI_Reduce_scatter
        return f"fill({buffer}, IncomingBuffer::own({names[0]}, comm), {names[1]})"
    if kinds[2:3] == ["DATATYPE"] and arrays[0]:
        typed = "typed_" if arrays[2] else ""
        return (
            f"fill_{typed}blocks({buffer}, {names[0]}, {names[1]}, {names[2]}, "
            f"IncomingBuffer::{who}(comm))"
        )
    if kinds[2:3] == ["DATATYPE"]:  # MPI_Precv_init: partitions of so many elements
        return f"fill({buffer}, {names[0]} * {names[1]}, {names[2]})"
    sys.exit(f"{call.name}: which part of {buffer} does it fill?")


def incoming(call):
    """C++ before and after a call that has the library fill a buffer (rma/incoming.hpp)."""
    parameters = call.parameters
    places = [i for i, p in enumerate(parameters) if p[2] == "BUFFER" and p[3] in ("out", "inout")]
    # What the processor alone stores is seen otherwise; the end of a read says less than its begin.
    if not places or call.base in STORES or call.base.endswith("_end"):
        return [], []
    test = "compares_incoming()"
    if re.match(r"(?i)i?(gather|reduce)(v?|_init|v_init)$", call.base):
        test += " && IncomingBuffer::is_root(root, comm)"
    elif "root" in [name for _, name, _, _ in parameters]:
        test += " && root != MPI_PROC_NULL && root != MPI_ROOT"
    fill = filled_blocks(call, parameters[places[0] :])
    before = ["  IncomingBuffer incoming;", f"  if ({test}) incoming.{fill};"]
    starts = plan.is_start(parameters)
    if call.base.endswith(("_init", "_begin")) or any(p[2] == "WINDOW" for p in parameters):
        after = ["  incoming.for_good();"]
    elif starts:
        after = ["  incoming.until(request, hob_result == MPI_SUCCESS);"]
    else:
        after = []
    return before, after


def around(call):
    before, after = incoming(call)
    return before + (["  JointAcquire joint(comm);"] if call.base in JOINT else []), after


def learned(call, _outputs, _noted):
    return f'joint.end("{call.name}");' if call.base in JOINT else None


def awaited(call):
    """The target of a call that waits for operations, or all of them (direct.hpp)."""
    return "rank" if has_parameter(call, "rank") else "direct::kAll"


def direct(call):
    """The C++ condition under which, with several threads, the library alone serves a call; "" if there is none."""
    counted = COUNTED.get(call.base)
    request = str(has_parameter(call, "request")).lower()
    if counted == "gets":
        return f"!compares_incoming() && direct::counted_get(win, target_rank, {request})"
    if counted in ("puts", "accumulates"):
        return f"direct::counted(win, direct::k{counted.capitalize()}, {request})"
    if call.base in TIMED.split():
        return f"nothing_under_way() && direct::completes(win, {awaited(call)})"
    return ""


MADE_REQUEST = "direct::made_request(hob_result, request, {win, target_rank, target_disp});"


def among_threads(call, _acquire, is_at_rest):
    if not direct(call):
        return None
    test = still_asked(direct(call), is_at_rest)
    if is_at_rest or not has_parameter(call, "request"):
        return [f"  if (HOB_LIKELY({test})) return {call.native};"]
    return [
        f"  if (HOB_LIKELY({test})) {{",
        f"  if (HOB_LIKELY(ignores_acquires())) return {call.native};",
        *library_call(call, [], [MADE_REQUEST]),
    ]


def noted_calls(call):
    """Calls that the library alone serves with several threads and that are noted: where they are, what comes before
    and after."""
    counted = COUNTED.get(call.base)
    if counted == "atomics":
        return [("direct::counted_atomic(win)", "", "noted->add(target_rank);")]
    if counted in ("puts", "accumulates"):
        request = has_parameter(call, "request")
        kind = f"direct::k{counted.capitalize()}"
        found = f"direct::counted_own_write(win, target_rank, {kind}, {str(request).lower()})"
        return [(found, "", f"noted->note();{' ' + MADE_REQUEST if request else ''}")]
    if call.base not in TIMED.split():
        return []
    target = awaited(call)
    results = (
        f"direct::completes_results(win, {target})",
        f"const Outstanding::Seen seen = noted->before({target});",
        f'if (noted->arrived({target}, seen)) note_acquire("{call.name}");',
    )
    own = "direct::flushes_own(win, rank)"
    if call.base == "Win_flush":
        flush = (own, "const std::uint64_t flush = noted->begin_flush();", "noted->settle(flush);")
        return [results, flush]
    return [results, (own, "", "")] if call.base == "Win_flush_local" else [results]


def noted(call):
    blocks = []
    for found, before, after in noted_calls(call):
        blocks.append(f"  if (auto* const noted = {found}) {{")
        blocks += library_call(call, [before], [after])
    return ["  if (HOB_UNLIKELY(many_threads)) {", *blocks, "  }"] if blocks else []
