"""The recipe of packaging/container, built by buildah, and the lines of docs/containers.md run with its image.

The first line's debian:12 is made here by debootstrap, and a script that binds what apptainer binds and
changes the root stands for apptainer. Skipped where buildah, debootstrap or root is missing, or Debian's
archive is out of reach."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BIN, BUILD, ROOT, YIELDING, clean_environment, install, mpis

from lines_test import typed_lines

PAGE = ROOT / "docs" / "containers.md"
LCC = "--rmat 8 8"
ROOM = 8 << 30  # B

# `apptainer exec [--bind DIRECTORY] IMAGE COMMAND...`: environment and descriptors are inherited.
APPTAINER = """#!/bin/sh
set -eu
[ "$1" = exec ] || exit 2
shift
bound=
[ "$1" != --bind ] || { bound=$2; shift 2; }
image=$(readlink -f "$1"); shift
exec unshare -m sh -eu -c '
image=$1 bound=$2; shift 2
mkdir -p "$image/$bound" "$image/$PWD" "$image/$PROGRAMS"
for each in /dev /proc /sys /tmp "$PROGRAMS" $bound; do mount --rbind "$each" "$image/$each"; done
export HOME PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin
exec chroot "$image" sh -c "cd \\"\\$0\\" && exec \\"\\$@\\"" "$PWD" "$@"' sh "$image" "$bound" "$@"
"""


def why_not():
    missing = [name for name in ("buildah", "debootstrap") if not shutil.which(name)]
    if missing:
        return f"not installed: {' '.join(missing)}"
    if os.geteuid() != 0:
        return "debootstrap and chroot need root"
    if "mpich4" not in mpis():
        return "no program that is compiled for Debian's MPICH"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        return "mount namespaces are not allowed here"
    return ""


def in_memory():
    """A directory that is in memory, where there is room for some copies of a Debian: on a disk, unpacking it
    takes three minutes in place of one. None: the usual one."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and shutil.disk_usage(shared).free > ROOM else None


def setUpModule():
    why = why_not()
    if why:
        raise unittest.SkipTest(why)


class Recipe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(
            prefix="hob-container-", dir=in_memory(), ignore_cleanup_errors=True
        )
        cls.addClassCleanup(scratch.cleanup)
        cls.home = Path(scratch.name)
        cls.words = ["buildah", "--root", cls.home / "storage", "--runroot", cls.home / "run"]
        cls.words += ["--storage-driver", "vfs"]
        cls.addClassCleanup(lambda: cls.buildah("umount", "--all", check=False))
        root = cls.home / "debian"
        # As the debian:12 of registries has it: no write waits for the disk.
        (root / "etc/dpkg/dpkg.cfg.d").mkdir(parents=True)
        (root / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", "bookworm", root],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise unittest.SkipTest(
                f"no Debian to be had: {done.stdout[-500:]}{done.stderr[-500:]}"
            )
        base = cls.buildah("from", "scratch").strip()
        cls.buildah("add", "-q", base, root, "/")
        cls.buildah("commit", "-q", "--rm", base, "debian:12")
        shutil.rmtree(root)
        packed = [ROOT / "scripts" / "wheel", BUILD, cls.home / "dist"]
        subprocess.run(packed, check=True, capture_output=True)
        recipe = ROOT / "packaging" / "container" / "Containerfile"
        options = ("--isolation", "chroot", "--pull=never", "-t", "app", "-f", recipe)
        cls.buildah("build", *options, cls.home / "dist")
        container = cls.buildah("from", "--pull=never", "app").strip()
        os.symlink(cls.buildah("mount", container).strip(), cls.home / "app.sif")
        os.symlink("app.sif", cls.home / "image.sif")

        tools = cls.home / "tools"
        tools.mkdir()
        # mpiexec finds its own programs beside itself, so it is no link.
        launcher = f'#!/bin/sh\nexec {mpis()["mpich4"]["exec"]} "$@"\n'
        for name, text in (("apptainer", APPTAINER), ("mpiexec", launcher)):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        install(cls.home / "hob")
        shutil.copy(BIN / "mpich4" / "lcc", cls.home / "app")

    @classmethod
    def buildah(cls, *words, check=True):
        done = subprocess.run([*cls.words, *words], capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"buildah {words}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def start(self, line):
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self.home,
            env=clean_environment(
                HOME=str(self.home),
                PROGRAMS=str(self.home),
                PATH=f"{self.home / 'tools'}{os.pathsep}{os.environ['PATH']}",
                **YIELDING,
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def lines(self, word):
        """The page's lines with `word`, for two ranks of lcc; what Slurm would start, mpiexec does."""
        found = [line for line in typed_lines(PAGE) if word in line]
        self.assertTrue(found, f"{PAGE} has no line with {word}")
        for line in found:
            line = line.replace("srun --mpi=pmi2", "mpiexec -n 2").replace("-n 512", "-n 2")
            yield f"{line} {LCC}"

    def test_lines_of_the_page(self):
        for line in self.lines("hob exec"):
            # All inside: the same image without a launcher outside.
            line = line.replace("podman run app", "apptainer exec app.sif").replace("-n 4", "-n 2")
            with self.subTest(line):
                out, err = self.start(line)
                self.assertIn("mean ", out)
                self.assertEqual(len(re.findall("remote gets,|gets was remote", err)), 1, err)

    def test_what_is_loaded_is_the_images(self):
        out, _ = self.start("apptainer exec app.sif hob exec --which ./app")
        found = json.loads(out)
        self.assertEqual(found["family"], "mpich")
        self.assertTrue(found["hob"].startswith("/usr/local/"), found)

    def test_ghosts(self):
        line = f"mpiexec -n 3 apptainer exec app.sif hob exec --ghosts 1 --json {self.home}/g.json ./app"
        self.start(f"{line} {LCC}")
        report = json.loads((self.home / "g.json").read_text())
        self.assertEqual(report["program"]["ranks"], 2)

    def test_hob_run_inside(self):
        out, err = self.start(f"apptainer exec app.sif hob run -n 2 ./app {LCC}")
        self.assertIn("mean ", out)
        self.assertEqual(len(re.findall("remote gets,|gets was remote", err)), 1, err)


if __name__ == "__main__":
    unittest.main()
