"""Which calls of the MPI interface Hob steps into, and what the process may learn by each.

One row a call; a call without a row has a wrapper if it takes a communicator, a window, a request, a
message, a file or a session (WRAPPED_KINDS), and its completion is an acquire. The wrappers
(generate.py) follow this file and interface.json alone.
"""

import dataclasses


@dataclasses.dataclass
class Row:
    """What is special about a call. Names are those of the standard without "MPI_"."""

    # There is a hand-written `int hob::mpi::on_X(...)`. The large-count form of a call shares its hook,
    # which takes the wider types.
    hook: bool = False
    # An MPI library may be too old for this hook.
    newer: bool = False
    # The hook decides by itself whether the process learned something (docs/consistency.md).
    decides: bool = False
    # Depends on no other process: no acquire, and does not block.
    local: bool = False
    # Never leaves anything of Hob's behind while it blocks; around all others that may block there is a
    # guard (progress.hpp, BlockingUnknown; for `only_tracked`, BlockingWindow).
    patient: bool = False
    # Never blocks, but programs repeat it until it succeeds: what is under way advances.
    polls: bool = False
    # Makes Hob active: hooked before it is.
    starts: bool = False
    # Registers functions of the program's (core/callbacks.cpp): also before Hob is active.
    registers: bool = False
    # The library's own while tracking is off (wrapper.hpp): matters only to windows from which something was
    # fetched.
    only_tracked: bool = False
    # Of these, one that waits for targets: now and then Hob sees it nevertheless, to time it.
    timed: bool = False
    # Its hooks have an `int hob::mpi::quick_X(...)`, too, which comes first where Hob does not sleep, without
    # guards around it: it calls nothing that may block, throw or call the program, or goes on to long_X().
    quick: bool = False
    # Hob must see it wherever the program makes it.
    everywhere: bool = False
    # Of these, Hob must see it when it is no longer active, too: memory that it gave out is freed.
    always: bool = False
    # Every member waits for every other: in it, they may report to each other who wrote (rma/validation.hpp).
    # Hob must see it wherever the program makes it, since all members have to do the same.
    joint: bool = False
    # Its pointers may be null by mistake, which is the library's to say.
    checked: bool = False
    # Wrapped though it takes none of WRAPPED_KINDS.
    wrapped: bool = False
    # Hob calls it but does not wrap it (its large-count form included, where it exists).
    native: bool = False
    # Without a hook, but Hob itself makes it with counts of any size.
    wide: bool = False
    # MPI_COMM_WORLD stays what it is, ghosts included.
    whole_world: bool = False

    # C++. Only counted while tracking is off, in this member of UntrackedWindow (untracked_windows.hpp).
    counted: str | None = None
    # Before everything else, wherever the program makes it.
    first: str | None = None
    # Completes requests (their number, their array), or asks whether they are complete: shows nothing of
    # the process's own one-sided operations, nor of requests that are null or inactive.
    completes: str | None = None
    # If this holds while tracking is off, the call goes to the library, whoever makes it. The first thing
    # that a wrapper asks: a message of one byte takes some hundred nanoseconds.
    untracked: str | None = None
    # If this holds in a program with several threads, nothing of Hob's is needed but what the end of the call shows
    # (thread_calls.py).
    among_threads: str | None = None
    # When this holds, nothing of Hob's is needed, and the call is the library's own, without a frame of
    # Hob's below: after a wait, each return costs more than everything else in a wrapper.
    native_if: str | None = None
    # In reentrant calls, the library's own only while Hob has no messages; else this (p2p.hpp, reentrant).
    reentrant: str | None = None


class Table(dict):
    """Rows by name. Adding a name twice, or a word that is no member of Row, is an error."""

    def add(self, names, words, **expressions):
        for name in names.split():
            if name in self:
                raise ValueError(f"{name} has two rows")
            self[name] = Row(**dict.fromkeys(words.split(), True), **expressions)

    def with_word(self, word):
        return [name for name, row in self.items() if getattr(row, word)]


def row(name):
    return CALLS.get(name) or Row()


