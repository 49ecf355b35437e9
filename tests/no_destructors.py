"""Fails where a compiled part of Hob destroys objects by itself: static ones at exit, thread_local ones at the end of
a thread. Programs call MPI in exit handlers, and in destructors that may run later.

    no_destructors.py NM FILE...    objects and archives
"""

import subprocess
import sys

# What compilers call to have a destructor run later.
REGISTER = (" __cxa_atexit", " __cxa_thread_atexit", " __cxa_thread_atexit_impl")


def main():
    nm, *built = sys.argv[1:]
    files = [file for file in built if file.endswith((".o", ".a"))]
    if not files:
        sys.exit("no files")
    told = subprocess.run(
        [nm, "--undefined-only", "--print-file-name", *files],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = [line for line in told.splitlines() if line.endswith(REGISTER)]
    if found:
        sys.exit(
            "\n".join(found)
            + "\nkeep what a thread needs in os::PerThread, and never destroy the rest (*new)"
        )


main()
