"""The calls that give memory which ghosts can reach."""

from plan import CALLS

CALLS.add("Alloc_mem", "hook local")
CALLS.add("Free_mem", "hook local everywhere always")
