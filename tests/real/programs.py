#!/usr/bin/env python3
"""Programs that people run, plainly and with Hob in front: the same answers, and what it took.

    programs.py nwchem|lammps|hpcc [--modes plain,hob,cache,...] [--repeat 3] [--json FILE]

They come from Debian (nwchem-mpich, lammps, hpcc); one that is not installed is skipped. Its answers
(energies, thermodynamic lines, verdicts of its own checks) must be the same in each mode as plainly,
to the last digit printed. Times are medians of --repeat rounds, each round running every mode once;
they are printed, not judged.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import conformance  # noqa: E402
import run_compare  # noqa: E402

SILENT = {"HOB_REPORT": "silent"}
MODES = {
    "plain": None,
    "hob": SILENT,
    "cache": run_compare.WORK,
    "match": run_compare.SETTINGS["match"],
    # One ghost on each of two pretended nodes.
    "ghosts": {"HOB_GHOSTS": "1", "HOB_GHOST_CLIQUES": "2", **SILENT},
    "ghosts-node": {"HOB_GHOSTS": "1", **SILENT},
}

WATER = """title "water"
start water
memory total 400 mb
geometry units angstroms
 O 0.0 0.0 0.1173
 H 0.0 0.7572 -0.4692
 H 0.0 -0.7572 -0.4692
end
basis
 * library cc-pvdz
end
task ccsd(t) energy
"""

MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 20
run 400
"""

