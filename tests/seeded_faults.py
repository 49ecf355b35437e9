#!/usr/bin/env python3
"""Puts known faults into a copy of the sources, one at a time, and says which tests notice them.

    seeded_faults.py                                all faults, with the tests of `make test`
    seeded_faults.py 'mend-*' careless-03           some of them, by pattern or beginning of the name
    seeded_faults.py --tier full                    with the tests of `make test-full`
    seeded_faults.py --all --results out/faults.json    every test that notices each of them
    seeded_faults.py --resume --results out/faults.json    goes on where a run was interrupted
    seeded_faults.py --check                        only whether the patches are in order: a second
    seeded_faults.py --list                         what there is

A fault is a file tests/seeded_faults/NAME.patch: one sentence that says what is wrong with it, then

    Kind: mend                  or careless: what a careless change would bring
    Mend: 1a2b3c4 what it said  kind mend: the commit that mended this fault, which the patch takes back
    Found-by: unit.glue, mpi.mpich5.rma_corners      the tests that notice it, the fastest first

an empty line, and a diff as `git diff` writes it. `build` in place of a test: the compiler notices it.

First the tests of Found-by run without any fault, since a test that fails anyway cannot judge. Then,
for each fault: what the next test needs is built, the tests of Found-by that belong to the tier run in
their order until one fails, and only if none does, the rest of the tier, unit tests first. A test of that
rest which fails counts if it passes without the fault. A fault that does not build counts as not
noticed (but for Found-by: build), and is an error of its own.

Unit tests run here without the sanitizers under which `make test` runs them.
The sources are copied to build/faults/tree, and built in build/faults/build with -O1 and without the
benchmarks; the tree that you work in is only read. The copy is put right at the next start, so Ctrl-C
does no harm. A fault costs the compilation of what it changes, half a minute for the glue, and the
tests. Status 0 if all faults were noticed, or as many as --least says; 1 if not; 2 if there is no verdict.
"""

import argparse
import fcntl
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

import run_tier

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATCHES = ROOT / "tests/seeded_faults"

# The compiler, where Found-by names it.
BUILD = "build"

NOTICED, UNNOTICED, NO_BUILD = "noticed", "not noticed", "does not build"


class Problem(Exception):
    """What the user has to mend before there can be a verdict."""


# Patches


