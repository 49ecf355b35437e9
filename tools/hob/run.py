"""`hob run`: the launcher that fits the program, and `hob exec` behind it."""

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from hob import launchline
from hob.launchline import is_launcher
from hob.options import at_least, split
from hob.where import HobError, binary, mpis

DESCRIPTION = """Starts an MPI program with Hob in front of its MPI library. The launcher is srun inside
a Slurm job, else the mpiexec of the MPI library that the program is linked with."""

EPILOG = """examples:
  hob run -n 4 ./app input.dat
  hob run -n 4 --json out.json ./app       then: hob report out.json
  hob run -n 4 --ghosts 1 ./app            a fifth process works for the other four
  hob run -n 4 --set cache_size=256M ./app any setting of `hob config`
  hob run -n 4 --measure ./app             is it faster? without Hob and with it, in turns
  hob run -n 4 --remote ./app              every rank its own node over TCP, on this machine (MPICH)
  hob run -n 4 --launcher "mpiexec -hosts a,b" ./app
  hob run -n 4 taskset -c 0-3 ./app        a program that another one starts
  hob run mpiexec -n 4 ./app               a whole launch line: as mpiexec -n 4 hob exec ./app

In a job script that has a launcher line of its own, put `hob exec` between launcher and program,
or `hob run` in front of the line.

--measure compares the program's time from MPI_Init to MPI_Finalize, and says whether the difference is
more than the runs differ by themselves. What the program prints is left out. The runs without Hob load
it, and have it pass every call on. With options for Hob (--ghosts 1, --set ...) it starts the program
without Hob, with Hob alone and with these options. --json writes the times.
Exit status: 0; 2: a run failed."""

# Every rank its own node over TCP: on one machine, what communication between nodes costs.
REMOTE = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "I_MPI_FABRICS": "ofi",  # Intel MPI's word for the same
}

# How often --measure starts each, unless --turns says it.
TURNS = 5

# Options that go to `hob exec` as they are: (name, metavar or None for a switch, help).
EXEC_OPTIONS = (
    ("--cache", "MODE", "when cached gets may be reused: auto, strict, always, user, off"),
    ("--match", "MODE", "who matches messages: auto, always (Hob), off (MPI)"),
    ("--trace", "DIR", "record the gets of each rank there, for hob replay"),
    ("--verify", "SHARE", "fetch this share of hits (0 to 1) again and compare"),
    ("--mpi", "WHICH", "the MPI of a program that loads it while it runs (Python)"),
    ("--quiet", None, "no summary at the end"),
    ("--off", None, "without Hob: nothing is loaded"),
)


def add_arguments(parser):
    parser.add_argument(
        "-n", "-np", type=at_least(1), default=1, metavar="N", help="ranks of the program"
    )
    parser.add_argument(
        "--nodes",
        type=at_least(1),
        metavar="M",
        help="nodes that they are spread over (default: the job's, else 1)",
    )
    parser.add_argument("--launcher", metavar="COMMAND", help="instead of the launcher found")
    parser.add_argument(
        "--remote",
        action="store_true",
        help="every rank its own node over TCP (MPICH), to see network costs on one machine",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the command and its variables, start nothing"
    )
    group = parser.add_argument_group("what Hob does (as in hob exec)")
    group.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated"
    )
    group.add_argument(
        "--ghosts",
        type=at_least(0),
        default=0,
        metavar="G",
        help="G further processes on each node work for the program's ranks",
    )
    group.add_argument("--json", metavar="FILE", help="write every counter there, for hob report")
    for name, metavar, text in EXEC_OPTIONS:
        if metavar:
            group.add_argument(name, metavar=metavar, help=text)
        else:
            group.add_argument(name, action="store_true", help=text)
    parser.add_argument(
        "--measure",
        action="store_true",
        help="start the program without Hob and with it, in turns, and compare its times",
    )
    parser.add_argument(
        "--turns",
        type=at_least(1),
        default=TURNS,
        metavar="N",
        help="how often --measure starts each (default: %(default)s)",
    )
    # Not argparse.REMAINDER: it would take options that stand before the program as well.
    parser.usage = "hob run -n N [options] PROGRAM [ARGUMENTS...]"


