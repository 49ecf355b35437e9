"""Programs that fetch: the cache is for them."""

from hob.real import inputs
from hob.real.program import Program


def _gdi(kernel, at_least, reason, extra=()):
    return Program(
        name=f"gdi-{kernel}",
        origin="spcl/GDI-RMA at ce983bb, with spcl/liblsb",
        what="graph database: gets of 8 or 512 bytes, flush_all, barrier in each iteration",
        mechanism="cache",
        executable=f"bench_gdi.{kernel}",
        arguments=("-s", "8", "-e", "8", "-m", "33554432", "-i", "3", *extra),
        figures="lsb.*.r0",
        seconds=r"^\s+\d+(?:\s+[0-9.]+)*\s+(\d+\.\d+)\s+\d+\s*$",
        at_least=at_least,
        unbatched=at_least,
        reason=reason,
    )


BALE = "jdevinney/bale at 1b8f673, src/bale_classic over pmodels/oshmpi at ee5cf11"


def _bale(name, arguments, at_least, answers="", reason="first touches", **more):
    return Program(
        name=f"bale-{name}",
        origin=BALE,
        what="OpenSHMEM: single words of a distributed table or matrix",
        mechanism="cache",
        executable=name,
        arguments=arguments,
        answers=answers,
        seconds=r"AGP:? +([0-9.]+)",
        at_least=at_least,
        unbatched=at_least,
        reason=reason,
        **more,
    )


def _ddstore(name, arguments, at_least, reason):
    return Program(
        name=name,
        origin="ORNL/DDStore at cc80335, with tests/real/drivers/ddstore_epochs.cpp",
        what="samples for training: lock, get of 3 KB, unlock for each, in shuffled epochs",
        mechanism="cache",
        executable="ddstore-epochs",
        arguments=arguments,
        answers=r"samples fetched \d+, wrong \d+",
        seconds=r"seconds in gets ([0-9.]+)",
        at_least=at_least,
        reason=reason,
    )


DASH = Program(
    name="dash-mindeg",
    origin="dash-project/dash at 99f2995, app.01.mindeg",
    what="minimum degree ordering of a graph of 60 nodes over DASH: nodes in a dynamic window, their neighbours in a created "
    "one, an Rget and a wait for each, barriers",
    mechanism="cache",
    executable="app.01.mindeg.mpi",
    arguments=("graph.mtx",),
    inputs={"graph.mtx": inputs.graph(60, 150)},
    answers=r"^Step \d+/60: min = \d+$",
    repeats=9,
    at_least=1.5,
    reason="first touches, and each step ends with barriers before which nodes were written",
)
ITSELF = "checked by the program"

PROGRAMS = [
    _gdi("lcc", 1.6, "its reuse is across two collectives in each measurement"),
    _gdi("wcc", 5.0, "first touches"),
    _gdi("pr", 5.0, "first touches", ("-d",)),
    _gdi("cdlp", 5.0, "first touches"),
    _bale("triangles", ("-n", "2000", "-z", "16", "-M", "1"), 4.0, r"triangles: +\d+"),
    _bale("ig", ("-n", "60000", "-T", "10000", "-M", "1"), 2.2, checked=ITSELF),
    _bale(
        "topo",
        ("-n", "2000", "-M", "1"),
        0.97,
        r"num levels = +\d+",
        "atomics and puts between its gets",
        repeats=7,
    ),
    Program(
        name="cgsolve-rma",
        origin="kokkos/kokkos-remote-spaces at b8b6f06 with Kokkos",
        what="conjugate gradients: one Rget and Wait for each remote element",
        mechanism="cache",
        executable="cgsolve_rma",
        arguments=("14", "20"),
        seconds=r"^\d+, \d+, \d+, [-+.0-9e]+, ([0-9.]+),",
        at_least=3.0,
        unbatched=3.0,
    ),
    DASH,
    _ddstore(
        "ddstore",
        (),
        1.2,
        "a checked lock may follow another rank's exclusive one, and locks of the own rank are among them",
    ),
    _ddstore(
        "ddstore-nocheck",
        ("nocheck=1",),
        3.0,
        "half of the samples are the own rank's, which DDStore locks, too",
    ),
    _ddstore(
        "ddstore-training",
        ("step=50",),
        0.95,
        "as above, and an allreduce after each 50 samples",
    ),
    Program(
        name="imb-rma-get",
        origin="intel/mpi-benchmarks at 46e8757, IMB-RMA",
        what="the same bytes fetched again and again",
        mechanism="cache",
        executable="IMB-RMA",
        arguments=("-npmin", "2", "-iter", "300", "-time", "0.15", "Unidir_get"),
        seconds=r"^ +65536 +\d+ +([0-9.]+) ",
        at_least=5.0,
    ),
    Program(
        name="opencoarrays-get",
        origin="sourceryinstitute/OpenCoarrays, its tests as Debian's libcoarrays-mpich-dev has them, "
        "below /usr/lib/*/open-coarrays/mpich",
        what="coarray Fortran: reads of remote array sections",
        mechanism="cache",
        executable="get_array",
        mpi="mpich4",
        answers=r"^ *(?:OK|Test passed\.?).*$",
        at_least=0.97,
        reason="each read is between a lock and an unlock, and a lock drops all copies",
    ),
]
