"""`hob doctor`: what a support engineer would look at first, and what to change."""

import ctypes
import json
import mmap
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hob import __version__
from hob.options import split
from hob.report.words import quantity, size
from hob.where import BIN, HobError, binary, in_source, mpis, to_build

DESCRIPTION = """Prints what matters to Hob on this machine, and what should be changed: kernel, processors,
memory, network adapters, page tracking, limits, batch system, MPI library and provider. With a program:
also which MPI library that one uses, and whether Hob has anything to do for it. Run it on a compute node,
in a job: login nodes differ."""

EPILOG = """examples:
  hob doctor
  srun -n 1 hob doctor ./app
  hob doctor python3 app.py
  hob doctor --mpi mpich ./job-step.sh
  hob doctor --json >node.json

Exit status: 0; 1 where something should be changed; 3 where Hob has nothing to do for the program."""

# A locked-memory limit from which adapters that register memory work, bytes.
ENOUGH_LOCKED = 64 << 20
# Files that a rank may have open: a socket for each of many peers, and shared memory.
ENOUGH_FILES = 1024
# Page tracking (PAGEMAP_SCAN) and with it `cache_validate` of a rank's own stores.
TRACKING_KERNEL = (6, 7)
# As src/validation/devices.cpp has them.
WRITING_DIRECTORIES = ("/sys/class/infiniband", "/sys/class/cxi")
WRITING_FILES = (
    "/dev/hfi1_0",
    "/dev/cxi0",
    "/dev/kgni0",
    "/dev/xpmem",
    "/dev/knem",
    "/dev/gdrdrv",
)


@dataclass
class Finding:
    """One line: what is checked, its state, and what to do (None: fine)."""

    what: str
    value: str
    change: str = None
    nothing_to_do: bool = False


# The exit status for a program that Hob can do nothing for.
NOTHING_TO_DO = 3


def add_arguments(parser):
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--mpi", metavar="WHICH", help="the MPI of a program that loads it while it runs (Python)"
    )
    parser.usage = "hob doctor [options] [PROGRAM [ARGUMENTS...]]"


def parse(parser, words):
    """Options end where the program begins, as of hob run."""
    options, program = split(parser, words)
    args = parser.parse_args(options)
    args.program = program
    return args


def _read(path):
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def kernel(release=None):
    """The kernel, and whether it knows which pages a process wrote."""
    release = release or platform.release()
    version = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    if version >= TRACKING_KERNEL:
        return [
            Finding("kernel", f"Linux {release}"),
            Finding("page tracking", "there: copies can outlive barriers (cache_validate)"),
        ]
    soft_dirty = _soft_dirty()
    tracking = (
        "soft-dirty bits: copies can outlive barriers in programs of one thread (cache_stores)"
        if soft_dirty
        else "not there (nothing to change; with Linux 6.7 or soft-dirty bits, copies outlive barriers "
        "in windows that their own ranks write to)"
    )
    return [Finding("kernel", f"Linux {release}"), Finding("page tracking", tracking)]


def _soft_dirty():
    """Whether the kernel marks pages that were written to: a fresh page of this process is marked."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page[0] = 1
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    try:
        with open("/proc/self/pagemap", "rb") as pages:
            pages.seek(8 * (address // mmap.PAGESIZE))
            return bool(int.from_bytes(pages.read(8), sys.byteorder) >> 55 & 1)
    except OSError:
        return False


def machine():
    """Processors, pinning and memory of this node."""
    name = re.search(r"model name\s*:\s*(.*)", _read("/proc/cpuinfo"))
    online, allowed = os.cpu_count() or 1, os.sched_getaffinity(0)
    pinned = len(allowed) < online
    memory = re.search(r"MemTotal:\s*(\d+)", _read("/proc/meminfo"))
    found = [
        Finding("processor", f"{name.group(1) if name else platform.machine()}, {online} online"),
        Finding(
            "pinning",
            f"{len(allowed)} of {online} processors" if pinned else "none: any processor",
        ),
    ]
    if platform.machine() not in ("x86_64", "aarch64"):
        found[0].change = "Hob is tested on x86_64 alone"
    if memory:
        found.append(Finding("memory", size(1024 * int(memory.group(1)))))
    limit = _read("/sys/fs/cgroup/memory.max")
    if limit.isdigit():
        found.append(Finding("memory of this cgroup", size(int(limit))))
    shared = shutil.disk_usage("/dev/shm") if os.path.isdir("/dev/shm") else None
    if shared:
        small = shared.total < 256 << 20
        found.append(
            Finding(
                "/dev/shm",
                f"{size(shared.free)} free of {size(shared.total)}",
                "give containers more (--shm-size=1g): ghosts and sharing keep windows there"
                if small
                else None,
            )
        )
    else:
        found.append(Finding("/dev/shm", "not there", "mount a tmpfs there"))
    return found


def writing_device(root="/"):
    """What writes to a process's memory behind its page tables: the first of these that is there."""
    for directory in WRITING_DIRECTORIES:
        if any(Path(root, directory[1:]).glob("*")):
            return directory
    return next((name for name in WRITING_FILES if Path(root, name[1:]).exists()), None)


