"""What the benchmark drivers share: the set-ups, running a program with and without Hob, tables,
limits, progress.

A driver is a module in hob.benches with NAME, HELP, add_arguments(parser) and run(args, bench). run
puts rows and limits into the Bench below as soon as it has them; `hob bench` adds the machine,
prints and writes, also where run() ends early. Times are medians; with is always compared to without in short alternating runs
(`alternate`), since machines are noisy and drift.
"""

import contextlib
import json
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hob.namespaces import Namespaces, NoNamespaces
from hob.run import REMOTE
from hob.where import to_build

ROOT = Path(__file__).resolve().parents[2]

# Two nodes, the ranks dealt out in turn.
TWO_NODES = {
    "MPIR_CVAR_NUM_CLIQUES": "2",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
# All ranks on one node.
SAME_NODE = {}
# REMOTE in the words of MPI libraries that do not know its variables.
OPENMPI_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
UCX_TCP = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}
# Network namespaces (namespaces.py), the ranks dealt out evenly; TCP between them. UCX needs a setting to
# leave out shared memory, which it finds between them.
NAMESPACES = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_MAX_SAVED": "1000000"}
NAMESPACES_UCX = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
SETUPS = {
    "remote": REMOTE,
    "two-nodes": TWO_NODES,
    "node": SAME_NODE,
    "namespaces": NAMESPACES,
    "namespaces-ucx": NAMESPACES_UCX,
}

# What "remote" is for these.
REMOTE_OF = {"mpich4": UCX_TCP, "openmpi4": OPENMPI_TCP, "openmpi5": OPENMPI_TCP}

# The library that serves each family of MPI libraries.
LIBRARIES = {"mpich": "libhob_mpich.so", "openmpi": "libhob_openmpi.so", "abi": "libhob_abi.so"}


class BenchError(RuntimeError):
    """A benchmark could not be run; the message is for the user."""


def build_dir():
    """The build tree: HOB_BUILD_DIR, else the default preset's."""
    return Path(os.environ.get("HOB_BUILD_DIR", ROOT / "build" / "default"))


def _deps_dir():
    if os.environ.get("HOB_DEPS"):
        return Path(os.environ["HOB_DEPS"])
    cache = build_dir() / "CMakeCache.txt"
    if cache.exists():
        for line in cache.read_text().splitlines():
            if line.startswith("HOB_DEPS:"):
                return Path(line.split("=", 1)[1])
    return ROOT / ".deps"


def mpis():
    """{name: {"family", "cc", "exec", ...}} as scripts/setup wrote them for CMake: those that programs
    are compiled for."""
    path = _deps_dir() / "mpis.cmake"
    if not path.exists():
        raise BenchError(f"{path} is not there: {to_build('bench-programs')}")
    out = {}
    compiled_for = []
    for line in path.read_text().splitlines():
        word = line.strip()
        if word.startswith("set(HOB_MPIS "):
            compiled_for = word[len("set(HOB_MPIS ") : -1].split()
        if not (word.startswith("set(HOB_MPI_") and word.endswith(")")):
            continue
        key, _, value = word[len("set(HOB_MPI_") : -1].partition(" ")
        name, _, what = key.rpartition("_")
        out.setdefault(name, {})[what.lower()] = value.strip().strip('"')
    return {name: out[name] for name in compiled_for}


class Result:
    """What one run of a program gave: `rows`, the JSON lines on its standard output; `report`,
    Hob's own JSON (None without Hob); `seconds`, start and end of the job included; `figures`, what
    the program wrote into the files that were asked for; `errors`, its standard error."""

    def __init__(self, rows, report, seconds, output, figures="", errors=""):
        self.rows, self.report, self.seconds, self.output = rows, report, seconds, output
        self.figures, self.errors = figures, errors

    def counters(self):
        """Every counter of the report, summed over ranks."""
        total = {}
        for rank in (self.report or {}).get("ranks", []):
            for name, value in rank.get("counters", {}).items():
                total[name] = total.get(name, 0) + value
        return total


