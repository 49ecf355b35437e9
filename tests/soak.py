#!/usr/bin/env python3
"""Runs the random programs with new seeds, over all MPI libraries, set-ups and settings, for some time.

    soak.py --build build/default --minutes 30 [--mpi mpich5,openmpi4] [--seed S] [--results DIR]

Every run is compared as tests/run_compare.py does, against a plain run where the programs print
something to compare. One line for each run, with its seed, also in DIR/runs.txt as soon as it is
there, so that nothing is lost when the time is up or somebody interrupts. A failure is shrunk: the one
program that fails, as few events and kinds of operations as it still fails with; the command that
repeats it is printed and kept in DIR/failures.txt. Status 1 if there was one.
"""

import argparse
import pathlib
import random
import re
import shlex
import subprocess
import sys
import time

import run_compare
import second_try

# What an MPI library gets wrong by itself, as in tests/fuzz/CMakeLists.txt and tests/mpi/p2p.cmake.
WITHOUT_RMA = {
    "mpich5": ["nocheck"],
    "abi5": ["nocheck"],
    "openmpi4": ["nocheck", "accumulate", "atomics"],
    "mpich4": ["allocate", "nocheck", "accumulate", "types", "typed_request", "request"]
    + ["flush_local"],
    "openmpi5": ["create", "dynamic", "fence", "pscw", "nocheck", "accumulate", "fetch", "types"]
    + ["typed_request", "request", "flush_local", "atomics", "exclusive"],
}
WITHOUT_P2P = {
    "mpich4": ["isendrecv_status", "isendrecv_types", "partitioned_mixed"],
    "mpich5": ["isendrecv_status", "isendrecv_types", "partitioned_mixed"]
    + ["truncate_late", "truncate_persistent"],
}
WITHOUT_P2P["abi5"] = WITHOUT_P2P["mpich5"]
RMA_SETTINGS = "default auto tiny strict growing strict-tiny paper paper-tiny verify".split()
RMA_SETTINGS += "temporal-tiny positional-tiny lru-tiny sieve-tiny s3fifo-tiny noop-get".split()
RMA_SETTINGS += ["match-always", "match-always-tiny"]
# Batches are made with indexed datatypes, which these libraries get right.
BATCHES = [f"batch-{how}" for how in "2 16 4096 off tiny ahead strict validate verify auto".split()]
BATCHING = ("mpich5", "abi5")
GHOSTS = [
    f"ghosts{n}-{b}{c}"
    for n in (1, 2, 3)
    for b in ("rank", "segment", "random")
    for c in ("", "-cache")
]
GHOSTS += ["ghosts2-operations", "ghosts2-bytes-cache"]
P2P_SETTINGS = ["default", "match"]
# Several windows over one memory: wrong without Hob in 6 of 6 seeds.
ALIASES_WRONG = ("mpich4", "openmpi5")
# What random RMA programs do besides, in this share of the jobs.
ALSO = {"aliases": 0.4, "phases": 0.2, "fork": 0.2}
# Memory that is no ordinary memory, and ends that are not in main. --ordinary leaves them out.
STRANGE = {"mapped": 0.2, "holes": 0.2, "sparse": 0.1, "remap": 0.2, "madvise": 0.2}
ENDS = {"atexit": 0.1, "destructor": 0.1, "tls": 0.1}
# Over TCP, this share of them spawns ranks; in shared memory MPICH 5 hangs by itself.
SPAWN = 0.2


