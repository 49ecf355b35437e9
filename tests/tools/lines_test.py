"""Every line that README.md and docs/ tell a user to type is run as it stands there, in a directory with a
program `app`, or is in the table below with the reason why it is not run here."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BUILD, ROOT, YIELDING, clean_environment, hob, hob_exec, install, mpis

from run_test import PROGRAM

# What a line is changed to before it is run: the size of a cluster, and of what takes long where cores are shared.
CHANGES = (
    (r"-n 512\b", "-n 2"),
    (r"-n 516\b", "-n 3"),  # with one ghost
    (r"-n 34\b", "-n 3"),
    (r"--depth 8192\b", "--depth 1024"),
    (r"--measure\b", "--measure --turns 1"),
    (r"^mpirun\b", "mpiexec"),
    (r"\binput\b", ""),
    (r"\bnumactl --localalloc\b", "taskset -c 0"),  # a wrapper as well, and installed everywhere
)

# Lines that are not run here: (pattern, reason).
ELSEWHERE = (
    (r"^make demo\b", "tools.user runs it, as an ordinary user"),
    (r"^make test\b", "this test is part of it"),
    (r"^make wheel\b", "tools.wheel packs and installs one"),
    (r"^cmake (-B|--build|--install)", "tools.cluster runs it, with each MPI library alone"),
    (r"\b(apptainer|podman)\b", "tools.container builds the image and runs the lines"),
    (r"^(srun|sbatch|salloc)\b", "tools.slurm runs them, in a Slurm of its own"),
    (r"^flux\b", "needs Flux"),
    (r"^pip install\b", "tools.wheel runs it"),
    (r"^(./)?hob bench\b", "takes minutes; `hob bench` measures, and has tests of its own"),
    (r"^hob replay --suite\b", "takes minutes; unit.replay_test runs parts of the suites"),
    (r"^(spack|apt-get)\b", "needs spack, or changes the machine"),
)

# Pages of what was measured once: their commands take hours or other people's programs.
LEFT_OUT = ("docs/measurements/", "docs/developers/")

COMMAND = re.compile(
    r"^(\w+=\S+ )*(\./hob|hob|\S*/hob|make|cmake|mpicc|mpiexec|mpirun|srun|sbatch|salloc|flux|podman|apptainer|pip|spack|"
    r"apt-get|lcc)"
    r"( |$)"
)


def typed_lines(path):
    """The commands in the blocks of a page, without comments."""
    fenced = False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            command = re.sub(r"\s+#\s.*", "", line).strip()
            if COMMAND.match(command):
                yield command


# Its program is compiled by the line that it names, and prints what it says.
TUTORIAL = ROOT / "docs/tutorial.md"
SUM = "sum 39778.594, "


def program_of(path):
    """The C program in a page."""
    return re.search(r"(?ms)^    #include <mpi\.h>.*?^    \}$", path.read_text())[0]


def inline_commands(path):
    """Commands of hob inside a page's sentences and tables, as words."""
    fenced = False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            for code in re.findall(r"`([^`]+)`", line):
                found = re.search(r"(?:^| |/)hob ([a-z].*)$", code)
                if found:
                    yield found[1].split()


def pages():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if not str(path.relative_to(ROOT)).startswith(LEFT_OUT):
            yield path


