#!/usr/bin/env python3
"""Runs a tier of the tests, stage by stage, from whatever state the tree is in: `make check`, `make test`,
`make test-full`.

    run_tier.py check    unit tests and the layers of src/: a minute or two, for the work at hand
    run_tier.py quick    every kind of test (make test): 15 minutes from a fresh clone on 2 cores, 7 on a built tree
    run_tier.py full     everything that there is (make test-full): an hour and more
    run_tier.py rest     what of the full tier the quick one left out, in an order that changes daily, until
                         --seconds are over: for CI

It says where it is and about how long it will take; at the end how long each stage took, what was skipped and
what could not run. tests/README.md says what is in which tier, and why.
"""

import argparse
import datetime
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import run_ctest

ROOT = Path(__file__).resolve().parents[1]
DEPS = Path(os.environ.get("HOB_DEPS", ROOT / ".deps"))
BUILD = ROOT / "build"

WHAT = {
    "check": "unit tests and layers, a minute or two",
    "quick": "every kind of test, on two cores about 15 minutes from a fresh clone and 7 on a built tree; "
    "`make test-full` runs the rest",
    "full": "everything; more than an hour on two cores",
    "rest": "of what `make test` leaves out, as much as fits",
}
# A part of the random programs, with seeds of the day.
QUICK_SHARE = "0.2"
# MPI jobs mostly wait: for their start, for each other.
JOBS = {"quick": 4, "full": 3, "rest": 3}


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def processor_time():
    """(all, stolen) of the processors' time since they started, in ticks: stolen is what a virtual machine wanted and
    its host gave to others."""
    try:
        ticks = [
            int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        ]
    except (OSError, ValueError):
        return 0, 0
    return sum(ticks), ticks[7] if len(ticks) > 7 else 0


class Failed(Exception):
    """A stage ended badly; what it is about was printed."""


class Tier:
    """The stages of a tier as they run, and what there is to say of them at the end."""

    def __init__(self, name, jobs):
        self.name = name
        self.jobs = jobs
        self.began = time.time()
        self.ticks = processor_time()
        self.times = {}  # seconds by stage
        self.failed, self.skipped, self.passed = [], [], 0
        self.only_alone = []  # that failed beside others, and passed alone
        self.kept = BUILD / "stage-seconds.json"
        try:
            self.before = json.loads(self.kept.read_text())
        except (OSError, ValueError):
            self.before = {}

    def say(self, text):
        print(f"[{clock(time.time() - self.began)}] {text}", flush=True)

    def start(self, stage):
        known = self.before.get(f"{self.name} {stage}")
        self.say(f"{stage}" + (f", about {clock(known)} (the last time)" if known else ""))

    def end(self, stage, started):
        self.times[stage] = self.times.get(stage, 0) + time.time() - started
        self.before[f"{self.name} {stage}"] = round(self.times[stage])
        BUILD.mkdir(exist_ok=True)
        self.kept.write_text(json.dumps(self.before, indent=1))

    def command(self, stage, words, log=None):
        """A command as a stage; with a log, what it prints is shown only if it fails."""
        self.start(stage)
        started = time.time()
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("w") as out:
                status = subprocess.run(words, stdout=out, stderr=out, check=False).returncode
            if status != 0:
                print(log.read_text(errors="replace"))
        else:
            status = subprocess.run(words, check=False).returncode
        self.end(stage, started)
        if status != 0:
            raise Failed(f"{stage}: {words[0]} ended with status {status}")

    def build(self, stage, preset, targets, options=()):
        """Configures where that was not done with these options, and builds."""
        self.start(stage)
        started = time.time()
        tree = BUILD / preset
        cache = tree / "CMakeCache.txt"
        text = cache.read_text() if cache.exists() else ""
        wanted = [option.removeprefix("-D").replace("=", ":BOOL=") for option in options]
        if not (tree / "build.ninja").exists() or any(line not in text for line in wanted):
            log = BUILD / f"{preset}.log"
            BUILD.mkdir(exist_ok=True)
            with log.open("w") as out:
                done = subprocess.run(
                    ["cmake", "--preset", preset, *options],
                    cwd=ROOT,
                    stdout=out,
                    stderr=out,
                    check=False,
                )
            if done.returncode != 0:
                print(log.read_text(errors="replace"))
                raise Failed(
                    f"{stage}: cmake --preset {preset} ended with status {done.returncode}"
                )
        words = ["cmake", "--build", str(tree), "-j", str(self.jobs), "--target", *targets]
        status = show_build(words)
        self.end(stage, started)
        if status != 0:
            raise Failed(f"{stage}: it does not compile")

    def tests(self, stage, tree, *options, jobs=None, environment=None):
        """ctest with these options: failures as they come, a line of progress now and then, its closing lines."""
        self.start(stage)
        started = time.time()
        shown = Progress(tree, listed(tree, *options))
        words = ["ctest", "--output-on-failure", "--no-tests=error", "--test-dir", str(tree)]
        words += ["-j", str(jobs or self.jobs), *options]
        env = {**os.environ, **(environment or {})}
        ctest = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=env,
        )
        ran = 0
        for line in ctest.stdout:
            result = RESULT.match(line)
            if not result:
                if not re.match(r"\s+Start +\d+: ", line):
                    print(line, end="", flush=True)
                continue
            done, total, name, verdict = result.groups()
            ran += verdict not in ("Skipped", "Not Run")
            if verdict == "Passed":
                self.passed += 1
            elif verdict in ("Skipped", "Not Run (Disabled)"):
                self.skipped.append(name)
            else:
                self.failed.append(name)
                print(line, end="", flush=True)
            shown.tell(int(done), int(total), name)
        status = ctest.wait()
        log = tree / "Testing/Temporary/LastTest.log"
        for name, reason in (
            run_ctest.second_tries(log.read_text(errors="replace")) if log.exists() else []
        ):
            print(f"second try: {name}: {reason}")
        self.end(stage, started)
        if ran == 0:
            raise Failed(f"{stage}: no test ran")
        if status != 0 and not self.failed:
            raise Failed(f"{stage}: ctest ended with status {status}")

    def close(self, problem=None):
        """The last lines, and the exit status."""
        good = not problem and not self.failed and self.passed
        print()
        print(
            "times: "
            + ", ".join(f"{stage} {clock(seconds)}" for stage, seconds in self.times.items()),
            end="",
        )
        print(f"; together {clock(time.time() - self.began)}")
        wanted, stolen = (now - before for now, before in zip(processor_time(), self.ticks))
        machine = f"machine: {os.cpu_count()} processors, load {os.getloadavg()[1]:.1f}"
        if stolen and wanted:
            machine += (
                f", {100 * stolen / wanted:.0f}% of the processors' time went to other guests"
            )
        print(machine)
        if self.skipped:
            print(f"skipped ({len(self.skipped)}): {' '.join(self.skipped)}")
        run_ctest.tell_untested()
        for name in self.only_alone:
            print(f"passed alone, but not beside others: {name}")
        for name in self.failed:
            print(f"FAILED: {name}")
        if problem:
            print(f"FAILED: {problem}")
        print(f"{'passed' if good else 'FAILED'}: the {self.name} tier ({WHAT[self.name]})")
        print(
            f"{self.passed} passed, {len(self.failed) + bool(problem)} failed, {len(self.skipped)} skipped"
        )
        return 0 if good else 1


