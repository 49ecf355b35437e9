#!/usr/bin/env python3
"""What the generator writes for one call of each kind is what wrappers.expected says. After a change that
is meant: tests/tools/wrappers_test.py --update, and the difference is part of the change."""

import difflib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
INTERFACE = HERE.parents[1] / "src/mpi/pmpi/interface"
sys.path.insert(0, str(INTERFACE))
import generate  # noqa: E402

CALLS = """
Init Finalize Abort Barrier Comm_rank Comm_free Comm_create_keyval Grequest_start Lookup_name
Get Get_c Put Fetch_and_op Win_flush Win_test Win_free
Recv Irecv Isend Iprobe Bcast Ibcast Allreduce Parrived
Wait Waitall Testsome Request_free
""".split()


def generated():
    procedures = {p["name"]: p for p in json.loads((INTERFACE / "interface.json").read_text())}
    for name in CALLS:
        large = name.endswith("_c")
        procedure = procedures["MPI_" + name.removesuffix("_c")]
        yield generate.wrapper(generate.Call(procedure, large))


def main():
    expected = HERE / "wrappers.expected"
    text = "\n\n".join(generated()) + "\n"
    if "--update" in sys.argv:
        expected.write_text(text)
        return 0
    changes = list(
        difflib.unified_diff(
            expected.read_text().splitlines(),
            text.splitlines(),
            "expected",
            "generated",
            lineterm="",
        )
    )
    print("\n".join(changes) or f"{len(CALLS)} wrappers")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
