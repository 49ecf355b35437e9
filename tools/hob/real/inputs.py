"""Input files of programs. Those of FDS and of the other simulations are small: minutes of a real one are hours."""

import random
from pathlib import Path

from hob.benchlib import BenchError

_HPCC = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


def hpcc():
    """Debian's example input, for a grid of 1 x 2 processes."""
    try:
        lines = _HPCC.read_text().splitlines()
    except OSError as error:
        raise BenchError(f"{_HPCC}: {error.strerror}") from error
    return "".join(f"{'1 Ps' if line.split()[1:] == ['Ps'] else line}\n" for line in lines)


def graph(nodes, edges):
    """A MatrixMarket file of a random graph, always the same one."""
    chosen, state = set(), random.Random(7)
    while len(chosen) < edges:
        low, high = sorted((state.randrange(nodes), state.randrange(nodes)))
        if low < high:
            chosen.add((high + 1, low + 1))
    lines = "".join(f"{row} {column}\n" for row, column in sorted(chosen))
    return f"%%MatrixMarket matrix coordinate pattern symmetric\n{nodes} {nodes} {edges}\n{lines}"


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

# One molecule; others of a cluster are this one moved, 2.9 Angstrom from each other.
_WATER = ((0.0, 0.0, 0.1173, "O"), (0.0, 0.7572, -0.4692, "H"), (0.0, -0.7572, -0.4692, "H"))


def _cluster(molecules):
    lines = []
    for number in range(molecules):
        across, down = number % 3, number // 3
        for x, y, z, atom in _WATER:
            lines.append(f" {atom} {x + 2.9 * across:.4f} {y + 3.1 * down:.4f} {z:.4f}")
    return "\n".join(lines)


def nwchem(molecules, basis, task, more=""):
    """NWChem's input for a cluster of water."""
    return f"""title "water"
start water
memory total 400 mb
geometry units angstroms noautosym
{_cluster(molecules)}
end
basis
 * library {basis}
end
{more}task {task} energy
"""


def _meshes():
    """Lines of 256 meshes of 4 x 4 x 4 cells; each rank has one layer of 8 x 8, so that all neighbours above and below
    are another rank's: 3,872 persistent receives on a rank between two others."""
    return "\n".join(
        f"&MESH IJK=4,4,4, XB={x},{x + 1},{y},{y + 1},{z},{z + 1}, MPI_PROCESS={z} /"
        for z in range(4)
        for y in range(8)
        for x in range(8)
    )


FDS_MESHES = f"""&HEAD CHID='meshes', TITLE='Air through 256 meshes' /
{_meshes()}
&TIME T_END=0.6 /
&RADI RADIATION=F /
&MISC STRATIFICATION=F /
&PRES VELOCITY_TOLERANCE=0.01, MAX_PRESSURE_ITERATIONS=20 /
&SURF ID='BLOW', VEL=-2.0 /
&VENT XB=2.0,4.0,2.0,4.0,0.0,0.0, SURF_ID='BLOW' /
&VENT MB='XMAX', SURF_ID='OPEN' /
&VENT MB='ZMAX', SURF_ID='OPEN' /
&OBST XB=2.0,5.0,3.0,6.0,2.0,2.5 /
&DUMP DT_DEVC=0.1 /
&DEVC XYZ=3.1,3.1,1.6, QUANTITY='W-VELOCITY', ID='w' /
&DEVC XYZ=6.1,5.1,3.1, QUANTITY='U-VELOCITY', ID='u' /
&DEVC XYZ=4.6,2.6,2.6, QUANTITY='V-VELOCITY', ID='v' /
&TAIL /
"""
