"""Start-up, what processes inherit, and who else is in the job: each program of tests/mpi/startup, as its
kind of job is started. One argument more names a single case."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "startup"
REMOTE = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}

parser = argparse.ArgumentParser()
for name in ("mpi", "exec", "cc", "family", "build", "other"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--runs", type=int, default=1)
parser.add_argument("only", nargs="?")
args = parser.parse_args()
BIN = f"{args.build}/bin/{args.mpi}"
EXEC = f"{args.build}/bin/hob-exec"
LIBRARY = f"{args.build}/lib/libhob_{args.family}.so"
OPEN_MPI = args.family == "openmpi"


def environment(**more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOB_")}
    for prefix in ("OMPI", "PRTE"):
        for end in ("", "_CONFIRM"):
            clean[f"{prefix}_ALLOW_RUN_AS_ROOT{end}"] = "1"
    # A job inside a job, and spawned ranks, find no slots left.
    clean |= {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    return clean | more


def run(words, **more):
    try:
        done = subprocess.run(
            words, env=environment(**more), capture_output=True, text=True, timeout=100, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"no end: {' '.join(words)}\n{error.stdout}\n{error.stderr}") from None
    return done.returncode, done.stdout, done.stderr


def launch(*blocks):
    """mpiexec with blocks of (ranks, words...)."""
    words = args.exec.split(";") + (["--oversubscribe"] if OPEN_MPI else [])
    for index, (ranks, *command) in enumerate(blocks):
        words += ([":"] if index else []) + ["-n", str(ranks), *map(str, command)]
    return words


def passes(words, silent=True, **more):
    status, out, err = run(words, **more)
    said = f"status {status}: {' '.join(words)}\n{out}\n{err}"
    assert status == 0 and "PASS" in out and "FAIL" not in out, said
    assert not silent or "hob: " not in err, said
    return out, err


def passes_plainly(words, **more):
    """Whether the library itself can do this; what it cannot is no question."""
    try:
        status, out, _ = run(words, **more)
    except AssertionError:
        return False
    return status == 0 and "PASS" in out


def case_module_variables():
    for start in ([EXEC, "--quiet"], ["env", f"LD_PRELOAD={LIBRARY}", "HOB_REPORT=silent"]):
        variables = {"HOB_ROOT": "/opt/hob", "HOB_CASHE": "off"}
        _, err = passes(launch((2, *start, f"{BIN}/startup_half")), silent=False, **variables)
        assert err.count("HOB_ROOT") == 1 and err.count("did you mean HOB_CACHE?") == 1, err


def case_static_objects():
    """Nothing of Hob's is made by a constructor of its own, which may run after MPI_Init."""
    symbols = subprocess.run(["nm", "-C", LIBRARY], capture_output=True, text=True, check=True)
    made = [line for line in symbols.stdout.splitlines() if "_GLOBAL__sub_I_" in line]
    assert not [line for line in made if not line.endswith(".cc")], made  # the C++ library's


def case_constructor():
    with tempfile.TemporaryDirectory() as folder:
        library, program = f"{folder}/libstarts.so", f"{folder}/program"
        source = HERE / "constructor.c"
        subprocess.run(
            [args.cc, "-DLIBRARY", "-shared", "-fPIC", source, "-o", library], check=True
        )
        subprocess.run(
            [args.cc, source, f"-L{folder}", "-lstarts", f"-Wl,-rpath,{folder}", "-o", program],
            check=True,
        )
        for options in ([], ["--match", "always", "--set", "cache_bypass=off"]):
            passes(launch((2, EXEC, "--quiet", *options, program)))
        json = f"{folder}/report.json"
        passes(launch((2, EXEC, "--quiet", "--json", json, program)))
        assert os.path.exists(json), "no report from a destructor"