def adapters(root="/"):
    """High-speed network adapters, and devices that write to memory by themselves."""
    names = [
        f"{kind} {entry.name}"
        for kind in ("infiniband", "cxi", "hfi1_user")
        for entry in sorted(Path(root, "sys/class", kind).glob("*"))
    ]
    accelerators = [
        name for name in ("nvidia0", "kfd", "dri/renderD128") if os.path.exists(f"/dev/{name}")
    ]
    device = writing_device(root)
    out = [
        Finding("adapters", ", ".join(names) if names else "Ethernet alone"),
        Finding(
            "writes by devices",
            f"{device}: what programs receive is compared with their windows"
            if device
            else "none: page tracking sees all that is received",
        ),
    ]
    if accelerators:
        out.append(Finding("accelerators", ", ".join(accelerators)))
    return out


def limits(getlimit=resource.getrlimit):
    """Limits that jobs run into."""

    def text(value):
        return "unlimited" if value == resource.RLIM_INFINITY else size(value)

    found = []
    locked = getlimit(resource.RLIMIT_MEMLOCK)[0]
    short = locked != resource.RLIM_INFINITY and locked < ENOUGH_LOCKED
    has_adapter = any(Path("/sys/class/infiniband").glob("*"))
    found.append(
        Finding(
            "locked memory",
            text(locked),
            "ulimit -l unlimited (in limits.conf, and of the batch system's daemon)"
            if short and has_adapter
            else None,
        )
    )
    files = getlimit(resource.RLIMIT_NOFILE)[0]
    found.append(
        Finding(
            "open files",
            "unlimited" if files == resource.RLIM_INFINITY else quantity(files),
            f"ulimit -n {4 * ENOUGH_FILES}"
            if files != resource.RLIM_INFINITY and files < ENOUGH_FILES
            else None,
        )
    )
    written = getlimit(resource.RLIMIT_FSIZE)[0]
    found.append(Finding("size of files", text(written)))
    ptrace = _read("/proc/sys/kernel/yama/ptrace_scope")
    if ptrace:
        found.append(Finding("yama ptrace_scope", ptrace))
    return found


def manager(environment=os.environ):
    """The batch system, and what it speaks with MPI."""
    for name, variable in (
        ("Slurm", "SLURM_JOB_ID"),
        ("PBS", "PBS_JOBID"),
        ("LSF", "LSB_JOBID"),
        ("Flux", "FLUX_JOB_ID"),
    ):
        if variable not in environment:
            continue
        out = [Finding("job", f"{name} {environment[variable]}")]
        if name == "Slurm" and shutil.which("srun"):
            done = subprocess.run(
                ["srun", "--mpi=list"], capture_output=True, text=True, check=False
            )
            offered = " ".join((done.stdout + done.stderr).split())
            out.append(Finding("srun --mpi", offered or "nothing said"))
        return out
    return [Finding("job", "none: not inside a batch system")]


def variables(environment=os.environ):
    """Settings of Hob's and variables that often stand in the way."""
    found = []
    known = {row["environment"] for row in _settings()}
    for name in sorted(environment):
        if name.startswith("HOB_"):
            if name == "HOB_DEPS":  # the hob script sets it
                continue
            foreign = known and name not in known and name != "HOB_LIBDIR"
            found.append(
                Finding(
                    name, environment[name], "no setting of Hob's: unset it" if foreign else None
                )
            )
        elif name == "LD_PRELOAD":
            found.append(Finding(name, environment[name]))
    return found


def _settings():
    try:
        from hob.config import settings

        return settings()
    except HobError:
        return []


def incomplete_flush(version, environment):
    """Whether MPICH's flush does not complete puts at the target here: MPICH 5 over libfabric's tcp
    (a fault of its own, with Hob or without)."""
    return (
        re.search(r"MPICH\D*5\.", version) is not None
        and environment.get("FI_PROVIDER", "").startswith("tcp")
        and environment.get("MPIR_CVAR_CH4_NETMOD", "ofi") == "ofi"
        and environment.get("MPIR_CVAR_CH4_OFI_ENABLE_RMA") != "0"
        and environment.get("FI_TCP_MAX_INJECT") != "0"
    )


