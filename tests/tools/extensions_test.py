#!/usr/bin/env python3
"""Of every function beyond the standard that an MPI library exports, plan.py says how Hob wraps it, or why
it does not: a new one may tell a process of others' writes (docs/consistency.md).

    extensions_test.py MPICC...
"""

import pathlib
import re
import shutil
import subprocess
import sys

INTERFACE = pathlib.Path(__file__).parents[2] / "src/mpi/pmpi/interface"
sys.path.insert(0, str(INTERFACE))
import parts  # noqa: E402, F401 the rows of the parts
import plan  # noqa: E402


def known():
    names = {key.replace("X_", "MPIX_", 1) for key in plan.CALLS if key.startswith("X_")}
    for listed in plan.LEFT_EXTENSIONS.values():
        for name in listed.split():
            if name in names:
                sys.exit(f"{name} is both wrapped and left")
            names.add(name)
    return names


def libraries(compiler):
    """What programs that this compiler makes are linked with."""
    shown = subprocess.run([compiler, "-show"], capture_output=True, text=True, check=True).stdout
    words = shown.split()
    folders = [word[2:] for word in words if word.startswith("-L")]
    folders += [f"{place}/{sys.implementation._multiarch}" for place in ("/usr/lib", "/lib")]
    for name in (word[2:] for word in words if re.match("-lmpi", word)):
        for folder in folders:
            # Without its number it may be a script of the linker's.
            found = sorted(pathlib.Path(folder).glob(f"lib{name}.so.*"))
            if found:
                yield found[0].resolve()
                break


def exported(library):
    text = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    return set(re.findall(r" [TW] ((?:MPIX|OMPI)_\w+)", text))


def main():
    if not shutil.which("nm"):
        print("SKIP: no nm")
        return 77
    names, unknown = known(), False
    for library in sorted({each for compiler in sys.argv[1:] for each in libraries(compiler)}):
        found = exported(library)
        for name in sorted(found - names):
            print(f"{library}: {name} is neither in CALLS nor in LEFT_EXTENSIONS of plan.py")
            unknown = True
        print(f"{library}: {len(found)} extensions")
    return int(unknown)


if __name__ == "__main__":
    sys.exit(main())
