#!/usr/bin/env python3
"""Runs small programs that showed a fault once, plainly and with Hob, so many times on each MPI library, and
prints a table. A program that fails plainly, too, is the library's own fault.

    tests/reproduce.py FOLDER [--runs 30] [--mpi mpich5 ...] [--only NAME ...] [--build build/default]

FOLDER holds the C files of ROWS (and field/ the numbered ones). A run passes if the program ends with status 0
within the time limit and, where it gives a verdict, says PASS. `--jobs` runs so many programs at once."""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from run_compare import callers_environment, launch_environment  # noqa: E402

MPICH = ("mpich5", "abi5", "mpich4")
ALL = (*MPICH, "openmpi5", "openmpi4")


@dataclass
class Row:
    """One program as it is run. `remote`: see run_compare.launch_environment."""

    name: str
    ranks: int = 2
    words: str = ""
    remote: str = "no"
    hob: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    mpis: tuple = ALL
    flags: str = ""
    launcher: tuple = ()
    says: str = ""  # without it nothing but the status counts
    plain_ranks: int = 0  # as many as with ghosts, where the library fails by itself with those
    library: bool = False  # the source makes a shared library, too, that the program is linked with


NO_POLLING = {"HOB_POLL_MS": "1000000", "HOB_POLL_HITS": "1000000"}
GHOST = {"HOB_GHOSTS": "1"}
REMOTE_MPIS = ("mpich5", "abi5")
ROWS = [
    Row("callbacks", hob={"HOB_CACHE_BYPASS": "off", **NO_POLLING}),
    Row("two_windows", hob={"HOB_CACHE_BYPASS": "off"}),
    Row("finalize_cancel", hob={"HOB_MATCH": "always"}),
    Row("finalize_rget", remote="tcp", mpis=REMOTE_MPIS),
    Row("finalize_callback", hob={"HOB_MATCH": "always"}),
    Row("lookup_name", hob={"HOB_CACHE_BYPASS": "off", **NO_POLLING}),
    # MPICH agrees on nothing without fault tolerance.
    *(
        Row(
            "receive_through_dlsym",
            hob={"HOB_CACHE_BYPASS": "off", **NO_POLLING},
            environment=environment,
            mpis=mpis,
            flags="-ldl",
        )
        for environment, mpis in (
            ({"NOAGREE": "1"}, ("mpich5", "mpich4")),
            ({}, ("abi5", "openmpi5", "openmpi4")),
        )
    ),
    Row("throwing_handler", mpis=("mpich5", "abi5", "mpich4"), says="caught win"),
    Row("ghost_threads", remote="nodes", flags="-pthread", hob=GHOST, mpis=REMOTE_MPIS),
    Row("readonly_pages", remote="nodes", hob=GHOST, mpis=REMOTE_MPIS, says="PASS"),
    *(
        Row("rget_ghosts", words=f"20000 {mode}", remote="nodes", hob=GHOST, mpis=("mpich5",))
        for mode in range(4)
    ),
    Row("fence_put", words="300", remote="nodes", hob=GHOST, mpis=("mpich5",)),
    Row("pscw_put", words="500 1", remote="nodes", hob=GHOST, mpis=("mpich5",)),
    Row("put_flush", words="1000 0", remote="nodes", hob=GHOST, mpis=("mpich5",)),
    Row("uncommitted_type"),
    # MPICH 5 hangs in MPI_Comm_create_from_group after MPI_Finalize now and then, with three processes.
    Row("session_after_finalize", words="3", hob=GHOST, plain_ranks=3, mpis=REMOTE_MPIS),
    Row("world_attributes", hob=GHOST),
    Row("many_windows"),
    Row("nocheck_threads", remote="tcp", flags="-pthread", mpis=REMOTE_MPIS),
    Row(
        "nocheck_threads",
        remote="tcp",
        flags="-pthread",
        mpis=REMOTE_MPIS,
        hob={"HOB_CACHE": "always"},
    ),
    Row("many_gets", words="100000", remote="tcp", mpis=("mpich5",)),
    Row("validation_never_ends", remote="tcp", mpis=("mpich5",)),
    *(
        Row("clampi_mode", words=mode, remote="tcp", mpis=("mpich5",), says="PASS")
        for mode in "123"
    ),
    Row("mixed_access", words="1000", remote="tcp", mpis=("mpich5",)),
    Row("put_flush_barrier", 4, "500", "tcp", mpis=REMOTE_MPIS, says="PASS"),
    Row("own_rank", words="20000 0", remote="tcp", mpis=("mpich5",)),
    Row("flush_barrier", words="100 65536", remote="tcp", mpis=("mpich5",)),
    Row("rget_ahead", words="20000 0", remote="tcp", mpis=("mpich5",)),
    Row("wait_null", words="200 1", remote="tcp", mpis=("mpich5",)),
    Row(
        "field/01-partitioned-setup",
        words="1000",
        mpis=("mpich5", "mpich4", "openmpi5"),
        says="PASS",
    ),
    Row("field/03-nested-job", says="PASS"),
    Row("field/04-other-mpi-inside", words="OTHER", says="PASS"),
    Row("field/06-asan", flags="-fsanitize=address", says="PASS"),
    Row(
        "field/07-ulfm-shrink",
        3,
        "1000",
        mpis=("openmpi5",),
        launcher=("--with-ft", "ulfm"),
        says="PASS",
    ),
    Row("field/09-is-complete", mpis=("mpich5",), says="PASS"),
    Row("field/09-is-complete", words="3000", mpis=("mpich5",), says="PASS"),
    Row("field/09-is-complete", remote="tcp", mpis=("mpich5",), says="PASS"),
    Row("field/10-threadcomm", flags="-pthread", mpis=("mpich5",), says="PASS"),
    Row(
        "field/10-threadcomm",
        flags="-pthread",
        mpis=("mpich5",),
        hob={"HOB_MATCH": "always"},
        says="PASS",
    ),
    Row("field/12-fork-snapshot", hob=GHOST, says="PASS"),
    Row("field/13-launcher-variables", hob=GHOST, says="PASS"),
    Row("field/16-constructor", library=True, says="PASS"),
    Row("field/24-init-in-thread", flags="-pthread", says="PASS"),
    Row("field/28-spawned-window", remote="tcp", mpis=("mpich5",), says="PASS"),
    Row("field/28-spawned-window", mpis=("openmpi5",), says="PASS"),
    Row(
        "field/34-stream-threads",
        flags="-pthread",
        environment={"MPIR_CVAR_CH4_RESERVE_VCIS": "2"},
        mpis=("mpich5",),
        says="PASS",
    ),
]