def parse(parser, words):
    """Options end where the program begins; what follows is the program's own."""
    options, program = split(parser, words)
    args = parser.parse_args(options)
    args.program = program
    if not args.program:
        raise HobError(f"no program to start; see {parser.prog} --help")
    given = {word.partition("=")[0] for word in options}
    _check_places(args, given)
    _take_ghosts(args)
    return args


def _check_places(args, given):
    """Raises where words stand in places where they do not do what they say."""
    ranks = any(re.match(r"-np?\d*$", option) for option in given)
    first = args.program[0]
    if first.isdigit() and not ranks and not shutil.which(first):
        program = shlex.join(args.program[1:]) or "PROGRAM"
        raise HobError(f"{first}: no such program (did you mean `hob run -n {first} {program}`?)")
    near = difflib.get_close_matches(first, launchline.LAUNCHERS, 1, 0.8)
    if near and not is_launcher(first) and not shutil.which(first):
        raise HobError(f"{first}: no such program; did you mean {near[0]}?")
    if is_launcher(first):
        of_launcher = [option for option in ("--nodes", "--launcher") if option in given]
        if ranks or of_launcher:
            option = of_launcher[0] if of_launcher else "-n"
            raise HobError(
                f"{option} starts a launcher, and the line has its own ({first}): say it there"
            )


def notes(args):
    """Of options that have no effect together, a sentence each."""
    said = []
    if args.remote and args.nodes:
        said.append("--nodes has no effect: with --remote, each rank is a node of its own")
    if args.measure and (args.trace or args.verify):
        said.append("--trace and --verify have no effect with --measure: they would cost time")
    if not args.measure and args.turns != TURNS:
        said.append("--turns has no effect without --measure")
    behind = [word for word in args.program[1:3] if re.fullmatch(r"-np?", word)]
    if behind and args.n == 1 and not is_launcher(args.program[0]):
        said.append(
            f"{behind[0]} stands behind the program, which gets it; 1 rank is started "
            f"(hob run -n N {args.program[0]})"
        )
    if is_launcher(args.program[0]):
        said += _other_launcher(args.program, args.mpi)
    elif (
        len(args.program) == 1
        and re.fullmatch(r"python[\d.]*", Path(args.program[0]).name)
        and sys.stdin.isatty()
    ):
        said.append(
            f"{args.program[0]} without a script reads one from the terminal, up to its end (Ctrl-D): "
            f"hob run -n N {args.program[0]} SCRIPT"
        )
    return said


def _other_launcher(line, mpi):
    """A sentence where a line's launcher belongs to another MPI library than its program: each rank would then be a
    job of its own, or end in MPI_Init."""
    program = launchline.programs(line)[0]
    use, family = which_mpi(program, mpi), launchline.family_of(line[0])
    wanted = "mpich" if use["family"] == "abi" else use["family"]
    if not family or not wanted or family == wanted:
        return []
    names = {"openmpi": "Open MPI", "mpich": "MPICH"}
    return [
        f"{shutil.which(line[0]) or line[0]} starts ranks of {names[family]}, and {program[0]} is linked with "
        f"{names[wanted]}: hob run -n N {program[0]} finds the launcher that fits"
    ]


def _take_ghosts(args):
    """The setting `ghosts`, as --set or variable, is as --ghosts: -n counts the program's ranks."""
    last = [item.partition("=")[2] for item in args.set if item.partition("=")[0] == "ghosts"]
    if not last and not args.ghosts and not args.off and "HOB_GHOSTS" in os.environ:
        last = [os.environ["HOB_GHOSTS"]]
    if not last:
        return
    try:
        args.ghosts = at_least(0)(last[-1].strip())
    except argparse.ArgumentTypeError as error:
        raise HobError(f"ghosts: {error}") from error
    args.set = [item for item in args.set if item.partition("=")[0] != "ghosts"]


def is_off(args):
    """Whether Hob would do nothing at all in a run."""
    given = [item.partition("=")[2] for item in args.set if item.partition("=")[0] == "off"]
    words = given[-1:] or [os.environ.get("HOB_OFF", "off")]
    return args.off or words[0].strip() in ("on", "yes", "true", "1")


