#!/usr/bin/env python3
"""Public MPI test suites, plainly and with Hob in front: what passes plainly passes with Hob.

    conformance.py build mpich|casper|armci --source TREE --mpi mpich5
    conformance.py run mpich|casper|armci|coarrays --mpi mpich5 --results FILE.json
    conformance.py table --results FILE.json

`build` builds a suite from its public source tree (pmodels/mpich, pmodels/casper, pmodels/armci-mpi)
into --work, by default suites/SUITE-MPI beside the MPI libraries that set-up made. `run` runs each program of a suite in each of --modes and keeps what came out in FILE.json; started
again, it goes on where it stopped (--budget stops it after so many seconds). A program that passes
plainly and fails with Hob is run twice more. `table` prints what docs/measurements/2026-11-conformance.md shows.
The coarrays are those that Debian's libcaf packages install; nothing is built for them.

Modes: plain; cache (no bypass of cheap targets); match (matching always taken over); ghosts (one
ghost for each of two pretended nodes, one node for programs of one rank); ghosts-cache.
"""

import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import run_compare  # noqa: E402

SKIP = run_compare.SKIP
MPICH_PARTS = "attr comm init group topo spawn rma pt2pt part errors/pt2pt errhan session"
CACHE_OFF = {"HOB_CACHE": "off"}
MODES = {
    "plain": None,
    "cache": run_compare.WORK,
    "match": run_compare.SETTINGS["match"],
    "ghosts": {"HOB_GHOSTS": "1", "HOB_REPORT": "silent", **CACHE_OFF},
    "ghosts-cache": {"HOB_GHOSTS": "1", **run_compare.WORK},
}

Case = collections.namedtuple("Case", "name ranks command directory env limit verdict")


def mpi_paths(deps):
    """What set-up wrote about each MPI: {"mpich5": {"CC": .., "EXEC": .., "FAMILY": ..}}."""
    found = collections.defaultdict(dict)
    with open(os.path.join(deps, "mpis.cmake")) as file:
        for mpi, key, value in re.findall(
            r'set\(HOB_MPI_(\w+?)_([A-Z]+) "?([^")]*)"?\)', file.read()
        ):
            found[mpi][key] = value
    return found


# Building


def shell(command, directory, log):
    with open(log, "a") as out:
        status = subprocess.run(
            command, shell=True, cwd=directory, stdout=out, stderr=out
        ).returncode
    if status:
        sys.exit(f"conformance: `{command}` failed in {directory}, see {log}")


def build_mpich(source, work, paths):
    suite = os.path.join(source, "test", "mpi")
    log = work + ".log"
    if not os.path.exists(os.path.join(suite, "configure")):
        shutil.copytree(
            os.path.join(source, "confdb"), os.path.join(suite, "confdb"), dirs_exist_ok=True
        )
        shell("./autogen.sh", suite, log)
    prefix = os.path.dirname(os.path.dirname(paths["EXEC"]))
    shell(
        f"{suite}/configure CC=gcc MPICC={paths['CC']} MPICXX={paths['CXX']} MPIEXEC={paths['EXEC']} "
        f"--with-mpi={prefix} --disable-fortran --disable-cxx --disable-ft-tests",
        work,
        log,
    )
    for part in ["dtpools", "util"]:
        shell("make -j2", os.path.join(work, part), log)
    for part in MPICH_PARTS.split():  # an older MPI lacks what some need: -k
        shell("make -k -j2 || true", os.path.join(work, part), log)
        if not os.path.exists(os.path.join(work, part, "testlist")):
            shutil.copy(os.path.join(suite, part, "testlist"), os.path.join(work, part))