def libraries(build):
    """{name: {"CC", "EXEC", "FAMILY"}} of the build's mpis.cmake."""
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("HOB_DEPS:"):
            deps = Path(line.split("=", 1)[1])
    found = {}
    for line in (deps / "mpis.cmake").read_text().splitlines():
        if line.startswith("set(HOB_MPI_"):
            key, value = line[len("set(HOB_MPI_") : -1].split(" ", 1)
            name, what = key.split("_", 1)
            found.setdefault(name, {})[what] = value.strip('"')
    return found


def one_run(row, mpi, library, program, preload, limit):
    """Whether it passed."""
    settings = {**row.hob, "LD_PRELOAD": preload} if preload else {}
    nodes = 2 if row.remote == "nodes" else 1
    extra = nodes * int(row.hob.get("HOB_GHOSTS", 0)) if preload else 0
    environment = callers_environment() | launch_environment(mpi, row.remote, library["EXEC"])
    environment |= row.environment
    command = [*library["EXEC"].split(";"), *row.launcher]
    if library["FAMILY"] == "openmpi":
        command += ["--oversubscribe"]
        for name, value in (settings | row.environment).items():
            command += ["-x", f"{name}={value}"]
    else:
        for name, value in settings.items():
            command += ["-genv", name, value]
    ranks = row.ranks + extra if preload else row.plain_ranks or row.ranks
    command += ["-n", str(ranks), str(program), *row.words.split()]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return False
    # With fault tolerance the launcher ends with the status of the rank that died.
    good = process.returncode == 0 or row.launcher
    return bool(good and row.says in out and "FAIL" not in out)