def tool(name):
    """Path of a program of Hob's own that needs no MPI."""
    path = build_dir() / "bin" / name
    if not path.exists():
        raise BenchError(f"{path} is not there: {to_build('bench-programs')}")
    return path


def program(name, mpi="mpich5"):
    """Path of a program that hob_mpi_program built."""
    path = build_dir() / "bin" / mpi / name
    if not path.exists():
        raise BenchError(f"{path} is not there: {to_build('bench-programs')}")
    return path


def _command(path, args, ranks, setup, hob, mpi, json_file, launch=()):
    """The command and environment of a job. hob: None for without Hob, else its settings. launch: words for the
    launcher that place the ranks."""
    known = mpis()
    if mpi not in known:
        raise BenchError(
            f"the MPI library {mpi} is not set up; there are: {', '.join(known)} ({to_build()} for all)"
        )
    command = [known[mpi]["exec"], *launch, "-n", str(ranks)]
    if mpi == "openmpi4":
        command.append("--oversubscribe")
    if not launch and mpi in ("mpich4", "mpich5", "abi5"):
        command += ["-bind-to", _cores(ranks, "ghosts" in (hob or {}))]
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("HOB_") and k != "LD_PRELOAD"
    }
    environment.update(REMOTE_OF.get(mpi, REMOTE) if setup == "remote" else SETUPS[setup])
    preloaded = []
    if setup in ("remote", "two-nodes") and ranks > (os.cpu_count() or 1):
        preloaded.append(str(build_dir() / "lib" / "libhob_bench_polite.so"))
    if hob is not None:
        library = build_dir() / "lib" / LIBRARIES[known[mpi]["family"]]
        if not library.exists():
            raise BenchError(f"{library} is not there: {to_build()}")
        settings = {"report": "silent", **hob}
        if json_file:
            settings["json"] = json_file
        for key, value in settings.items():
            environment["HOB_" + key.upper()] = str(value)
        preloaded.append(str(library))
    if preloaded:
        # Through env, so that only the ranks are preloaded and the launcher is not.
        command += ["env", "LD_PRELOAD=" + ":".join(preloaded)]
    return [*command, str(path), *map(str, args)], environment


def _cores(ranks, ghosts):
    """Which cores ranks run on: they spin, so that two on one core wait for each other's slice.
    Where there are more than cores, the first, which is timed, has one to itself: a job that the
    kernel places otherwise takes twice as long, for as long as it lives. Ghosts sleep, and are
    placed by the kernel."""
    cores = os.cpu_count() or 1
    if ranks <= cores:
        return "core"
    if cores == 1 or ghosts:
        return "none"
    return "user:" + ",".join(
        str(0 if rank == 0 else 1 + rank % (cores - 1)) for rank in range(ranks)
    )


def _read_report(path, command):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError) as fault:
        raise BenchError(f"no report from {' '.join(command)}: {fault}") from fault


@contextlib.contextmanager
def _placed(setup, scratch, ranks, nodes):
    """Words for the launcher that place the ranks as the set-up says, where its variables do not."""
    if not setup.startswith("namespaces"):
        yield []
        return
    try:
        with Namespaces(scratch, own_cores=True, nodes=nodes) as spaces:
            yield spaces.launch(ranks)
    except NoNamespaces as why:
        raise BenchError(str(why)) from why


def _end(job):
    """Ends a launcher that still runs: asked first, since a killed one may leave its ranks behind."""
    if job.poll() is not None:
        return
    job.terminate()
    try:
        job.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()