class Job:
    """One program with one seed under one setting."""

    def __init__(self, dice, args, mpi):
        self.mpi = mpi
        self.seed = dice.randrange(1, 1 << 31)
        self.ranks, self.remote, self.threads = dice.choice([2, 2, 3]), "no", 1
        settings = args.settings.split(",") if args.settings else []
        rma = mpi in WITHOUT_RMA and (bool(settings) or dice.random() < 0.7)
        self.kind = "rma_fuzz" if rma else "p2p_fuzz"
        self.without = list((WITHOUT_RMA if rma else WITHOUT_P2P).get(mpi, []))
        if dice.random() < 0.25:
            self.threads = dice.choice([2, 3, 4])
            if not rma and mpi == "openmpi4":
                self.without.append("truncate")
        if not rma:
            self.setting = dice.choice(P2P_SETTINGS)
        elif not settings and mpi in ("mpich5", "abi5") and dice.random() < 0.35:
            self.remote, self.setting = "nodes", dice.choice(GHOSTS)
            self.without += ["shared", "dynamic"]
        else:
            known = RMA_SETTINGS + (BATCHES if mpi in BATCHING else [])
            self.setting = dice.choice(settings or known)
            if mpi in ("mpich5", "abi5") and dice.random() < 0.4:
                self.remote = "tcp"
                self.without.append("typed_request")
                if self.ranks > 2:
                    self.without.append("pscw")  # MPI_Win_start hangs where a post comes early
        self.also = args.also.split(",") if rma and args.also else []
        if rma:
            shares = ALSO if args.ordinary else ALSO | STRANGE
            self.also += [name for name in shares if dice.random() < shares[name]]
            if "aliases" in self.also and mpi in ALIASES_WRONG:
                self.also.remove("aliases")
            if self.remote == "tcp" and dice.random() < SPAWN:
                self.also.append("spawn")
                self.without.append("pscw")  # the same, with the ranks that are spawned
        if not args.ordinary and "spawn" not in self.also:
            self.also += [name for name in ENDS if dice.random() < ENDS[name]][:1]
            if rma and self.threads > 1 and dice.random() < 0.2:
                self.also.append("thread_end")
        self.programs = 20 if rma else 4
        self.options = {}
        self.first = 0
        self.args = args

    def words(self):
        program = [f"{self.args.build}/bin/{self.mpi}/{self.kind}", "--seed", str(self.seed)]
        program += ["--first", str(self.first), "--programs", str(self.programs)]
        if self.threads > 1:
            program += ["--threads", str(self.threads)]
        if self.also:
            program += ["--with", ",".join(self.also)]
        if self.without:
            program += ["--without", ",".join(self.without)]
        for key, value in self.options.items():
            program += [key, str(value)]
        return program

    def copy(self, **changes):
        other = object.__new__(Job)
        other.__dict__ |= self.__dict__ | {
            "without": list(self.without),
            "options": dict(self.options),
        }
        other.__dict__ |= changes
        return other

    def command(self, python=sys.executable):
        family = (
            "openmpi"
            if self.mpi.startswith("openmpi")
            else "abi"
            if self.mpi == "abi5"
            else "mpich"
        )
        return [
            *[
                python,
                "-B",
                str(pathlib.Path(__file__).parent / "run_compare.py"),
                "--mpi",
                self.mpi,
            ],
            *["--exec", self.args.launchers[self.mpi], "--ranks", str(self.ranks)],
            *["--lib", f"{self.args.build}/lib/libhob_{family}.so", "--remote", self.remote],
            *["--settings", self.setting, "--timeout", str(self.args.timeout), "--", *self.words()],
        ]

    def run(self):
        """(what happened, output): good, FAILED, or why it tells nothing."""
        done = subprocess.run(self.command(), capture_output=True, text=True, errors="replace")
        output = done.stdout + done.stderr
        if done.returncode == run_compare.SKIP:
            return "skipped", output
        if done.returncode == 0:
            return "good", output
        if second_try.missed_deadline(output):
            return "launcher missed its deadline", output
        if "FAILED" not in output:
            return f"ended with {done.returncode}", output  # by somebody else
        # The library alone fails, too: nothing of Hob's is to be seen there.
        return ("fails without Hob" if "FAILED plainly" in output else "FAILED"), output

    def fails(self, tries=2):
        return any(self.run()[0] == "FAILED" for _ in range(tries))

    def __str__(self):
        where = f"{self.mpi} {self.remote}" if self.remote != "no" else self.mpi
        without = f" without {','.join(self.without)}" if self.without else ""
        also = f" with {','.join(self.also)}" if self.also else ""
        return f"{where} {self.setting}: {self.kind} seed {self.seed}, {self.ranks} ranks, {self.threads} threads{without}{also}"