def build_casper(source, work, paths):
    """Casper's tests are programs like any other: built without Casper."""
    tests = os.path.join(source, "test")
    with open(os.path.join(work, "ctestconf.h"), "w") as file:
        file.write("#define HAVE_GCC_ATTRIBUTE 1\n#define CTEST_ENABLE_THREAD_TEST 1\n")
    flags = {}
    sources = {}
    with open(os.path.join(tests, "Makefile.am")) as file:
        text = file.read().replace("\\\n", " ")
    for name, what, value in re.findall(r"^(\w+)_(SOURCES|CFLAGS|CPPFLAGS)\s*=(.*)$", text, re.M):
        (sources if what == "SOURCES" else flags)[name] = value.strip()
    for name in re.findall(r"^(\w+)", open(os.path.join(tests, "testlist.in")).read(), re.M):
        file = sources.get(name, name + ".c").split()[0]
        options = re.sub(r"\$\([^)]*\)", "", flags.get(name, ""))
        shell(
            f"{paths['CC']} -O1 -w {options} -I{work} -I{tests}/include {tests}/{file} -o {work}/{name} "
            "-lm -lpthread || true",
            work,
            work + ".log",
        )


def build_armci(source, work, paths):
    log = work + ".log"
    if not os.path.exists(os.path.join(source, "configure")):
        shell("./autogen.sh", source, log)
    shell(f"{source}/configure CC={paths['CC']} --disable-static", work, log)
    shell("make -j2 && make -k -j2 checkprogs || true", work, log)


# Cases: what a suite consists of


def printed(text):
    """A verdict: status 0, and TEXT in the output."""
    return lambda status, out: status == 0 and re.search(text, out, re.I) is not None


def mpich_cases(args):
    for part in args.parts.split():
        directory = os.path.join(args.work, part)
        path = os.path.join(directory, "testlist")
        if not os.path.exists(path):
            continue
        seen = collections.Counter()
        for line in open(path):
            words = line.split("#")[0].split()
            if len(words) < 2:
                continue
            options = [word.split("=", 1) for word in words[2:] if "=" in word]
            arguments = [value for key, value in options if key == "arg"]
            env = dict(value.split("=", 1) for key, value in options if key == "env")
            single = dict(options)
            program = os.path.join(directory, words[0])
            if (
                float(single.get("timeLimit", 0)) >= 500
                or "mem" in single
                or not os.path.exists(program)
            ):
                continue
            name = f"{part}/{' '.join([words[0], words[1], *arguments])}"
            seen[name] += 1
            if seen[name] > 1:
                continue
            if single.get("resultTest") in ("TestStatus", "TestErrFatal"):
                verdict = lambda status, out: status not in (None, 0)  # noqa: E731
            else:
                verdict = printed(r"No Errors|Test Skipped")
            yield Case(
                name, int(words[1]), [program, *arguments], directory, env, args.timeout, verdict
            )


def casper_cases(args):
    for program in sorted(glob.glob(os.path.join(args.work, "*"))):
        name = os.path.basename(program)
        if os.access(program, os.X_OK) and os.path.isfile(program):
            yield Case(name, 2, [program], args.work, {}, args.timeout, printed("PASS|No errors"))


def armci_cases(args):
    for program in sorted(glob.glob(os.path.join(args.work, "tests", "**", "*"), recursive=True)):
        name = os.path.relpath(program, os.path.join(args.work, "tests"))
        if not (os.path.isfile(program) and os.access(program, os.X_OK)) or "/.libs/" in program:
            continue
        # ping-pong-mpi polls memory that it never set, and has MPI_Iprobe write an int to a byte.
        if re.search(r"bench|latency|perf|ping-pong-mpi|\.(o|so|la|sh)$", name):
            continue
        yield Case(
            name,
            2,
            [program],
            args.work,
            {},
            args.timeout,
            lambda status, out: status == 0 and "fail" not in out.lower(),
        )


# Ranks that a coarray program needs, where two are not enough.
COARRAY_RANKS = {
    "allocate_as_barrier_proc": 4, "async_comp_alloc": 4, "team_number": 4, "sync_team": 4,
    "teams_subset": 3, "get_communicator": 3, "teams_coarray_get": 5, "teams_coarray_get_by_ref": 5,
    "teams_coarray_send": 5, "teams_coarray_send_by_ref": 5, "teams_coarray_sendget": 5,
    "sendget_convert_nums": 3, "sendget_convert_char_array": 3, "convert-before-put": 3,
    "strided_sendget": 3, "get_with_vector_index": 4, "co_sum_test": 4, "co_min_test": 4, "co_max_test": 4,
    "co_broadcast_test": 4, "co_reduce_test": 4, "syncimages_status": 4, "syncall": 4, "atomics": 4,
    "asynchronous_hello_world": 3, "source-alloc-sync": 4, "issue-422-send-get": 3,
    "allocatable_p2p_event_post": 4, "static_event_post_issue_293": 3, "image_fail_and_sync_test_1": 3,
}  # fmt: skip