def run_mpi(
    path,
    args=(),
    ranks=2,
    setup="remote",
    hob=None,
    mpi="mpich5",
    report=False,
    timeout=300,
    environment=None,
    inputs=None,
    figures="",
    nodes=2,
):
    """Runs a program under mpiexec. hob: None for without Hob, else its settings ({"cache":
    "always"}; {} for the defaults). report: also have Hob write its JSON. environment: more
    variables. inputs: {name: content} of files in its directory. figures: pattern of files there
    whose content is wanted. nodes: how many namespaces there are, in a set-up of these."""
    extra = environment or {}
    with (
        tempfile.TemporaryDirectory(prefix="hob-bench-") as scratch,
        _placed(setup, scratch, ranks, nodes) as launch,
    ):
        for name, content in (inputs or {}).items():
            Path(scratch, name).write_text(content)
        json_file = f"{scratch}/hob.json" if report and hob is not None else None
        command, environment = _command(path, args, ranks, setup, hob, mpi, json_file, launch)
        environment.update(extra)
        start = time.monotonic()
        # In the scratch directory, so that a ./hob.conf of the user is not read.
        job = subprocess.Popen(
            command,
            env=environment,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            out, errors = job.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as late:
            raise BenchError(f"took more than {timeout} s: {' '.join(command)}") from late
        finally:
            _end(job)
        seconds = time.monotonic() - start
        if job.returncode != 0:
            raise BenchError(
                f"exit status {job.returncode} from {' '.join(command)}\n"
                f"{out[-2000:]}{errors[-2000:]}"
            )
        written = _read_report(json_file, command) if json_file else None
        read = [one.read_text() for one in sorted(Path(scratch).glob(figures))] if figures else []
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return Result(rows, written, seconds, out, "".join(read), errors)


class GatedJob:
    """A job of a program that waits for a line before each batch (gate=1 of bench/mpi). Between
    batches all its ranks are stopped, so that it leaves the machine to others."""

    def __init__(
        self, path, args, scratch, ranks=2, setup="remote", hob=None, mpi="mpich5", timeout=120
    ):
        self.json_file = f"{scratch}/hob.json" if hob is not None else None
        self.command, environment = _command(
            path, [*args, "gate=1"], ranks, setup, hob, mpi, self.json_file
        )
        self.errors = open(f"{scratch}/stderr", "w+")
        self.timeout, self.pids = timeout, []
        self.process = subprocess.Popen(
            self.command,
            env=environment,
            cwd=scratch,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.pids = self._line()["pids"]
        self._signal(signal.SIGSTOP)

    def batch(self):
        """Runs one batch; what the program printed for it."""
        self._signal(signal.SIGCONT)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        out = self._line()
        self._signal(signal.SIGSTOP)
        return out

    def end(self):
        """Lets the program finish; Hob's report, or None."""
        self._signal(signal.SIGCONT)
        self.process.stdin.close()
        try:
            status = self.process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            self._fail("did not end")
        if status != 0:
            self._fail(f"exit status {status}")
        self.close()
        return _read_report(self.json_file, self.command) if self.json_file else None

    def close(self):
        if self.process.poll() is None:
            for pid in self.pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def _line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], self.timeout)
        if not ready:
            self._fail(f"silent for {self.timeout} s")
        line = self.process.stdout.readline()
        if not line.startswith("{"):
            self._fail(f"unexpected output {line!r}")
        return json.loads(line)

    def _signal(self, number):
        for pid in self.pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                self._fail(f"process {pid} is gone")

    def _fail(self, why):
        self.errors.seek(0)
        text = self.errors.read()[-2000:]
        self.close()
        raise BenchError(f"{why}: {' '.join(self.command)}\n{text}")


def duel(variants, batches, progress=None, discard=2):
    """Starts one job per variant, {name: keyword arguments of GatedJob}, and gives each the machine
    for one batch at a time, in turn, the order reversed every other time: noise that lasts longer
    than two batches meets all alike. Returns ({name: [printed line, ...]}, {name: Result with the
    report}); the first `discard` batches are left out."""
    out, jobs, results = {name: [] for name in variants}, {}, {}
    with tempfile.TemporaryDirectory(prefix="hob-bench-") as scratch:
        try:
            for number, (name, job) in enumerate(variants.items()):
                own = f"{scratch}/{number}"
                os.mkdir(own)
                jobs[name] = GatedJob(scratch=own, **job)
            for turn in range(batches + discard):
                for name in list(jobs) if turn % 2 == 0 else reversed(list(jobs)):
                    line = jobs[name].batch()
                    if turn >= discard:
                        out[name].append(line)
                if progress:
                    progress.tick()
            for name in list(jobs):
                results[name] = Result([], jobs[name].end(), None, "")
                del jobs[name]
        finally:
            for job in jobs.values():
                job.close()
    return out, results