def which_mpi(command, mpi=None):
    """What `hob exec --which` says of a command, a program and its arguments: program (path), family, mpi (path),
    late, wrapper, refused, hob, off, site. Raises where there is no such program."""
    words = ["--which", *(["--mpi", mpi] if mpi else []), "--", *command]
    done = subprocess.run([binary("hob-exec"), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HobError(done.stderr.strip().removeprefix("hob: "))
    return json.loads(done.stdout)


def refuse_where_the_site_turns_it_off(args, what):
    """Raises HobError where `what` would compare the program with itself."""
    line = is_launcher(args.program[0])
    use = which_mpi(launchline.programs(args.program)[0] if line else args.program, args.mpi)
    if use["off"]:
        raise HobError(f"{use['off']} turns Hob off here: there is nothing to {what}")


def exec_arguments(args):
    """The part of the command from hob-exec on, without the program."""
    words = [str(binary("hob-exec"))]
    for item in args.set:
        words += ["--set", item]
    if args.ghosts:
        words += ["--ghosts", str(args.ghosts)]
    if args.json:
        # The launcher may start the ranks in another directory.
        words += ["--json", str(Path(args.json).resolve())]
    for name, metavar, _ in EXEC_OPTIONS:
        value = getattr(args, name.lstrip("-"))
        if value:
            words += [name, value] if metavar else [name]
    return words


def _candidates(use):
    """Launchers that may fit an MPI library, the likeliest first."""
    names = {
        "openmpi": ["mpiexec.openmpi", "mpiexec"],
        "mpich": ["mpiexec.mpich", "mpiexec"],
        "abi": ["mpiexec"],
    }[use["family"]]
    if use["mpi"]:
        # The one beside the library: prefix/lib/libmpi.so, or Debian's prefix/lib/x86_64.../.
        # Resolved, since Open MPI takes /bin/mpiexec (a link to /usr/bin) for a prefix of "/".
        directory = Path(use["mpi"]).parent.resolve()
        for prefix in (directory.parent, directory.parent.parent):
            # Debian has several MPI libraries in one prefix: there the plain name may be another's.
            usable = names if str(prefix) != "/usr" else names[:-1]
            yield from (prefix / "bin" / name for name in usable)
    for known in mpis().values():
        if known["family"] == use["family"]:
            yield Path(known["exec"])
    yield from (Path(found) for found in map(shutil.which, names) if found)


def slurm_mpi(use):
    """srun's option for the protocol that an MPI library speaks, where this Slurm has it: [] else, or
    where the user has chosen."""
    if os.environ.get("SLURM_MPI_TYPE"):
        return []
    done = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=False)
    offered = (done.stdout + done.stderr).replace(",", " ").split()
    if use["family"] == "openmpi":
        protocol = "pmix"
    elif re.match(
        r"libmpi_\w+\.so\.12", Path(use["mpi"] or "").name
    ):  # Cray MPICH, see mpi_use.cpp
        protocol = "cray_shasta"
    else:
        protocol = "pmi2"
    return [f"--mpi={protocol}"] if protocol in offered else []


# Where Slurm's own PMI-2 library lies, whose path Intel MPI needs.
PMI_DIRECTORIES = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/slurm/lib",
)


def is_intel(library):
    """Whether a libmpi is Intel's, by where it lies: beside the providers and tuning files that it brings."""
    parts = Path(library).resolve().parts if library else ()
    return any(part in ("impi", "intel", "oneapi") for part in parts)


def intel_pmi(use, environment, directories=PMI_DIRECTORIES):
    """What srun needs beside --mpi=pmi2 for Intel MPI: {} for other libraries, and where the user has
    chosen."""
    if not use["mpi"] or "I_MPI_PMI_LIBRARY" in environment or environment.get("SLURM_MPI_TYPE"):
        return {}
    if not is_intel(use["mpi"]):
        return {}
    for directory in directories:
        library = Path(directory) / "libpmi2.so"
        for found in (library, Path(f"{library}.0")):
            if found.exists():
                return {"I_MPI_PMI_LIBRARY": str(found)}
    return {}


def find_launcher(use):
    """The launcher for a program whose MPI is `use` (see which_mpi)."""
    if os.environ.get("SLURM_JOB_ID") and shutil.which("srun"):
        return ["srun", *slurm_mpi(use)]
    if not use["family"]:
        unknown = "say which MPI it is" in use["why"]
        raise HobError(use["why"] + ("; or say --launcher" if unknown else ""))
    for path in _candidates(use):
        if path.exists():
            return [str(path)]
    raise HobError(f"no mpiexec found for {use['mpi']} ({use['family']}); say --launcher")


