"""The hob command: help, config, run, bench."""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import BIN, ROOT, hob, mpis, run

from hob import cli
from hob import run as hob_run
from hob.mechanisms import MECHANISMS
from hob.run import find_launcher, intel_pmi, launch_command


class Help(unittest.TestCase):
    def test_overview_names_every_command(self):
        status, out, _ = hob("--help")
        self.assertEqual(status, 0)
        for name in cli.COMMANDS:
            self.assertIn(f"\n  {name} ", out)
        self.assertIn("mpiexec -n 4 hob exec ./app", out)

    def test_every_list_of_mechanisms_is_the_same(self):
        names = [one.name for one in MECHANISMS]
        table = (ROOT / "src/settings/settings.def").read_text()
        keys = re.findall(r'^HOB_SETTING\(\w+, "(\w+)"', table, re.MULTILINE)
        groups = re.findall(r'^// ([A-Z].*)\nHOB_SETTING\(\w+, "(\w+)"', table, re.MULTILINE)
        self.assertEqual(
            groups, [("General", "off"), *((one.name.capitalize(), one.key) for one in MECHANISMS)]
        )
        self.assertLessEqual({one.key for one in MECHANISMS}, set(keys))
        for page, form in (
            (hob("--help")[1], r"(?m)^  ({}) "),
            (hob("config")[1], r"(?mi)^# ({})$"),
            (hob("config", "--markdown")[1], r"(?mi)^## ({})$"),
        ):
            found = re.findall(form.format("|".join(names)), page)
            self.assertEqual([one.lower() for one in found], names)
        for row in json.loads(hob("config", "--json")[1]):
            for one in MECHANISMS:
                if row["key"] == one.key:
                    self.assertEqual(row["default"] not in ("off", "0"), one.by_default)

    def test_each_command_explains_itself(self):
        for name in ("run", "config", "report", "advise", "bench", "demo"):
            with self.subTest(name):
                status, out, err = hob(name, "--help")
                self.assertEqual(status, 0, err)
                self.assertIn(f"usage: hob {name}", out)
                self.assertGreater(len(out.splitlines()), 5)

    def test_an_old_python_starts_a_newer_one(self):
        main = ROOT / "tools/hob/__main__.py"
        old = (
            "import os, sys; sys.version_info = (3, 6, 15); sys.argv[:1] = []; __file__ = sys.argv[0]; "
            "exec(compile(open(__file__).read(), __file__, 'exec'))"
        )
        words = [sys.executable, "-c", old, main, "run", "--help"]
        with tempfile.TemporaryDirectory() as scratch:
            status, out, err = run(words, PATH=scratch)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("is Python 3.6, and PATH has none of python3.9 to python3.14", err)
            self.assertEqual(len(err.splitlines()), 1)
            newer = Path(scratch, "python3.11")
            newer.write_text('#!/bin/sh\necho "$@"\n')
            newer.chmod(0o755)
            self.assertEqual(run(words, PATH=scratch), (0, f"-I -B {main} run --help\n", ""))

    def test_unknown_command(self):
        status, _, err = hob("rnu")
        self.assertEqual(status, 2)
        self.assertIn("'rnu'", err)
        self.assertIn("run", err)

    def test_a_program_instead_of_a_command(self):
        for words, told in (
            (["./app", "a b"], "hob run -n 4 ./app 'a b'"),
            (["/bin/true"], "mpiexec -n 4 hob exec /bin/true"),
            (["env"], "hob run -n 4 env"),
            (["mpiexec", "-n", "2", "./app"], "hob run mpiexec -n 2 ./app"),
        ):
            with self.subTest(words):
                status, out, err = hob(*words)
                self.assertEqual((status, out), (2, ""))
                self.assertIn(told, err)
                self.assertEqual(len(err.splitlines()), 1)

    def test_nothing_said(self):
        status, out, _ = hob()
        self.assertEqual(status, 2)
        self.assertIn("usage: hob", out)


@unittest.skipUnless(BIN == ROOT / "build" / "default" / "bin", "the hob script has another build")
class Isolation(unittest.TestCase):
    def test_modules_of_the_directory_are_not_imported(self):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("json", "argparse", "re", "hob", "matplotlib"):
                Path(scratch, f"{name}.py").write_text("raise SystemExit('imported from here')\n")
            # The directory is named in three ways, all of which Python takes by itself.
            for path in (None, ":/nowhere", "."):
                with self.subTest(path):
                    more = {} if path is None else {"PYTHONPATH": path}
                    status, out, err = run(
                        ["sh", "-c", f"cd {scratch} && exec {ROOT}/hob config --json"],
                        **more,
                    )
                    self.assertEqual(status, 0, err)
                    self.assertIn("cache", [row["key"] for row in json.loads(out)])


