"""Programs whose one-sided operations wait for targets that compute: ghosts are for them."""

from dataclasses import replace

from hob.real import inputs
from hob.real.cache import DASH
from hob.real.program import Program

ENERGIES = r"Total (?:SCF|MP2|CCSD|CCSD\(T\)|DFT) energy *[:=] +-?\d+\.\d{8}"
TCE_ENERGIES = r"(?:CCSD|CCSD\(T\)) total energy / hartree += +-?\d+\.\d{8}"

# Where two ranks share a node, Debian's MPICH 4 gives NWChem wrong numbers with MPI_Win_allocate; with ghosts, Hob serves it.
PLAIN_MEMORY = {"ARMCI_USE_WIN_ALLOCATE": "0"}
GHOST_MEMORY = {"ARMCI_USE_WIN_ALLOCATE": "1"}


def _slb4mpi(balancer, milliseconds, fails=""):
    return Program(
        name=f"slb4mpi-{balancer.replace('_', '-')}-{milliseconds}ms",
        origin="foxtran/SLB4MPI at edb7ded, with tests/real/drivers/slb4mpi_tasks.cpp",
        what=f"load balancing: counters under exclusive locks, tasks of {milliseconds} ms",
        mechanism="ghosts",
        executable="slb4mpi-tasks",
        arguments=(balancer, str(6000 // milliseconds), str(milliseconds)),
        setup="namespaces",
        ghosts=1,
        answers=r"tasks done \d+, sum \d+",
        seconds=r"^seconds ([0-9.]+)",
        ideal=r" ideal ([0-9.]+)",
        within=1.08,
        overlap_within=1.1,
        reason="native runs take 1.1 to 1.3 times the ideal time: there is no more to gain",
        fails=fails,
    )


def _nwchem(name, what, text, setup, at_least, answers=ENERGIES, reason=""):
    """Two rows: each run with the memory that it is fastest with and right, and both with the same."""
    each = Program(
        name=name,
        origin="Debian nwchem-mpich",
        what=f"ARMCI-MPI: get_accumulate, accumulate, counters by fetch_and_op; {what}",
        mechanism="ghosts",
        executable="nwchem.mpich",
        arguments=("water.nw",),
        mpi="mpich4",
        setup=setup,
        environment=PLAIN_MEMORY,
        with_hob=GHOST_MEMORY,
        inputs={"water.nw": text},
        answers=answers,
        ghosts=1,
        at_least=at_least,
        overlap=0.97,
        reason=reason,
    )
    both = PLAIN_MEMORY if setup == "node" else GHOST_MEMORY
    return each, replace(each, name=f"{name}-alike", environment=both, with_hob={}, at_least=0.97)


SCF = inputs.nwchem(6, "6-31g*", "scf", "scf\n direct\n tol2e 1e-9\nend\n")
CCSDT = inputs.nwchem(1, "cc-pvtz", "ccsd(t)")
TCE = inputs.nwchem(2, "6-31g*", "tce", "tce\n ccsd(t)\nend\n")

BY_THEMSELVES = "on one node ranks carry out their operations on each other's memory themselves"
COPIES_ONTO_ITSELF = (
    "MPICH 5 aborts it without Hob: it gets a word of its own window to where that word is "
    "(memcpy argument memory ranges overlap)"
)

PROGRAMS = [
    replace(
        DASH,
        name="dash-mindeg-ghosts",
        mechanism="ghosts",
        setup="namespaces",
        ghosts=1,
        at_least=0.97,
        reason="no target computes for long, and dynamic windows are not served",
    ),
    _slb4mpi("dynamic", 5),
    _slb4mpi("dynamic", 20),
    _slb4mpi("guided", 5),
    _slb4mpi("guided", 20),
    _slb4mpi("work_stealing", 5, COPIES_ONTO_ITSELF),
    _slb4mpi("work_stealing", 20, COPIES_ONTO_ITSELF),
    *_nwchem(
        "nwchem-scf-nodes",
        "direct SCF of 6 waters on two nodes",
        SCF,
        "namespaces-ucx",
        1.3,
        reason="of 2 x 4.4 s of two cores, ranks compute 5.6 and start 1.2: 1.3 is all that could be gained, and "
        "ghosts take 0.6 s of the same cores",
    ),
    *_nwchem(
        "nwchem-ccsdt-nodes",
        "CCSD(T) of water on two nodes",
        CCSDT,
        "namespaces-ucx",
        1.3,
        reason="13 of 32 s of two cores are spent polling TCP without Hob; with ghosts each of 46,000 messages takes a "
        "wake-up of the ghost and of the rank, and ghosts take 3 s of the same cores",
    ),
    *_nwchem(
        "nwchem-scf-node",
        "direct SCF of 6 waters on one node",
        SCF,
        "node",
        1.3,
        reason="ranks compute 5.6 of 2 x 3.6 s and start 1.2: waits are a tenth",
    ),
    *_nwchem(
        "nwchem-ccsdt-node",
        "CCSD(T) of water on one node",
        CCSDT,
        "node",
        1.3,
        reason=BY_THEMSELVES,
    ),
    *_nwchem(
        "nwchem-tce-nodes",
        "TCE CCSD(T) of 2 waters on two nodes, tasks under 1 ms",
        TCE,
        "namespaces-ucx",
        0.97,
        TCE_ENERGIES,
        "ranks wait for an eighth of the time without Hob; each of 35,500 messages of 45 KB takes 100 us of a ghost's "
        "processor time, half of it TCP, on a core on which a rank computes",
    ),
    *_nwchem(
        "nwchem-tce-node",
        "TCE CCSD(T) of 2 waters on one node",
        TCE,
        "node",
        0.97,
        TCE_ENERGIES,
        BY_THEMSELVES,
    ),
    Program(
        name="nwchem-ccsdt-no-ghosts",
        origin="Debian nwchem-mpich",
        what="ARMCI-MPI on one node, no ghosts",
        mechanism="none",
        executable="nwchem.mpich",
        arguments=("water.nw",),
        mpi="mpich4",
        setup="node",
        environment=PLAIN_MEMORY,
        inputs={"water.nw": inputs.nwchem(1, "cc-pvdz", "ccsd(t)")},
        answers=ENERGIES,
        at_least=0.97,
        reason="a job of 0.35 s, of which 8 ms are Hob's start, and most of the others the wrappers of 280,000 flushes",
    ),
]
