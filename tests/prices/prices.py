#!/usr/bin/env python3
"""Counts the instructions of Hob's own in MPI calls where it has nothing to gain, and compares them with a
table of ceilings.

    prices.py --mpi mpich5 --exec .../mpiexec --lib libhob_mpich.so --counter step_counter \\
              --program bin/mpich5/prices [threads|hits]

    --write             the table with what was counted now, for somebody who lowers a ceiling
    --where OPERATION   where its instructions are, by function and lines

Of each operation's samples the median is judged, and the mean of all but the highest, a little fewer than an
eighth: it shows what is done in every eighth call or more often, and not what is rare. README.md says how to read a failure.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile

SKIP = 77
TABLE = pathlib.Path(__file__).parent / "ceilings.json"
# Between what was counted and a ceiling: a share, and at least so many instructions.
SHARE, LEAST = 0.05, 3
# Whenever the MPI library polls, it calls what Hob has put between it and its transport.
CALLED_BACK = "called by the library, each time"


class Price:
    """What an operation takes: instructions of Hob's, its calls of the MPI library, that library's own."""

    def __init__(self, samples, library):
        ordered = sorted(samples)
        self.median = statistics.median_low(ordered)
        self.mean = statistics.mean(ordered[: len(ordered) - max(0, len(ordered) // 8 - 1)])
        self.rare = sum(1 for count in samples if count != self.median)
        self.highest = ordered[-1]
        self.calls = 0
        self.elsewhere = 0
        self.library = library


def read(path):
    """Operation: Price, in the order in which they were counted."""
    rows = collections.OrderedDict()
    for line in path.read_text().splitlines():
        name, *numbers = line.split("\t")
        rows.setdefault(name, []).append(numbers)
    prices = collections.OrderedDict()
    back_calls = called_back = 0
    for name, samples in rows.items():
        # The sample in which the library was stepped, too, is there for the library's count alone.
        library = [int(numbers[5]) for numbers in samples if numbers[5] != "-"]
        counted = [numbers for numbers in samples if numbers[5] == "-"]
        if not counted:
            continue
        price = Price([int(numbers[0]) for numbers in counted], library[0] if library else None)
        price.elsewhere = statistics.median_low(int(numbers[1]) for numbers in counted)
        price.calls = statistics.median_low(int(numbers[2]) for numbers in counted)
        prices[name] = price
        back_calls += sum(int(numbers[3]) for numbers in counted)
        called_back += sum(int(numbers[4]) for numbers in counted)
    if back_calls:
        prices[CALLED_BACK] = Price([math.ceil(called_back / back_calls)], None)
    return prices


def ceiling(counted):
    return math.ceil(max(counted + LEAST, counted * (1 + SHARE)))


def judge(prices, ceilings):
    """Lines of the table, and a sentence for each failure."""
    lines, wrong = [], {}
    lines.append(
        f"{'instructions of Hob in':36} {'median':>7} {'ceiling':>7} {'mean':>8} {'ceiling':>7} "
        f"{'differ':>6} {'up to':>6} {'calls':>5} {'library':>7}"
    )
    for name, price in prices.items():
        limit = ceilings.get(name)
        said = []
        if limit is None:
            said.append("has no ceiling in the table")
        else:
            if price.median > limit["median"]:
                said.append(f"{price.median} instructions, ceiling {limit['median']}")
            if price.mean > limit["mean"]:
                said.append(f"{price.mean:.1f} instructions on average, ceiling {limit['mean']}")
            if price.calls > limit["calls"]:
                said.append(f"{price.calls} calls of the library, ceiling {limit['calls']}")
        if said:
            wrong[name] = "; ".join(said)
        median, mean = (limit["median"], limit["mean"]) if limit else ("-", "-")
        library = "-" if price.library is None else price.library
        lines.append(
            f"{name:36} {price.median:7} {median:>7} {price.mean:8.1f} {mean:>7} {price.rare:6} "
            f"{price.highest:6} {price.calls:5} {library:>7}  {'FAILED' if said else 'ok'}"
        )
    for name in ceilings:
        # Where hits alone are counted, the library may poll in none of the samples.
        if name not in prices and name != CALLED_BACK:
            wrong[name] = "is in the table, but was not counted"
    return lines, wrong


def written(prices, ceilings):
    """The ceilings for these prices, as rows of the table; reasons stay, and so does room for what is rare."""
    rows = []
    for name, price in prices.items():
        row = {"median": ceiling(price.median), "mean": ceiling(price.mean), "calls": price.calls}
        if "why" in ceilings.get(name, {}):
            row["why"] = ceilings[name]["why"]
        rows.append(f"      {json.dumps(name)}: {json.dumps(row)}")
    return ",\n".join(rows)


def compiler(library):
    """What the library says that it was compiled with."""
    found = re.search(rb"GCC: \([^)]*\) [0-9.]+|clang version [0-9.]+", library.read_bytes())
    return found.group().decode() if found else "an unknown compiler"


def run(args, folder):
    """(status, what it said, samples, visits)"""
    samples, visits = folder / "samples", folder / "visits"
    env = {key: value for key, value in os.environ.items() if not key.startswith("HOB_")}
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [args.exec, "-n", "2"]
    if args.mpi.startswith("openmpi"):
        command.append("--oversubscribe")
    command += [args.counter, "--preload", args.lib, "--out", samples, "--where", visits]
    command += ["--", args.program, *args.words]
    process = subprocess.Popen(
        [str(word) for word in command],
        env=env,
        cwd=folder,  # where no hob.conf is
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=args.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        return None, said, samples, visits
    return process.returncode, said, samples, visits


def where(library, visits, name, samples, most):
    """Lines that say where the instructions of an operation are, averages of its samples."""
    times = {}
    for line in visits.read_text().splitlines():
        operation, address, count = line.split("\t")
        if operation == name:
            times[int(address, 16)] = int(count)
    try:
        said = subprocess.run(
            ["addr2line", "-a", "-i", "-f", "-C", "-e", str(library)],
            input="\n".join(map(hex, times)),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        return [f"  addr2line: {error}"]
    by_function = collections.defaultdict(collections.Counter)
    address, names = None, []
    for line in [*said, "0x0"]:
        if not line.startswith("0x"):
            names.append(line)
            continue
        if names:  # of the innermost function and its source, those it was inlined into, and theirs
            source, number = re.sub(r" \(.*", "", names[1]).rsplit("/src/", 1)[-1].rsplit(":", 1)
            inside = f" in {re.sub('[(<].*', '', names[-2])}" if len(names) > 2 else ""
            function = f"{re.sub('[(<].*', '', names[0])} ({source}){inside}"
            by_function[function][number] += times[address]
        address, names = int(line, 16), []
    lines = []
    for function, numbers in sorted(by_function.items(), key=lambda item: -sum(item[1].values())):
        at = ", ".join(f"{line} ({count / samples:.1f})" for line, count in numbers.most_common(8))
        lines.append(f"  {sum(numbers.values()) / samples:8.1f}  {function}: {at}")
    return lines[:most]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", required=True, help="mpich5, openmpi5, ...")
    parser.add_argument("--exec", required=True, help="the launcher")
    path = lambda word: pathlib.Path(word).resolve()  # the program runs in another directory
    parser.add_argument("--lib", required=True, type=path, help="libhob of its family")
    parser.add_argument("--counter", required=True, type=path, help="step_counter")
    parser.add_argument("--program", required=True, type=path)
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    parser.add_argument("--timeout", type=float, default=300, help="seconds")
    parser.add_argument("--write", action="store_true", help="print the table for what is counted")
    parser.add_argument("--where", metavar="OPERATION", help="say where its instructions are")
    parser.add_argument("words", nargs="*", help="arguments of the program")
    args = parser.parse_args()

    if platform.machine() != "x86_64":
        print(f"SKIP: single steps are counted on x86_64, and this is {platform.machine()}")
        return SKIP
    probed = subprocess.run([args.counter, "--probe"], capture_output=True, text=True, check=False)
    if probed.returncode != 0:
        print(probed.stdout + probed.stderr)
        return probed.returncode

    table = json.loads(args.table.read_text())
    kind = "-".join([args.mpi, *args.words])
    ceilings = table["ceilings"].get(kind, {})
    with tempfile.TemporaryDirectory() as name:
        status, said, samples, visits = run(args, pathlib.Path(name))
        if status != 0:
            ended = "did not end" if status is None else f"ended with status {status}"
            print(f"FAILED: the program {ended}\n{said}")
            return 1
        prices = read(samples)
        counted = {line.split("\t")[0]: 0 for line in samples.read_text().splitlines()}
        for line in samples.read_text().splitlines():
            counted[line.split("\t")[0]] += 1
        if args.where:
            lines = where(args.lib, visits, args.where, counted.get(args.where, 1), 1000)
            print("\n".join([f"{args.where}: instructions of a call, on average", *lines]))
            return 0 if args.where in counted else 1
        if args.write:
            print(f'    "{kind}": {{\n{written(prices, ceilings)}\n    }}')
            return 0
        lines, wrong = judge(prices, ceilings)
        print("\n".join(lines))
        if not wrong:
            return 0
        for name, sentence in wrong.items():
            print(f"\nFAILED {name}: {sentence}")
            if name in counted:
                print("\n".join(where(args.lib, visits, name, counted[name], 12)))
    print(f"\ncompiled by {compiler(args.lib)}; the table is for {table['compiler']}")
    print(f"ceilings: {args.table}; how to read this: {pathlib.Path(__file__).parent}/README.md")
    return 1


if __name__ == "__main__":
    sys.exit(main())