def features(job):
    """Kinds of operations that the program knows, from its complaint about one that it does not."""
    mpiexec = job.args.launchers[job.mpi]
    done = subprocess.run(
        [mpiexec, "-n", "1", f"{job.args.build}/bin/{job.mpi}/{job.kind}", "--without", "?"],
        capture_output=True,
        text=True,
    )
    named = re.search(r"features:(.*)", done.stderr)
    return [name for name in named.group(1).split() if name not in job.without] if named else []


def shrink(job, until):
    """A smaller job that still fails, at best one program of a few events."""

    def better(**changes):
        nonlocal job
        if time.time() > until:
            return False
        smaller = job.copy(**changes)
        if not smaller.fails():
            return False
        job = smaller
        return True

    for first in range(job.first, job.first + job.programs):
        if better(first=first, programs=1):
            break
    if job.kind == "rma_fuzz" and job.programs == 1:
        low, high = 0, 200  # fails with `high` events; the fewest that do
        while high - low > 1:
            middle = (low + high) // 2
            if better(options={"--events": middle}):
                high = middle
            elif time.time() > until:
                break
            else:
                low = middle
    if job.threads > 1:
        better(threads=1)
    if job.ranks > 2:
        better(ranks=2)
    for name in features(job):
        better(without=[*job.without, name])
    return job


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--mpi", default="", help="comma-separated; all that are set up")
    parser.add_argument("--also", default="", help="mapped,remap,callbacks,...: rma_fuzz --with")
    parser.add_argument(
        "--ordinary", action="store_true", help="ordinary memory, and programs that end in main"
    )
    parser.add_argument(
        "--settings",
        default="",
        help="comma-separated, of run_compare.py: rma_fuzz with these alone",
    )
    parser.add_argument("--launchers", type=pathlib.Path, help="the mpis.cmake of scripts/setup")
    parser.add_argument("--seed", type=int, default=None, help="of the seeds; the time by default")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("out/soak"))
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run")
    parser.add_argument("--shrink-minutes", type=float, default=10)
    args = parser.parse_args()
    args.build = args.build.resolve()
    text = args.launchers.read_text()
    args.launchers = dict(re.findall(r'^set\(HOB_MPI_(\w+)_EXEC "?([^")]+)', text, re.M))
    compiled_for = re.search(r"^set\(HOB_MPIS (.+)\)", text, re.M)[1].split()
    mpis = args.mpi.split(",") if args.mpi else compiled_for
    seed = int(time.time()) if args.seed is None else args.seed
    dice = random.Random(seed)
    args.results.mkdir(parents=True, exist_ok=True)
    runs, failures = args.results / "runs.txt", args.results / "failures.txt"
    print(f"seed {seed}, {args.minutes:g} minutes, {', '.join(mpis)}; results in {args.results}")
    start, tally = time.time(), {}
    while time.time() < start + 60 * args.minutes:
        job = Job(dice, args, mpis[sum(tally.values()) % len(mpis)])
        begun = time.time()
        what, output = job.run()
        tally[what] = tally.get(what, 0) + 1
        line = f"{(time.time() - start) / 60:5.1f} min {what:8} {time.time() - begun:5.1f} s  {job}"
        print(line, flush=True)
        with runs.open("a") as file:
            file.write(f"{line}\n")
        if what != "FAILED":
            continue
        with failures.open("a") as file:
            file.write(f"{line}\n{shlex.join(job.command('python3'))}\n{output}\n")
        smaller = shrink(job, time.time() + 60 * args.shrink_minutes)
        print(f"  repeat: {shlex.join(smaller.command('python3'))}", flush=True)
        with failures.open("a") as file:
            file.write(f"shrunk: {shlex.join(smaller.command('python3'))}\n\n")
    print(", ".join(f"{count} {what}" for what, count in tally.items()))
    return 1 if tally.get("FAILED") else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