def coarrays_cases(args):
    family = args.paths["FAMILY"]
    pattern = f"/usr/lib/*/open-coarrays/{family}/bin/OpenCoarrays-*-tests/*"
    for program in sorted(glob.glob(pattern)):
        name = os.path.basename(program)
        # increment_my_neighbor wants 32 images; image_fail_* fail images, which Debian's MPIs cannot.
        if name == "increment_my_neighbor" or name.startswith("image_"):
            continue
        ranks = COARRAY_RANKS.get(name, 2)
        yield Case(
            name,
            ranks,
            [program],
            "/tmp",
            {},
            args.timeout,
            lambda status, out: status == 0 and "test failed" not in out.lower(),
        )


CASES = {
    "mpich": mpich_cases,
    "casper": casper_cases,
    "armci": armci_cases,
    "coarrays": coarrays_cases,
}


# Running


def launch(args, case, mode):
    """The command and environment of a case."""
    settings = MODES[mode]
    nodes = 2 if case.ranks > 1 else 1
    env = {**run_compare.launch_environment(args.mpi, "no"), **case.env}
    ranks = case.ranks
    extra = dict(settings or {})
    if args.mpi in ("mpich5", "abi5") and not args.one_node:
        env |= {"MPIR_CVAR_NUM_CLIQUES": str(nodes), "MPIR_CVAR_CH4_NETMOD": "ofi"}
        env |= {"FI_PROVIDER": "tcp", "FI_TCP_MAX_SAVED": "1000000"}
    elif "HOB_GHOSTS" in extra and not args.one_node:
        extra["HOB_GHOST_CLIQUES"] = str(nodes)
    if args.one_node:
        nodes = 1
    if "HOB_GHOSTS" in extra:
        ranks += nodes * int(extra["HOB_GHOSTS"])
    if args.mpi.startswith("openmpi"):
        env["OMPI_MCA_mpi_yield_when_idle"] = "1"
    library = os.path.join(args.lib, f"libhob_{args.paths['FAMILY']}.so")
    command = run_compare.launch_command(
        args.mpi, args.paths["EXEC"], ranks, case.command, library if settings else None, extra
    )
    return command, env


def run_once(args, case, mode, limit=0):
    command, env = launch(args, case, mode)
    command = ["env", "-C", case.directory, *command]
    status, lines, err, seconds = run_compare.run(command, env, max(case.limit, limit))
    out = "\n".join(lines) + "\n" + err
    word = "pass" if case.verdict(status, out) else "hang" if status is None else "fail"
    return word, seconds, out


def run_case(args, case, known):
    """Outcome of a case in each mode that is not known yet: {mode: {"outcome", "seconds"[, "output"]}}."""
    results = dict(known)
    for mode in args.modes.split(","):
        if mode in results:
            continue
        limit = 4 * results.get("plain", {}).get("seconds", 0)  # some are benchmarks
        word, seconds, out = run_once(args, case, mode, limit)
        entry = {"outcome": word, "seconds": round(seconds, 2)}
        if word != "pass":
            entry["output"] = out[-1500:]
            if mode != "plain" and results.get("plain", {}).get("outcome") == "pass":
                again = [run_once(args, case, m, limit)[0] for m in (mode, "plain", mode)]
                entry["again"] = [again[0], again[2]]
                if again[1] != "pass":
                    results["plain"]["again"] = [again[1]]
        results[mode] = entry
    return results


