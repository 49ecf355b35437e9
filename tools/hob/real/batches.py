"""Programs that update or fetch single elements one after another: batches are for those that complete many at once."""

from hob.real.cache import BALE, ITSELF
from hob.real.program import Program

PROGRAMS = [
    Program(
        name="bale-histo",
        origin=BALE,
        what="OpenSHMEM: adds to random places of a distributed table, all completed by one barrier",
        mechanism="batches",
        executable="histo",
        arguments=("-n", "20000", "-T", "10000", "-M", "1"),
        # With one operation said to be in use, OSHMPI makes each an MPI_Accumulate; else an active message.
        environment={"OSHMPI_AMO_OPS": "add"},
        seconds=r"AGP:? +([0-9.]+)",
        checked=ITSELF,
        repeats=9,
        at_least=3.0,
        unbatched=0.97,
    ),
    Program(
        name="krs-randomaccess",
        origin="kokkos/kokkos-remote-spaces at b8b6f06 with Kokkos",
        what="random updates of a distributed array: MPI_Rget and MPI_Wait, then MPI_Rput and MPI_Wait, for each",
        mechanism="batches",
        executable="randomaccess",
        arguments=("-s", "1024", "-t", "1", "-p", "100"),
        seconds=r"^GlobalView(?:,[^,]+){9},([0-9.]+),",
        repeats=5,
        at_least=0.97,
        unbatched=0.97,
        reason="each operation is completed before the next one, and a value that was read is written at once: nothing to batch, "
        "nothing to keep",
    ),
    Program(
        name="bcl-all-to-all",
        origin="berkeley-container-library/bcl at 5a2a207, examples/benchmarks/mer-bench",
        what="random inserts of 1 kB as its hash map does them: a counter by MPI_Fetch_and_op and a flush, then MPI_Rput",
        mechanism="batches",
        executable="all-to-all-async",
        seconds=r"completed in ([0-9.]+)s",
        repeats=9,
        at_least=0.97,
        unbatched=0.97,
        reason="the counter is completed before each insert, and an insert of 1 kB is no small operation: nothing to "
        "batch",
    ),
]