class Fault:
    """One patch: its name, what its header says, the files that it changes, and its text."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        header, _, diff = text.partition("\ndiff --git ")
        lines = header.splitlines()
        first = next((i for i, line in enumerate(lines) if re.match(r"[A-Z][\w-]*: ", line)), None)
        if first is None or not diff:
            raise ValueError(f"{name}: no fields or no diff")
        self.sentence = " ".join(" ".join(lines[:first]).split())
        fields = {}
        for line in lines[first:]:
            if not line.strip():
                break
            key, colon, value = line.partition(": ")
            if not colon or key not in ("Kind", "Mend", "Found-by") or key in fields:
                raise ValueError(f"{name}: what is {line!r}?")
            fields[key] = value.strip()
        self.kind, self.mend = fields.get("Kind", ""), fields.get("Mend", "")
        self.found_by = [test.strip() for test in fields.get("Found-by", "").split(",")]
        self.found_by = [test for test in self.found_by if test]
        self.files = re.findall(r"^diff --git a/(\S+) b/", "\ndiff --git " + diff, re.M)

    @property
    def digest(self):
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def problems(self, tests):
        """What is wrong with the header, in sentences. `tests`: the names that there are, or None."""
        if not self.sentence.endswith("."):
            yield f"{self.name}: does not begin with a sentence"
        if self.kind not in ("mend", "careless"):
            yield f"{self.name}: Kind is neither mend nor careless"
        if (self.kind == "mend") != bool(self.mend):
            yield f"{self.name}: Mend is for kind mend, and only for it"
        if not self.name.startswith(f"{self.kind}-"):
            yield f"{self.name}: the name does not begin with its kind"
        if not self.found_by:
            yield f"{self.name}: no Found-by"
        for test in self.found_by:
            if test != BUILD and tests is not None and is_missing(test, tests):
                yield f"{self.name}: there is no test {test}"


def is_missing(test, tests):
    """Whether there is no such test though there are others of its kind: tests of an MPI library that
    a machine lacks are not missed there."""
    if test.startswith("unit."):
        return test not in tests
    kind = re.match(r"(?:(?:mpi|fuzz)\.\w+|\w+)\.", test + ".")[0]
    return test not in tests and any(name.startswith(kind) for name in tests)


def read_faults(folder=PATCHES):
    """All of them by name, and what is wrong with those that cannot be read."""
    faults, wrong = [], []
    for path in sorted(folder.glob("*.patch")):
        try:
            faults.append(Fault(path.stem, path.read_text()))
        except ValueError as error:
            wrong.append(str(error))
    return faults, wrong


def pick(faults, patterns):
    """Those whose name matches one of the patterns or begins with it; all without any."""
    if not patterns:
        return faults
    patterns = [re.sub(r"\.patch$", "", pathlib.PurePath(pattern).name) for pattern in patterns]
    for pattern in patterns:
        if not any(matches(fault.name, pattern) for fault in faults):
            raise Problem(f"no fault is called {pattern}; --list says what there is")
    return [fault for fault in faults if any(matches(fault.name, p) for p in patterns)]


def matches(name, pattern):
    return fnmatch.fnmatchcase(name, pattern) or name.startswith(pattern)


def in_order(faults):
    """Faults of the same files behind each other: what has to be compiled for one has to be compiled
    again to take it out, and files that lie together are compiled together."""
    return sorted(faults, key=lambda fault: (fault.files, fault.name))


# Tests


class Test:
    """One test as ctest describes it: name, labels, the programs and libraries in its command."""

    def __init__(self, name, labels, command):
        self.name, self.labels, self.command = name, labels, command

    def __repr__(self):
        return self.name


def read_tests(shown):
    """{name: Test} from what `ctest --show-only=json-v1` wrote."""
    tests = {}
    for test in json.loads(shown)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        tests[test["name"]] = Test(
            test["name"], properties.get("LABELS", []), test.get("command", [])
        )
    return tests


def of_tier(tests, tier):
    """The names of the tests that `make test` (quick) or `make test-full` (full) runs."""
    return [test.name for test in tests.values() if tier == "full" or is_quick(test.labels)]


def is_quick(labels):
    """`make test` runs those with the label quick, and short unit tests in a build for a sanitizer."""
    return "quick" in labels or ("unit" in labels and "long" not in labels)


def parts_of(tier):
    """Options of ctest for the tests of a tier, in two parts: unit tests first."""
    if tier == "full":
        return ["-L", "^unit$"], ["-LE", "^unit$"]
    return ["-L", "^unit$", "-LE", "^long$"], ["-L", "^quick$", "-LE", "^unit$"]


def targets_of(test, known):
    """The build targets that a test needs: by `known`, the table of the build if there is one, else
    by its command."""
    if test.name in known:
        return list(known[test.name])
    targets = []
    family = re.search(r"--family (\w+)", " ".join(test.command))
    for word in test.command:
        targets += [f"hob_{name}" for name in re.findall(r"/lib/libhob_(\w+)\.so", word)]
        for mpi, program in re.findall(r"/bin/(\w+\d)/([\w.]+)", word):
            targets.append(f"mpi-program-{mpi}-{program}")
        if word.endswith("/lib") and family:
            targets.append(f"hob_{family[1]}")
    name = test.name.split(".")[1] if "." in test.name else test.name
    name = "glue_test" if name == "glue" else name
    # ctest names no command where the program is not there yet.
    program = pathlib.PurePath(test.command[0]).name if test.command else name
    if not targets and "unit" in test.labels and program == name:
        targets = [name]
    return list(dict.fromkeys(targets))


def expression(names):
    """A regular expression of ctest that means these names."""
    return "^(" + "|".join(re.escape(name).replace("\\-", "-") for name in names) + ")$"


def read_junit(text):
    """{test: passed} of what ran: what was skipped is left out."""
    ran = {}
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        if case.get("status") in ("run", "fail"):
            ran[case.get("name")] = case.get("status") == "run"
    return ran


# Words


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def progress(number, count, seconds):
    """What stands before the line of fault `number` of `count`, which are done after `seconds`."""
    left = seconds / number * (count - number)
    about = "" if number == count else f", about {max(1, round(left / 60))} min left"
    return f"[{number:{len(str(count))}} of {count}, {clock(seconds)} so far{about}]"


def told(result):
    """The result of one fault in words."""
    what = result["result"]
    if what == NOTICED:
        what += f" by {', '.join(result['noticed_by'])}"
    return f"{what} ({result['seconds']:.0f} s)"


def table(results):
    """A line for each fault: name, seconds, by what it was noticed."""
    width = max([len(result["name"]) for result in results], default=0)
    for result in results:
        by = ", ".join(result["noticed_by"])
        what = by if result["result"] == NOTICED else result["result"].upper()
        yield f"{result['name']:{width}}  {result['seconds']:5.0f} s  {what}"


def closing(results, tier):
    """The last lines."""
    noticed = sum(result["result"] == NOTICED for result in results)
    for what in (UNNOTICED, NO_BUILD):
        names = [result["name"] for result in results if result["result"] == what]
        if names:
            yield f"{what}: {', '.join(names)}"
    yield f"{noticed} of {len(results)} noticed by the {tier} tier"
    yield f"{noticed} passed, {len(results) - noticed} failed"


# The copy


def git(*words, folder=ROOT, check=True, text=None):
    """Runs git, which is not to find a repository around the folder."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env["GIT_CEILING_DIRECTORIES"] = str(folder.parent)
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env=env,
        input=text,
        capture_output=True,
        text=True,
        check=check,
    )


