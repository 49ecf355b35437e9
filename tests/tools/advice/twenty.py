"""Twenty programs (twenty.c, and how each is started) with the advice that is right for them.

    python tests/tools/advice/twenty.py BUILD      records what a run of each wrote, on MPICH 5

The records are kept in twenty.json, without what advice does not look at. Record on a
machine that has nothing else to do: where ranks wait for a core, their targets seem to compute."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# (name, program, options of hob run, {mechanism: verdicts that are right})
HELPS, NO_USE, MAY = {"helps"}, {"no use"}, {"may help"}
TCP = ("--remote",)
PROGRAMS = (
    ("repeated gets, remote", "repeat", TCP, {"cached gets": HELPS, "ghosts": NO_USE}),
    ("repeated gets, one node", "repeat", (), {"cached gets": NO_USE, "ghosts": NO_USE}),
    ("repeated gets, threads", "threads", TCP, {"cached gets": HELPS, "ghosts": NO_USE}),
    ("repeated large gets, remote", "repeat-large", TCP, {"cached gets": HELPS | MAY}),
    ("repeated large gets, one node", "repeat-large", (), {"cached gets": NO_USE | MAY}),
    ("far gets, each once", "once-far", TCP, {"cached gets": NO_USE}),
    ("near gets, each once", "once-in-order", TCP, {"cached gets": HELPS}),
    ("near gets, one node", "once-in-order", (), {"cached gets": NO_USE}),
    ("random gets", "random", TCP, {"cached gets": HELPS | NO_USE}),
    ("gets by request", "requests", TCP, {"cached gets": HELPS | MAY}),
    ("gets of what is written", "written", TCP, {"cached gets": NO_USE | MAY}),
    ("gets of what is not written", "unwritten", TCP, {"cached gets": HELPS | MAY}),
    ("puts", "puts", TCP, {"cached gets": NO_USE, "ghosts": NO_USE}),
    ("puts to the own rank", "puts-self", TCP, {"cached gets": NO_USE, "ghosts": NO_USE}),
    ("a target that computes", "accumulate-computing", TCP, {"ghosts": MAY}),
    ("a target that attends", "accumulate-attending", TCP, {"ghosts": NO_USE}),
    ("a dynamic window", "dynamic-computing", TCP, {"ghosts": NO_USE}),
    ("collectives", "collectives", TCP, {"message matching": NO_USE}),
    ("back and forth", "back-and-forth", (), {"message matching": NO_USE}),
    ("deep queues, one node", "deep", (), {"message matching": HELPS | NO_USE}),
    ("deep queues over libfabric", "deep", TCP, {"message matching": NO_USE}),
    ("short queues", "shallow", (), {"message matching": NO_USE}),
    (
        "nothing but computing",
        "compute",
        (),
        dict.fromkeys(("cached gets", "ghosts", "message matching"), NO_USE),
    ),
)

KEPT = ("cache", "ghosts", "match", "readahead")


def trimmed(document):
    """Without what advice does not look at."""
    for rank in document["ranks"]:
        rank.pop("counters", None)
        for window in rank.get("windows", []):
            window["counters"] = {k: v for k, v in window["counters"].items() if v}
            # Missing means that it was not measured.
            for name in ("saved_ns", "late_ns"):
                window["counters"].setdefault(name, 0)
            for name in ("histograms", "series"):
                window.pop(name, None)
        for queue in rank.get("queues", []):
            queue["counters"] = {k: v for k, v in queue["counters"].items() if v}
            for name in ("prq_length", "umq_length"):
                queue.get("histograms", {}).pop(name, None)
        for name in ("heat", "memory_bytes"):
            rank.pop(name, None)
        rank["host"] = "node"
    document["settings"] = {k: v for k, v in document["settings"].items() if k in KEPT}
    document["program"]["command"] = document["program"]["command"][-1:]
    return document


def main():
    os.environ["HOB_TEST_BUILD"] = str(Path(sys.argv[1]).resolve())
    sys.path.insert(0, str(HERE.parent))
    from support import hob, mpis

    records = {}
    with tempfile.TemporaryDirectory() as scratch:
        program, file = Path(scratch, "twenty"), Path(scratch, "run.json")
        words = [mpis()["mpich5"]["cc"], "-O1", HERE / "twenty.c", "-o", program]
        subprocess.run(words, check=True)
        for name, which, options, _ in PROGRAMS:
            words = ("-n", 2, *options, "--quiet", "--json", file, program, which)
            status, out, err = hob("run", *words)
            if status != 0:
                sys.exit(f"{name}: {out}{err}")
            records[name] = trimmed(json.loads(file.read_text()))
    (HERE / "twenty.json").write_text(json.dumps(records, separators=(",", ":"), sort_keys=True))


if __name__ == "__main__":
    main()