# What the wrappers include: the headers of the parts that their rows name.
HEADERS = """
    mpi/pmpi/hooks.hpp mpi/pmpi/real.hpp mpi/pmpi/memory.hpp mpi/pmpi/call_guard.hpp mpi/pmpi/wrapper.hpp
    mpi/core/acquires.hpp mpi/core/program_world.hpp mpi/datatype/elements.hpp
    mpi/progress/batched.hpp mpi/progress/overlap.hpp mpi/progress/progress.hpp
    mpi/requests/may_learn.hpp mpi/requests/postponed_start.hpp mpi/requests/request.hpp mpi/requests/served.hpp
    mpi/requests/polled.hpp
    mpi/rma/direct.hpp mpi/rma/incoming.hpp mpi/rma/joint_acquire.hpp mpi/rma/untracked_windows.hpp mpi/rma/timed_waits.hpp
    mpi/p2p/direct_calls.hpp mpi/p2p/p2p.hpp
    """.split()

ALL_NATIVE = "requests::all_native()"
RECEIVE = "{buf, count, datatype}, {source, tag, comm}"

CALLS = Table()

# Start and end of MPI.
CALLS.add("Init Init_thread Session_init", "hook decides patient starts")
# Threads may ask while another one is in MPI_Init, and ghosts' worlds are not the library's.
CALLS.add("Initialized Finalized", "hook decides patient local starts wrapped")
CALLS.add(
    """
    Finalize Session_finalize Win_create Win_allocate Win_allocate_shared Win_create_dynamic
    Win_shared_query_c Comm_set_info Intercomm_create Intercomm_merge
    Comm_create_from_group Intercomm_create_from_groups Psend_init Precv_init
    """,
    "hook",
)
# Ends of objects.
CALLS.add("Win_free Comm_free Comm_disconnect", "hook everywhere")
CALLS.add("Win_set_info", "hook decides")
CALLS.add("Comm_spawn Comm_spawn_multiple", "hook everywhere")
CALLS.add("Query_thread", "hook local")
CALLS.add(
    """
    Win_get_attr Win_shared_query Comm_get_attr Attr_get Comm_set_errhandler
    Comm_set_attr Attr_put Group_from_session_pset Session_get_pset_info
    """,
    "hook local",
)
# Synchronisation of windows.
CALLS.add(
    """
    Win_fence Win_start Win_complete Win_wait Win_lock Win_lock_all
    """,
    "hook decides only_tracked",
)
CALLS.add(
    """
    Win_unlock Win_unlock_all Win_flush_all Win_flush_local Win_flush_local_all
    """,
    "hook decides only_tracked timed",
)
CALLS.add("Win_flush", "hook decides only_tracked timed quick")
CALLS.add("Win_post Win_sync", "hook decides patient only_tracked")
CALLS.add("Win_test", "hook decides polls only_tracked")
# One-sided operations.
CALLS.add(
    """
    Get_accumulate Rget_accumulate
    """,
    "hook decides patient",
)
CALLS.add("Type_free", "hook decides patient everywhere")
# In which all members of a communicator wait for all others.
CALLS.add("Barrier", "hook decides joint")
CALLS.add(
    """
    Allreduce Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter
    Reduce_scatter_block
    """,
    "joint",
)
# Memory that ghosts can reach.
CALLS.add("Alloc_mem", "hook local")
CALLS.add("Free_mem", "hook local everywhere always")
CALLS.add("Request_get_status", "hook patient checked", completes="1, &request")
for name in ("all", "any", "some"):
    CALLS.add(
        f"Request_get_status_{name}",
        "hook newer patient checked",
        completes=f"{'incount' if name == 'some' else 'count'}, array_of_requests",
    )
CALLS.add("Cancel", "hook local checked")
CALLS.add(
    "Request_free Start Startall", "hook local checked", first="requests::state.inactive.forget()"
)
CALLS.add("Recv_init Isendrecv Isendrecv_replace", "hook patient")
for name, count in (("Sendrecv", "recvcount"), ("Sendrecv_replace", "count")):
    CALLS.add(
        name,
        "hook patient",
        untracked="p2p::fast_path.exchange(comm)",
        among_threads="!compares_incoming() && nothing_under_way() && "
        f"p2p::receives_directly({count}, source, comm)",
    )
