"""Twenty programs (twenty.c, and how each is started) with the advice that is right for them.

    python tests/tools/advice/twenty.py BUILD              records what a run of each wrote, on MPICH 5
    python tests/tools/advice/twenty.py BUILD --savings    runs each with Hob and without, in turn, and
                                                           says what was claimed and what was saved
        --turns N      medians of so many runs of each (5)
        --only WORDS   programs whose names contain one of these, separated by commas
        --loaded       the machine has other work: only claims that are more than twice as much as
                       was saved are wrong

Under `chrt -r 1`, as root, a machine with other work is as good as quiet: the programs run before it.

The records are kept in twenty.json, without what advice does not look at. Make them on a machine
that has nothing else to do: where ranks wait for a core, their targets seem to compute.
--savings ends with status 1 where a claim is more than 1.5 times what was saved, or less by that, and
where there is none of a millisecond or more."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# (name, program, options of hob run, {mechanism: verdicts that are right})
HELPS, NO_USE, MAY, UNTOLD = {"helps"}, {"no use"}, {"may help"}, {"not measured"}
TCP = ("--remote",)
PROGRAMS = (
    ("repeated gets, remote", "repeat", TCP, {"cached gets": HELPS, "ghosts": NO_USE}),
    ("repeated gets, one node", "repeat", (), {"cached gets": NO_USE, "ghosts": NO_USE}),
    ("repeated gets, threads", "threads", TCP, {"cached gets": HELPS, "ghosts": NO_USE}),
    ("repeated large gets, remote", "repeat-large", TCP, {"cached gets": HELPS | UNTOLD}),
    ("repeated large gets, one node", "repeat-large", (), {"cached gets": NO_USE | UNTOLD}),
    ("far gets, each once", "once-far", TCP, {"cached gets": NO_USE}),
    ("near gets, each once", "once-in-order", TCP, {"cached gets": HELPS}),
    ("near gets, one node", "once-in-order", (), {"cached gets": NO_USE}),
    ("random gets", "random", TCP, {"cached gets": HELPS | NO_USE}),
    ("gets by request", "requests", TCP, {"cached gets": HELPS | UNTOLD}),
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
    ("deep queues over libfabric", "deep", TCP, {"message matching": UNTOLD}),
    ("short queues", "shallow", (), {"message matching": NO_USE}),
    ("messages while both compute", "exchanges", (), {"overlap": MAY}),
    ("messages to who comes late", "exchanges-late", (), {"overlap": MAY}),
    (
        "nothing but computing",
        "compute",
        (),
        dict.fromkeys(("cached gets", "ghosts", "message matching"), NO_USE),
    ),
)

# Only for --savings.
MORE = (
    ("8 gets before a flush", "bursts-of-8", TCP, {}),
    ("64 gets before a flush", "bursts-of-64", TCP, {}),
    ("a target that is late at first", "late-at-first", TCP, {}),
    ("sums before one flush", "sums", TCP, {}),
    ("500 sums before a flush", "sums-in-bursts", TCP, {}),
)

KEPT = ("cache", "ghosts", "match", "readahead")


def trimmed(document):
    """Without what advice does not look at."""
    for rank in document["ranks"]:
        counters = rank.pop("counters", {})
        rank["counters"] = {k: v for k, v in counters.items() if k.startswith("overlap_")}
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


def compiled(folder):
    """The program, for MPICH 5."""
    from support import mpis

    program = Path(folder, "twenty")
    words = [mpis()["mpich5"]["cc"], "-O1", HERE / "twenty.c", "-o", program]
    subprocess.run(words, check=True)
    return program


def run_one(name, *words):
    """Its standard output; ends with what went wrong."""
    from support import hob

    status, out, err = hob("run", "-n", 2, *words)
    if status != 0:
        sys.exit(f"{name}: {out}{err}")
    return out


def record(program, file):
    records = {}
    for name, which, options, _ in PROGRAMS:
        run_one(name, *options, "--quiet", "--json", file, program, which)
        records[name] = trimmed(json.loads(file.read_text()))
    (HERE / "twenty.json").write_text(json.dumps(records, separators=(",", ":"), sort_keys=True))


FACTOR, LOADED_FACTOR = 1.5, 2
LEAST = 1e-3  # seconds: advice speaks of no less


def claimed(file):
    """(least, usual, most) seconds that Hob says this run saved."""
    from hob.report.advice import advise
    from hob.report.data import load

    run = load(file)
    said = {one.mechanism: one for one in advise(run)}
    if "overlap" in said and said["overlap"].verdict == "helps":
        saved = said["overlap"].saved  # on each rank, and so for the job
        return saved.least, saved.usual, saved.most
    # One rank works in each other program: what all ranks saved is what the job did.
    helps = [one.saved for one in said.values() if one.verdict == "helps" and one.saved]
    return tuple(
        run.rank_count * sum(getattr(one, end) for one in helps)
        for end in ("least", "usual", "most")
    )


def judged(saved, usual, most, loaded):
    """What is said of a claim, and whether it is wrong."""
    if usual < LEAST:
        lost = saved >= LEAST * 10 and not loaded
        return "nothing claimed", lost
    ratio = usual / saved if saved > 0 else float("inf")
    if loaded:
        return f"{ratio:.2f}", max(usual, most) > LOADED_FACTOR * max(saved, 0)
    if most < usual:
        return f"at least {ratio:.2f}", ratio > FACTOR
    return f"{ratio:.2f}", not 1 / FACTOR <= ratio <= FACTOR


def savings(program, file, args):
    """Prints a row for each program; how many claims were wrong."""
    print("| program | without, ms | with Hob, ms | saved, ms | claimed, ms | range, ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    wrong = 0
    for name, which, options, _ in PROGRAMS + MORE:
        if not any(word in name for word in args.only.split(",")):
            continue
        plain, hob, said = [], [], []
        try:
            for _ in range(args.turns):
                out = run_one(name, *options, "--off", program, which, "time")
                plain.append(float(out))
                words = (*options, "--quiet", "--json", file, program, which, "time")
                hob.append(float(run_one(name, *words)))
                said.append(claimed(file))
        except subprocess.TimeoutExpired as late:
            print(f"| {name} | a run took more than {late.timeout:.0f} s | | | | | |", flush=True)
            continue
        before, after = map(statistics.median, (plain, hob))
        least, usual, most = (statistics.median(each) for each in zip(*said))
        ratio, bad = judged(before - after, usual, most, args.loaded)
        wrong += bad
        numbers = [f"{1e3 * value:.1f}" for value in (before, after, before - after, usual)]
        numbers += [f"{1e3 * least:.1f} to {1e3 * most:.1f}", ratio + (" WRONG" if bad else "")]
        print(f"| {name} | {' | '.join(numbers)} |", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(usage="see the head of this file")
    parser.add_argument("build", type=Path)
    parser.add_argument("--savings", action="store_true")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--loaded", action="store_true")
    args = parser.parse_args()
    os.environ["HOB_TEST_BUILD"] = str(args.build.resolve())
    sys.path.insert(0, str(HERE.parent))
    with tempfile.TemporaryDirectory() as scratch:
        program, file = compiled(scratch), Path(scratch, "run.json")
        if args.savings:
            sys.exit(1 if savings(program, file, args) else 0)
        record(program, file)


if __name__ == "__main__":
    main()
