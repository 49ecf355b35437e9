#!/usr/bin/env python3
"""Runs ctest with these arguments, and says at the end how many tests needed a second try.

Every test runs once; only those with the label launcher-deadline may run again, see second_try.py. What
tests are compared with, a run without Hob, may run again where it did not end as it should, and any run
whose status MPICH's launcher lost when it killed the ranks (run_compare.py).
"""

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


def main(arguments):
    build = pathlib.Path(arguments[arguments.index("--test-dir") + 1])
    status = subprocess.run(
        ["ctest", "--output-on-failure", "--no-tests=error", *arguments], check=False
    ).returncode
    log = build / "Testing/Temporary/LastTest.log"
    found = second_tries(log.read_text(errors="replace")) if log.exists() else []
    print(f"{len(found)} second tries")
    for name, reason in found:
        print(f"  {name}: {reason}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