# Functions of the program's that the library will call.
CALLS.add(
    """
    Comm_create_errhandler Win_create_errhandler File_create_errhandler
    Session_create_errhandler Comm_create_keyval Win_create_keyval Type_create_keyval
    Keyval_create
    """,
    "hook local registers",
)
CALLS.add("Grequest_start", "hook registers")
CALLS.add("Abort", "hook local whole_world")
# What depends on no other process.
CALLS.add(
    """
    Attr_delete Cart_coords Cart_get Cart_map Cart_rank Cart_shift Cartdim_get
    Comm_attach_buffer Comm_call_errhandler Comm_compare Comm_delete_attr Comm_get_errhandler
    Comm_get_info Comm_get_name Comm_get_parent Comm_group Comm_rank Comm_remote_group
    Comm_remote_size Comm_set_name Comm_size Comm_test_inter Dist_graph_neighbors
    Dist_graph_neighbors_count File_call_errhandler File_get_amode File_get_atomicity
    File_get_byte_offset File_get_errhandler File_get_group File_get_info File_get_position
    File_get_type_extent File_get_view File_set_errhandler Graph_get Graph_map Graph_neighbors
    Graph_neighbors_count Graphdims_get Pack Pack_size Pready Pready_list Pready_range
    Session_attach_buffer Session_call_errhandler Session_get_errhandler Session_get_info
    Session_get_nth_pset Session_get_num_psets Session_set_errhandler Topo_test Unpack
    Win_attach Win_call_errhandler Win_delete_attr Win_detach Win_get_errhandler Win_get_group
    Win_get_info Win_get_name Win_set_attr Win_set_errhandler Win_set_name
    """,
    "local",
)
CALLS.add("Parrived", "polls")
# Without an argument that says so: published names, files and buffers are shared.
CALLS.add(
    """
    Buffer_detach Buffer_flush Lookup_name Publish_name Unpublish_name File_delete
    """,
    "wrapped",
)
# What Hob calls and does not wrap.
CALLS.add(
    """
    Get_library_version Is_thread_main Get_processor_name
    Type_dup Type_commit Type_create_hindexed Type_create_hindexed_block
    Type_get_envelope Type_get_contents Type_get_extent Type_get_true_extent Type_size
    Info_get Info_get_nkeys Info_create Info_set Info_free Info_dup Info_get_nthkey
    Info_get_valuelen Group_size Group_rank Group_free Group_translate_ranks Group_incl
    Group_excl Group_compare Error_class Error_string Reduce_local Comm_free_keyval Get_address
    Get_count Get_elements Grequest_complete Status_set_elements Status_set_cancelled
    Test_cancelled Errhandler_free
    """,
    "native",
)

# One-sided operations that may be only counted while tracking is off.
for name, counted in (("get", "gets"), ("put", "puts"), ("accumulate", "accumulates")):
    quick = " quick" if name == "get" else ""
    CALLS.add(name.capitalize(), f"hook decides patient{quick}", counted=counted)
    CALLS.add(f"R{name}", "hook decides patient", counted=counted)
CALLS.add("Fetch_and_op Compare_and_swap", "hook decides patient", counted="atomics")

# Completion of requests.
for name in ("Wait", "Test"):
    CALLS.add(
        name,
        "hook patient checked",
        completes="1, request",
        untracked="requests::unknown_at(request)",
        native_if=f"{ALL_NATIVE} || requests::none_given(1, request)",
    )
for name in ("Waitall", "Testall", "Waitany", "Testany", "Waitsome", "Testsome"):
    count = "incount" if name.endswith("some") else "count"
    CALLS.add(
        name,
        "hook patient checked",
        completes=f"{count}, array_of_requests",
        untracked="requests::none_alive()",
        native_if=f"{ALL_NATIVE} || requests::none_given({count}, array_of_requests)",
    )

# Point-to-point.
CALLS.add(
    "Recv",
    "hook patient",
    untracked="p2p::fast_path.receive(count, source, comm)",
    reentrant=f"receive({RECEIVE}, status)",
    among_threads="!compares_incoming() && nothing_under_way() && "
    "p2p::receives_directly(count, source, comm)",
)
CALLS.add(
    "Irecv",
    "hook patient",
    untracked="p2p::fast_path.start(count, source, comm)",
    native_if="p2p::left(comm) && !compares_incoming()",
    reentrant=f"start_receive({RECEIVE}, request)",
    among_threads="!compares_incoming() && p2p::starts_directly(count, source, comm)",
)
CALLS.add("Probe", "hook patient", reentrant="probe({source, tag, comm}, status)")
CALLS.add(
    "Iprobe",
    "hook patient checked",
    untracked="p2p::fast_path.probe(comm)",
    reentrant="test_probe({source, tag, comm}, flag, status)",
    among_threads="nothing_under_way() && p2p::probes_directly(comm)",
)
CALLS.add(
    "Mprobe",
    "hook patient checked",
    reentrant="matched_probe({source, tag, comm}, message, status)",
)
CALLS.add(
    "Improbe",
    "hook patient checked",
    reentrant="test_matched_probe({source, tag, comm}, flag, message, status)",
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
        "" if name == "Ibsend" else "wide",
        untracked="",
        native_if="nothing_under_way()",
        among_threads="nothing_under_way()",
    )