class Lines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mpi = mpis().get("mpich5") or next(iter(mpis().values()))
        cls.scratch = tempfile.TemporaryDirectory(prefix="hob-lines-")
        cls.home = Path(cls.scratch.name)
        install(cls.home / "hob")
        (cls.home / "short.c").write_text(PROGRAM)
        subprocess.run([cls.mpi["cc"], cls.home / "short.c", "-o", cls.home / "app"], check=True)
        (cls.home / "app.c").write_text(program_of(TUTORIAL))
        (cls.home / "app.py").write_text("from mpi4py import MPI\n\nprint(MPI.COMM_WORLD.size)\n")
        (cls.home / "job-step.sh").write_text("#!/bin/sh\nexec ./app\n")
        (cls.home / "job-step.sh").chmod(0o755)
        (cls.home / "graph.txt").write_text("0 1\n1 2\n2 0\n2 3\n3 0\n")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def prepare(self, directory):
        """A directory as the user's: ./hob, ./app, and what an earlier line of the page left."""
        for name in ("app", "app.c", "app.py", "job-step.sh", "graph.txt"):
            if not (directory / name).exists():
                shutil.copy(self.home / name, directory / name)
        if not (directory / "hob").exists():
            os.symlink(ROOT / "hob", directory / "hob")

    def start(self, line, directory):
        for pattern, replacement in CHANGES:
            line = re.sub(pattern, replacement, line)
        programs = BUILD / "bin" / "mpich5"
        path = [Path(self.mpi["exec"]).parent, directory, programs, os.environ["PATH"]]
        return subprocess.run(
            ["sh", "-c", line],
            cwd=directory,
            env=clean_environment(
                HOME=str(self.home),
                PATH=os.pathsep.join(map(str, path)),
                OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                **YIELDING,
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def test_every_line_works_or_has_a_reason(self):
        ran = set()
        for page in pages():
            with tempfile.TemporaryDirectory(dir=self.home) as scratch:
                directory = Path(scratch)
                self.prepare(directory)
                for line in typed_lines(page):
                    if any(re.search(pattern, line) for pattern, _ in ELSEWHERE):
                        continue
                    with self.subTest(page=str(page.relative_to(ROOT)), line=line):
                        if line in ran and ">" not in line and "--json" not in line:
                            continue
                        ran.add(line)
                        done = self.start(line, directory)
                        self.assertEqual(
                            done.returncode, 0, done.stdout[-1500:] + done.stderr[-1500:]
                        )
                        if page == TUTORIAL and re.search(r"hob run (?!.*--measure).*\./app", line):
                            self.assertIn(SUM, done.stdout)
                            self.assertIn(SUM, page.read_text())
        self.assertGreater(len(ran), 8)

    def test_commands_in_sentences_exist(self):
        helps, seen = {}, 0

        def help_of(*words):
            if words not in helps:
                start = hob_exec if words[:1] == ("exec",) else hob
                helps[words] = start(*words[start is hob_exec :], "--help")[1]
            return helps[words]

        for page in [*pages(), *sorted((ROOT / "docs" / "developers").glob("*.md"))]:
            for command, *words in inline_commands(page):
                with self.subTest(page=page.name, command=command, words=words):
                    self.assertRegex(help_of(), rf"(?m)^ +{command}\b")
                    known = help_of(command)
                    if command == "bench" and words and words[0].islower():
                        self.assertRegex(known, rf"(?m)^  {re.escape(words[0])} ")
                        known += help_of(command, words.pop(0))
                    for option in words:
                        if option.startswith("--"):
                            self.assertIn(option.split("=")[0], known)
                        elif not option.startswith("-"):
                            break  # the program, and what is its own
                    seen += 1
        self.assertGreater(seen, 30)

    def test_commands_in_sentences_run(self):
        found = {
            tuple(words)
            for page in pages()
            for words in inline_commands(page)
            if {"./app", "app.py"} & set(words)
        }
        found.add(("run", "-n", "4", "python3", "app.py"))  # README, behind a line
        self.assertIn("python3 app.py", (ROOT / "README.md").read_text())
        self.assertGreater(len(found), 6)
        with tempfile.TemporaryDirectory(dir=self.home) as scratch:
            self.prepare(Path(scratch))
            for words in sorted(found):
                with self.subTest(words=words):
                    done = self.start(f"./hob {' '.join(words)}", Path(scratch))
                    good = (0, 1, 3) if words[0] == "doctor" else (0,)
                    self.assertIn(done.returncode, good, done.stdout[-900:] + done.stderr[-900:])

    def test_every_reason_is_needed(self):
        lines = [line for page in pages() for line in typed_lines(page)]
        self.assertGreater(len(lines), 12)
        for pattern, _ in ELSEWHERE:
            self.assertTrue(any(re.search(pattern, line) for line in lines), pattern)


if __name__ == "__main__":
    unittest.main()