def does_not_apply(fault, folder=ROOT):
    """Why the patch does not apply, or an empty string."""
    return git("apply", "--check", "-", folder=folder, check=False, text=fault.text).stderr.strip()


class Copy:
    """The copy of the sources. A file is only written where it differs, so that only what changed is
    compiled again."""

    def __init__(self, folder, source=ROOT):
        self.folder, self.source = folder, source
        self.before = {}  # what the files were that the fault has changed
        self.digest = ""  # of all that verdicts depend on

    def put_right(self):
        """Makes it the same as the sources are now."""
        listed = git("ls-files", "-co", "--exclude-standard", "-z", folder=self.source, check=False)
        if listed.returncode:
            raise Problem("the sources are copied by git's list of files, and this is no git tree")
        names = {name for name in listed.stdout.split("\0") if name and lexists(self.source / name)}
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        for name in sorted(names):
            content = self.copy(name)
            # What a verdict depends on. Patches are compared one by one.
            if name.startswith(("cmake/", "include/", "src/", "tests/", "tools/", "CMakeLists")):
                if not name.startswith("tests/seeded_faults/"):
                    digest.update(f"{name} {len(content)}\n".encode() + content)
        for path in list(self.folder.rglob("*")):
            name = path.relative_to(self.folder)
            if name.parts[0] != ".git" and str(name) not in names and lexists(path):
                path.unlink()
        self.digest = digest.hexdigest()[:16]
        # Some tests ask git which files there are.
        git("init", "-q", folder=self.folder)
        git("add", "-A", folder=self.folder)

    def copy(self, name):
        """Copies one file; returns its content."""
        here, there = self.source / name, self.folder / name
        if here.is_symlink():
            target = os.readlink(here)
            if not there.is_symlink() or os.readlink(there) != target:
                remove(there)
                there.parent.mkdir(parents=True, exist_ok=True)
                there.symlink_to(target)
            return target.encode()
        content = here.read_bytes()
        if there.is_symlink() or not there.is_file() or there.read_bytes() != content:
            remove(there)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(content)
        if there.stat().st_mode != here.stat().st_mode:
            shutil.copymode(here, there)
        return content

    def seed(self, fault):
        """Puts a fault in."""
        self.take_out()
        for name in fault.files:
            path = self.folder / name
            self.before[name] = path.read_bytes() if path.exists() else None
        done = git("apply", "-", folder=self.folder, check=False, text=fault.text)
        if done.returncode:
            raise Problem(f"{fault.name} does not apply: {done.stderr.strip()}")

    def take_out(self):
        """Takes it out again."""
        for name, content in self.before.items():
            path = self.folder / name
            if content is None:
                path.unlink(missing_ok=True)
            elif not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
        self.before = {}