# Extensions: MPIX_Y is X_Y here. Libraries differ in what they have; what is not here is in
# LEFT_EXTENSIONS.
CALLS.add("X_Request_is_complete", "hook newer local everywhere")
CALLS.add("X_Stream_progress", "polls local")
CALLS.add("X_Threadcomm_free", "hook newer everywhere")
CALLS.add(
    """
    X_Stream_comm_create X_Stream_comm_create_multiplex X_Stream_send X_Stream_send_c X_Stream_recv
    X_Stream_recv_c X_Send_enqueue X_Send_enqueue_c X_Recv_enqueue X_Recv_enqueue_c
    X_Wait_enqueue X_Waitall_enqueue X_Allreduce_enqueue X_Allreduce_enqueue_c
    X_Threadcomm_init X_Threadcomm_start X_Threadcomm_finish X_Win_get_notify
    """,
    "",
)
# Processes that agree or go on after others have failed (ULFM), and what they may have learned.
CALLS.add("X_Comm_agree X_Comm_shrink X_Comm_iagree X_Comm_ishrink", "")
CALLS.add(
    """
    X_Comm_failure_ack X_Comm_failure_get_acked X_Comm_get_failed X_Comm_ack_failed
    X_Comm_revoke X_Comm_is_revoked
    """,
    "patient",
)
# Operations on windows of Intel MPI's, which no cache sees: what they write, or may have learned, counts.
CALLS.add(
    "X_Put_notify X_Put_notify_c X_Get_notify X_Get_notify_c X_Win_get_notify_request",
    "patient",
)
# Of the program's functions, those that the library calls with a state.
CALLS.add("X_Async_start X_Async_spawn X_Async_get_state", "hook newer local everywhere always")
CALLS.add(
    """
    X_Comm_create_errhandler_x X_Win_create_errhandler_x X_File_create_errhandler_x
    X_Session_create_errhandler_x X_Grequest_start
    """,
    "hook newer local registers",
)
# Queries of Hob's.
CALLS.add("X_Comm_get_stream X_Comm_test_threadcomm", "native")

# Extensions that some libraries of a family have and the header of another one, for which Hob may be
# built, does not declare.
PROTOTYPES = """
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int MPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int MPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int MPIX_Win_get_notify(MPI_Win win, int notification_idx, MPI_Count *notification);
int MPIX_Win_get_notify_request(MPI_Win win, int notification_idx, MPI_Count expected_value,
                                MPI_Request *request);
int MPIX_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, int notification_idx, MPI_Win win);
int MPIX_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, int notification_idx, MPI_Win win);
"""

# Extensions that are left to the library, and why that is right. tests/tools/extensions_test.py knows
# of each function that the libraries export that it is here or in CALLS.
LEFT_EXTENSIONS = {
    "only start what MPI_Wait and its relatives complete, on communicators of streams": """
        MPIX_Isend_enqueue MPIX_Isend_enqueue_c MPIX_Irecv_enqueue MPIX_Irecv_enqueue_c
        MPIX_Stream_isend MPIX_Stream_isend_c MPIX_Stream_irecv MPIX_Stream_irecv_c
        """,
    "only make what MPI_Start starts": """
        MPIX_Allgather_init MPIX_Allgatherv_init MPIX_Allreduce_init MPIX_Alltoall_init
        MPIX_Alltoallv_init MPIX_Alltoallw_init MPIX_Barrier_init MPIX_Bcast_init MPIX_Exscan_init
        MPIX_Gather_init MPIX_Gatherv_init MPIX_Neighbor_allgather_init
        MPIX_Neighbor_allgatherv_init MPIX_Neighbor_alltoall_init MPIX_Neighbor_alltoallv_init
        MPIX_Neighbor_alltoallw_init MPIX_Reduce_init MPIX_Reduce_scatter_block_init
        MPIX_Reduce_scatter_init MPIX_Scan_init MPIX_Scatter_init MPIX_Scatterv_init
        """,
    "depend on no other process": """
        MPIX_GPU_query_support MPIX_Query_cuda_support MPIX_Query_hip_support MPIX_Query_ze_support
        MPIX_Query_rocm_support MPIX_Grequest_class_allocate MPIX_Grequest_class_create
        MPIX_Info_set_hex MPIX_Op_create_x MPIX_Stream_create MPIX_Stream_free MPIX_Type_iov
        MPIX_Type_iov_len MPIX_Delete_error_class MPIX_Delete_error_code MPIX_Delete_error_string
        MPIX_Win_create_notify MPIX_Win_free_notify MPIX_Win_set_notify OMPI_Affinity_str
        """,
    "begin and end a thread of the library's own": """
        MPIX_Start_progress_thread MPIX_Stop_progress_thread
        """,
    "are called by libraries, not by programs": """
        OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_NULL_DELETE_FN
        OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_NULL_DELETE_FN OMPI_C_MPI_TYPE_DUP_FN
        OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN OMPI_C_MPI_WIN_DUP_FN
        OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_NULL_DELETE_FN OMPI_TEST_FORTRAN_CONSTANTS
        """,
}

