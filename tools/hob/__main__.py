"""What the hob script starts, with Python isolated (-I): nothing is imported from the directory where the
user stands. What isolation also leaves out, and matplotlib may come from, is added here.

An old Python reads this file, and this file alone: where python3 is older than Hob needs (3.6 on SLES 15 and
RHEL 8), a newer one that the system has beside it takes over."""

import os
import shutil
import site
import sys

NEEDED = (3, 9)
NEWEST = 14  # python3.14: the last that is looked for

if sys.version_info < NEEDED:
    names = [f"python3.{minor}" for minor in range(NEWEST, NEEDED[1] - 1, -1)]
    newer = next(filter(None, map(shutil.which, names)), None)
    if newer is None:
        print(
            f"hob: {sys.executable} is Python {sys.version_info[0]}.{sys.version_info[1]}, and PATH has none of "
            f"{names[-1]} to {names[0]}: hob exec works without, the rest needs one",
            file=sys.stderr,
        )
        sys.exit(2)
    os.execv(newer, [newer, "-I", "-B", os.path.abspath(__file__)] + sys.argv[1:])

if sys.flags.isolated:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path += [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    if sys.prefix == sys.base_prefix and os.path.isdir(site.getusersitepackages()):
        sys.path.append(site.getusersitepackages())

from hob.cli import main  # noqa: E402  after the path

main()
