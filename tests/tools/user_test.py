"""The two commands as an ordinary user meets them: no root, an empty home, a compiler, make and python3.

bare_machine removes what Debian has of the libraries that Hob needs; nothing here may find them."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ROOT

# Everything in one machine, since what setup fetches is gone with it. The demo is a short one; of
# `make test` this compiles what needs a library that setup unpacked, and runs that.
COMMANDS = r"""
set -eu
make demo JOBS=2 DEMO='--ranks 2 --seconds 1'
test -s out/demo/demo.html
./hob replay --help >/dev/null
./hob bench hit 2>&1 | grep -q 'run `make bench-programs` in'
echo "DEMO DONE"
ls .deps
echo "FOR THE TESTS"
make setup
PATH=$PWD/.deps/venv/bin:$PATH
cmake --preset default -DHOB_BUILD_TESTS=ON -DHOB_BUILD_BENCH=ON
cmake --build build/default -j 2 --target heat_placement_test ghost_placement_test mpi-program-openmpi5-lcc
ctest --test-dir build/default --output-on-failure --no-tests=error -R 'unit.*placement'
echo "TESTS DONE"
"""

# Of this machine's settings, those by which it reaches package registries.
KEPT = ("PIP_", "SSL_", "REQUESTS_", "CURL_", "http_", "https_", "no_", "HTTP", "NO_PROXY")


class OrdinaryUser(unittest.TestCase):
    def test_both_commands(self):
        kept = [
            f"{name}={value}"
            for name, value in os.environ.items()
            if name.startswith(KEPT) and not any(c in value for c in " \t\n")
        ]
        with tempfile.TemporaryDirectory(prefix="hob-user-") as scratch:
            done = subprocess.run(
                [Path(__file__).with_name("bare_machine"), scratch, ROOT, "sh", "-c", COMMANDS],
                env={**os.environ, "BARE_MACHINE_ENVIRONMENT": " ".join(kept)},
                capture_output=True,
                text=True,
                timeout=1500,
                check=False,
            )
        text = done.stdout + done.stderr
        if done.returncode == 77:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, text[-6000:])
        for said in ("all the same", "DEMO DONE", "TESTS DONE", "100% tests passed"):
            self.assertIn(said, text)
        demo = text.split("FOR THE TESTS")[0]
        self.assertNotIn("DIFFERENT", demo)
        # The demo asks for nothing that only the tests need.
        self.assertNotIn("openmpi", demo.split("DEMO DONE")[1])
        self.assertNotIn("gtest", demo)


if __name__ == "__main__":
    unittest.main()