class Progress:
    """One line on standard error that says how far a benchmark is; nothing where standard error
    is no terminal."""

    def __init__(self, what, steps):
        self.what, self.steps, self.step = what, max(steps, 1), 0
        self.shown = sys.stderr.isatty()
        self.start = time.monotonic()

    def tick(self, note=""):
        self.step += 1
        if self.shown:
            spent = time.monotonic() - self.start
            left = spent / self.step * max(self.steps - self.step, 0)
            text = f"{self.what}: {self.step}/{self.steps}, about {left:.0f} s left  {note}"
            sys.stderr.write("\r\033[K" + text[:100])
            sys.stderr.flush()

    def done(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def alternate(variants, repeats, progress=None):
    """Runs each of {name: function} `repeats` times, in turn, the order reversed every other time,
    so that drift of the machine meets all alike. Returns {name: [result, ...]}, where the i-th
    results of all variants ran next to each other."""
    out = {name: [] for name in variants}
    for repeat in range(repeats):
        names = list(variants)
        for name in names if repeat % 2 == 0 else reversed(names):
            out[name].append(variants[name]())
            if progress:
                progress.tick(str(name))
    return out


def median(values):
    return statistics.median(values)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ratio(numerators, denominators):
    """The median of the ratios of neighbouring runs."""
    return statistics.median(a / b for a, b in zip(numerators, denominators))


class Bench:
    """The rows and limits of one benchmark, and `also`: what else its JSON says."""

    def __init__(self):
        self.rows, self.limits, self.also = [], [], {}

    def row(self, **columns):
        self.rows.append(columns)

    def at_most(self, name, value, limit):
        self.limits.append(
            {
                "name": name,
                "value": round(value, 4),
                "limit": f"<= {limit:g}",
                "ok": bool(value <= limit),
            }
        )

    def at_least(self, name, value, limit):
        self.limits.append(
            {
                "name": name,
                "value": round(value, 4),
                "limit": f">= {limit:g}",
                "ok": bool(value >= limit),
            }
        )

    def result(self):
        return {"rows": self.rows, "limits": self.limits, **self.also}


def machine():
    """What the numbers were measured on."""
    model = platform.processor() or "unknown"
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.platform()}


def rank_counts(text):
    """The numbers of ranks that an option --ranks names; raises BenchError."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as fault:
        raise BenchError(f"--ranks {text}: numbers of ranks, separated by commas") from fault


def size_text(bytes_):
    """1024 -> '1 KiB'."""
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes_ >= scale:
            return f"{bytes_ / scale:g} {unit}"
    return f"{bytes_:g} B"


def format_value(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return "" if value is None else str(value)


def table(rows):
    """The rows as text, numbers to the right, columns in the order of their first appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[format_value(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(c), *(len(line[i]) for line in cells)) for i, c in enumerate(columns)]
    numeric = [
        all(isinstance(row.get(c), (int, float, type(None))) for row in rows) for c in columns
    ]

    def line(words):
        return "  ".join(
            w.rjust(n) if right else w.ljust(n) for w, n, right in zip(words, widths, numeric)
        ).rstrip()

    return "\n".join([line(columns), line(["-" * n for n in widths]), *map(line, cells)])


def plot(path, draw):
    """Calls draw(pyplot) and saves the figure as `path` (PNG or SVG by its ending). Without
    matplotlib, says so and goes on: the table has every number."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no picture: matplotlib is not installed", file=sys.stderr)
        return
    figure = pyplot.figure(figsize=(8, 5), layout="constrained")
    draw(pyplot)
    pyplot.savefig(path, dpi=120)
    pyplot.close(figure)