def lexists(path):
    """A file, or a link to whatever."""
    return path.is_symlink() or path.is_file()


def remove(path):
    if lexists(path):
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


# Building and running


class Bench:
    """The build of the copy, and the tests in it."""

    def __init__(self, copy, build, jobs, tier):
        self.copy, self.build, self.jobs = copy, build, jobs
        self.log = build.parent / "log.txt"
        deps = pathlib.Path(os.environ.get("HOB_DEPS") or ROOT / ".deps")
        self.env = {**os.environ, "HOB_DEPS": str(deps), "TESTS_SEED": "1"}
        self.env["PATH"] = f"{deps}/venv/bin:{os.environ['PATH']}"
        # As the Makefile does: tests in containers and in CI often are root.
        self.env["OMPI_ALLOW_RUN_AS_ROOT"] = self.env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        if tier == "quick":
            self.env["TESTS_SHARE"] = run_tier.QUICK_SHARE
        # Runs without Hob, which a fault of Hob's does not change.
        self.env["TESTS_PLAIN_RESULTS"] = str(build.parent / "plain-results")
        self.tests, self.known, self.healthy = {}, {}, {}

    def run(self, *words):
        """(status, output), which is also in the log."""
        done = subprocess.run(
            [str(word) for word in words],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(map(str, words))}\n{done.stdout}\n")
        return done.returncode, done.stdout

    def configure(self):
        options = {
            "CMAKE_BUILD_TYPE": "Debug",
            "CMAKE_CXX_FLAGS_DEBUG": "-O1",
            "CMAKE_C_FLAGS_DEBUG": "-O1",
            "HOB_BUILD_TESTS": "ON",
            "HOB_BUILD_BENCH": "OFF",
            "HOB_DEPS": self.env["HOB_DEPS"],
        }
        words = [f"-D{key}={value}" for key, value in options.items()]
        status, said = self.run(
            "cmake", "-S", self.copy.folder, "-B", self.build, "-G", "Ninja", *words
        )
        if status:
            raise Problem(f"the copy cannot be configured:\n{said[-3000:]}")
        self.tests = read_tests(shown_tests(self.build, self.env))
        self.known = read_known(self.build)

    def make(self, targets):
        """Builds them; returns what the compiler said where it failed."""
        if not targets:
            return ""
        status, said = self.run(
            "cmake", "--build", self.build, "-j", self.jobs, "--target", *targets
        )
        return said if status else ""

    def make_for(self, names):
        """The same for what some tests need."""
        targets = {t for name in names for t in targets_of(self.tests[name], self.known)}
        return self.make(sorted(targets))

    def ctest(self, *words):
        """{test: passed} of those that ran."""
        report = self.build / "faults-junit.xml"
        report.unlink(missing_ok=True)
        self.run(
            *[
                "ctest",
                "--test-dir",
                self.build,
                "-C",
                "full",
                "-j",
                max(self.jobs, run_tier.JOBS["quick"]),
            ],
            *["--output-on-failure", "--output-junit", report, *words],
        )
        return read_junit(report.read_text()) if report.exists() else {}

    def without_fault(self, names):
        """{test: passed} without any fault: each runs once, and is remembered."""
        new = [name for name in names if name not in self.healthy]
        if new:
            self.copy.take_out()
            if said := self.make_for(new):
                raise Problem(f"the sources do not build without a fault:\n{said[-3000:]}")
            self.healthy |= {name: False for name in new}
            self.healthy |= self.ctest("-R", expression(new))
        return {name: self.healthy[name] for name in names}


def shown_tests(build, env=None):
    """What ctest says of the tests in this build."""
    words = ["ctest", "--test-dir", str(build), "-C", "full", "--show-only=json-v1"]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    if done.returncode or not done.stdout.startswith("{"):
        raise Problem(f"{build}: ctest knows no tests there: {done.stderr.strip()}")
    return done.stdout


