"""Programs that nobody wrote for Hob: what they are, how they are run, and how their answers and
times are read. `hob bench real` runs those whose executables it finds.

Hob fetches and builds none of them. `origin` names the public source and the revision that was
tried; each is built unmodified as its own documentation says, with the MPI library named by `mpi`.
"""

import re
from dataclasses import dataclass, field

WATER = """title "water"
start water
memory total 400 mb
geometry units angstroms
 O 0.0 0.0 0.1173
 H 0.0 0.7572 -0.4692
 H 0.0 -0.7572 -0.4692
end
basis
 * library {basis}
end
task {task} energy
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

ENERGIES = r"Total (?:SCF|MP2|CCSD|CCSD\(T\)) energy *[:=] +-?\d+\.\d{10}"


@dataclass(frozen=True)
class Program:
    """One program as it is run and judged."""

    name: str
    origin: str  # public source and revision, or the Debian package
    what: str  # what it asks of MPI, in a few words
    mechanism: str  # cache, matching, ghosts, or none where there is nothing to gain
    executable: str  # looked for under --programs, then on the PATH
    arguments: tuple = ()
    mpi: str = "mpich5"
    setup: str = "remote"
    ranks: int = 2
    environment: dict = field(default_factory=dict)
    inputs: dict = field(default_factory=dict)  # name: content of files it reads
    answers: str = ""  # lines that match must be the same in every run; empty: exit status alone
    seconds: str = ""  # the first group is the time that the program reports; empty: the whole job
    rate: bool = False  # the figure is a rate: more is better
    figures: str = ""  # a file (pattern) in which the program writes its times, in place of stdout
    settings: dict = field(default_factory=dict)  # Hob's settings beyond the defaults
    ghosts: int = 0  # more processes for each node
    at_least: float = 0.0  # ratio plain / Hob that must be reached; 0: only shown

    def answer(self, output):
        """What must be the same with Hob as without."""
        return re.findall(self.answers, output, re.MULTILINE) if self.answers else []

    def figure(self, output):
        """The time (or rate) that the program itself reports, or None. The median of several."""
        found = sorted(float(one) for one in re.findall(self.seconds, output, re.MULTILINE))
        return found[len(found) // 2] if found else None


def _gdi(kernel, at_least, extra=()):
    return Program(
        name=f"gdi-{kernel}",
        origin="spcl/GDI-RMA at ce983bb, with spcl/liblsb",
        what="graph database: batches of small gets, flush_all, barrier in each iteration",
        mechanism="cache",
        executable=f"bench_gdi.{kernel}",
        arguments=("-s", "8", "-e", "8", "-m", "33554432", "-i", "3", *extra),
        figures="lsb.*.r0",
        seconds=r"^\s+\d+(?:\s+\d+)*\s+(\d+\.\d+)\s+\d+\s*$",
        at_least=at_least,
    )


def _bale(name, arguments, at_least):
    return Program(
        name=f"bale-{name}",
        origin="jdevinney/bale at 1b8f673, src/bale_classic over pmodels/oshmpi at ee5cf11",
        what="OpenSHMEM: single-word gets of a distributed table",
        mechanism="cache",
        executable=name,
        arguments=arguments,
        seconds=r"AGP.*?([0-9.]+) seconds",
        at_least=at_least,
    )


def _nwchem(name, mpi, task, basis, environment, setup, ghosts, at_least):
    return Program(
        name=name,
        origin=f"Debian nwchem-{'mpich' if mpi == 'mpich4' else 'openmpi'}",
        what="ARMCI-MPI: get_accumulate, accumulate and counters by fetch_and_op",
        mechanism="ghosts" if ghosts else "none",
        executable="nwchem.mpich" if mpi == "mpich4" else "nwchem.openmpi",
        arguments=("water.nw",),
        mpi=mpi,
        setup=setup,
        environment=environment,
        inputs={"water.nw": WATER.format(basis=basis, task=task)},
        answers=ENERGIES,
        ghosts=ghosts,
        settings={"ghosts": ghosts} if ghosts else {},
        at_least=at_least,
    )


PROGRAMS = [
    _gdi("lcc", 1.6),
    _gdi("wcc", 5.0),
    _gdi("pr", 5.0, ("-d",)),
    _gdi("cdlp", 5.0),
    _bale("triangle", ("-n", "2000", "-z", "16", "-M", "1"), 4.0),
    _bale("ig", ("-n", "60000", "-T", "10000", "-M", "1"), 2.2),
    _bale("topo", ("-n", "2000", "-M", "1"), 0.0),
    Program(
        name="cgsolve-rma",
        origin="kokkos/kokkos-remote-spaces at b8b6f06 with Kokkos 4.4",
        what="conjugate gradients: one Rget and Wait for each remote element",
        mechanism="cache",
        executable="cgsolve_rma",
        arguments=("14", "20"),
        at_least=3.0,
    ),
    Program(
        name="netgauge-queues",
        origin="spcl/netgauge",
        what="ping-pong behind up to 2,400 queued receives",
        mechanism="matching",
        executable="netgauge",
        arguments=("-m", "mpi", "-x", "one_one_req_queue"),
        mpi="openmpi4",
        setup="node",
    ),
    Program(
        name="imb-rma-get",
        origin="intel/mpi-benchmarks 2021, IMB-RMA",
        what="the same bytes fetched again and again",
        mechanism="cache",
        executable="IMB-RMA",
        arguments=("-npmin", "2", "-iter", "300", "-time", "0.15", "Unidir_get"),
    ),
    Program(
        name="opencoarrays-get",
        origin="Debian open-coarrays-bin",
        what="coarray Fortran: reads of remote array sections",
        mechanism="cache",
        executable="get_array",
        mpi="mpich4",
        setup="ucx-tcp",
        answers=r"^ *(?:OK|Test passed\.?).*$",
    ),
    _nwchem(
        "nwchem-ccsdt-ghosts",
        "mpich4",
        "ccsd(t)",
        "cc-pvtz",
        {"ARMCI_USE_WIN_ALLOCATE": "1"},
        "node",
        1,
        1.3,
    ),
    _nwchem(
        "nwchem-ccsdt",
        "mpich4",
        "ccsd(t)",
        "cc-pvdz",
        {"ARMCI_USE_WIN_ALLOCATE": "0"},
        "node",
        0,
        0.97,
    ),
    Program(
        name="lammps-melt",
        origin="Debian lammps",
        what="halo exchanges of a few messages",
        mechanism="none",
        executable="lmp",
        arguments=("-in", "in.melt"),
        mpi="openmpi4",
        setup="node",
        inputs={"in.melt": MELT},
        answers=r"^ +\d+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ *$",
        seconds=r"^Loop time of ([0-9.]+)",
        at_least=0.97,
    ),
]
