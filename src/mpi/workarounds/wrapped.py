"""The calls that only workarounds of the library's faults hook."""

from plan import CALLS

CALLS.add("Psend_init Precv_init", "hook")