def launch_command(launcher, family, ranks, nodes=1):
    """The launcher's part of the command, for `ranks` processes in all."""
    kind = Path(launcher[0]).name
    words = [*launcher, "-n", str(ranks)]
    if nodes > 1:
        per_node = str(-(-ranks // nodes))
        if kind == "srun":
            words += ["-N", str(nodes), "--ntasks-per-node", per_node]
        elif family == "openmpi":
            words += ["--npernode", per_node]
        else:
            words += ["-ppn", per_node]
    if family == "openmpi" and kind != "srun":
        if ranks > (os.cpu_count() or 1):
            words += ["--oversubscribe"]
        # Open MPI carries only its own variables to other nodes.
        for name in sorted(os.environ):
            if name.startswith("HOB_") and name not in ("HOB_DEPS",):
                words += ["-x", name]
    return words


def _environment(args, use):
    """The variables of a run, those of its launcher aside."""
    if args.remote and use["family"] == "openmpi":
        raise HobError(
            "--remote needs MPICH: with Open MPI, say e.g. OMPI_MCA_btl=tcp,self instead"
        )
    # What the variable says of ghosts is an option by now.
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("_HOB_") and name != "HOB_GHOSTS"
    }
    if args.remote:
        environment.update(REMOTE)
        if is_intel(use["mpi"]):
            # Its ranks stay on one node, where Hob takes them for as near as its cache: what lies between is TCP.
            environment.setdefault("HOB_CACHE_BYPASS", "off")
        if args.ghosts and not (is_off(args) or use["off"]):
            if is_launcher(args.program[0]):
                raise HobError(
                    "--remote with --ghosts makes nodes of -n ranks: say hob run -n N, without a launcher"
                )
            # A rank and its ghosts share memory: nodes that the library pretends.
            del environment["MPIR_CVAR_NOLOCAL"]
            environment["MPIR_CVAR_NUM_CLIQUES"] = str(args.n)
    return environment


def plan(args):
    """(command, environment) of a run."""
    line = is_launcher(args.program[0])
    program = launchline.programs(args.program)[0] if line else args.program
    use = which_mpi(program, args.mpi)
    if use["refused"] and not is_off(args):
        raise HobError(use["why"])
    environment = _environment(args, use)
    if line:
        return launchline.with_words(args.program, exec_arguments(args)), environment
    launcher = args.launcher.split() if args.launcher else find_launcher(use)
    nodes = args.nodes or int(os.environ.get("SLURM_JOB_NUM_NODES", 1))
    ghosts = 0 if is_off(args) or use["off"] else args.ghosts
    ranks = args.n + ghosts * (args.n if args.remote else nodes)
    if Path(launcher[0]).name == "srun":
        environment.update(intel_pmi(use, environment))
    command = launch_command(launcher, use["family"], ranks, nodes)
    return command + exec_arguments(args) + [use["program"], *args.program[1:]], environment


def _measure(args):
    # Here, since what it builds on takes longer to load than a launcher.
    from hob import measure
    from hob.report.facts import write_json

    if is_off(args):
        raise HobError(
            "--measure starts the program without Hob by itself: leave --off (HOB_OFF) out"
        )
    if args.dry_run:
        print(measure.shown(args, plan))
        return 0
    refuse_where_the_site_turns_it_off(args, "measure")
    told, document = measure.measure(args, plan)
    if args.json == "-":
        write_json(document, "-")
    else:
        print(told)
        if args.json:
            write_json(document, args.json)
    kinds = [trial["against_without_hob"]["kind"] for trial in document["trials"]]
    return 2 if "failed" in kinds else 0


def main(args):
    for note in notes(args):
        print(f"hob: {note}", file=sys.stderr)
    if args.measure:
        return _measure(args)
    command, environment = plan(args)
    if args.dry_run:
        changed = {n: v for n, v in environment.items() if os.environ.get(n) != v}
        print(shlex.join([*(f"{name}={value}" for name, value in changed.items()), *command]))
        return 0
    sys.stdout.flush()
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise HobError(f"{command[0]}: {error.strerror}") from error
