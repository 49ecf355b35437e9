"""What the hob script starts, with Python isolated (-I): nothing is imported from the directory where the
user stands. What isolation also leaves out, and matplotlib may come from, is added here."""

import os
import site
import sys

if sys.flags.isolated:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path += [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    if sys.prefix == sys.base_prefix and os.path.isdir(site.getusersitepackages()):
        sys.path.append(site.getusersitepackages())

from hob.cli import main  # noqa: E402  after the path

main()