def library(program, mpi=None, environment=os.environ):
    """The MPI library of a program (a command), else those that this Hob was built for."""
    found = [Finding("Hob", f"{__version__}, programs in {BIN}")]
    for family in ("mpich", "openmpi", "abi"):
        places = [
            BIN.parent / lib / f"libhob_{family}.so" for lib in ("lib/hob", "lib64/hob", "lib")
        ]
        there = [path for path in places if path.exists()]
        if there:
            found.append(Finding(f"Hob for {family}", str(there[0])))
    if program:
        found += of_program(program, mpi, environment)
    else:
        for name, known in mpis().items():
            found.append(Finding(f"MPI library {name}", known.get("exec", "")))
        found += _known_faults("MPICH 5." if "mpich5" in mpis() else "", environment)
    for name in ("FI_PROVIDER", "MPIR_CVAR_CH4_NETMOD", "UCX_TLS", "I_MPI_FABRICS", "OMPI_MCA_pml"):
        if name in environment:
            found.append(Finding(name, environment[name]))
    return found


def of_program(command, mpi=None, environment=os.environ):
    """What Hob meets in a program: why it cannot be loaded, else its MPI library and its calls."""
    from hob.run import which_mpi

    try:
        use = which_mpi(command, mpi)
    except HobError as error:
        return [Finding("program", command[0], str(error))]
    if use["refused"]:
        return [Finding("program", use["program"], use["why"])]
    found = [Finding("MPI of the program", use["mpi"] or use["why"])]
    if use["off"]:
        found.append(Finding("Hob here", f"off: {use['off']} says so", nothing_to_do=True))
    if not use["family"]:
        found = [Finding("MPI of the program", "not known", use["why"])]
    elif not use["hob"]:
        found.append(Finding("Hob for it", "none", _build_for(use["family"])))
    version = _version_of(use["mpi"]) if use["mpi"] else ""
    if use["mpi"]:
        found.append(Finding("its version", version or "unknown"))
        found += [*matching(version), *_known_faults(version, environment)]
    if use["mpi"] and not use["late"] and not use["wrapper"]:
        found += _calls(use["program"], version)
    elif use["mpi"]:
        found.append(
            Finding("its calls", "not known before it runs: hob advise counts them in one run")
        )
    return found


def _build_for(family):
    return (
        to_build()
        if in_source()
        else f"install Hob with a build for {family}: cmake -B build -DHOB_MPICC=/path/to/its/mpicc"
    )


# Entries of a file's table of names, as C and Fortran spell them.
def _names(calls):
    return re.compile(rb"\0P?MPI_((?:" + calls + rb")(?:_c|_f08|_f08ts)?_{0,2})\0", re.IGNORECASE)


ONE_SIDED = _names(rb"R?get|r?put|r?accumulate|get_accumulate|fetch_and_op|compare_and_swap")
RECEIVES = _names(rb"i?recv|recv_init|i?mrecv|sendrecv|sendrecv_replace|isendrecv")
NONBLOCKING = _names(
    rb"i[sr]?send|irecv|imrecv|isendrecv|isendrecv_replace|ibcast|iscan|iexscan|i(?:all)?reduce|ireduce_scatter\w*"
    rb"|i(?:all)?gatherv?|iscatterv?|ialltoall[vw]?|ineighbor_\w+?|file_i\w+?"
)
# They wait at once: alone, they make no queue long.
ONE_BY_ONE = {"MPI_Sendrecv", "MPI_Sendrecv_replace"}


def one_sided(program):
    """The one-sided calls that a program and its own libraries name, sorted, in C's spelling."""
    return _named(program, ONE_SIDED)


def _named(program, pattern):
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    libraries = re.findall(r"=> (/\S+)", done.stdout) if done.returncode == 0 else []
    found = set()
    for path in [program, *libraries]:
        if Path(path).name.startswith("libmpi"):
            continue  # the library itself names them all
        try:
            text = Path(path).read_bytes()
        except OSError:
            continue
        found |= {name.decode() for name in pattern.findall(text)}
    plain = {re.sub(r"(_c|_f08|_f08ts)?_*$", "", name.lower()) for name in found}
    return sorted(f"MPI_{name.capitalize()}" for name in plain)


def _calls(program, version):
    """What Hob could serve of a program, by the calls that it names."""
    calls, receives = one_sided(program), _named(program, RECEIVES)
    nonblocking = _named(program, NONBLOCKING)
    matched = _may_match(version) and set(receives) - ONE_BY_ONE
    found = [
        Finding(
            "one-sided calls",
            ", ".join(calls)
            if calls
            else "none: the cache and ghosts have nothing to do (Global Arrays over MPI-PR and its like has none)",
        ),
        Finding(
            "receives",
            f"{', '.join(receives)}: Hob searches their queues where these get deep"
            if matched
            else f"{', '.join(receives)}: left to the library"
            if receives
            else "none: message matching has nothing to do",
        ),
        Finding(
            "nonblocking calls",
            f"{', '.join(nonblocking)}: large ones go on while the program computes"
            if nonblocking
            else "none: overlap has nothing to do",
        ),
    ]
    if not calls and not matched and not nonblocking:
        found.append(
            Finding("Hob for it", "has nothing to do: the program makes no call that it serves")
        )
        found[-1].nothing_to_do = True
    return found


