"""What the wrappers have for the thread of overlap (overlap.hpp), for operations that wait in a batch (batched.hpp), and
for calls that block or poll (progress.hpp)."""

import re

import plan
from calls import COMPLETIONS, short

HEADERS = """
    mpi/datatype/elements.hpp mpi/progress/batched.hpp mpi/progress/overlap.hpp mpi/progress/progress.hpp
    mpi/requests/postponed_start.hpp
    """

# What the thread may advance: large messages, collective operations,
# and the same when they are persistent and started.
MESSAGES = frozenset("Isend Issend Irsend Irecv Imrecv Isendrecv Isendrecv_replace".split())
COLLECTIVES = frozenset(
    """
    Iallgather Iallgatherv Iallreduce Ialltoall Ialltoallv Ialltoallw Ibcast Iexscan Igather
    Igatherv Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv
    Ineighbor_alltoallw Ireduce Ireduce_scatter Ireduce_scatter_block Iscan Iscatter Iscatterv
    """.split()
)
# Those that the thread may make in the program's place: without arrays, which a Fortran binding may
# have made for the call alone.
POSTPONED = (
    "Isend",
    "Issend",
    "Iallgather",
    "Iallreduce",
    "Ialltoall",
    "Ibcast",
    "Igather",
    "Ireduce",
    "Ireduce_scatter_block",
    "Iscatter",
)
MADE_MESSAGES = frozenset("Send_init Ssend_init Rsend_init Recv_init".split())
MADE = MADE_MESSAGES | {f"{name[1:].capitalize()}_init" for name in COLLECTIVES}
FILES = frozenset(
    """
    File_iread File_iread_at File_iread_shared File_iwrite File_iwrite_at File_iwrite_shared
    """.split()
)
COLLECTIVE_FILES = frozenset(
    "File_iread_all File_iread_at_all File_iwrite_all File_iwrite_at_all".split()
)
STARTS = frozenset(("Start", "Startall"))
# Others may want something of this process from then on, until MPI_Win_free.
WINDOWS = frozenset(("Win_create", "Win_allocate", "Win_create_dynamic"))
# Their last use may be in the thread, and functions of the program's would run there.
FREES = {
    "Comm_free": "kCommunicators",
    "Comm_disconnect": "kCommunicators",
    "Type_free": "kDatatypes",
}

# They register functions of the program's that the library calls whenever it advances.
TASKS = frozenset(("X_Async_start",))

# Local calls that change what the library's progress changes, too: reference counts, pools of objects.
THIN_PREFIXES = ("Type_", "Op_", "Group_", "Info_", "Errhandler_")
# MPI_Request_c2f: Open MPI, from Fortran, enters the request in a table.
THIN = frozenset(
    """
    Comm_free_keyval Win_free_keyval Keyval_free Buffer_attach Request_c2f Open_port Close_port
    Register_datarep Add_error_class Add_error_code Add_error_string Remove_error_class
    Remove_error_code Remove_error_string
    """.split()
)
READ_ONLY = frozenset(
    """
    Type_size Type_size_x Type_get_extent Type_get_extent_x Type_get_true_extent
    Type_get_true_extent_x Type_extent Type_lb Type_ub Type_get_envelope Type_get_name Type_get_attr
    Type_match_size Group_size Group_rank Op_commutative Info_get Info_get_nkeys Info_get_nthkey
    Info_get_string Info_get_valuelen
    """.split()
)


def thin(procedure):
    """Wrapped for nothing but that the overlap thread is not inside the library meanwhile."""
    name = short(procedure["name"])
    if name in READ_ONLY or name.endswith(plan.IGNORED_SUFFIXES):
        return False
    return name in THIN or name.startswith(THIN_PREFIXES)


def bytes_started(call):
    """C++ of the elements of what a call starts or makes: "count, datatype"; None if it says nothing."""
    names = [p[1] for p in call.parameters]
    counts = ("count", "sendcount", "recvcount")
    for count, datatype in zip(counts, ("datatype", "sendtype", "datatype")):
        if count in names and datatype in names:
            return f"{count}, {datatype}"
    return None


# What each process of a communicator gets or gives is as long as this: count and datatype are significant everywhere.
EACH = frozenset(
    "Iallgather Ialltoall Ineighbor_allgather Ineighbor_alltoall Ireduce_scatter_block".split()
)
# The side that is significant in all processes of an intracommunicator, and the buffer which says that it is not.
SIDES = {"Igather": ("send", "recv"), "Iscatter": ("recv", "send")}


def collective_bytes(call):
    """C++ of what a collective operation moves, where its arguments say it: "count, datatype[, comm]"."""
    base = call.base if call.base.startswith("I") else "I" + call.base[:-5].lower()
    names = [p[1] for p in call.parameters]
    if base in SIDES:
        here, there = SIDES[base]
        elsewhere = f"{here}buf == MPI_IN_PLACE"
        # Of an intercommunicator, one side names a root, and gives nothing else.
        return (
            f"root < 0 ? -1 : {elsewhere} ? {there}count : {here}count, "
            f"{elsewhere} ? {there}type : {here}type"
        )
    if base in EACH:
        return f"recvcount, {'recvtype' if 'recvtype' in names else 'datatype'}, comm"
    if "count" in names:
        return f"{'root < 0 ? -1 : count' if 'root' in names else 'count'}, datatype"
    return "-1, MPI_DATATYPE_NULL"  # a count for each process, or none