def read_known(build):
    """The build's own table of what its tests need, where there is one."""
    for path in (build / "test-targets.json", build / "tests/test-targets.json"):
        if path.exists():
            return json.loads(path.read_text())
    return {}


# A run


class Judge:
    """Which tests of a tier notice a fault."""

    def __init__(self, bench, tier, run_all):
        self.bench, self.tier, self.run_all = bench, tier, run_all
        self.names = of_tier(bench.tests, tier)
        if not self.names:
            raise Problem(f"no test belongs to the {tier} tier")

    def judge(self, fault):
        """(result, tests that noticed it)"""
        self.bench.copy.seed(fault)
        result = self.noticed_whole(fault) if self.run_all else self.noticed_first(fault)
        if isinstance(result, str):
            return (NOTICED, [BUILD]) if BUILD in fault.found_by else (NO_BUILD, [])
        return (NOTICED, result) if result else (UNNOTICED, [])

    def noticed_first(self, fault):
        """The first test that notices; a string if it does not build."""
        named = [test for test in fault.found_by if test in self.names]
        for test in named:
            if said := self.bench.make_for([test]):
                return said
            if not all(self.bench.ctest("-R", expression([test])).values()):
                return [test]
        for part in parts_of(self.tier):
            found = self.noticed_in(part, named, fault)
            if found:
                return found
        return []

    def noticed_in(self, part, judged, fault):
        """The same of a part of the tier, without what has judged already."""
        while True:
            # Again after tests without the fault, too.
            if said := self.bench.make(self.all_targets()):
                return said
            bad = [test for test, good in self.bench.healthy.items() if not good]
            leave = expression([*judged, *bad])
            ran = self.bench.ctest(*part, "-E", leave, "--stop-on-failure")
            failed = [test for test, passed in ran.items() if not passed]
            if not failed:
                return []
            good = self.bench.without_fault(failed)
            if not self.bench.copy.before:
                self.bench.copy.seed(fault)
            if any(good.values()):
                return [test for test in failed if good[test]][:1]

    def noticed_whole(self, fault):
        """All tests that notice; a string if it does not build."""
        if said := self.bench.make(self.all_targets()):
            return said
        ran = {}
        for part in parts_of(self.tier):
            ran |= self.bench.ctest(*part)
        failed = [test for test, passed in ran.items() if not passed]
        return [test for test in failed if self.bench.healthy.get(test)]

    def all_targets(self):
        """Of the whole tier."""
        if self.tier == "full":
            return ["all"]
        if self.bench.known:
            return ["quick-tests", "unit-tests"]
        return sorted({t for name in self.names for t in targets_of(self.bench.tests[name], {})})

    def prepare(self, faults):
        """Runs the tests that judge without a fault."""
        named = {test for fault in faults for test in fault.found_by if test in self.names}
        names = self.names if self.run_all else [name for name in self.names if name in named]
        count = f"{len(names)} test{'s' * (len(names) != 1)}"
        print(f"{count} without a fault; the first time this compiles Hob, for minutes", flush=True)
        begun = time.time()
        good = self.bench.without_fault(names)
        bad = [name for name in good if name in named and not good[name]]
        if bad:
            raise Problem(
                f"without a fault, these do not pass, and cannot judge: {', '.join(bad)}\n"
                f"what they said is in {self.bench.log}"
            )
        if others := [name for name in good if not good[name]]:
            print(f"skipped or failed without a fault, so they do not count: {', '.join(others)}")
        print(f"all that judge pass without a fault ({time.time() - begun:.0f} s)", flush=True)


def check(faults, wrong, build):
    """Whether all patches are in order; prints what is not."""
    tests = set(read_tests(shown_tests(build))) if build else None
    for fault in faults:
        wrong += fault.problems(tests)
        if said := does_not_apply(fault):
            wrong.append(f"{fault.name}: does not apply: {said}")
    print("\n".join(wrong) if wrong else f"{len(faults)} patches are in order")
    return not wrong


