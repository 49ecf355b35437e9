#!/usr/bin/env python3
"""What run_tier.py says beside ctest's own results: tests that needed a second try, and MPI libraries that were not
there to be tested (run alone, only these).

Every test runs once; only those with the label launcher-deadline may run again, see second_try.py. What
tests are compared with, a run without Hob, may run again where it did not end as it should, and any run
whose status MPICH's launcher lost when it killed the ranks (run_compare.py).
"""

import os
import pathlib
import re


def second_tries(log):
    """(test, reason) of each, from ctest's log of all output."""
    found, name = [], ""
    for line in log.splitlines():
        if started := re.match(r"\d+/\d+ Test: (\S+)", line):
            name = started.group(1)
        elif line.startswith("second try: "):
            found.append((name, line.removeprefix("second try: ")))
    return found


KNOWN = ("mpich5", "openmpi5", "abi5", "mpich4", "openmpi4", "intel")


def untested(mpis):
    """The known MPI libraries that scripts/setup did not find, from the text of its mpis.cmake."""
    return [name for name in KNOWN if f"set(HOB_MPI_{name}_FAMILY" not in mpis]


def tell_untested():
    mpis = pathlib.Path(os.environ.get("HOB_DEPS", ".deps"), "mpis.cmake")
    if missing := untested(mpis.read_text() if mpis.exists() else ""):
        print(f"NOT TESTED, since not installed (scripts/setup): {', '.join(missing)}")


if __name__ == "__main__":
    tell_untested()
