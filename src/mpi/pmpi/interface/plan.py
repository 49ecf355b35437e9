"""Which calls of the MPI interface Hob steps into, and what each may tell the process.

The wrappers (generate.py) follow this file and interface.json alone. CONTRIBUTING.md says how
to add a hook.
"""

# Calls with a hand-written hook `int hob::mpi::on_X(...)`, X being the name without "MPI_". The
# large-count form of a call shares its hook, which takes the wider types.
HOOKS = """
Init Init_thread Finalize Session_init Session_finalize
Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_free
Win_set_info Win_get_attr Win_shared_query Win_shared_query_c
Comm_get_attr Attr_get Comm_set_errhandler Group_from_session_pset Session_get_pset_info
Win_fence Win_start Win_complete Win_post Win_wait Win_test
Win_lock Win_unlock Win_lock_all Win_unlock_all
Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_sync
Get Put Accumulate Get_accumulate Fetch_and_op Compare_and_swap
Rget Rput Raccumulate Rget_accumulate
Type_free
Wait Test Waitall Testall Waitany Testany Waitsome Testsome
Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some
Request_free Cancel Start Startall
Recv Irecv Recv_init Probe Iprobe Mprobe Improbe
Send Ssend Rsend Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace
Comm_free Comm_disconnect Comm_set_info Intercomm_create Intercomm_merge
Comm_create_errhandler Win_create_errhandler File_create_errhandler Session_create_errhandler
Comm_create_keyval Win_create_keyval Type_create_keyval Keyval_create Grequest_start
""".split()

# Of these, the ones that an MPI library may be too old for.
NEWER = "Request_get_status_all Request_get_status_any Request_get_status_some".split()

# Calls without a hook that Hob itself makes with counts of any size.
WIDE = "Isend Issend Irsend".split()

# Hooks, and calls without one, that never leave anything of Hob's behind while they block; around
# all others that may block (neither here, nor in POLLS, nor LOCAL, nor is_start), there is a guard
# (progress.hpp, BlockingUnknown; for SLEEPERS, BlockingWindow).
PATIENT = """
Init Init_thread Session_init
Wait Test Waitall Testall Waitany Testany Waitsome Testsome
Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some
Get Put Accumulate Get_accumulate Fetch_and_op Compare_and_swap
Rget Rput Raccumulate Rget_accumulate
Win_post Win_sync Type_free
Recv Irecv Recv_init Probe Iprobe Mprobe Improbe
Send Ssend Rsend Bsend Sendrecv Sendrecv_replace Isendrecv Isendrecv_replace
""".split()

# Calls that never block, but that programs repeat until they succeed: what is under way advances.
POLLS = "Win_test Parrived".split()

# Calls that make Hob active: they are hooked before it is.
STARTS = "Init Init_thread Session_init".split()

# Calls that register functions of the program's (callbacks.hpp): also before Hob is active.
REGISTERS = """
Comm_create_errhandler Win_create_errhandler File_create_errhandler Session_create_errhandler
Comm_create_keyval Win_create_keyval Type_create_keyval Keyval_create Grequest_start
""".split()

# Calls that are the library's own while Hob sleeps (wrapper.hpp): they matter only to windows from
# which something was fetched.
SLEEPERS = """
Win_fence Win_start Win_complete Win_post Win_wait Win_test
Win_lock Win_unlock Win_lock_all Win_unlock_all
Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_sync
""".split()

# Calls that Hob must see wherever the program makes them: in its error handlers and attribute
# callbacks, too, which the library calls from within calls that Hob made.
EVERYWHERE = "Comm_disconnect Comm_free Type_free Win_free".split()

# Calls whose pointers may be null by mistake, which is the library's to say.
CHECKED = """
Wait Test Waitall Testall Waitany Testany Waitsome Testsome
Request_get_status Request_get_status_all Request_get_status_any Request_get_status_some
Request_free Cancel Start Startall Iprobe Mprobe Improbe
""".split()

# Calls that may be only counted while Hob sleeps, and where (wrapper.hpp, QuietWindow).
COUNTED = {"Put": "puts", "Accumulate": "accumulates", "Get": "gets"}

# Calls that Hob makes but does not wrap (their large-count forms included, where they exist).
NATIVE = """
Finalized Initialized Get_library_version Is_thread_main Query_thread Get_processor_name
Type_dup Type_get_envelope Type_get_contents Type_get_extent Type_get_true_extent Type_size
Info_get Info_get_nkeys Info_create Info_set Info_free Info_dup Info_get_nthkey Info_get_valuelen
Group_size Group_rank Group_free Group_translate_ranks Group_incl Group_excl Group_compare
Error_class Error_string Reduce_local Comm_free_keyval Get_address Get_count Get_elements
Grequest_complete Status_set_elements Status_set_cancelled Test_cancelled
""".split()

# Hooks that decide by themselves whether the process learned something (design.md, "When is a
# cached byte still true"): every call on a window.
HOOK_ACQUIRES = """
Init Init_thread Session_init Win_set_info
Win_fence Win_start Win_complete Win_post Win_wait Win_test
Win_lock Win_unlock Win_lock_all Win_unlock_all
Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_sync
Get Put Accumulate Get_accumulate Fetch_and_op Compare_and_swap
Rget Rput Raccumulate Rget_accumulate Type_free
""".split()