def list_faults(faults):
    for fault in faults:
        print(f"{fault.name}\n    {fault.sentence}\n    {', '.join(fault.found_by)}")


class Results:
    """What is known of the faults, in a file after each."""

    def __init__(self, path, tier, run_all, tree):
        self.path, self.head = path, {"tier": tier, "all": run_all, "tree": tree}
        self.faults, self.others = [], []

    def take_up(self, faults):
        """Takes over what an interrupted run found out with the same sources. What it says of other
        faults than these stays in the file."""
        if not self.path or not self.path.exists():
            return
        before = json.loads(self.path.read_text())
        if {key: before.get(key) for key in self.head} != self.head:
            print(f"{self.path} is of other sources or another tier: all over again")
            return
        digests = {fault.name: fault.digest for fault in faults}
        for result in before["faults"]:
            if result["name"] not in digests:
                self.others.append(result)
            elif result["patch"] == digests[result["name"]]:
                self.faults.append(result)

    def add(self, result):
        self.faults.append(result)
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_name(self.path.name + ".part")
            all_of_them = {**self.head, "faults": [*self.others, *self.faults]}
            part.write_text(json.dumps(all_of_them, indent=1) + "\n")
            part.replace(self.path)


def run(args, faults):
    folder = ROOT / "build/faults"
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Problem(f"another run is at work in {folder}") from None
    (folder / "log.txt").unlink(missing_ok=True)
    copy = Copy(folder / "tree")
    copy.put_right()
    bench = Bench(copy, folder / "build", args.jobs, args.tier)
    bench.configure()
    wrong = [what for fault in faults for what in fault.problems(bench.tests)]
    if wrong:
        raise Problem("\n".join(wrong))
    results = Results(args.results, args.tier, args.all, copy.digest)
    if args.resume:
        results.take_up(faults)
    done = {result["name"] for result in results.faults}
    todo = in_order([fault for fault in faults if fault.name not in done])
    judge = Judge(bench, args.tier, args.all)
    if todo:
        judge.prepare(todo)
    start = time.time()
    try:
        for number, fault in enumerate(todo, 1):
            begun = time.time()
            what, by = judge.judge(fault)
            result = {"name": fault.name, "patch": fault.digest, "result": what, "noticed_by": by}
            result["seconds"] = round(time.time() - begun, 1)
            results.add(result)
            before = progress(number, len(todo), time.time() - start)
            print(f"{before} {fault.name}: {told(result)}", flush=True)
    finally:
        copy.take_out()
    listed = sorted(results.faults, key=lambda result: result["name"])
    print("\n".join([*table(listed), *closing(listed, args.tier)]))
    least = len(listed) if args.least is None else args.least
    return 0 if sum(r["result"] == NOTICED for r in listed) >= least else 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="of faults: patterns or beginnings"
    )
    parser.add_argument(
        "--tier", choices=["quick", "full"], default="quick", help="the tests of make test(-full)"
    )
    parser.add_argument("--all", action="store_true", help="run the whole tier for each fault")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, metavar="N")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="write JSON there")
    parser.add_argument("--resume", action="store_true", help="keep what --results has already")
    parser.add_argument("--least", type=int, metavar="N", help="so many must be noticed (all)")
    parser.add_argument("--list", action="store_true", help="name the faults, and do nothing")
    parser.add_argument("--check", action="store_true", help="only look whether patches apply")
    parser.add_argument(
        "--build", type=pathlib.Path, help="--check: where to look whether the tests exist"
    )
    args = parser.parse_args()
    if args.resume and not args.results:
        parser.error("--resume needs --results")
    faults, wrong = read_faults()
    try:
        faults = pick(faults, args.names)
        if args.list:
            list_faults(faults)
            return 0
        if args.check:
            return 0 if check(faults, wrong, args.build) else 1
        if wrong or not faults:
            raise Problem("\n".join(wrong) or f"{PATCHES}: no patches")
        return run(args, faults)
    except Problem as problem:
        print(f"seeded_faults.py: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted; with --results FILE, --resume goes on from here", file=sys.stderr)
        sys.exit(130)