def compile_row(row, mpi, library, folder, sources):
    """The program of this row for this library, or None if it does not compile."""
    program = folder / f"{mpi}-{row.name.replace('/', '-')}"
    if program.exists():
        return program
    source = next(p for p in (sources / f"{row.name}.c", sources / f"{row.name}.cpp") if p.exists())
    compiler = [
        library["CXX" if source.suffix == ".cpp" else "CC"],
        "-O1",
        "-w",
        *row.flags.split(),
    ]
    steps = [[*compiler, "-o", program, source]]
    if row.library:
        shared = folder / f"lib{program.name}.so"
        steps = [
            [*compiler, "-DLIBRARY", "-shared", "-fPIC", "-o", shared, source],
            [*compiler, "-o", program, source, shared, f"-Wl,--no-as-needed,-rpath,{folder}"],
        ]
    for step in steps:
        if subprocess.run(step, capture_output=True, check=False).returncode != 0:
            return None
    return program


def preload_for(row, family, build):
    """What LD_PRELOAD holds: a sanitizer's runtime comes first."""
    hob = str(build / "lib" / f"libhob_{family}.so")
    if row.flags != "-fsanitize=address":
        return hob
    runtime = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return f"{runtime.stdout.strip()}:{hob}"


@dataclass
class Result:
    title: str
    mpi: str
    passed: tuple = ()  # plainly, with Hob; empty: it does not compile


def measure(row, mpi, found, folder, args):
    """All runs of one row on one library, plainly and with Hob in turns."""
    title = " ".join([row.name, row.words, *(f"{k}={v}" for k, v in row.hob.items())])
    if row.remote != "no":
        title += f" ({row.remote})"
    folder.mkdir(parents=True, exist_ok=True)
    program = compile_row(row, mpi, found[mpi], folder, args.folder)
    if "OTHER" in row.words.split():
        other = next(m for m in found if found[m]["FAMILY"] != found[mpi]["FAMILY"] and m in ALL)
        inner = compile_row(row, other, found[other], folder, args.folder)
        row = replace(row, words=row.words.replace("OTHER", str(inner)))
    if program is None:
        return Result(title, mpi)
    preload = preload_for(row, found[mpi]["FAMILY"], args.build)
    passed = [0, 0]
    for _ in range(args.runs):
        for with_hob in (0, 1):
            passed[with_hob] += one_run(
                row, mpi, found[mpi], program, preload if with_hob else "", args.limit
            )
    return Result(title, mpi, tuple(passed))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--mpi", nargs="*", default=list(ALL))
    parser.add_argument("--only", nargs="*", help="parts of names")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "default")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one run")
    parser.add_argument("--programs", type=Path, help="where compiled programs are kept")
    parser.add_argument(
        "--jobs", type=int, default=1, help="programs that run at once (default: 1)"
    )
    args = parser.parse_args()
    found = libraries(args.build)
    work = [
        (row, mpi, str(number))
        for number, row in enumerate(ROWS)
        if not args.only or any(part in row.name for part in args.only)
        for mpi in row.mpis
        if mpi in args.mpi and mpi in found
    ]
    worse = 0
    print(f"{'program':44} {'library':9} {'plain':>7} {'Hob':>7}", flush=True)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(args.jobs) as pool:
        folder = args.programs or Path(name)
        results = pool.map(
            lambda each: measure(each[0], each[1], found, folder / each[2], args), work
        )
        for result in results:
            if not result.passed:
                print(f"{result.title:44} {result.mpi:9} does not compile", flush=True)
                continue
            plain, hob = (f"{count}/{args.runs}" for count in result.passed)
            worse += result.passed[1] < result.passed[0]
            print(f"{result.title:44} {result.mpi:9} {plain:>7} {hob:>7}", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