def noted_for_overlap(call):
    """C++ that notifies overlap of what the call has started or made, or ""."""
    made = call.base in MADE
    verb = "made" if made else "started"
    if call.base in MESSAGES or call.base in MADE_MESSAGES:
        return f"{verb}_message(*request, {bytes_started(call)});"
    if call.base in FILES:
        return f"started_file(*request, {bytes_started(call)});"
    if call.base in COLLECTIVE_FILES:
        return "started_collective_file(*request);"
    if call.base not in COLLECTIVES and not made:
        return ""
    if "op" in [p[1] for p in call.parameters]:
        return f"{verb}_reduction(*request, op, {collective_bytes(call)});"
    return f"{verb}_collective(*request, {collective_bytes(call)});"


def is_watched_start(call):
    """Overlap must see it wherever the program makes it, also while nothing is under way."""
    others = {*STARTS, *WINDOWS, *FREES}
    others |= {"Win_free", "Request_free", *TASKS}
    return bool(noted_for_overlap(call)) or call.base in others


def is_concerned(call):
    """C++ that says, where overlap watches, whether there may be anything to do for this call; "" if always."""
    if call.base in MESSAGES and bytes_started(call):
        # A small one while nothing is under way is what it is without overlap.
        return f" && overlap_thread::concerned({bytes_started(call)})"
    if call.base in STARTS:
        return " && overlap_thread::concerned_by_starts()"
    return ""


def postponed(call, now):
    """C++ of a call that starts something: made now, or left to the thread of overlap."""
    names = [p[1] for p in call.parameters]
    peer = next((name for name in ("dest", "root") if name in names), "-1")
    count, datatype = bytes_started(call).split(", ")
    op = " && operation_number(op)" if "op" in names else ""
    buffers = [name for name in ("buf", "buffer", "sendbuf", "recvbuf") if name in names]
    buffers.append("nullptr")
    # A call has a second count where the first is that of what it sends.
    other = count == "sendcount"
    members = [
        f".function = {POSTPONED.index(call.base) + 1}",
        ".comm = handle_bits(comm)",
        f".peer = {peer}",
        f".datatype = handle_bits({datatype})",
        f".count = {count}",
        *([".other_datatype = handle_bits(recvtype)", ".other_count = recvcount"] if other else []),
        *([".op = handle_bits(op)"] if op else []),
        f".buffers = requests::kind_of_buffers({buffers[0]}, {buffers[1]})",
    ]
    tag = "tag" if "tag" in names else "0"
    later = call.native.replace(", request)", ", hob_request)")
    return [
        f"  const hob::overlap::Start hob_start{{{', '.join(members)}}};",
        f"  const {call.returns} hob_result = requests::start(",
        f"      overlap_thread::may_be_large({count}, {datatype}){op}, hob_start, {tag}, as_program_sees(comm), request,",
        f"      [&] {{ return {now}; }},",
        f"      [=, comm = as_program_sees(comm)](MPI_Request* hob_request) {{ return {later}; }});",
    ]


def watched(call, is_short):
    """C++ of the call while overlap watches: it says that it is inside, and what it starts or ends."""
    name = short(call.name)
    begin, end = "", ""
    if call.base in COMPLETIONS:
        requests = call.row.completes or "1, request"
        begin = (
            f"  overlap_thread::Completing completing({requests}, {str('Wait' in name).lower()});"
        )
        end = COMPLETIONS[call.base].format("completing")
    elif call.base in STARTS:
        count = "1, request" if call.base == "Start" else "count, array_of_requests"
        end = f"overlap_thread::started_persistent({count});"
    elif noted_for_overlap(call):
        end = f"overlap_thread::{noted_for_overlap(call)}"
    elif call.base == "Request_free":
        begin = "  const MPI_Request freed = request ? *request : MPI_REQUEST_NULL;"
        end = "overlap_thread::freed_request(freed);"
    elif call.base in WINDOWS:
        end = "overlap_thread::exposed_window(*win);"
    elif call.base == "Win_free":
        begin = "  const MPI_Win freed = win ? *win : MPI_WIN_NULL;"
        end = "overlap_thread::freed_window(freed);"
    elif call.base in TASKS:
        end = "overlap_thread::started_task();"
    elif call.base in FREES:
        end = f"overlap_thread::freed_object({FREES[call.base]});"
    bare = f"{'bare' if is_short else 'same'}_{name}({call.arguments})"
    cold = "" if is_short else ", gnu::cold"
    lines = [f"[[gnu::noinline{cold}]] static {call.returns} watched_{name}({call.declaration}) {{"]
    if is_short:
        lines.append(f"  if (!overlap_thread::from_outside()) return {bare};")
    can_wait = call.base in POSTPONED
    # A receive may pass what is to be sent.
    passes = can_wait or call.base in ("Irecv", "Imrecv")
    lines.append(f"  const overlap_thread::Inside{'ToStart' if passes else ''} inside;")
    if not end:
        return [*lines, f"  return {bare};", "}"]
    return [
        *lines,
        *([begin] if begin else []),
        *(postponed(call, bare) if can_wait else [f"  const {call.returns} hob_result = {bare};"]),
        f"  if (hob_result == MPI_SUCCESS && !error_unreported()) {{ {end} }}",
        "  return hob_result;",
        "}",
    ]