def run(args):
    state = {}
    if os.path.exists(args.results) and not args.fresh:
        with open(args.results) as file:
            state = json.load(file)
    key = f"{args.suite}/{args.mpi}" + ("/one-node" if args.one_node else "")
    mine = state.setdefault(key, {})
    cases = [case for case in CASES[args.suite](args) if re.search(args.only, case.name)]
    if not cases:
        print(f"SKIP: no programs of {args.suite} in {args.work}")
        return SKIP
    modes = args.modes.split(",")
    todo = [case for case in cases if any(mode not in mine.get(case.name, {}) for mode in modes)]
    start = time.time()

    def work(case):
        if time.time() - start > args.budget:
            return None
        return run_case(args, case, mine.get(case.name, {}))

    done = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for case, results in zip(todo, pool.map(work, todo)):
            if results is None:
                continue
            done += 1
            mine[case.name] = results
            worse = [mode for mode in modes if verdict(results, mode) == "only with Hob"]
            if worse:
                print(
                    f"FAILED {case.name}: "
                    + ", ".join(f"{m} {results[m]['outcome']}" for m in worse),
                    flush=True,
                )
    os.makedirs(os.path.dirname(os.path.abspath(args.results)), exist_ok=True)
    with open(args.results, "w") as file:
        json.dump(state, file, indent=1)
    print(f"{key}: {done} of {len(todo)} programs run, {time.time() - start:.0f} s")
    bad = [
        name
        for name, results in mine.items()
        for mode in modes
        if verdict(results, mode) == "only with Hob"
    ]
    return 2 if done < len(todo) else 1 if bad else 0


def verdict(results, mode):
    """passes, fails plainly too, sometimes, only with Hob, or None where it was not run."""
    if mode not in results:
        return None
    entry, plain = results[mode], results.get("plain", {})
    if entry["outcome"] == "pass":
        return "passes"
    if mode == "plain" or plain.get("outcome") != "pass" or plain.get("again"):
        return "fails plainly too"
    return "sometimes" if "pass" in entry.get("again", []) else "only with Hob"


def table(args):
    with open(args.results) as file:
        state = json.load(file)
    print("| suite | mode | programs | pass | fail plainly too | sometimes | only with Hob |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for key, cases in sorted(state.items()):
        for mode in MODES:
            words = {name: verdict(results, mode) for name, results in cases.items()}
            words = {name: word for name, word in words.items() if word}
            if not words:
                continue
            count = collections.Counter(words.values())
            cells = [len(words), count["passes"]]
            for what in ("fails plainly too", "sometimes", "only with Hob"):
                names = ", ".join(sorted(name for name, word in words.items() if word == what))
                cells.append(names if 0 < count[what] <= 12 else count[what])
            print(f"| {key} | {mode} | " + " | ".join(map(str, cells)) + " |")
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["build", "run", "table"])
    parser.add_argument("suite", nargs="?", choices=list(CASES))
    parser.add_argument("--mpi", default="mpich5")
    parser.add_argument(
        "--deps",
        default=os.environ.get("HOB_DEPS", ".deps"),
        help="where set-up put the MPI libraries",
    )
    parser.add_argument("--lib", default="build/default/lib", help="where libhob_*.so are")
    parser.add_argument("--source", help="the suite's source tree")
    parser.add_argument("--work", default="", help="where the suite is built")
    parser.add_argument("--results", help="JSON file that keeps what came out")
    parser.add_argument("--modes", default="plain,cache,match,ghosts")
    parser.add_argument("--parts", default=MPICH_PARTS, help="directories of MPICH's suite")
    parser.add_argument("--only", default="", help="regular expression on names")
    parser.add_argument("--one-node", action="store_true", help="do not pretend two nodes")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one run")
    parser.add_argument("--fresh", action="store_true", help="forget what came out before")
    parser.add_argument(
        "--budget", type=float, default=1e9, help="seconds after which no run is started"
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    args = parser.parse_args()
    if args.what == "table":
        return table(args)
    if not args.suite:
        parser.error("which suite?")
    args.work = args.work or os.path.join(args.deps, "suites", f"{args.suite}-{args.mpi}")
    for name in ("work", "source", "lib"):
        if getattr(args, name):
            setattr(args, name, os.path.abspath(getattr(args, name)))
    args.paths = mpi_paths(args.deps).get(args.mpi)
    if not args.paths:
        print(f"SKIP: {args.mpi} is not there")
        return SKIP
    if args.what == "build":
        os.makedirs(args.work, exist_ok=True)
        builders = {"mpich": build_mpich, "casper": build_casper, "armci": build_armci}
        builders[args.suite](args.source, args.work, args.paths)
        return 0
    if not args.results:
        args.results = os.path.join(args.work, "results.json")
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
