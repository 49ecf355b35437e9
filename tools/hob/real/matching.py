"""Programs with many receives posted: matching is for them."""

from hob.real import inputs
from hob.real.program import Program

PROGRAMS = [
    Program(
        name="netgauge-queues",
        origin="spcl/netgauge at f3ef494",
        what="ping-pong behind a queue of receives that never match, up to 2,400 of them",
        mechanism="matching",
        executable="netgauge",
        arguments=("-m", "mpi", "-x", "one_one_req_queue", "-c", "5"),
        mpi="openmpi4",
        setup="node",
        seconds=r"^(?:19[5-9]\d|20[0-4]\d) reqs\s+-> ([0-9.]+) us",
        # It ends at 5,000 by itself; what is behind 2,050 would take minutes.
        at_least=5.0,
        reason="what remains is the way between two cores: 0.37 us, or 0.73 where the machine has placed them far from "
        "each other, with matching always taken over as well",
    ),
    Program(
        name="fds-256-meshes",
        origin="firemodels/fds, the fork marcosvanella/fds at 1effb11",
        what="persistent receives of 256 meshes, 64 on each of 4 ranks",
        mechanism="matching",
        executable="fds_ompi_gnu_linux",
        arguments=("meshes.fds",),
        mpi="openmpi4",
        setup="node",
        ranks=4,
        environment={"OMP_NUM_THREADS": "1"},
        inputs={"meshes.fds": inputs.FDS_MESHES},
        answers=r"^ *[-+.0-9E]+(?:, *[-+.0-9E]+)+ *$",
        answer_files="*_devc.csv",
        at_least=0.97,
        beside_always=0.97,
        reason="most of its time is computation",
    ),
]