# Calls that depend on no other process. Whatever is neither here nor starts an operation
# (is_start) nor in HOOK_ACQUIRES is an acquire.
LOCAL = """
Comm_create_errhandler Win_create_errhandler File_create_errhandler Session_create_errhandler
Comm_create_keyval Win_create_keyval Type_create_keyval Keyval_create
Abort Attr_delete Attr_get Attr_put Cancel
Cart_coords Cart_get Cart_rank Cart_shift Cartdim_get Cart_map Graph_map
Comm_call_errhandler Comm_compare Comm_delete_attr Comm_get_attr Comm_get_errhandler
Comm_get_info Comm_get_name Comm_group Comm_rank Comm_remote_group Comm_remote_size
Comm_set_attr Comm_set_errhandler Comm_set_name Comm_size Comm_test_inter
Dist_graph_neighbors Dist_graph_neighbors_count
Graph_get Graph_neighbors Graph_neighbors_count Graphdims_get
Group_from_session_pset Comm_get_parent
Pack Pack_size Unpack Topo_test
Comm_attach_buffer Session_attach_buffer
Pready Pready_list Pready_range Start Startall Request_free
Session_call_errhandler Session_get_errhandler Session_get_info Session_get_nth_pset
Session_get_num_psets Session_get_pset_info Session_set_errhandler
Win_call_errhandler Win_delete_attr Win_get_errhandler Win_get_group Win_get_info Win_get_name
Win_set_attr Win_set_errhandler Win_set_name Win_shared_query
Win_attach Win_detach Win_get_attr
File_call_errhandler File_get_amode File_get_atomicity File_get_byte_offset File_get_errhandler
File_get_group File_get_info File_get_position File_get_type_extent File_get_view
File_set_errhandler
""".split()

# Never wrapped: conversions of handles, and the tools interface (of which pvars.cpp has a part).
IGNORED_SUFFIXES = ("_c2f", "_f2c", "_f082c", "_c2f08", "_f082f", "_f2f08", "_fromint", "_toint")
IGNORED_PREFIXES = ("MPI_T_", "MPI_Abi_")

# Calls that take or complete one of these are wrapped even without a hook; all others are purely
# local and stay with the MPI library.
WRAPPED_KINDS = {"COMMUNICATOR", "WINDOW", "REQUEST", "MESSAGE", "FILE", "SESSION"}

# And these, which may block, or tell what another process did (published names, files), though they
# take none.
ALSO_WRAPPED = """
Buffer_detach Buffer_flush Lookup_name Publish_name Unpublish_name File_delete
""".split()

# Calls that complete requests: they tell nothing if all of these are the process's own one-sided
# operations. The value: the call's arguments (number of requests, their array).
COMPLETIONS = {
    "Wait": "1, request",
    "Test": "1, request",
    "Waitall": "count, array_of_requests",
    "Testall": "count, array_of_requests",
    "Waitany": "count, array_of_requests",
    "Testany": "count, array_of_requests",
    "Waitsome": "incount, array_of_requests",
    "Testsome": "incount, array_of_requests",
}
# While Hob sleeps and, besides, this holds, these are the library's own, whoever makes them. It is
# the first thing that a wrapper asks: a message of one byte takes some hundred nanoseconds.
ASLEEP = (
    {call: "requests::none_alive()" for call in COMPLETIONS if call not in ("Wait", "Test")}
    | {
        "Wait": "requests::unknown_at(request)",
        "Test": "requests::unknown_at(request)",
        "Recv": "p2p::express.receive(count, source, comm)",
        "Irecv": "p2p::express.start(count, source, comm)",
    }
    | {call: "" for call in "Send Ssend Rsend Bsend Isend Issend Irsend Ibsend".split()}
)

# When these need nothing of Hob's, they are the library's own, without a frame of Hob's below: after
# a wait, each return costs more than everything else in a wrapper.
EXPRESS = {call: "requests::all_native()" for call in COMPLETIONS} | {
    "Send": "idle()",
    "Ssend": "idle()",
    "Rsend": "idle()",
}

# MPI_COMM_WORLD stays what it is, ghosts included.
WHOLE_WORLD = ["Abort"]

# Where Hob stands aside, these are the library's own only while Hob has no messages (p2p.hpp, aside).
_RECEIVE = "{buf, count, datatype}, {source, tag, comm}"
ASIDE = {
    "Recv": f"receive({_RECEIVE}, status)",
    "Irecv": f"start_receive({_RECEIVE}, request)",
    "Probe": "probe({source, tag, comm}, status)",
    "Iprobe": "test_probe({source, tag, comm}, flag, status)",
    "Mprobe": "matched_probe({source, tag, comm}, message, status)",
    "Improbe": "test_matched_probe({source, tag, comm}, flag, message, status)",
}

# In this form the program passes a count that says how many operations completed.
COUNTED_COMPLETIONS = {"outcount"}


def is_start(name, parameters):
    """True for calls that only start an operation: MPI_Isend, MPI_Send_init, MPI_File_iread, ..."""
    makes_request = any(
        kind == "REQUEST" and direction == "out" and "[" not in declaration
        for declaration, _, kind, direction in parameters
    )
    return makes_request