# name: MPI, executable, ranks, arguments, input file, pattern of answers, environments. The first
# environment is for "plain" and the modes; another one NAME makes modes NAME:MODE.
PROGRAMS = {
    "nwchem": {
        "mpi": "mpich4",
        "executable": "nwchem.mpich",
        "ranks": 2,
        "arguments": ["water.nw"],
        "input": ("water.nw", WATER),
        # Ten decimals: what is printed beyond them differs between two plain runs.
        "answers": r"Total (?:SCF|MP2|CCSD|CCSD\(T\)) energy *[:=] +-?\d+\.\d{10}",
        # Debian's MPICH 4.0.2 gives NWChem wrong numbers without this.
        "environments": {
            "": {"ARMCI_USE_WIN_ALLOCATE": "0"},
            "gets": {"ARMCI_USE_WIN_ALLOCATE": "0", "ARMCI_RMA_ATOMICITY": "0"},
            "allocate": {"ARMCI_USE_WIN_ALLOCATE": "1"},
            # Each rank on a node of its own, over TCP.
            "tcp": {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"},
            "tcp-gets": {
                "MPIR_CVAR_NOLOCAL": "1",
                "UCX_TLS": "tcp,self",
                "ARMCI_RMA_ATOMICITY": "0",
            },
        },
        "modes": "plain,hob,cache,match,ghosts,gets:plain,gets:cache",
    },
    "nwchem-large": {},  # as nwchem, see below
    "lammps": {
        "mpi": "openmpi4",
        "executable": "lmp",
        "ranks": 2,
        "arguments": ["-in", "in.melt"],
        "input": ("in.melt", MELT),
        "answers": r"^ +\d+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ *$",
        "environments": {"": {}},
        "modes": "plain,hob,match",
    },
    "hpcc": {
        "mpi": "openmpi4",
        "executable": "hpcc",
        "ranks": 2,
        "arguments": [],
        "input": ("hpccinf.txt", None),
        "output": "hpccoutf.txt",
        "answers": r"^.*(?:PASSED|FAILED|[Ss]uccess=\d|Node\(s\) with error +\d+.*)$",
        "environments": {"": {}},
        "modes": "plain,hob,match",
    },
}

PROGRAMS["nwchem-large"] = {
    **PROGRAMS["nwchem"],
    "input": ("water.nw", WATER.replace("cc-pvdz", "cc-pvtz")),
}


def hpcc_input():
    """Debian's example input, for a grid of 1 x 2 processes."""
    with open("/usr/share/doc/hpcc/examples/_hpccinf.txt") as file:
        lines = file.read().splitlines()
    lines = ["1 Ps" if line.split()[1:] == ["Ps"] else line for line in lines]
    return "\n".join(lines) + "\n"


def run_once(args, program, mode):
    """(answers, seconds) of a run; answers None where it does not end well."""
    environment, _, name = mode.rpartition(":")
    settings = MODES[name]
    env = {**run_compare.launch_environment(args.mpi, "no"), **program["environments"][environment]}
    if args.mpi.startswith("openmpi"):
        env["OMPI_MCA_mpi_yield_when_idle"] = "1"
    ranks = args.ranks or program["ranks"]
    if settings and "HOB_GHOSTS" in settings:
        ranks += int(settings.get("HOB_GHOST_CLIQUES", 1)) * int(settings["HOB_GHOSTS"])
    library = os.path.join(args.lib, f"libhob_{args.paths['FAMILY']}.so") if settings else None
    directory = tempfile.mkdtemp(prefix="hob-real-")
    try:
        name, text = program["input"]
        with open(os.path.join(directory, name), "w") as file:
            file.write(text or hpcc_input())
        command = run_compare.launch_command(
            args.mpi,
            args.paths["EXEC"],
            ranks,
            [shutil.which(program["executable"]), *program["arguments"]],
            library,
            settings or {},
        )
        status, lines, err, seconds = run_compare.run(
            ["env", "-C", directory, *command], env, args.timeout
        )
        text = "\n".join(lines)
        output = os.path.join(directory, program.get("output", "-"))
        if os.path.exists(output):
            with open(output) as file:
                text = file.read()
        answers = [" ".join(line.split()) for line in re.findall(program["answers"], text, re.M)]
        if status != 0:
            print(run_compare.tail("\n".join(lines[-5:]) + err))
            return None, seconds
        return answers, seconds
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", choices=list(PROGRAMS))
    parser.add_argument("--mpi", help="another MPI than Debian built the program for (same ABI)")
    parser.add_argument(
        "--modes", help="; ".join(f"{n}: {p['modes']}" for n, p in PROGRAMS.items())
    )
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run")
    parser.add_argument("--deps", default=os.environ.get("HOB_DEPS", ".deps"))
    parser.add_argument("--lib", default="build/default/lib", help="where libhob_*.so are")
    parser.add_argument("--json")
    args = parser.parse_args()
    program = PROGRAMS[args.program]
    args.mpi = args.mpi or program["mpi"]
    args.lib = os.path.abspath(args.lib)
    args.paths = conformance.mpi_paths(args.deps).get(args.mpi)
    if not args.paths or not shutil.which(program["executable"]):
        print(f"SKIP: {program['executable'] if args.paths else args.mpi} is not installed")
        return run_compare.SKIP
    modes = (args.modes or program["modes"]).split(",")

    answers, times = {}, {mode: [] for mode in modes}
    for _ in range(args.repeat):
        for mode in modes:
            found, seconds = run_once(args, program, mode)
            times[mode].append(seconds)
            if mode in answers and answers[mode] != found:
                print(f"{mode}: two runs, two answers: {answers[mode]} {found}")
                return 1
            answers[mode] = found
            if mode == "plain" and not found:
                print(f"SKIP: {args.program} does not run plainly here")
                return run_compare.SKIP

    print("\n".join(answers["plain"][:12]))
    bad = False
    rows = []
    for mode in modes:
        good = answers[mode] == answers["plain"]
        bad = bad or not good
        median = statistics.median(times[mode])
        rows.append({"mode": mode, "same": good, "seconds": median, "all": times[mode]})
        print(f"{'ok' if good else 'FAILED':6} {mode:14} {median:7.2f} s")
        for line in [] if good else (answers[mode] or ["no answers"]):
            if line not in answers["plain"]:
                print(f"  + {line}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"program": args.program, "mpi": args.mpi, "rows": rows}, file, indent=1)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