RESULT = re.compile(
    r"\s*(\d+)/(\d+) Test +#\d+: (\S+) \.*\s*\*{0,3}(Passed|Failed|Skipped|Timeout|Not Run(?: \(Disabled\))?|Exception\S*)"
)


class Progress:
    """A line every ten seconds at most. What is left is estimated by what the tests took the last time (ctest's cost
    data), else by their number."""

    def __init__(self, tree, names):
        self.started = self.last = time.time()
        self.cost = dict.fromkeys(names, 1.0)
        try:
            for line in (tree / "Testing/Temporary/CTestCostData.txt").read_text().splitlines():
                name, _, seconds = (line.split() + [""] * 3)[:3]
                if name in self.cost and seconds:
                    self.cost[name] = max(float(seconds), 0.1)
        except (OSError, ValueError):
            pass
        self.total, self.over = sum(self.cost.values()), 0.0

    def tell(self, done, total, name):
        self.over += self.cost.get(name, 0)
        now = time.time()
        if now - self.last < 10 and done != total:
            return
        self.last = now
        share = self.over / self.total if self.total else 0
        left = (now - self.started) * (1 - share) / share if share > 0.05 else None
        about = "" if left is None else f", about {clock(left)} left"
        print(f"  {done} of {total}{about} ({name})", flush=True)


def show_build(words):
    """Runs a build; of its lines of progress one every ten seconds, all others as they come."""
    env = {**os.environ, "NINJA_STATUS": "[%f of %t, %es] "}
    build = subprocess.Popen(
        words,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=env,
    )
    last = time.time()
    for line in build.stdout:
        step = re.match(r"\[(\d+) of (\d+), ([\d.]+)s\]", line)
        if not step:
            if not line.startswith(("ninja: no work", "ninja: Entering")):
                print(line, end="", flush=True)
            continue
        done, total, seconds = int(step[1]), int(step[2]), float(step[3])
        if time.time() - last >= 10 and done < total:
            last = time.time()
            print(
                f"  {done} of {total}, about {clock(seconds / max(done, 1) * (total - done))} left",
                flush=True,
            )
    return build.wait()


def quick_environment():
    """Random programs: few, with seeds of the day. Plain runs are kept."""
    day = (datetime.date.today() - datetime.date(2026, 1, 1)).days
    seed = os.environ.get("TESTS_SEED", str(day * 10007))
    return {
        "TESTS_SEED": seed,
        "TESTS_SHARE": os.environ.get("TESTS_SHARE", QUICK_SHARE),
        # MPICH's own post-start-complete-wait hangs now and then where ranks share cores (tests/run_compare.py).
        "TESTS_WITHOUT": "pscw",
        "TESTS_PLAIN_RESULTS": str(BUILD / "default/plain-results"),
    }


