"""What people expect of any command: its version, help, manual pages, completion; Python 3.9; two runs
compared; the doctor."""

import ast
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import sample
from support import BIN, ROOT, hob, hob_exec, mpis, run, write_json

from hob import __version__, cli, compare, doctor, manual
from hob.report.data import Run

PYTHON = [*(ROOT / "tools").rglob("*.py"), *(ROOT / "packaging" / "pip").rglob("*.py")]


class Words(unittest.TestCase):
    def test_version_is_one_everywhere(self):
        self.assertEqual(hob("-v"), (0, f"hob {__version__}\n", ""))
        for word in ("--version", "-V"):
            self.assertEqual(hob(word), (0, f"hob {__version__}\n", ""))
            self.assertEqual(hob_exec(word), (0, f"hob {__version__}\n", ""))
            self.assertEqual(hob_exec(word, PMI_RANK="1"), (0, "", ""))
        self.assertIn(f'\nversion = "{__version__}"', (ROOT / "pyproject.toml").read_text())
        project = f"project(hob VERSION {__version__} "
        self.assertIn(project, (ROOT / "CMakeLists.txt").read_text())

    def test_help_of_a_command(self):
        for name in ("run", "advise", "compare", "exec"):
            status, out, err = hob("help", name)
            self.assertEqual(status, 0, err)
            self.assertIn("sage: ", out)
            self.assertIn(f"hob {name}", out)
        self.assertEqual(hob("help", "help"), hob("help"))
        self.assertIn("hob bench hit", hob("help", "bench", "hit")[1])
        status, _, err = hob("help", "advice")
        self.assertEqual(status, 2)
        self.assertIn("did you mean 'advise'?", err)

    def test_exit_statuses_are_where_people_look(self):
        page = (ROOT / "docs" / "troubleshooting.md").read_text()
        for code, _ in cli.STATUSES:
            self.assertIn(code, cli.statuses())
            self.assertIn(f"| {code} |", page)