def _may_match(version):
    return "Intel" not in version


def _calls_back(version):
    """Whether this MPICH lets Hob's queues advance in its progress: from 4.3 on."""
    found = re.search(r"MPICH\D*(\d+)\.(\d+)", version)
    return not found or (int(found[1]), int(found[2])) >= (4, 3)


def matching(version):
    """Which receives `match=auto` may take over with this library, if that is known."""
    if not _may_match(version):
        return [Finding("matching", "left to the library: it has no callback for Hob's queues")]
    if "MPICH" in version:
        tcp = ", very deep ones over libfabric's tcp" if _calls_back(version) else ""
        return [Finding("matching", f"deep queues over UCX{tcp}, else none")]
    return [Finding("matching", "deep queues")] if "Open MPI" in version else []


def _known_faults(version, environment):
    if incomplete_flush(version, environment):
        return [
            Finding(
                "MPI_Win_flush",
                "MPICH 5 over libfabric's tcp: a flush does not wait for puts at their target",
                None
                if environment.get("HOB_COMPLETE_PUTS", "on") == "on"
                else "HOB_COMPLETE_PUTS=on, or FI_TCP_MAX_INJECT=0 (needed without Hob, too)",
            )
        ]
    return []


def _version_of(path):
    """What an MPI library says of itself, asked in another process."""
    code = (
        "import ctypes,sys\n"
        "library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
        "text, length = ctypes.create_string_buffer(8192), ctypes.c_int()\n"
        "library.MPI_Get_library_version(text, ctypes.byref(length))\n"
        "print(text.value.decode(errors='replace').splitlines()[0])\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [sys.executable, "-c", code, path],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=30,
    )
    return re.sub(r"\s*Version:\s*", " ", done.stdout.strip())


def site():
    """What the site's file says, and whether this user's jobs are logged where it wants that."""
    from hob.run import which_mpi

    try:
        said = which_mpi(["true"])["site"]
    except HobError:
        return []  # there is no hob-exec, which is another finding
    if not said:
        return [Finding("site's file", "none")]
    found = [Finding("site's file", said["file"])]
    for key, each in said["settings"].items():
        held = ", which users may not change" if each["locked"] else ""
        found.append(Finding(f"  {key}", f"{each['value']}{held}"))
    log = said["settings"].get("job_log", {}).get("value")
    if log:
        found += _job_log(log)
    return found


def _job_log(log):
    """Where no line can be added for this user's jobs: they go on, and say nothing."""
    if log == "syslog":
        there = os.path.exists("/dev/log")
        return [] if there else [Finding("job_log", "no /dev/log", "start a syslog daemon here")]
    if os.access(log, os.W_OK) or (
        not os.path.exists(log) and os.access(os.path.dirname(log) or ".", os.W_OK)
    ):
        return []
    return [Finding("job_log", f"this user may not write to {log}", "let users append to it")]


def preload():
    """Whether a program starts with Hob's own starter at all."""
    done = subprocess.run(
        [binary("hob-exec"), "--off", "true"], capture_output=True, text=True, check=False
    )
    return [
        Finding(
            "hob exec",
            "works" if done.returncode == 0 else f"status {done.returncode}",
            None if done.returncode == 0 else done.stderr.strip() or "build Hob on this machine",
        )
    ]


def examine(program=None, mpi=None):
    """All findings, by their heading. program: a command."""
    return {
        "Machine": [*kernel(), *machine(), *adapters()],
        "Limits": limits(),
        "Job": [*manager(), *variables()],
        "Hob and MPI": [*preload(), *site(), *library(program, mpi)],
    }


def main(args):
    found = examine(args.program, args.mpi)
    wrong = [one for group in found.values() for one in group if one.change]
    idle = any(one.nothing_to_do for group in found.values() for one in group)
    status = 1 if wrong else NOTHING_TO_DO if idle else 0
    if args.json:
        print(
            json.dumps(
                {head: [vars(one) for one in group] for head, group in found.items()}, indent=1
            )
        )
        return status
    width = max(len(one.what) for group in found.values() for one in group)
    for head, group in found.items():
        print(f"{head}")
        for one in group:
            print(f"  {one.what:{width}}  {one.value}")
    print()
    for one in wrong:
        print(f"Change: {one.what}: {one.change}")
    if idle:
        print("Hob has nothing to do here.")
    print(
        f"{len(wrong)} {'thing' if len(wrong) == 1 else 'things'} to change."
        if wrong
        else "Nothing to change."
    )
    return status