def sends_batches(call):
    """C++ that sends what waits in batches before a call that may block, and what is old before any
    other; nothing for starts, after which the program waits, and for one-sided operations. A call that
    completes a window's operations sends their batches itself, whatever else waits."""
    starts = noted_for_overlap(call) and not call.base.startswith("File_")
    starts = starts or call.base in STARTS
    on_window = any(kind == "WINDOW" for _, _, kind, _ in call.parameters)
    if starts or (on_window and not call.base.startswith("Win_")):
        return []
    at_once = call.row.local or call.row.polls or thin({"name": call.name})
    at_once = at_once or re.match(
        r"I(?!nter)|Test|Request_get_status|Win_(flush|unlock|test|sync|post)", call.base
    )
    blocks = str(not at_once).lower()
    if call.base in ("Wait", "Waitall"):
        served = f"requests::all_served({call.row.completes or '1, request'})"
        return [f"  if (HOB_UNLIKELY(batched::any())) batched::before_wait({served});"]
    return [f"  if (HOB_UNLIKELY(batched::any())) batched::before_call({blocks});"]


def definition(call, body, is_short=False, at_rest="", awake=()):
    """The definition of a call with `body`, and what overlap needs of it. A short one is there twice: what
    overlap watches takes no longer way than its exclusion. Where `at_rest` holds, C++, it is the library's alone; then
    comes `awake`, which only goes on elsewhere; all else is a function of its own, so that no registers are saved
    before. So is `awake` where arguments are on the stack: the compiler would load them and store them again on the way
    to several functions, whose loads wait for these stores."""
    name = short(call.name)
    if call.row.registers:  # it asks who called it
        return [
            f"HOB_EXPORT {call.returns} {call.name}({call.declaration}) {{",
            "  const overlap_thread::InsideIfAnnounced inside;",
            *body,
            "}",
        ]
    test = (
        "overlap_thread::watched.starts"
        if is_watched_start(call)
        else "overlap_thread::announces_calls()"
    )
    if not is_short:
        return [
            f"static {call.returns} watched_{name}({call.declaration});",
            f"HOB_EXPORT {call.returns} {call.name}({call.declaration}) {{",
            f"  if (HOB_UNLIKELY({test}){is_concerned(call)} && overlap_thread::from_outside())",
            f"    return watched_{name}({call.arguments});",
            *sends_batches(call),
            *body,
            "}",
            f"static {call.returns} same_{name}({call.declaration}) "
            f'__attribute__((alias("{call.name}")));',
            *watched(call, is_short),
        ]
    exported = f"HOB_EXPORT {call.returns} {call.name}"
    whole = f"[[gnu::noinline]] static {call.returns} busy_{name}" if at_rest else exported
    lines = [
        f"[[gnu::always_inline]] static inline {call.returns} bare_{name}({call.declaration}) {{",
        *sends_batches(call),
        *body,
        "}",
        *watched(call, is_short),
        f"{whole}({call.declaration}) {{",
        f"  if (HOB_UNLIKELY({test}{is_concerned(call)})) return watched_{name}({call.arguments});",
        f"  return bare_{name}({call.arguments});",
        "}",
    ]
    if at_rest:
        concerns = "  const std::uint64_t hob_concerns = all_concerns();"
        rest = [*awake, f"  return busy_{name}({call.arguments});"]
        if call.on_stack:
            lines += [
                f"[[gnu::noinline]] static {call.returns} awake_{name}({call.declaration}) {{",
                *([concerns] if "hob_concerns" in "".join(awake) else []),
                *rest,
                "}",
            ]
            rest = [f"  return awake_{name}({call.arguments});"]
        lines += [
            f"{exported}({call.declaration}) {{",
            concerns,
            f"  if (HOB_LIKELY({at_rest})) return {call.native};",
            *rest,
            "}",
        ]
    return lines


def large(call):
    """C++, of a call that is concerned: whether what it starts may be worth looking after."""
    return [f"overlap_thread::may_be_large({bytes_started(call)})"] if is_concerned(call) else []


def elsewhere(call):
    batches = ["batched::any()"] if sends_batches(call) else []
    return ["overlap_thread::announces_calls()", *large(call), *batches]


def at_rest(call):
    tests = [f"!{test}" for test in large(call)]
    return None if is_watched_start(call) and not tests else tests


def around(call):
    row = call.row
    if row.polls:
        return ["  advance_polling();"], []
    if row.local or row.patient or plan.is_start(call.parameters):
        return [], []
    return [f"  const Blocking{'Window' if row.only_tracked else 'Unknown'} blocking;"], []
