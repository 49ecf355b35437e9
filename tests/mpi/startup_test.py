"""A program whose background thread calls MPI_Init while its main thread asks MPI_Initialized: several times with two
ranks, and with a ghost, which must not become one."""

import argparse
import os
import subprocess
import sys

parser = argparse.ArgumentParser()
for name in ("exec", "family", "build", "program"):
    parser.add_argument(f"--{name}", required=True)
args = parser.parse_args()
LIBRARY = f"{args.build}/lib/libhob_{args.family}.so"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("HOB_")}


def passes(ranks, size, **settings):
    settings = {"LD_PRELOAD": LIBRARY, "HOB_REPORT": "silent", **settings}
    words = ["env", *(f"{name}={value}" for name, value in settings.items()), args.program]
    done = subprocess.run(
        [*args.exec.split(";"), "-n", str(ranks), *words],
        env=CLEAN | {"FIELD_SIZE": str(size)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    if done.returncode or "PASS" not in done.stdout:
        sys.exit(f"status {done.returncode}, {settings}\n{done.stdout}\n{done.stderr}")


for _ in range(5):
    passes(2, 2)
passes(3, 2, HOB_GHOSTS="1")
