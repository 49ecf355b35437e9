#!/usr/bin/env python3
"""Programs of tests/mpi and of the unit tests in emulated machines with a cluster's kernel and a
software RDMA adapter (tests/lab/boot): what is kept across barriers there, or fetched again after them, that no byte is
stale, and that ghosts, sharing, matching and the wheel work.

  lab_test.py --build build/default --mpiexec PATH [--machines 1|2]

Exit status 77 where a machine cannot be emulated (ctest: skipped). MPICH over the software adapter
hangs now and then, without Hob too, most often in MPI_Finalize. So a run that does not end is made
again, three times in all, and counted; one that printed its verdict and Hob's summary before is judged
by these. Where no attempt came so far, nothing is known, and the test says so. Any other failure counts
at once.
"""

import argparse
import dataclasses
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import installed_wheel  # noqa: E402

ATTEMPTS = 3
SECONDS = 45  # of an attempt
TIMED_OUT = 124
SUMMARY = re.compile(r"^hob: ", re.MULTILINE)
# Runs a command; one that has said all and does not end is not waited for.
ATTEMPT = f"""attempt() {{
  verdict=$1; shift
  timeout -k 5 {SECONDS} "$@" >/tmp/said 2>&1 & job=$!
  while kill -0 $job 2>/dev/null; do
    sleep 1
    grep -q '^hob: ' /tmp/said && grep -Eq "$verdict" /tmp/said || continue
    for second in 1 2 3 4 5; do kill -0 $job 2>/dev/null && sleep 1; done
    kill $job 2>/dev/null && over=yes && break
  done
  wait $job; status=$?
  [ -z "$over" ] || status={TIMED_OUT}
  over=; cat /tmp/said
}}"""
# MPICH 5 over UCX on the software adapter.
VERBS = (
    "MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=rc_v,ud_v:aux,self UCX_IB_GID_INDEX=1 "
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE=1 MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1"
)
NODES = f"{VERBS} MPIR_CVAR_NOLOCAL=1"
TWO_NODES = f"{VERBS} MPIR_CVAR_NUM_CLIQUES=2"
AGELESS = "HOB_CACHE_BYPASS=off HOB_POLL_MS=1000000 HOB_POLL_HITS=1000000 HOB_READAHEAD=off"
KEEP = f"{AGELESS} HOB_CACHE_VALIDATE=on"
KEPT = r"([\d,]+) hits of bytes fetched before a barrier"
SHARED = r"([\d.]+)% served from what other ranks of the node had fetched"
RECALLED = r"([\d,]+) of them were asked for"
BY_GHOSTS = r"([\d,]+) one-sided operations done by ghosts"
MATCHED = r"([\d,]+) messages matched there"


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    environment: str
    ranks: int
    program: str  # and arguments
    counted: str  # what Hob's summary says, with one number
    least: float  # of that number
    verdict: str = "passed"
    wheel: bool = False


# One machine, whose ranks, or pairs of ranks, are taken for nodes.
ONE_MACHINE = [
    Run(
        "buffers that the library fills",
        f"{NODES} {KEEP} HOB_CACHE_STORES=none",
        2,
        "rma_incoming short",
        KEPT,
        500,
    ),
    Run(
        "stores, by soft-dirty bits",
        f"{TWO_NODES} {KEEP}",
        4,
        "rma_incoming short",
        KEPT,
        1000,
    ),
    # Pages that the adapter has pinned count as written, so that no copy outlives a barrier: without recalling, no get
    # of this program is served.
    Run(
        "places that are fetched again",
        f"{NODES} HOB_RECALL=auto HOB_CACHE_BYPASS=off HOB_READAHEAD=off",
        2,
        "rma_recall",
        RECALLED,
        200,
    ),
    Run(
        "every mode of the cache",
        f"{NODES} HOB_CACHE=strict",
        2,
        "rma_corners",
        r"([\d,]+) remote gets",
        1,
    ),
    Run(
        "ranks of a node that share",
        f"{TWO_NODES} {AGELESS} HOB_CACHE_SHARE=on",
        4,
        "rma_share",
        SHARED,
        1,
    ),
    Run(
        "receives in Hob's queues, by the wheel",
        f"{NODES} HOB_MATCH=always",
        2,
        "p2p_modes",
        MATCHED,
        1,
        verdict="[0-9]+ cases, [0-9]+ checks, 0 failures",
        wheel=True,
    ),
]
# Two machines, with a rank on each, or a rank and a ghost.
TWO_MACHINES = [
    # Private pages that the adapter has pinned count as written: the program promises that it stores nothing.
    Run(
        "buffers that the library fills",
        f"{VERBS} {KEEP} HOB_CACHE_STORES=none",
        2,
        "rma_incoming short",
        KEPT,
        500,
    ),
    Run(
        "a ghost on each node",
        f"{VERBS} HOB_GHOSTS=1",
        4,
        "ghost_sums",
        BY_GHOSTS,
        1,
        verdict="No Errors",
    ),
]