def unit(tier, everything):
    """Unit tests under the address and undefined sanitizers: all, or without those that the quick tier runs
    plainly (tests/tiers.cmake) or under the thread sanitizer."""
    tier.build(
        "unit tests: build", "asan", ["unit-tests" if everything else "unit-tests-sanitized"]
    )
    without = "long" if everything else "long|quick|threads"
    tier.tests("unit tests", BUILD / "asan", "-L", "unit", "-LE", without, jobs=os.cpu_count())


def layers(tier):
    tier.command("layers", ["scripts/check-includes"])


def check(tier):
    layers(tier)
    unit(tier, everything=False)
    threads(tier, everything=False)
    tier.build("glue: build", "default", ["quick-unit-tests"], ALL)
    tier.tests("glue", BUILD / "default", "-L", "unit", "-L", "quick")


def threads(tier, everything):
    """The thread sanitizer over the pure parts that have threads; with everything, over the library with programs that
    have, too."""
    targets = ["unit-tests-with-threads", *(["sanitized-programs"] if everything else [])]
    which = "threads|sanitized" if everything else "threads"
    tier.build("threads: build", "tsan", targets)
    tier.tests("threads", BUILD / "tsan", "-L", which, "-LE", "long", jobs=os.cpu_count())


ALL = ["-DHOB_BUILD_TESTS=ON", "-DHOB_BUILD_BENCH=ON"]


def quick(tier):
    unit(tier, everything=False)
    threads(tier, everything=False)
    tier.build("programs: build", "default", ["quick-tests"], ALL)
    env = quick_environment()
    tier.say(
        f"random programs have seed {env['TESTS_SEED']} (TESTS_SEED={env['TESTS_SEED']} make test)"
    )
    tier.tests("programs", BUILD / "default", "-L", "quick", jobs=JOBS["quick"], environment=env)


def full(tier):
    unit(tier, everything=True)
    threads(tier, everything=True)
    tier.build("build", "default", ["all"], ALL)
    env = {"TESTS_PLAIN_RESULTS": str(BUILD / "default/plain-results")}
    tier.tests("tests", BUILD / "default", "-C", "full", jobs=JOBS["full"], environment=env)
    tier.command(
        "seeded faults",
        [sys.executable, "-B", "tests/seeded_faults.py"],
    )


def listed(tree, *options):
    """The names of tests that ctest would run."""
    words = ["ctest", "--test-dir", str(tree), "--show-only=json-v1", *options]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(done.stdout)["tests"]]


def exactly(names):
    """A regular expression of ctest for these tests."""
    return "^(" + "|".join(map(re.escape, names)) + ")$"


def rest(tier, seconds):
    """Tests of the full tier in chunks, until the next chunk may not fit."""
    until = tier.began + seconds
    if seconds > 500:  # it compiles the glue once more
        threads(tier, everything=True)
    tier.build("rest: configure", "default", ["hob-exec"], ALL)
    tree = BUILD / "default"
    chosen = listed(tree, "-LE", "quick|unit")
    random.Random(datetime.date.today().toordinal()).shuffle(chosen)
    # First what `make test` does not even compile.
    chosen.sort(key=lambda name: not name.startswith("mpi.abi5.rma_"))
    needs = json.loads((tree / "test-targets.json").read_text())
    total, longest = len(chosen), 0
    while chosen and time.time() + longest < until:
        chunk, chosen = chosen[:12], chosen[12:]
        started = time.time()
        targets = sorted({target for name in chunk for target in needs.get(name, ["all"])})
        tier.build("rest: build", "default", targets or ["hob-exec"])
        before = len(tier.failed)
        tier.tests("rest", tree, "-R", exactly(chunk), jobs=JOBS["rest"])
        if again := tier.failed[before:]:
            # Here any test may meet any other: what fails only beside others is said, and is no failure.
            del tier.failed[before:]
            tier.say(f"once more, alone: {' '.join(again)}")
            tier.tests("rest, alone", tree, "-R", exactly(again), jobs=1)
            tier.only_alone += [name for name in again if name not in tier.failed]
        longest = max(longest, time.time() - started)
    tier.say(f"{total - len(chosen)} of {total} tests of the full tier that `make test` leaves out")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tier", choices=WHAT)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile")
    parser.add_argument(
        "--seconds", type=float, default=600, help="for `rest`: no test starts later"
    )
    args = parser.parse_args()
    os.chdir(ROOT)
    os.environ["HOB_DEPS"] = str(DEPS)
    os.environ["PATH"] = f"{DEPS / 'venv/bin'}{os.pathsep}{os.environ['PATH']}"
    # Open MPI refuses root unless told otherwise twice; tests in containers and in CI often are root.
    os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    tier = Tier(args.tier, args.jobs)
    print(f"the {args.tier} tier: {WHAT[args.tier]}", flush=True)
    try:
        tier.command("setup", ["scripts/setup"])
        run_ctest.tell_untested()
        {"check": check, "quick": quick, "full": full}.get(
            args.tier, lambda t: rest(t, args.seconds)
        )(tier)
    except Failed as failure:
        return tier.close(str(failure))
    except KeyboardInterrupt:
        return tier.close("interrupted")
    return tier.close()


if __name__ == "__main__":
    sys.exit(main())