def case_calls():
    """In each collective call all processes wait for all, which takes a time slice where they share cores."""
    with tempfile.TemporaryDirectory() as folder:
        library, program = f"{folder}/libcalls.so", f"{folder}/program"
        source = HERE / "calls.c"
        words = [args.cc, "-DLIBRARY", "-shared", "-fPIC", source, "-ldl", "-o", library]
        subprocess.run(words, check=True)
        # Open MPI's compiler wrapper names its own library first: Hob is to find this one before it.
        words = [
            args.cc,
            "-Wl,--no-as-needed",
            source,
            library,
            f"-Wl,-rpath,{folder}",
            "-o",
            program,
        ]
        subprocess.run(words, check=True)
        passes(launch((2, EXEC, program, "3", "4")), silent=False)
        passes(launch((3, EXEC, "--ghosts", "1", program, "13", "5")), silent=False)


def case_plugin():
    """Opened with RTLD_DEEPBIND, a shared library sees the program's world, too; and whoever opens it is the
    program, whose RUNPATH says where it is."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = HERE / "plugin.c", f"{folder}/program"
        plugins = Path(folder) / "plugins"
        plugins.mkdir()
        library = plugins / "libplugin.so"
        words = [args.cc, "-DLIBRARY", "-shared", "-fPIC", source, "-o", library]
        subprocess.run(words, check=True)
        words = [args.cc, source, "-Wl,-rpath,$ORIGIN/plugins", "-ldl", "-o", program]
        subprocess.run(words, check=True)
        passes(launch((2, EXEC, "--quiet", program, library)))
        passes(launch((3, EXEC, "--quiet", "--ghosts", "1", program, library)))


def case_thread():
    program = f"{BIN}/startup_thread"
    for _ in range(5):
        passes(launch((2, EXEC, "--quiet", program)))
    passes(launch((3, EXEC, "--quiet", "--ghosts", "1", program)), FIELD_SIZE="2")


def case_sanitizer():
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/asan"
        built = subprocess.run(
            [args.cc, "-fsanitize=address", HERE / "asan.c", "-o", program],
            capture_output=True,
            check=False,
        )
        options = {"ASAN_OPTIONS": "detect_leaks=0"}
        if built.returncode or not passes_plainly(launch((2, program)), **options):
            return
        passes(launch((2, EXEC, "--quiet", program)), **options)
        preload = [f"LD_PRELOAD={LIBRARY}", "HOB_REPORT=silent"]
        passes(launch((2, "env", *preload, program)), **options)


def case_nested():
    program = f"{BIN}/startup_nested"
    mpiexec = args.exec.split(";")[0]
    for words in ([program], [program, mpiexec]):
        if passes_plainly(launch((2, *words))):
            passes(launch((2, EXEC, "--quiet", *words)))
            passes(launch((3, EXEC, "--quiet", "--ghosts", "1", *words)))


def case_other_mpi():
    words = [f"{BIN}/startup_inside", args.other]
    if args.other and passes_plainly(launch((2, *words))):
        passes(launch((2, EXEC, "--quiet", *words)))


def case_half():
    program = f"{BIN}/startup_half"
    hob = [EXEC, "--quiet"]
    for blocks in (((1, *hob, program), (1, program)), ((1, program), (1, *hob, program))):
        _, err = passes(launch(*blocks), silent=False)
        assert err.count("hob: 1 of the 2 ranks") == 1, err
    status, _, err = run(launch((1, *hob, "--ghosts", "1", program), (2, program)))
    assert status != 0 and err.count("hob: 1 of the 3 ranks") == 1, (status, err)
    # Whole jobs are whole, behind scripts as well.
    passes(launch((1, *hob, program), (1, "sh", "-c", f"{EXEC} --quiet {program}; exit $?")))


def case_networks():
    """A rank in a network namespace of its own finds no names of others, and that says nothing of them."""
    alone = ["unshare", "--net"]
    program = f"{BIN}/startup_half"
    if not passes_plainly(launch((2, *alone, program))):
        return  # not root, or the library wants a network
    hob = [EXEC, "--quiet", program]
    passes(launch((2, *alone, *hob)))
    passes(launch((1, *alone, *hob), (1, *hob)))


def case_spawned():
    program = f"{BIN}/startup_spawned"
    for more in (REMOTE, {"FIELD_NAMED": "1"}):
        if not passes_plainly(launch((2, program)), **more):
            continue
        for messages in ({}, {"FIELD_NO_WINDOW": "1"}):
            passes(launch((2, EXEC, "--quiet", program)), **more, **messages)
        passes(launch((2, EXEC, "--quiet", "--match", "always", program)), **more)
        with tempfile.TemporaryDirectory() as folder:
            words = (2, EXEC, "--quiet", "--json", f"{folder}/r.json", program)
            passes(launch(words), **more)
            assert len(os.listdir(folder)) == 2, f"the children's report: {os.listdir(folder)}"


def meets(how, *starts, **more):
    """Whether jobs started so come together (two of one rank, or the halves of one), and what they said."""
    program = f"{BIN}/startup_connected"
    with tempfile.TemporaryDirectory() as folder:
        sides = ["serve", "call"][: len(starts)] if how != "halves" else [None]
        jobs = []
        for start, side in zip(starts, sides):
            words = [*start, program, how, "met", *([side] if side else [])]
            jobs.append(
                subprocess.Popen(
                    launch((1 if side else 2, *words)),
                    env=environment(**more),
                    cwd=folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        said = [job.communicate(timeout=100)[0] for job in jobs]
        good = all(job.returncode == 0 for job in jobs) and all("PASS" in out for out in said)
        return good, "\n".join(said)


def case_connected():
    """Without Hob, MPICH 5 opens no port in shared memory; with Open MPI 5, jobs of two launchers do not meet."""
    hob = [EXEC, "--quiet", "--set", "cache_bypass=off"]
    always = [*hob, "--match", "always"]
    ways = [("halves", {})] if OPEN_MPI else [("port", REMOTE), ("socket", {}), ("halves", REMOTE)]
    for how, more in ways:
        if not meets(how, [], [], **more)[0]:
            continue
        starts = [(hob, hob), (always, always)]
        if how != "halves":
            starts += [(always, []), ([], always)]
        for start in starts:
            good, said = meets(how, *start, **more)
            assert good and "hob: " not in said, (how, start, said)


def case_variables():
    program = f"{BIN}/startup_variables"
    passes(launch((2, EXEC, "--quiet", program)))
    passes(launch((3, EXEC, "--quiet", "--ghosts", "1", program)), SLURM_NTASKS="3")


def case_handlers():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "said"
        passes(launch((3, EXEC, "--quiet", "--ghosts", "1", f"{BIN}/startup_handlers", path)))
        said = sorted(path.read_text().split())
        assert said == ["buffered"] * 2 + ["handler"] * 2, said


def case_programs():
    hob = (EXEC, "--quiet", "--ghosts", "1", f"{BIN}/startup_programs")
    for blocks in (((1, *hob, 2), (2, *hob, 2)), ((2, *hob, 2), (1, *hob, 2))):
        passes(launch(*blocks))
    status, _, err = run(launch((1, *hob, 1), (1, *hob, 1)))
    assert status == 2 and err.count("hob: ") == 1, (status, err)


def case_snapshot():
    program = f"{BIN}/startup_snapshot"
    passes(launch((3, EXEC, "--quiet", "--ghosts", "1", program)))


failed = False
for name, case in list(globals().items()):
    if not name.startswith("case_") or (args.only and name != f"case_{args.only}"):
        continue
    wrong = 0
    for _ in range(args.runs):
        try:
            case()
        except AssertionError as error:
            wrong += 1
            print(f"--- {name}: {error}", flush=True)
    print(f"{args.mpi} {name}: {args.runs - wrong} of {args.runs}", flush=True)
    failed |= wrong > 0
sys.exit(failed)
