#!/usr/bin/env python3
"""Runs a test's command; once more if it failed because a launcher missed a deadline of its own.

    second_try.py -- mpiexec -n 2 ./program

Open MPI's launchers give their processes a few seconds to connect; on a machine with more processes
than cores that is sometimes too short, with any program. Only the messages below count, and only
tests with the label launcher-deadline are run by this. Each second try is said in the output;
tests/run_ctest.py counts them.
"""

import re
import subprocess
import sys

# What PMIx and the run-time systems of Open MPI 4 (ORTE) and 5 (PRRTE) say.
DEADLINES = [
    re.compile(pattern)
    for pattern in (
        r"ALERT: (?:connect|fence|get|grp construct) timeout fired",
        r"PMIX(?:_| )ERR(?:OR)?[:_ ]+(?:PMIX_ERR_)?TIMEOUT",
        r"PMIx_Init failed for the following reason:\s+(?:PMIX_ERR_)?TIMEOUT",
        r"A request has timed out and will therefore fail",
        r"REQUEST TIMED OUT - LOCAL REFID",
        r"[OP]R(?:RT|T)E has lost communication with a remote daemon",
        r"timed out (?:while )?waiting for (?:a )?(?:daemon|orted|prted)",
    )
]
# A peer that died is unreachable, too.
UNREACHABLE = re.compile(
    r"PMIX(?:_| )ERR(?:OR)?[:_ ]+(?:PMIX_ERR_)?UNREACH\w*"
    r"|PMIx_Init failed for the following reason:\s+UNREACH\w*"
)
DIED = re.compile(
    r"exited on signal|Segmentation fault|\[\s*\d+\] \*\*\* Process received signal|Signal: "
)


def missed_deadline(output):
    """The launcher's message, or None."""
    if (found := UNREACHABLE.search(output)) and not DIED.search(output):
        return " ".join(found.group(0).split())
    for deadline in DEADLINES:
        if found := deadline.search(output):
            return " ".join(found.group(0).split())
    return None


def main(command):
    for attempt in (1, 2):
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        sys.stdout.write(done.stdout)
        said = missed_deadline(done.stdout)
        if done.returncode == 0 or said is None:
            break
        if attempt == 1:
            print(f"second try: the launcher missed its deadline: {said}", flush=True)
    return done.returncode


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main(words[1:] if words[:1] == ["--"] else words))
