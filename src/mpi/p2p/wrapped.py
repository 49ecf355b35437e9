"""What the wrappers have for messages."""

from calls import library_call, still_asked
from plan import CALLS

HEADERS = "mpi/p2p/direct_calls.hpp mpi/p2p/p2p.hpp"

RECEIVE = "{buf, count, datatype}, {source, tag, comm}"


def queued(call):
    """C++, of a call inside a callback: whether Hob has messages, and what serves it then (reentrant, p2p.hpp)."""
    some = "HOB_UNLIKELY(p2p::matching.queued.load(std::memory_order_relaxed) != 0)"
    return f"{some} ? p2p::reentrant::{call}"


CALLS.add("Comm_set_info Intercomm_create Intercomm_merge", "hook")
CALLS.add("Recv_init Isendrecv Isendrecv_replace", "hook patient")
for name, count in (("Sendrecv", "recvcount"), ("Sendrecv_replace", "count")):
    CALLS.add(
        name,
        "hook patient",
        untracked="p2p::fast_path.exchange(comm)",
        among_threads="!compares_incoming() && nothing_under_way() && "
        f"p2p::receives_directly({count}, source, comm)",
    )
CALLS.add(
    "Recv",
    "hook patient",
    untracked="p2p::fast_path.receive(count, source, comm)",
    reentrant=queued(f"receive({RECEIVE}, status)"),
    among_threads="!compares_incoming() && nothing_under_way() && "
    "p2p::receives_directly(count, source, comm)",
)
CALLS.add(
    "Irecv",
    "hook patient",
    untracked="p2p::fast_path.start(count, source, comm)",
    at_rest="p2p::fast_path.start(source, comm)",  # of what is not large
    native_if="p2p::left(comm) && !compares_incoming()",
    reentrant=queued(f"start_receive({RECEIVE}, request)"),
    among_threads="!compares_incoming() && p2p::starts_directly(count, source, comm)",
)
CALLS.add("Probe", "hook patient", reentrant=queued("probe({source, tag, comm}, status)"))
CALLS.add(
    "Iprobe",
    "hook patient checked",
    untracked="p2p::fast_path.probe(comm)",
    reentrant=queued("test_probe({source, tag, comm}, flag, status)"),
    among_threads="nothing_under_way() && p2p::probes_directly(comm)",
)
CALLS.add(
    "Mprobe",
    "hook patient checked",
    reentrant=queued("matched_probe({source, tag, comm}, message, status)"),
)
CALLS.add(
    "Improbe",
    "hook patient checked",
    reentrant=queued("test_matched_probe({source, tag, comm}, flag, message, status)"),
)
for name in ("Send", "Ssend", "Rsend"):
    CALLS.add(
        name,
        "hook patient",
        untracked="",
        native_if="idle()",
        among_threads="nothing_under_way()",
    )
CALLS.add("Bsend", "patient", untracked="")
CALLS.add("Mrecv Imrecv", "wide")
for name in ("Isend", "Issend", "Irsend", "Ibsend"):
    CALLS.add(
        name,
        "simple" if name == "Ibsend" else "simple wide",
        untracked="",
        native_if="nothing_under_way()",
        among_threads="nothing_under_way()",
    )


def among_threads(call, acquire, is_at_rest):
    if not call.row.among_threads:
        return None
    test = still_asked(call.row.among_threads, is_at_rest)
    before = ["const p2p::DirectCall direct_call;"] if "p2p::" in test else []
    if not call.base.startswith("I"):
        before.append("const BlockingThread blocking;")
    return [f"  if (HOB_LIKELY({test})) {{", *library_call(call, before, acquire=acquire)]