class Config(unittest.TestCase):
    def test_every_setting_with_default_and_meaning(self):
        rows = json.loads(hob("config", "--json")[1])
        keys = [row["key"] for row in rows]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertIn("cache", keys)
        text, markdown = hob("config")[1], hob("config", "--markdown")[1]
        for row in rows:
            self.assertTrue(row["help"], row["key"])
            self.assertIn(f"# {row['key']} = {row['default']}", text)
            self.assertIn(f"| `{row['key']}` | `{row['environment']}` |", markdown)

    def test_output_is_a_file_that_hob_reads(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "hob.conf"
            path.write_text(hob("config")[1])
            # It gets past its settings: /usr/bin/env runs.
            status, out, err = run([BIN / "hob-exec", "/usr/bin/env"], HOB_CONFIG=str(path))
            self.assertEqual(status, 0, err)
            self.assertIn(f"HOB_CONFIG={path}", out)

    def test_filter(self):
        self.assertIn("cache_size", hob("config", "cache_s")[1])
        status, _, err = hob("config", "no-such-key")
        self.assertEqual(status, 2)
        self.assertIn("no-such-key", err)


class Run(unittest.TestCase):
    """`hob run` starts programs that are plainly linked with each MPI."""

    def test_numbers_that_cannot_be(self):
        for words in (
            ["-n", "0"],
            ["-n", "-3"],
            ["-n", "two"],
            ["--ghosts", "-1"],
            ["--nodes", "0"],
        ):
            with self.subTest(words):
                status, _, err = hob("run", *words, "/bin/true")
                self.assertEqual(status, 2)
                self.assertIn(f"'{words[1]}' must be an integer >= ", err)

    def test_with_each_mpi(self):
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch) / "p.c"
            source.write_text("""#include <mpi.h>
#include <stdio.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  int size, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%d ranks, %s\\n", size, v[1]);
  MPI_Finalize();
  return 0;
}
""")
            for name, mpi in mpis().items():
                with self.subTest(name):
                    program = Path(scratch) / name
                    self.assertEqual(run([mpi["cc"], source, "-o", program])[0], 0)
                    status, out, err = hob(
                        "run",
                        "-n",
                        "3",
                        "--off",
                        program,
                        "-n",
                        OMPI_ALLOW_RUN_AS_ROOT="1",
                        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                    )
                    self.assertEqual(status, 0, err)
                    self.assertIn("3 ranks, -n", out)

    def test_dry_run_shows_launcher_and_options(self):
        name, mpi = next(iter(mpis().items()))
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch) / "p.c"
            source.write_text("#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
            program = Path(scratch) / "p"
            self.assertEqual(run([mpi["cc"], source, "-o", program])[0], 0, name)
            status, out, err = hob(
                "run",
                "-n",
                "4",
                "--ghosts",
                "1",
                "--set",
                "cache=always",
                "--dry-run",
                program,
                "x",
            )
        self.assertEqual(status, 0, err)
        self.assertIn(f"{mpi['exec']} -n 5", out)
        self.assertIn("--set cache=always --ghosts 1", out)
        self.assertTrue(out.strip().endswith(f"{program} x"))

    def test_dry_run_shows_variables(self):
        out = hob("run", "-n", "2", "--remote", "--dry-run", "--launcher", "mpiexec", "env")[1]
        self.assertIn("FI_PROVIDER=tcp", out.partition("mpiexec")[0])
        out = hob("run", "-n", "2", "--dry-run", "--launcher", "mpiexec", "env")[1]
        self.assertTrue(out.startswith("mpiexec -n 2"), out)

    def test_a_whole_launch_line(self):
        started = f"{BIN / 'hob-exec'} --quiet"
        for line, wanted in (
            ("mpiexec -n 2 /bin/true 1", f"mpiexec -n 2 {started} /bin/true 1"),
            ("srun --mpi=pmi2 -n 2 env A=1", f"srun --mpi=pmi2 -n 2 {started} env A=1"),
            ("mpirun -launcher ssh /bin/true", f"mpirun -launcher ssh {started} /bin/true"),
            (
                "mpiexec.hydra -n 1 /bin/true : -n 1 /bin/echo x",
                f"mpiexec.hydra -n 1 {started} /bin/true : -n 1 {started} /bin/echo x",
            ),
        ):
            with self.subTest(line):
                status, out, err = hob("run", "--quiet", "--dry-run", *line.split())
                self.assertEqual((status, out), (0, wanted + "\n"), err)
        for words, told in (
            (["-n", "2", "mpiexec", "-n", "2", "/bin/true"], "-n starts a launcher"),
            (["--nodes", "2", "mpiexec", "/bin/true"], "--nodes starts a launcher"),
            (["mpiexec", "-n", "2", "./none"], "hob: ./none: no such program\n"),
            (["mpiexec", "-n", "2"], "no program found in 'mpiexec -n 2'"),
            (["mpiexc", "-n", "2", "/bin/true"], "hob: mpiexc: no such program; did you mean mpi"),
            (["-n", "2", "--gosts", "1", "/bin/true"], "--gosts (did you mean --ghosts?)"),
            (["--mpi", "foo", "/bin/true"], "or the path of a libmpi\n"),
        ):
            with self.subTest(words):
                status, _, err = hob("run", *words)
                self.assertEqual(status, 2)
                self.assertIn(told, err)

    def test_a_launch_line_runs(self):
        name, mpi = next(iter(mpis().items()))
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch) / "p.c"
            source.write_text(
                "#include <mpi.h>\n#include <stdlib.h>\n"
                'int main(void) { MPI_Init(0, 0); MPI_Finalize(); return getenv("LD_PRELOAD") == 0; }\n'
            )
            self.assertEqual(run([mpi["cc"], source, "-o", source.with_suffix("")])[0], 0, name)
            words = ["run", mpi["exec"], "-n", "2", source.with_suffix("")]
            status, _, err = hob(*words, cwd=scratch)
        self.assertEqual(status, 0, err)
        self.assertIn("hob: 2 ranks", err)

    def test_says_what_has_no_effect(self):
        for words, told in (
            (["--off", "--json", "x.json", "--cache", "auto"], "--cache, --json has no effect"),
            (["--cache", "off", "--verify", "0.5"], "--verify has no effect"),
        ):
            with self.subTest(words):
                status, _, err = run([BIN / "hob-exec", *words, "/bin/true"])
                self.assertEqual(status, 0)
                self.assertIn(told, err)
                self.assertEqual(run([BIN / "hob-exec", *words, "true"], PMI_RANK="1")[2], "")
        launcher = ["--launcher", "mpiexec", "--dry-run"]
        self.assertIn(
            "--nodes has no effect",
            hob("run", *launcher, "--remote", "--nodes", "2", "env")[2],
        )
        self.assertIn("-n stands behind the program", hob("run", *launcher, "env", "-n", "4")[2])
        self.assertEqual(hob("run", *launcher, "-n", "2", "env", "-n", "4")[2], "")
        status, _, err = hob("run", "4", "env")
        self.assertEqual(status, 2)
        self.assertIn("did you mean `hob run -n 4 env`?", err)

    def test_ranks_over_nodes(self):
        self.assertEqual(
            launch_command(["mpiexec"], "mpich", 10, 2), ["mpiexec", "-n", "10", "-ppn", "5"]
        )
        self.assertEqual(
            launch_command(["srun"], "mpich", 10, 2),
            ["srun", "-n", "10", "-N", "2", "--ntasks-per-node", "5"],
        )

    def test_in_a_slurm_job_the_protocol_is_the_librarys(self):
        srun = "#!/bin/sh\necho 'MPI plugin types are...' >&2\nprintf '\\tnone\\n\\tpmi2\\n\\tpmix\\n\\tcray_shasta\\n' >&2\n"
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "srun").write_text(srun)
            Path(scratch, "srun").chmod(0o755)
            job = {"PATH": f"{scratch}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
            for family, library, wanted in (
                ("mpich", "libmpi.so.12", "pmi2"),
                ("mpich", "libmpi_gnu_123.so.12", "cray_shasta"),
                ("openmpi", "libmpi.so.40", "pmix"),
                ("abi", "libmpi_abi.so.1", "pmi2"),
            ):
                use = {"family": family, "mpi": f"/opt/lib/{library}"}
                with mock.patch.dict(os.environ, job):
                    os.environ.pop("SLURM_MPI_TYPE", None)
                    self.assertEqual(find_launcher(use), ["srun", f"--mpi={wanted}"])
                    os.environ["SLURM_MPI_TYPE"] = "none"
                    self.assertEqual(find_launcher(use), ["srun"])
            Path(scratch, "srun").write_text("#!/bin/sh\necho none\n")
            with mock.patch.dict(os.environ, job):
                self.assertEqual(find_launcher({"family": "mpich", "mpi": ""}), ["srun"])

    def test_intel_mpi_is_told_of_slurms_library(self):
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "libpmi2.so").touch()
            intel = {"mpi": "/opt/intel/oneapi/mpi/2021.18/lib/libmpi.so.12"}
            told = {"I_MPI_PMI_LIBRARY": f"{scratch}/libpmi2.so"}
            self.assertEqual(intel_pmi(intel, {}, [scratch]), told)
            self.assertEqual(intel_pmi(intel, {"I_MPI_PMI_LIBRARY": "/x"}, [scratch]), {})
            self.assertEqual(intel_pmi({"mpi": "/usr/lib/libmpi.so.12"}, {}, [scratch]), {})
            self.assertEqual(intel_pmi(intel, {}, [f"{scratch}/none"]), {})

    def test_a_rehearsal_with_intel_mpi_caches_what_is_one_node_to_it(self):
        args = argparse.Namespace(remote=True, ghosts=0, program=["./app"])
        intel = {"family": "mpich", "mpi": "/opt/intel/oneapi/mpi/lib/libmpi.so.12", "off": ""}
        for use, given, wanted in (
            (intel, {}, "off"),
            (intel, {"HOB_CACHE_BYPASS": "on"}, "on"),
            ({**intel, "mpi": "/usr/lib/libmpich.so.12"}, {}, None),
        ):
            with mock.patch.dict(os.environ, given):
                self.assertEqual(hob_run._environment(args, use).get("HOB_CACHE_BYPASS"), wanted)

    def test_no_program(self):
        status, _, err = hob("run", "-n", "2")
        self.assertEqual(status, 2)
        self.assertIn("no program", err)
        status, _, err = hob("run", "-n", "2", "./none")
        self.assertEqual(status, 2)
        self.assertIn("./none", err)


