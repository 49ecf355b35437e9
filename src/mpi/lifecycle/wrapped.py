"""The calls that begin and end MPI, communicators and datatypes."""

from plan import CALLS

CALLS.add("Init Init_thread Session_init", "hook decides patient starts")
# Threads may ask while another one is in MPI_Init, and ghosts' worlds are not the library's.
CALLS.add("Initialized Finalized", "hook decides patient local starts wrapped")
CALLS.add("Finalize Session_finalize", "hook")
CALLS.add("Query_thread", "hook local")
CALLS.add("Abort", "hook local whole_world")
CALLS.add("Comm_free Comm_disconnect Comm_spawn Comm_spawn_multiple", "hook everywhere")
CALLS.add("X_Threadcomm_free", "hook newer everywhere")
CALLS.add("Type_free", "hook decides patient everywhere")