# Never wrapped: conversions of handles, and the tools interface (of which pvars.cpp has a part).
IGNORED_SUFFIXES = ("_c2f", "_f2c", "_f082c", "_c2f08", "_f082f", "_f2f08", "_fromint", "_toint")
IGNORED_PREFIXES = ("MPI_T_", "MPI_Abi_")

# Calls that take or complete one of these are wrapped even without a row; all others are purely
# local and stay with the MPI library.
WRAPPED_KINDS = {"COMMUNICATOR", "WINDOW", "REQUEST", "MESSAGE", "FILE", "SESSION"}

# Calls that fill a buffer with stores of the processor alone.
STORES = {"Pack", "Pack_external", "Unpack", "Unpack_external"}

# Parameters by which a call names the processes that it sends to or receives from: from
# MPI_PROC_NULL nobody learns anything.
PEERS = {"source", "dest"}

# Overlap (progress/overlap.hpp). What the thread may advance: large messages, collective operations,
# and the same when they are persistent and started.
OVERLAP_MESSAGES = frozenset("Isend Issend Irsend Irecv Imrecv Isendrecv Isendrecv_replace".split())
OVERLAP_COLLECTIVES = frozenset(
    """
    Iallgather Iallgatherv Iallreduce Ialltoall Ialltoallv Ialltoallw Ibcast Iexscan Igather
    Igatherv Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv
    Ineighbor_alltoallw Ireduce Ireduce_scatter Ireduce_scatter_block Iscan Iscatter Iscatterv
    """.split()
)
# Those that the thread may make in the program's place: without arrays, which a Fortran binding may
# have made for the call alone.
OVERLAP_POSTPONED = (
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
OVERLAP_MADE_MESSAGES = frozenset("Send_init Ssend_init Rsend_init Recv_init".split())
OVERLAP_MADE = OVERLAP_MADE_MESSAGES | {
    f"{name[1:].capitalize()}_init" for name in OVERLAP_COLLECTIVES
}
OVERLAP_FILES = frozenset(
    """
    File_iread File_iread_at File_iread_shared File_iwrite File_iwrite_at File_iwrite_shared
    """.split()
)
OVERLAP_COLLECTIVE_FILES = frozenset(
    "File_iread_all File_iread_at_all File_iwrite_all File_iwrite_at_all".split()
)
OVERLAP_STARTS = frozenset(("Start", "Startall"))
# Others may want something of this process from then on, until MPI_Win_free.
OVERLAP_WINDOWS = frozenset(("Win_create", "Win_allocate", "Win_create_dynamic"))
# Their last use may be in the thread, and functions of the program's would run there.
OVERLAP_FREES = {
    "Comm_free": "kCommunicators",
    "Comm_disconnect": "kCommunicators",
    "Type_free": "kDatatypes",
}

# They register functions of the program's that the library calls whenever it advances.
OVERLAP_TASKS = frozenset(("X_Async_start",))

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

# In this form the program passes a count that says how many operations completed.
COUNTED_COMPLETIONS = {"outcount"}


def is_start(parameters):
    """True for calls that only start an operation: MPI_Isend, MPI_Send_init, MPI_File_iread, ..."""
    return any(
        kind == "REQUEST" and direction == "out" and "[" not in declaration
        for declaration, _, kind, direction in parameters
    )
