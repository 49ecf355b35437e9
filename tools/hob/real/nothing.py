"""Programs that have nothing to gain: what Hob costs them."""

from hob.real import inputs
from hob.real.program import Program

# The difference to be seen is less than a run differs from the next.
REPEATS = 9

OSU = "OSU micro-benchmarks 7.4 (sherrywong1220/osu-micro-benchmarks-7.4 at 6a58a2a)"
NOTHING = "nothing to gain: few messages, short queues"
WRAPPED = (
    "40 to 55 ns for each message, of which the wrapper of MPI_Irecv takes one, and following one receive in 256, by "
    "which long queues are noticed, another"
)


def _messages(library):
    return _nothing(
        f"osu-mbw-mr-{library}",
        OSU,
        "windows of 64 messages of 1 to 128 bytes, as fast as they go",
        "osu_mbw_mr",
        # More than the usual 100 windows of each size, which are over in a thousandth of a second.
        arguments=("-m", "1:128", "-i", "20000", "-x", "2000"),
        mpi=f"{library}4",
        setup="node",
        seconds=r"^\d+ +[0-9.]+ +([0-9.]+)",
        rate=True,
        reason=WRAPPED,
    )


def _both_ways(mpi):
    return _nothing(
        f"osu-bibw-{mpi}",
        OSU,
        "windows of 64 messages of 16 KiB to 1 MiB, both ways",
        "osu_bibw",
        arguments=("-m", "16384:1048576", "-i", "200", "-x", "20"),
        mpi=mpi,
        setup="node",
        seconds=r"^\d+ +([0-9.]+)",
        rate=True,
        reason="nothing to gain: a few long messages",
    )


def _nothing(name, origin, what, executable, reason=NOTHING, **more):
    return Program(
        name=name,
        origin=origin,
        what=what,
        mechanism="none",
        executable=executable,
        repeats=REPEATS,
        at_least=0.97,
        reason=reason,
        **more,
    )


PROGRAMS = [
    _nothing(
        "lammps-melt",
        "Debian lammps",
        "halo exchanges of a few messages",
        "lmp",
        arguments=("-in", "in.melt"),
        mpi="openmpi4",
        setup="node",
        inputs={"in.melt": inputs.MELT},
        answers=r"^ +\d+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ +[-+.0-9e]+ *$",
        seconds=r"^Loop time of ([0-9.]+)",
    ),
    _messages("mpich"),
    _nothing(
        "minife",
        "Mantevo/miniFE at c79e0f7, ref",
        "finite elements: halo exchanges and dot products",
        "miniFE.x",
        arguments=("nx=60", "ny=60", "nz=60"),
        mpi="mpich4",
        setup="node",
        answers=r"Final Resid Norm: [-+.0-9e]+",
    ),
    _nothing(
        "hypre-ij",
        "hypre-space/hypre at 0854739e5, its test driver ij",
        "algebraic multigrid: many small exchanges",
        "ij",
        arguments=("-n", "60", "60", "60", "-P", "2", "1", "1"),
        mpi="mpich4",
        setup="node",
        answers=r"^(?:Iterations = \d+|Final Relative Residual Norm = [-+.0-9e]+)",
    ),
    _nothing(
        "hpcc",
        "Debian hpcc",
        "HPL, PTRANS, RandomAccess, FFT: large messages and bursts of small ones",
        "hpcc",
        mpi="openmpi4",
        setup="node",
        inputs={"hpccinf.txt": inputs.hpcc},
        answers=r"^.*(?:PASSED|FAILED|[Ss]uccess=\d|Node\(s\) with error +\d+.*)$",
        answer_files="hpccoutf.txt",
        reason="RandomAccess calls MPI_Testany a million times in 30 ms; Hob adds 10 ns to each, for it watches the "
        "receive that is polled",
    ),
    _messages("openmpi"),
    _both_ways("mpich5"),
    _both_ways("openmpi5"),
]
