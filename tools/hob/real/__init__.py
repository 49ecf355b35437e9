"""Programs that were not written for Hob: what they are, how they are run, and how their answers and
times are read. `hob bench real` runs those whose executables it finds, and writes the page about them.

Hob fetches and builds none of them. `origin` names the public source and the revision that was
tried, or the Debian package; each is built unmodified as its own documentation says, with the MPI
library named by `mpi`. Three are libraries without a program that repeats: their drivers are in
tests/real/drivers.
"""

from hob.real.batches import PROGRAMS as BATCHES
from hob.real.cache import PROGRAMS as CACHE
from hob.real.ghosts import PROGRAMS as GHOSTS
from hob.real.matching import PROGRAMS as MATCHING
from hob.real.nothing import PROGRAMS as NOTHING

PROGRAMS = [*CACHE, *BATCHES, *MATCHING, *GHOSTS, *NOTHING]