def launch(options, run):
    """The command line of a run, without Hob."""
    command = [options.mpiexec]
    if options.machines == 2:
        remote = ["-launcher", "ssh", "-launcher-exec", HERE / "remote"]
        command += [*remote, "-hosts", "lab0,lab1", "-ppn", run.ranks // 2]
    program, *arguments = run.program.split()
    command += ["-n", run.ranks, options.build / "bin/mpich5" / program, *arguments]
    return shlex.join(str(word) for word in command)


def guest_script(options, runs, installed):
    unit = options.build / "tests/unit/validation/validation_store_tracker_test"
    hob = options.build / "lib/libhob_mpich.so"
    lines = [f"'{unit}' --gtest_brief=1 && echo 'unit: status 0'", ATTEMPT]
    for number, run in enumerate(runs):
        command = launch(options, run)
        if run.wheel:
            command = f"'{installed}' run -- {command}"
        else:
            command = f"env LD_PRELOAD='{hob}' {command}"
        lines += [
            f"for attempt in $(seq {ATTEMPTS}); do",
            f"  attempt '^{run.verdict}$' env {run.environment} {command}",
            f"  echo 'run {number}: status '$status; [ $status = {TIMED_OUT} ] || break",
            "done",
        ]
    return "\n".join(lines) + "\n"


def judge(output, runs):
    """What is wrong, and which runs never ended, as lists; and how many were made again."""
    wrong, unknown, again = [], [], 0
    if "unit: status 0" not in output:
        wrong.append("validation_store_tracker_test failed")
    text = output.split("unit: status 0")[-1]
    for number, run in enumerate(runs):
        parts = re.split(rf"^run {number}: status (\d+)$", text, flags=re.MULTILINE)
        attempts = list(zip(parts[0::2], parts[1::2]))
        text = parts[-1]
        again += max(0, len(attempts) - 1)
        verdict = re.compile(rf"^{run.verdict}$", re.MULTILINE)
        judged = [
            said
            for said, status in attempts
            if status == "0" or (verdict.search(said) and SUMMARY.search(said))
        ]
        failed = [status for _, status in attempts if status not in ("0", str(TIMED_OUT))]
        if failed or not attempts:
            wrong.append(f"{run.name}: status {failed[0] if failed else 'unknown'}")
            continue
        if not judged:
            unknown.append(run.name)
            continue
        found = re.search(run.counted, judged[-1])
        count = float(found.group(1).replace(",", "")) if found else 0
        what = re.sub(r"^\(.*?\)(%?) *", r"\1 ", run.counted).strip()
        print(f"{run.name}: right, {count:g} {what}")
        if not verdict.search(judged[-1]):
            wrong.append(f"{run.name}: it does not say {run.verdict!r}")
        if count < run.least:
            wrong.append(f"{run.name}: {count:g} {what}, at least {run.least:g} expected")
    return wrong, unknown, again


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--build", required=True, type=pathlib.Path, help="the build directory")
    parser.add_argument("--mpiexec", required=True, help="of MPICH 5")
    parser.add_argument("--machines", type=int, choices=(1, 2), default=1)
    options = parser.parse_args()
    options.build = options.build.resolve()
    runs = ONE_MACHINE if options.machines == 1 else TWO_MACHINES
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        hob = None
        if any(run.wheel for run in runs):
            _, there = installed_wheel.install(options.build, folder)
            hob = there / "bin/hob"
        script = folder / "guest.sh"
        script.write_text(guest_script(options, runs, hob))
        run = subprocess.run(
            [HERE / "boot", script, "560", str(options.machines)],
            capture_output=True,
            text=True,
            errors="replace",
        )
    if run.returncode == 77:
        print(f"skipped: {run.stderr.strip()}")
        return 77
    print(run.stdout)
    wrong, unknown, again = judge(run.stdout, runs)
    if again:
        print(f"made again since they did not end: {again}")
    for name in unknown:
        print(f"{name}: no attempt ended, as MPICH does here without Hob now and then: not known")
    for sentence in wrong:
        print(f"FAILED {sentence}")
    if wrong:
        return 1
    return 77 if len(unknown) == len(runs) else 0


if __name__ == "__main__":
    sys.exit(main())
