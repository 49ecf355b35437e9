#!/usr/bin/env python3
"""mpi4py's own test suite, plainly and with Hob in front: what passes plainly passes with Hob.

The suite comes with mpi4py's source distribution; it and the wheel are put into DIR/mpi4py by the
first run. Skipped, with the reason, where that cannot be had.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import run_compare  # noqa: E402

SKIP = run_compare.SKIP


def prepare(directory):
    """The interpreter that has mpi4py, and the directory of its tests; raises if not to be had."""
    venv = os.path.join(directory, "mpi4py")
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(os.path.join(venv, "ready")):
        quiet = {
            "check": True,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.PIPE,
            "timeout": 300,
        }
        subprocess.run([sys.executable, "-m", "venv", venv], **quiet)
        subprocess.run(
            [python, "-m", "pip", "-q", "install", "mpi4py", "setuptools", "wheel"], **quiet
        )
        version = subprocess.run(
            [python, "-c", "import importlib.metadata as m; print(m.version('mpi4py'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        subprocess.run(
            [
                python,
                "-m",
                "pip",
                "-q",
                "download",
                "--no-deps",
                "--no-binary",
                ":all:",
                "--no-build-isolation",
                "-d",
                venv,
                f"mpi4py=={version}",
            ],
            **quiet,
        )
        with tarfile.open(glob.glob(os.path.join(venv, "mpi4py-*.tar.gz"))[0]) as archive:
            archive.extractall(venv, filter="data") if hasattr(
                tarfile, "data_filter"
            ) else archive.extractall(venv)
        open(os.path.join(venv, "ready"), "w").close()
    tests = [
        path for path in glob.glob(os.path.join(venv, "mpi4py-*", "test")) if os.path.isdir(path)
    ]
    return python, tests[0]


def library_of(mpi, mpiexec, directory):
    """The MPI library beside a launcher under the name that the wheel asks for, or None."""
    name = "libmpi.so.40" if mpi.startswith("openmpi") else "libmpi.so.12"
    prefix = os.path.join(os.path.dirname(mpiexec), "..", "lib")
    for place in prefix, os.path.join(prefix, "*-linux-gnu*"):
        for own in name, "libmpich.so.12":  # Debian's MPICH has a name of its own
            found = glob.glob(os.path.join(place, own))
            if not found or mpi.startswith("openmpi") and own != name:
                continue
            if own == name:
                return found[0]
            link = os.path.join(directory, "mpi4py", mpi, name)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            if not os.path.exists(link):
                os.symlink(os.path.realpath(found[0]), link)
            return link
    return None


def verdicts(err):
    """Names of tests that failed, and how many ran."""
    # The ranks' lines may run into each other.
    failed = set(re.findall(r"(?:FAIL|ERROR): (\w+ \([\w.]+\))", err))
    ran = [int(n) for n in re.findall(r"Ran (\d+) tests? in", err)]
    return failed, max(ran, default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--exec", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--deps", required=True, help="where the virtual environment is made")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument(
        "--only", default="", help="comma-separated test modules; none: all of them"
    )
    parser.add_argument("--without", default="", help="test modules to leave out")
    parser.add_argument("--settings", default="auto")
    parser.add_argument("--timeout", type=float, default=300)
    args = parser.parse_args()
    try:
        python, tests = prepare(args.deps)
    except (subprocess.SubprocessError, OSError, IndexError, tarfile.TarError) as error:
        print(f"SKIP: mpi4py and its tests cannot be had: {error}")
        return SKIP

    # The wheel opens the MPI library late: it must be there before, after Hob.
    libmpi = library_of(args.mpi, args.exec, args.deps)
    if not libmpi:
        print(f"SKIP: the library of {args.exec} is not found")
        return SKIP
    env = {
        **run_compare.launch_environment(args.mpi, "no"),
        "MPI4PY_LIBMPI": libmpi,
        "LD_LIBRARY_PATH": os.path.dirname(libmpi),
    }
    program = [python, os.path.join(tests, "main.py"), "-q"]
    for option, names in ("-i", args.only), ("-e", args.without):
        for name in names.split(",") if names else []:
            program += [option, name]

    command = run_compare.launch_command(args.mpi, args.exec, args.ranks, program, libmpi, {})
    status, lines, err, seconds = run_compare.run(command, env, args.timeout)
    if status is None:
        print(f"SKIP: the suite does not end plainly within {args.timeout} s")
        return SKIP
    plain, ran = verdicts(err)
    print(f"plainly: {ran} tests, {len(plain)} failed, {seconds:.0f} s")
    if ran == 0:
        print("SKIP: the suite does not run plainly\n" + run_compare.tail(err))
        return SKIP
    bad = False
    for name in args.settings.split(","):
        settings = run_compare.SETTINGS[name]
        command = run_compare.launch_command(
            args.mpi,
            args.exec,
            args.ranks + int(settings.get("HOB_GHOSTS", 0)),
            program,
            f"{args.lib}:{libmpi}",
            settings,
        )
        status, lines, err, seconds = run_compare.run(command, env, args.timeout)
        failed, count = verdicts(err)
        new = sorted(failed - plain)
        good = status is not None and count == ran and not new
        bad = bad or not good
        print(
            f"{name}: {count} tests, {len(failed)} failed, {len(new)} of them only with Hob, {seconds:.0f} s"
        )
        for test in new[:20]:
            print("  " + test)
        if not good:
            print(run_compare.tail(err, 30))
            run_compare.show("repeat", env, command)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
