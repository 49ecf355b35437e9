"""The calls that show a program the world without ghosts."""

from plan import CALLS

CALLS.add("Comm_create_from_group Intercomm_create_from_groups", "hook")
CALLS.add(
    """
    Comm_get_attr Attr_get Comm_set_errhandler Comm_set_attr Attr_put
    Group_from_session_pset Session_get_pset_info
    """,
    "hook local",
)