class LaunchLine(unittest.TestCase):
    def test_a_launcher_of_another_library_is_said(self):
        program = BIN / "mpich5" / "lcc"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        for says, noted in (
            ("mpiexec (OpenRTE) 5.0.11", True),
            ("HYDRA build details:", False),
            ("Intel(R) MPI Library for Linux* OS", False),
            ("a launcher that nobody knows", False),
        ):
            with tempfile.TemporaryDirectory() as scratch:
                launcher = Path(scratch) / "mpiexec"
                launcher.write_text(f"#!/bin/sh\necho '{says}'\n")
                launcher.chmod(0o755)
                status, _, err = hob("run", "--dry-run", launcher, "-n", 2, program)
            self.assertEqual(status, 0, err)
            self.assertEqual("starts ranks of Open MPI" in err, noted, err)


class Script(unittest.TestCase):
    """The shell script `hob`, started in the ways that users start it."""

    def test_through_a_link(self):
        with tempfile.TemporaryDirectory() as scratch:
            link = Path(scratch) / "hob"
            link.symlink_to(ROOT / "hob")
            status, out, err = run([link, "--help"])
            self.assertEqual(status, 0, err)
            self.assertIn("usage: hob", out)

    def test_through_path(self):
        path = f"{ROOT}{os.pathsep}{os.environ['PATH']}"
        status, out, err = run([shutil.which("env"), "hob", "--help"], PATH=path)
        self.assertEqual(status, 0, err)
        self.assertIn("usage: hob", out)