class Manual(unittest.TestCase):
    def test_has_a_page_for_each_command(self):
        pages = manual.pages()
        self.assertEqual(set(pages), {"hob.1", *(f"hob-{name}.1" for name in cli.COMMANDS)})
        self.assertIn("\\-\\-ghosts", pages["hob-run.1"])
        self.assertIn("\\-\\-verify", pages["hob-exec.1"])
        wanted = [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "EXAMPLES",
            "EXIT STATUS",
            "SEE ALSO",
        ]
        for name, text in pages.items():
            found = re.findall(r"(?m)^\.SH (.*)", text)
            self.assertEqual([one for one in found if one in wanted], wanted, name)

    def test_a_help_text_becomes_sections(self):
        text = "usage: hob x A\n       hob x B\n\nDoes x.\n\noptions:\n  -a  b\n\nwords:\n  c\n\nexamples:\n  hob x\n\nMore.\n"
        self.assertEqual(
            list(manual.sections_of(text).items()),
            [
                ("SYNOPSIS", ["hob x A", "hob x B"]),
                ("DESCRIPTION", ["Does x.", "", "More."]),
                ("OPTIONS", ["  -a  b"]),
                ("WORDS", ["  c"]),
                ("EXAMPLES", ["  hob x"]),
            ],
        )

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_is_legal(self):
        for name, text in manual.pages().items():
            done = subprocess.run(
                ["groff", "-man", "-ww", "-z", "-Tutf8"], input=text, capture_output=True, text=True
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_completion_of_bash(self):
        with tempfile.TemporaryDirectory() as scratch:
            script = Path(scratch, "hob.bash")
            script.write_text(manual._bash())
            ask = (
                f"source {script}; COMP_WORDS=(hob %s); COMP_CWORD=%d; _hob; echo ${{COMPREPLY[*]}}"
            )
            for words, at, wanted in (
                ("ad", 1, "advise"),
                ("help comp", 2, "compare completion"),
                ("run --gh", 2, "--ghosts"),
                ("exec --verif", 2, "--verify"),
                ("exec --no-c", 2, "--no-command"),
                ("replay --pol", 2, "--policy"),
                ("bench mat", 2, "match-mpi"),
                ("bench a", 2, "advise all"),
                ("completion z", 2, "zsh"),
            ):
                out = run(["bash", "-c", ask % (words, at)])[1].split()
                for each in wanted.split():
                    self.assertIn(each, out)

    def test_other_shells(self):
        for shell, part in (("zsh", "#compdef hob"), ("fish", "-l ghosts")):
            status, out, err = hob("completion", shell)
            self.assertEqual(status, 0, err)
            self.assertIn(part, out)


class Python(unittest.TestCase):
    def test_3_9_is_enough(self):
        """By syntax, and by annotations that a class evaluates."""
        for path in PYTHON:
            text = path.read_text()
            tree = ast.parse(text, str(path), feature_version=(3, 9))
            names = {
                alias.name
                for node in ast.walk(tree)
                if isinstance(node, (ast.Import, ast.ImportFrom))
                for alias in node.names
            }
            annotations = [
                node.annotation
                for node in ast.walk(tree)
                if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation
            ]
            unions = [a for one in annotations for a in ast.walk(one) if isinstance(a, ast.BinOp)]
            self.assertTrue(not unions or "annotations" in names, path)
            self.assertFalse(names & {"tomllib", "pairwise", "UTC", "StrEnum"}, path)
            self.assertFalse(re.search(r"zip\(.*strict=|slots=True", text), path)

    def test_an_older_one_runs_it(self):
        names = ("python3.9", "python3.10")
        own = Path.home().glob(".pyenv/versions/3.*/bin/python3.?*")
        places = [shutil.which(name) for name in names] + sorted(p for p in own if p.name in names)
        usable = [p for p in places if p and run([p, "--version"])[0] == 0]
        if not usable:
            self.skipTest("no older Python here")
        everything = (
            "import sys, pkgutil, importlib; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])\n"
            "import hob\n"
            "for one in pkgutil.walk_packages(hob.__path__, 'hob.'):\n"
            "    if not one.name.endswith('__main__'): importlib.import_module(one.name)\n"
        )
        code, _, err = run([usable[0], "-I", "-c", everything, ROOT / "tools"])
        self.assertEqual(code, 0, err)
        with tempfile.TemporaryDirectory() as scratch:
            file = write_json(scratch, sample.report())
            for words in (["advise", "--from", file], ["report", "--text", file], ["doctor"]):
                start = [usable[0], "-I", "-B", ROOT / "tools" / "hob" / "__main__.py"]
                code, _, err = run([*start, *words], _HOB_BIN=str(BIN))
                self.assertIn(code, (0, 1), err)
                self.assertNotIn("Traceback", err)


class Compare(unittest.TestCase):
    def test_shows_what_differs(self):
        first, second = sample.report(ghosts=0), sample.report(ghosts=0)
        second["program"]["seconds"] = 6.17
        second["settings"]["cache_size"]["value"] = "8M"
        for rank in second["ranks"]:
            rank["counters"]["acquires"] = 34
        rows = {row[0]: row[1:] for row in compare.differences(Run(first), Run(second))}
        self.assertEqual(rows["run time"], (12.34, 6.17))
        self.assertEqual(rows["cache_size"], ("4M", "8M"))
        self.assertEqual(rows["acquires"], (68, 136))
        self.assertNotIn("messages_sent", rows)
        with tempfile.TemporaryDirectory() as scratch:
            files = [write_json(scratch, d, n) for d, n in ((first, "a"), (second, "b"))]
            status, out, err = hob("compare", *files)
            self.assertEqual(status, 0, err)
            self.assertRegex(out, r"run time +12.3 s +6.17 s +0.50 x")
            self.assertRegex(out, r"acquires +68 +136 +2.00 x")
            status, out, err = hob("compare", *files, "--json", "-")
        self.assertEqual(status, 0, err)
        document = json.loads(out)
        self.assertEqual(document["a"]["verdict"]["kind"], "nothing")
        rows = {row["what"]: row for row in document["differences"]}
        self.assertEqual(
            rows["run time"], {"what": "run time", "a": 12.34, "b": 6.17, "b_to_a": 0.5}
        )
        self.assertIsNone(rows["cache_size"]["b_to_a"])

    def test_counters_are_not_compared_with_a_run_without_hob(self):
        first = sample.report(ghosts=0)
        second = {**first, "ranks": [], "settings": {"off": {"value": "on", "from": "environment"}}}
        rows = [row[0] for row in compare.differences(Run(first), Run(second))]
        self.assertIn("off", rows)
        self.assertNotIn("acquires", rows)


class Doctor(unittest.TestCase):
    def test_says_what_is_here(self):
        status, out, err = hob("doctor", "--json", HOB_HOME="/opt/hob")
        self.assertIn(status, (0, 1), err)
        found = {one["what"]: one for group in json.loads(out).values() for one in group}
        for what in ("kernel", "page tracking", "adapters", "pinning", "locked memory", "job"):
            self.assertIn(what, found)
        self.assertEqual(found["hob exec"]["value"], "works")
        self.assertIn("unset it", found["HOB_HOME"]["change"])
        self.assertEqual(status, 1)

    def test_what_matching_may_do_depends_on_the_library(self):
        for version, told in (
            ("MPICH 4.0.2", "deep queues over UCX, else none"),
            ("MPICH Version:      4.3.0", "over libfabric's tcp"),
            ("MPICH 5.0.2", "over libfabric's tcp"),
            ("Open MPI v5.0.11", "deep queues"),
            ("Intel(R) MPI Library 2021.18", "left to the library"),
        ):
            self.assertIn(told, doctor.matching(version)[0].value)

    def test_variables_of_its_own_are_not_shown(self):
        names = [one.what for one in doctor.variables({"HOB_DEPS": "/x", "HOB_CACHE": "off"})]
        self.assertEqual(names, ["HOB_CACHE"])

    def test_knows_which_kernels_track_pages(self):
        for soft_dirty, told in ((False, "not there"), (True, "soft-dirty")):
            with mock.patch.object(doctor, "_soft_dirty", lambda found=soft_dirty: found):
                self.assertIn(told, doctor.kernel("5.14.0-362.el9")[1].value)
        self.assertIn(doctor._soft_dirty(), (False, True))
        self.assertIn("cache_validate", doctor.kernel("6.8.0-31-generic")[1].value)

    def test_knows_the_devices_that_hob_knows(self):
        source = (ROOT / "src" / "validation" / "devices.cpp").read_text()
        known = (*doctor.WRITING_DIRECTORIES, *doctor.WRITING_FILES)
        self.assertEqual(tuple(re.findall(r'"(/(?:sys|dev)/[^"]+)"', source)), known)
        table = (ROOT / "docs" / "cluster.md").read_text()
        for name in known:
            self.assertIn(name, table)
        with tempfile.TemporaryDirectory() as root:
            Path(root, "sys/class/infiniband").mkdir(parents=True)
            self.assertIsNone(doctor.writing_device(root))
            self.assertIn("none", doctor.adapters(root)[1].value)
            Path(root, "dev").mkdir()
            Path(root, "dev/xpmem").touch()
            self.assertEqual(doctor.writing_device(root), "/dev/xpmem")
            Path(root, "sys/class/infiniband/mlx5_0").mkdir()
            self.assertEqual(doctor.writing_device(root), "/sys/class/infiniband")
            self.assertIn("infiniband mlx5_0", doctor.adapters(root)[0].value)
            self.assertIn("compared", doctor.adapters(root)[1].value)

    def test_knows_whose_receives_are_taken_over(self):
        for version, told in (
            ("Intel(R) MPI Library 2021.18", "left to the library"),
            ("MPICH 5.0.2", "UCX"),
            ("Open MPI v5.0.11", "deep queues"),
        ):
            self.assertIn(told, doctor.matching(version)[0].value)
        self.assertEqual(doctor.matching(""), [])

    def test_knows_mpich_5s_incomplete_flush(self):
        tcp = {"FI_PROVIDER": "tcp", "MPIR_CVAR_CH4_NETMOD": "ofi"}
        self.assertTrue(doctor.incomplete_flush("MPICH 5.0.2", tcp))
        self.assertFalse(doctor.incomplete_flush("MPICH 4.0.2", tcp))
        self.assertFalse(doctor.incomplete_flush("MPICH 5.0.2", {}))
        messages = {**tcp, "MPIR_CVAR_CH4_OFI_ENABLE_RMA": "0"}
        self.assertFalse(doctor.incomplete_flush("MPICH 5.0.2", messages))
        self.assertFalse(doctor.incomplete_flush("MPICH 5.0.2", {**tcp, "FI_TCP_MAX_INJECT": "0"}))

    def test_knows_limits_that_jobs_run_into(self):
        low = {resource.RLIMIT_NOFILE: 256}
        found = doctor.limits(lambda which: (low.get(which, resource.RLIM_INFINITY), 0))
        self.assertEqual([one.what for one in found if one.change], ["open files"])

    def test_knows_which_one_sided_calls_a_program_has(self):
        program = BIN / "mpich5" / "fds-proxy"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        self.assertEqual(doctor.one_sided(program), [])
        out = hob("doctor", program)[1]
        self.assertIn("none: the cache and ghosts", out)
        self.assertRegex(out, "receives +MPI_.*: Hob searches their queues")
        self.assertNotIn("nothing to do here", out)
        self.assertEqual(doctor.one_sided(BIN / "mpich5" / "lcc"), ["MPI_Get"])
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "fortran")
            path.write_bytes(b"\0mpi_accumulate_\0PMPI_Rget_c\0mpi_get_f08_\0MPI_Get_count\0")
            self.assertEqual(doctor.one_sided(path), ["MPI_Accumulate", "MPI_Get"])

    def test_knows_what_receives_and_nonblocking_calls_gain(self):
        def of(*names):
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory, "program")
                path.write_bytes(b"\0".join([b"", *names, b""]).replace(b"\0", b"\0\0"))
                found = doctor._calls(path, "MPICH 5.0.2")
            return {one.what: one.value for one in found}, found[-1].nothing_to_do

        said, nothing = of(b"MPI_Sendrecv", b"MPI_Init")
        self.assertEqual(said["receives"], "MPI_Sendrecv: left to the library")
        self.assertTrue(nothing)
        said, nothing = of(b"MPI_Sendrecv", b"MPI_Recv")
        self.assertIn("Hob searches their queues", said["receives"])
        self.assertFalse(nothing)
        said, nothing = of(b"mpi_iallreduce_", b"MPI_File_iwrite_at_all", b"MPI_Init_thread")
        self.assertIn("MPI_File_iwrite_at_all, MPI_Iallreduce: large", said["nonblocking calls"])
        self.assertFalse(nothing)

    def test_of_a_program_that_hob_cannot_help(self):
        with tempfile.TemporaryDirectory() as scratch:
            here = Path(scratch)
            (here / "p.c").write_text(
                "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n"
            )
            (here / "s.c").write_text("int main(void) { return 0; }\n")
            (here / "directory").mkdir()
            (here / "step.sh").write_text("#!/bin/sh\nexec ./app\n")
            (here / "step.sh").chmod(0o755)
            mpi = next(iter(mpis().values()))
            self.assertEqual(run([mpi["cc"], "p.c", "-o", "app"], cwd=here)[0], 0)
            status, out, err = hob("doctor", "./app", cwd=here)
            self.assertIn("Hob has nothing to do here.", out)
            # 1 where this machine has something to change besides.
            self.assertEqual(status, 1 if "Change: " in out else doctor.NOTHING_TO_DO, out)
            with mock.patch.object(
                doctor, "examine", lambda *_: {"": doctor.of_program([f"{here}/app"])}
            ):
                self.assertEqual(doctor.main(mock.Mock(json=True)), doctor.NOTHING_TO_DO)
            # A script may start others: what it calls is not known.
            self.assertNotIn("nothing to do", hob("doctor", "./step.sh", cwd=here)[1])
            for words, told in (
                (["app"], "did you mean ./app?"),
                (["./none"], "./none: no such program"),
                (["./directory"], "is a directory"),
                (["./p.c"], "is not executable"),
                (["--mpi", "lam", "./app"], "'lam' is not allowed for --mpi"),
            ):
                with self.subTest(words):
                    status, out, err = hob("doctor", *words, cwd=here)
                    self.assertEqual(status, 1, err)
                    self.assertRegex(out, f"(?m)^Change: .*{re.escape(told)}")
            if run(["cc", "-static", "s.c", "-o", "s"], cwd=here)[0] == 0:
                status, out, _ = hob("doctor", "./s", cwd=here)
                self.assertEqual(status, 1)
                self.assertIn("linked statically", out)

    def test_takes_a_whole_command(self):
        words = ["--mpi", "mpich", "--json", sys.executable, "app.py", "--json"]
        status, out, err = hob("doctor", *words)
        self.assertIn(status, (0, 1), err)
        found = {one["what"]: one for one in json.loads(out)["Hob and MPI"]}
        self.assertIn("hob advise", found["its calls"]["value"])
        self.assertIn("libmpi", found["MPI of the program"]["value"])

    def test_knows_the_library_of_a_program(self):
        program = BIN / "mpich5" / "fds-proxy"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        out = hob("doctor", program, FI_PROVIDER="tcp", MPIR_CVAR_CH4_NETMOD="ofi")[1]
        self.assertIn("MPICH 5", out)
        self.assertIn("a flush does not wait for puts", out)
        self.assertNotIn("Change: MPI_Win_flush", out)
        out = hob(
            "doctor",
            program,
            FI_PROVIDER="tcp",
            MPIR_CVAR_CH4_NETMOD="ofi",
            HOB_COMPLETE_PUTS="off",
        )[1]
        self.assertIn("Change: MPI_Win_flush: HOB_COMPLETE_PUTS=on", out)


if __name__ == "__main__":
    unittest.main()
