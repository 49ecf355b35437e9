"""What the wrappers have for acquires, for the world that the program sees, and for its callbacks."""

from plan import CALLS

HEADERS = "mpi/core/acquires.hpp mpi/core/program_world.hpp"

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
# Of these, those that the library calls with a state.
CALLS.add("X_Async_start X_Async_spawn X_Async_get_state", "hook newer local everywhere always")
CALLS.add(
    """
    X_Comm_create_errhandler_x X_Win_create_errhandler_x X_File_create_errhandler_x
    X_Session_create_errhandler_x X_Grequest_start
    """,
    "hook newer local registers",
)