class Bench(unittest.TestCase):
    def test_lists_and_refuses(self):
        status, out, _ = hob("bench", "--help")
        self.assertEqual(status, 0)
        self.assertIn("\n  hit ", out)
        status, _, err = hob("bench", "no-such-bench")
        self.assertEqual(status, 2)
        self.assertIn("no-such-bench", err)

    def test_what_is_not_built_says_the_one_command(self):
        with tempfile.TemporaryDirectory() as scratch:
            (Path(scratch) / "mpis.cmake").write_text(
                "set(HOB_MPIS mpich5)\nset(HOB_MPI_mpich5_EXEC /nowhere/mpiexec)\n"
            )
            nothing = {"_HOB_BIN": scratch, "HOB_BUILD_DIR": scratch}
            command = [sys.executable, "-I", "-B", ROOT / "tools" / "hob" / "__main__.py"]
            for words, told in (
                (["bench", "hit"], f"run `make bench-programs` in {ROOT}"),
                (["bench", "cache"], f"run `make bench-programs` in {ROOT}"),
                (["replay", "--list"], f"run `make` in {ROOT}"),
                (["config"], f"run `make` in {ROOT}"),
            ):
                with self.subTest(words):
                    status, _, err = run([*command, *words], HOB_DEPS=scratch, **nothing)
                    self.assertEqual(status, 2, err)
                    self.assertIn(told, err)
            shutil.copy(ROOT / "hob", scratch)
            (Path(scratch) / "tools" / "hob").mkdir(parents=True)
            status, _, err = run([Path(scratch, "hob"), "exec", "./app"])
            self.assertEqual(status, 2)
            self.assertIn(f"run `make` in {scratch}", err)

    def test_what_benchmarks_start_is_built_by_the_one_command(self):
        started = set()
        for path in (ROOT / "tools/hob/benches").glob("*.py"):
            started |= set(re.findall(r'\bprogram\("([\w-]+)"', path.read_text()))
            started |= set(re.findall(r'\btool\("([\w-]+)"', path.read_text()))
        self.assertGreater(len(started), 8)
        target = (ROOT / "bench/CMakeLists.txt").read_text().partition("bench-programs")[2]
        for name in started:
            self.assertIn(name.removeprefix("hob-bench-"), target)
        makefile = (ROOT / "Makefile").read_text()
        for name in ("bench-programs", "shipped"):
            self.assertRegex(makefile, rf"(?m)^{name}: (.*\n)+.*--target {name}$")
        demo = (ROOT / "apps/CMakeLists.txt").read_text().partition("(demo-programs")[2]
        self.assertIn("hob-replay", demo)

    def test_what_is_installed_is_built_without_the_tests(self):
        makefile = (ROOT / "Makefile").read_text()
        for name in ("install", "wheel"):
            self.assertRegex(makefile, rf"(?m)^{name}: shipped$")
        installed = set()
        for path in ROOT.glob("[st]*/**/CMakeLists.txt"):
            for name in re.findall(r"install\(TARGETS ([^ ]+)", path.read_text()):
                installed.add(name)
        target = (ROOT / "cmake/HobInstall.cmake").read_text()
        for name in installed:
            self.assertIn(name.replace("${library}", "hob_${family}"), target)

    class Own:
        """A benchmark with one row and one limit, which then fails with `fault` if that is set."""

        HELP = "a benchmark"
        fault = None

        @staticmethod
        def add_arguments(parser):
            parser.add_argument("--value", type=float, default=1)

        @classmethod
        def run(cls, args, rows):
            rows.row(size=8, ns=args.value)
            rows.at_most("ns", args.value, 2)
            if cls.fault:
                raise cls.fault

    def test_writes_rows_limits_and_machine_and_fails_on_a_miss(self):
        from hob import bench

        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "out.json"
            for value, ok in ((1, True), (3, False)):
                bench.run_module("own", self.Own, ["--json", str(out), "--value", str(value)])
                written = json.loads(out.read_text())
                self.assertEqual(written["bench"], "own")
                self.assertIn("cores", written["machine"])
                self.assertEqual(written["rows"], [{"size": 8, "ns": value}])
                self.assertEqual([limit["ok"] for limit in written["limits"]], [ok])
                self.assertNotIn("ended_early", written)
        self.assertIsInstance(bench._own_parser("own", self.Own), argparse.ArgumentParser)

    def test_measures_only_with_libraries_that_programs_are_compiled_for(self):
        from hob import benchlib

        with tempfile.TemporaryDirectory() as scratch:
            lines = ["set(HOB_MPIS one two)"]
            lines += [f"set(HOB_MPI_{name}_EXEC /{name})" for name in ("one", "two", "other")]
            Path(scratch, "mpis.cmake").write_text("\n".join(lines))
            with mock.patch.dict(os.environ, HOB_DEPS=scratch):
                self.assertEqual(
                    benchlib.mpis(), {"one": {"exec": "/one"}, "two": {"exec": "/two"}}
                )

    def test_keeps_what_was_measured_before_a_fault_or_an_interrupt(self):
        from hob import bench
        from hob.benchlib import BenchError
        from hob.where import HobError

        for fault, raised, said in (
            (BenchError("no such window"), HobError, "no such window"),
            (KeyboardInterrupt(), KeyboardInterrupt, "interrupted"),
        ):
            with tempfile.TemporaryDirectory() as scratch:
                out = Path(scratch) / "out.json"
                failing = type("Failing", (self.Own,), {"fault": fault})
                with self.assertRaises(raised):
                    bench.run_module("own", failing, ["--json", str(out)])
                written = json.loads(out.read_text())
                self.assertEqual(written["rows"], [{"size": 8, "ns": 1}])
                self.assertEqual(len(written["limits"]), 1)
                self.assertIn(said, written["ended_early"])


if __name__ == "__main__":
    unittest.main()
