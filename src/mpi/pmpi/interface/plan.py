"""Which calls of the MPI interface Hob steps into, and what the process may learn by each.

One row a call; a call without a row has a wrapper if it takes a communicator, a window, a request, a
message, a file or a session (WRAPPED_KINDS), and its completion is an acquire. The rows of calls that a part hooks,
and what it puts into wrappers, are in its folder (wrapped.py; parts.py collects them). The wrappers (generate.py) follow
these files and interface.json alone.
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
    # The library's own while tracking is off (wrapper.hpp).
    only_tracked: bool = False
    # The library's own function is looked for when MPI starts, not when it is first called.
    early: bool = False
    # Its hooks have an `int hob::mpi::quick_X(...)`, too, which comes first where Hob does not sleep, without
    # guards around it: it calls nothing that may block, throw or call the program, or goes on to long_X().
    quick: bool = False
    # Hob must see it wherever the program makes it.
    everywhere: bool = False
    # Of these, Hob must see it when it is no longer active, too: memory that it gave out is freed.
    always: bool = False
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
    # It is the library's own, and nothing else, while a program with several threads is at rest.
    simple: bool = False

    # C++. Before everything else, wherever the program makes it.
    first: str | None = None
    # Completes requests (their number, their array), or asks whether they are complete: shows nothing of
    # the process's own one-sided operations, nor of requests that are null or inactive.
    completes: str | None = None
    # If this holds while tracking is off, the call goes to the library, whoever makes it. The first thing
    # that a wrapper asks: a message of one byte takes some hundred nanoseconds.
    untracked: str | None = None
    # The same while no thread of Hob's wants to know of calls, either (at_rest() in wrapper.hpp), where it is another
    # condition than `untracked`; "" if there is none.
    at_rest: str | None = None
    # If this holds, Hob has nothing to do, where it is another condition than pass_through().
    passes: str | None = None
    # If this holds in a program with several threads, nothing of Hob's is needed but what the end of the call shows
    # (among_threads() in parts.py).
    among_threads: str | None = None
    # When this holds, nothing of Hob's is needed, and the call is the library's own, without a frame of
    # Hob's below: after a wait, each return costs more than everything else in a wrapper.
    native_if: str | None = None
    # Before the library's own call, where `passes` holds: "condition ? what else :".
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


CALLS = Table()

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

# Extensions: MPIX_Y is X_Y here. Libraries differ in what they have; what is not here is in
# LEFT_EXTENSIONS.
CALLS.add("X_Stream_progress", "polls local")
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

# Parameters by which a call names the processes that it sends to or receives from: from
# MPI_PROC_NULL nobody learns anything.
PEERS = {"source", "dest"}

# In this form the program passes a count that says how many operations completed.
COUNTED_COMPLETIONS = {"outcount"}


def is_start(parameters):
    """True for calls that only start an operation: MPI_Isend, MPI_Send_init, MPI_File_iread, ..."""
    return any(
        kind == "REQUEST" and direction == "out" and "[" not in declaration
        for declaration, _, kind, direction in parameters
    )
