#!/usr/bin/env python3
"""Runs ctest with these arguments; says at the end how many tests needed a second try, and which MPI
libraries were not there to be tested. With --untested alone, only the latter.

Every test runs once; only those with the label launcher-deadline may run again, see second_try.py. What
tests are compared with, a run without Hob, may run again where it did not end as it should, and any run
whose status MPICH's launcher lost when it killed the ranks (run_compare.py).
"""

import os
import pathlib
import re
import subprocess
import sys


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


def main(arguments):
    if arguments == ["--untested"]:
        tell_untested()
        return 0
    build = pathlib.Path(arguments[arguments.index("--test-dir") + 1])
    status = subprocess.run(
        ["ctest", "--output-on-failure", "--no-tests=error", *arguments], check=False
    ).returncode
    log = build / "Testing/Temporary/LastTest.log"
    found = second_tries(log.read_text(errors="replace")) if log.exists() else []
    print(f"{len(found)} second tries")
    for name, reason in found:
        print(f"  {name}: {reason}")
    tell_untested()
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
