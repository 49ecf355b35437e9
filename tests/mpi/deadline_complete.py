#!/usr/bin/env python3
"""No blocking MPI call is forgotten: p2p_deadline.c has a case for each that Hob wraps, or the call
is listed here with the reason why not; and each one's wrapper has the guard of its kind."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
INTERFACE = ROOT / "src/mpi/pmpi/interface"
sys.path.insert(0, str(INTERFACE))
import generate  # noqa: E402
import plan  # noqa: E402

SAME_AS = {
    "Comm_spawn_multiple": "Comm_spawn",
    "Mrecv": "Mprobe",
    "Buffer_flush": "Buffer_detach",
    "Comm_detach_buffer": "Buffer_detach",
    "Comm_flush_buffer": "Buffer_detach",
    "Session_detach_buffer": "Buffer_detach",
    "Session_flush_buffer": "Buffer_detach",
    "Request_get_status_all": "Request_get_status",
    "Request_get_status_any": "Request_get_status",
    "Request_get_status_some": "Request_get_status",
    "Testall": "Test",
    "Testany": "Test",
    "Testsome": "Test",
    "Improbe": "Iprobe",
    "Win_unlock_all": "Win_lock_all",
}
REASONS = {
    "Comm_accept": "no library here advances anything in it, and some have no ports",
    "Comm_connect": "as Comm_accept",
    "Comm_join": "as Comm_accept",
    **dict.fromkeys("Lookup_name Publish_name Unpublish_name".split(), "asks a name server"),
    "File_delete": "local",
    "Finalize": "the program has completed its receives before it",
    "Session_finalize": "as Finalize",
    "Parrived": "waits for a partitioned receive only",
    "Rsend": "its receive is there",
    "Type_free": "local",
    "Win_sync": "local",
    "Win_post": "never blocks",
    "Grequest_complete": "local",
    "File_get_size": "local",
    "File_get_position_shared": "local",
    "File_seek": "local",
    **dict.fromkeys(
        "Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap"
        " Rget Raccumulate Rget_accumulate".split(),
        "never blocks",
    ),
    **dict.fromkeys("Isendrecv Isendrecv_replace".split(), "never blocks"),
}


def guard_of(call):
    if call.row.polls:
        return "advance_polling();"
    if call.row.only_tracked:
        return "const BlockingWindow blocking;"
    return "const BlockingUnknown blocking;"


def main():
    source = (ROOT / "tests/mpi/p2p_deadline.c").read_text()
    called = set(re.findall(r"\bMPI_(\w+)\(", source))
    wrong, calls = [], 0
    for procedure in json.loads((INTERFACE / "interface.json").read_text()):
        call = generate.Call(procedure, False)
        if not generate.wanted(procedure) or call.row.starts:
            continue
        row = call.row
        blocks = not (row.local or row.patient or row.polls or plan.is_start(call.parameters))
        if not blocks and not (call.row.patient or call.row.polls):
            continue
        calls += 1
        if SAME_AS.get(call.base, call.base) not in called and call.base not in REASONS:
            wrong.append(f"MPI_{call.base}: no case in p2p_deadline.c")
        if (blocks or call.row.polls) and guard_of(call) not in generate.wrapper(call):
            wrong.append(f"MPI_{call.base}: its wrapper lacks {guard_of(call)}")
    print("\n".join(wrong) if wrong else f"{calls} calls")
    return 1 if wrong or calls < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
