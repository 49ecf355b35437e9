"""hob-exec: which MPI a program uses, what it loads, how it refuses."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BIN, BUILD, ROOT, hob, hob_exec, mpis, run

# It may load an MPI library while it runs.
LATE = """#include <dlfcn.h>
int main(int c, char** v) { return c > 1 && dlopen(v[1], RTLD_NOW) == 0; }
"""

PROGRAM = """#include <mpi.h>
int main(int c, char** v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }
"""


def which(*words, **environment):
    status, out, err = hob_exec("--which", *words, **environment)
    if status != 0:
        raise AssertionError(f"status {status}: {err}")
    return json.loads(out)


class Family(unittest.TestCase):
    """The family of programs linked with each MPI that is here."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = Path(cls.scratch.name)
        (cls.directory / "p.c").write_text(PROGRAM)
        (cls.directory / "late.c").write_text(LATE)
        cls.late = cls.directory / "late"
        subprocess.run(["cc", cls.directory / "late.c", "-ldl", "-o", cls.late], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_of_a_linked_program(self):
        self.assertTrue(mpis(), "no MPI library was set up")
        for name, mpi in mpis().items():
            with self.subTest(name):
                program = self.directory / name
                subprocess.run([mpi["cc"], self.directory / "p.c", "-o", program], check=True)
                found = which(program)
                self.assertEqual(found["family"], mpi["family"])
                self.assertFalse(found["late"])
                self.assertTrue(Path(found["mpi"]).is_file())

    def test_that_is_not_built_says_how_to_build_it(self):
        name, mpi = next(iter(mpis().items()))
        program = self.directory / f"{name}-alone"
        subprocess.run([mpi["cc"], self.directory / "p.c", "-o", program], check=True)
        status, _, err = hob_exec(program, HOB_LIBDIR=str(self.directory))
        self.assertEqual(status, 2)
        self.assertIn(f"libhob_{mpi['family']}.so does not exist; ", err)
        in_source = BUILD == ROOT / "build" / "default"
        self.assertIn(f"run `make` in {ROOT}" if in_source else "", err)
        copy = shutil.copy(BIN / "hob-exec", self.directory / "hob-exec")
        status, _, err = run([copy, program])
        self.assertIn("-DHOB_MPICC=", err)

    def test_through_a_library_of_the_program(self):
        mpi = next(iter(mpis().values()))
        (self.directory / "part.c").write_text(
            "#include <mpi.h>\nint part(void){ int f; return MPI_Initialized(&f); }\n"
        )
        (self.directory / "user.c").write_text("int part(void); int main(void){ return part(); }\n")
        # The program names libpart alone, and libpart names MPI.
        subprocess.run(
            [
                mpi["cc"],
                "-shared",
                "-fPIC",
                self.directory / "part.c",
                "-o",
                self.directory / "libpart.so",
            ],
            check=True,
        )
        subprocess.run(
            [
                "cc",
                self.directory / "user.c",
                "-o",
                self.directory / "user",
                f"-L{self.directory}",
                "-lpart",
                "-Wl,-rpath,$ORIGIN",
                "-Wl,--allow-shlib-undefined",
            ],
            check=True,
        )
        self.assertEqual(which(self.directory / "user")["family"], mpi["family"])

    def test_of_cray_mpich(self):
        """Its library has a name for each compiler; this one has nothing but the name."""
        (self.directory / "mpi.c").write_text("int MPI_Init(void) { return 0; }\n")
        (self.directory / "init.c").write_text(
            "int MPI_Init(void); int main(void){ return MPI_Init(); }\n"
        )
        for name in ("cray", "gnu_123", "intel"):
            with self.subTest(name):
                library = self.directory / f"libmpi_{name}.so.12"
                words = ["-shared", self.directory / "mpi.c", f"-Wl,-soname,{library.name}"]
                subprocess.run(["cc", *words, "-o", library], check=True)
                program = self.directory / f"on-{name}"
                words = [self.directory / "init.c", library, "-Wl,-rpath,$ORIGIN"]
                subprocess.run(["cc", *words, "-o", program], check=True)
                found = which(program)
                self.assertEqual((found["family"], found["mpi"]), ("mpich", str(library)))

    def test_of_python_comes_from_the_launcher(self):
        for name, mpi in mpis().items():
            if mpi["family"] == "abi":
                continue
            with self.subTest(name):
                status, out, err = run(
                    [mpi["exec"], "-n", "1", BIN / "hob-exec", "--which", self.late],
                    OMPI_ALLOW_RUN_AS_ROOT="1",
                    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                )
                self.assertEqual(status, 0, err)
                found = json.loads(out)
                self.assertEqual(found["family"], mpi["family"])
                self.assertTrue(found["late"])
                self.assertTrue(Path(found["mpi"]).is_file())

    def test_can_be_said(self):
        self.assertEqual(which("--mpi", "mpich", "/usr/bin/env", PMI_RANK="0")["family"], "mpich")

    def test_another_than_it_is_linked_with_is_refused(self):
        name, mpi = next(iter(mpis().items()))
        other = "openmpi" if mpi["family"] != "openmpi" else "mpich"
        program = self.directory / f"{name}-linked"
        subprocess.run([mpi["cc"], self.directory / "p.c", "-o", program], check=True)
        self.assertEqual(which("--mpi", mpi["family"], program)["family"], mpi["family"])
        status, _, err = hob_exec("--mpi", other, program)
        self.assertEqual(status, 2)
        self.assertIn(f"--mpi says {other}", err)
        self.assertIn(mpi["family"], err)

    def test_of_a_static_program_is_refused(self):
        (self.directory / "s.c").write_text("int main(void) { return 0; }\n")
        built = subprocess.run(
            ["cc", "-static", self.directory / "s.c", "-o", self.directory / "s"],
            capture_output=True,
            check=False,
        )
        if built.returncode != 0:
            self.skipTest("no static C library here")
        status, _, err = hob_exec(self.directory / "s")
        self.assertEqual(status, 2)
        self.assertIn("statically", err)

    def test_unknown_is_refused_and_says_what_to_do(self):
        status, _, err = hob_exec(self.late)
        self.assertEqual(status, 2)
        self.assertIn("--mpi", err)

    def test_that_no_hob_serves_is_refused(self):
        (self.directory / "old.c").write_text(
            "int MPI_Init(void) { return 0; } int PMPI_Init(void) { return 0; }\n"
        )
        (self.directory / "init.c").write_text(
            "int MPI_Init(void); int main(void){ return MPI_Init(); }\n"
        )
        library = self.directory / "libmpi.so.20"
        words = ["-shared", self.directory / "old.c", "-Wl,-soname,libmpi.so.20", "-o", library]
        subprocess.run(["cc", *words], check=True)
        program = self.directory / "on-old"
        words = [self.directory / "init.c", library, "-Wl,-rpath,$ORIGIN", "-o", program]
        subprocess.run(["cc", *words], check=True)
        self.assertTrue(which(program)["refused"])
        status, _, err = hob_exec(program)
        self.assertEqual(status, 2)
        self.assertIn("libmpi.so.20, an MPI library that no Hob serves", err)
        # A wrapper starts it nevertheless, without Hob, and says so.
        script = self.directory / "on-old.sh"
        script.write_text(f"#!/bin/sh\n{program}\n")
        script.chmod(0o755)
        status, _, err = hob_exec(script)
        self.assertEqual(status, 0, err)
        self.assertIn("hob: without Hob: ", err)


class Mpi4py(unittest.TestCase):
    """The library that Python's mpi4py loads, in prefixes with nothing but names."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)
        (self.directory / "m.c").write_text("int main(void) { return 0; }\n")
        (self.directory / "e.c").write_text("int e(void) { return 0; }\n")
        for name in ("libmpi.so.12", "libmpi.so.40"):
            self.compile("e.c", "-shared", f"-Wl,-soname,{name}", "-o", self.directory / name)

    def compile(self, source, *words):
        subprocess.run(["cc", self.directory / source, *words], check=True)

    def prefix(self, name, libraries, modules, virtual=True):
        """A Python that is not linked with MPI, with these MPI libraries and this mpi4py."""
        prefix = self.directory / name
        packages = prefix / "lib" / "python3.11" / "site-packages" / "mpi4py"
        for directory in (prefix / "bin", packages):
            directory.mkdir(parents=True)
        if virtual:
            (prefix / "pyvenv.cfg").write_text(f"home = {self.directory}/base/bin\n")
        self.compile("m.c", "-o", prefix / "bin" / "python3")
        for library in libraries:
            shutil.copy(self.directory / library, prefix / "lib" / library)
            (prefix / "lib" / "libmpi.so").unlink(missing_ok=True)
            (prefix / "lib" / "libmpi.so").symlink_to(library)
        for module, library in modules.items():
            needs = ["-Wl,--no-as-needed", self.directory / library, "-Wl,-rpath,$ORIGIN/../../.."]
            self.compile("e.c", "-shared", *needs, "-o", packages / module)
        return prefix

    WHEEL = {"MPI.mpich.x.so": "libmpi.so.12", "MPI.openmpi.x.so": "libmpi.so.40"}

    def check(self, prefix, family, library, *words, **environment):
        found = which(*words, prefix / "bin" / "python3", HOME=self.directory, **environment)
        self.assertEqual((found["family"], found["mpi"]), (family, str(library)), found["why"])
        self.assertTrue(found["late"])

    def test_of_a_wheel_is_the_one_beside_it(self):
        prefix = self.prefix("venv", ["libmpi.so.12"], self.WHEEL)
        self.check(prefix, "mpich", prefix / "lib" / "libmpi.so.12")
        # Whatever else of this family the launcher has: Debian's has even another name.
        self.check(prefix, "mpich", prefix / "lib" / "libmpi.so.12", PMI_RANK="0")
        other = self.prefix("other", ["libmpi.so.40"], self.WHEEL)
        self.check(other, "openmpi", other / "lib" / "libmpi.so.40", OMPI_COMM_WORLD_SIZE="1")

    def test_of_a_wheel_may_be_anywhere(self):
        prefix = self.prefix("venv", [], self.WHEEL)
        lib = self.prefix("module", ["libmpi.so.40"], {}) / "lib"
        self.check(prefix, "openmpi", lib / "libmpi.so.40", LD_LIBRARY_PATH=str(lib))
        named = lib / "libmpi.so.40"
        self.check(prefix, "openmpi", named, MPI4PY_LIBMPI=str(named))
        away = self.prefix("away", [], {}, virtual=False)
        packages = prefix / "lib" / "python3.11" / "site-packages"
        words = {"LD_LIBRARY_PATH": str(lib), "PYTHONPATH": f"/nowhere:{packages}"}
        self.check(away, "openmpi", lib / "libmpi.so.40", **words)

    def test_compiled_for_a_library_it_is_that_one(self):
        prefix = self.prefix("venv", ["libmpi.so.40"], {"MPI.x.so": "libmpi.so.40"})
        self.check(prefix, "openmpi", prefix / "lib" / "libmpi.so.40", PMI_RANK="0")
        script = self.directory / "app.py"
        script.write_text(f"#!{prefix / 'bin' / 'python3'}\n")
        script.chmod(0o755)
        self.assertEqual(which(script)["family"], "openmpi")


class Refusals(unittest.TestCase):
    def check(self, words, *parts, **environment):
        status, out, err = hob_exec(*words, "/usr/bin/env", **environment)
        self.assertEqual(status, 2)
        self.assertEqual(out, "")
        self.assertEqual(len(err.splitlines()), 1, err)
        for part in parts:
            self.assertIn(part, err)

    def test_value_not_allowed_names_value_key_and_choices(self):
        self.check(["--set", "cache=sometimes"], "sometimes", "cache", "auto", "strict", "always")
        self.check(["--cache", "sometimes"], "sometimes", "cache", "auto")
        self.check([], "sometimes", "HOB_CACHE", "auto", HOB_CACHE="sometimes")

    def test_number_out_of_range(self):
        self.check(["--set", "cache_sample=0"], "'0'", "cache_sample", "1")
        self.check(["--verify", "3"], "'3'", "verify")

    def test_unknown_setting(self):
        self.check(["--set", "cash=auto"], "cash", "hob config")
        status, _, err = hob_exec("--off", "/usr/bin/env", HOB_CASH="auto", HOB_ROOT="/opt")
        self.assertEqual((status, err), (0, ""))

    def test_set_without_a_value(self):
        self.check(["--set", "cache"], "cache", "key=value")

    def test_unknown_option(self):
        self.check(["--cahce", "auto"], "--cahce", "--help")

    def test_family_that_does_not_exist(self):
        self.check(["--mpi", "lam"], "'lam'", "mpich", "openmpi", "abi")

    def test_configuration_file_that_cannot_be_read(self):
        self.check([], "/nowhere/hob.conf", HOB_CONFIG="/nowhere/hob.conf")
        self.check([], "'/tmp'", HOB_CONFIG="/tmp")

    def test_what_is_no_program(self):
        for word, status in (("/nowhere/app", 127), ("/tmp", 126), (__file__, 126)):
            with self.subTest(word):
                found, _, err = hob_exec(word)
                self.assertEqual(found, status)
                self.assertIn(f"{word}", err)
                self.assertEqual(len(err.splitlines()), 1, err)

    def test_what_was_meant(self):
        with tempfile.TemporaryDirectory() as scratch:
            here = Path(scratch)
            for name in ("hob-test.py", "hob-test", "directory"):
                path = here / name
                path.mkdir() if name == "directory" else path.write_text("#!/bin/sh\n")
            (here / "notes").write_text("words\n")
            (here / "hob-test").chmod(0o755)
            (here / "other").write_bytes(b"\x7fELF\x01\x01\x01" + bytes(60))
            (here / "other").chmod(0o755)
            for words, status, part in (
                (["hob-test"], 127, "did you mean ./hob-test?"),
                (["nowhere"], 127, "nowhere: no such program"),
                (
                    ["./hob-test.py"],
                    126,
                    "./hob-test.py is not executable (chmod +x ./hob-test.py)",
                ),
                (["hob-test.py"], 127, "./hob-test.py is not executable"),
                (["./directory"], 126, "./directory is a directory"),
                (["directory"], 127, "./directory is a directory"),
                (["./notes"], 126, "does not look like a program"),
                (["./other"], 2, "for another machine, or for 32 bits"),
            ):
                with self.subTest(words):
                    found, out, err = run([BIN / "hob-exec", *words], cwd=here)
                    self.assertEqual((found, out), (status, ""), err)
                    self.assertIn(part, err)
                    self.assertEqual(len(err.splitlines()), 1, err)
                    # hob run says the same, before it starts anything.
                    found, out, err = hob("run", "-n", "2", *words, cwd=here)
                    self.assertEqual((found, out), (2, ""), err)
                    self.assertIn(part, err)
                    self.assertEqual(len(err.splitlines()), 1, err)

    def test_a_static_program_is_refused_by_hob_run(self):
        with tempfile.TemporaryDirectory() as scratch:
            here = Path(scratch)
            (here / "s.c").write_text("int main(void) { return 0; }\n")
            for option in ("-static", "-static-pie"):
                command = ["cc", option, here / "s.c", "-o", here / "s"]
                if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                    self.skipTest("no static C library here")
                for launcher in ([], ["--launcher", "/nowhere/mpiexec"]):
                    status, _, err = hob("run", *launcher, here / "s")
                    self.assertEqual(status, 2, err)
                    self.assertIn("is linked statically", err)

    def test_only_the_first_rank_speaks(self):
        for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"):
            with self.subTest(name):
                status, out, err = hob_exec("--set", "cache=x", "/usr/bin/env", **{name: "3"})
                self.assertEqual((status, out, err), (2, "", ""))

    def test_mpi_that_hob_was_not_built_for(self):
        with tempfile.TemporaryDirectory() as empty:
            status, _, err = hob_exec(
                "--mpi", "mpich", "/usr/bin/env", HOB_LIBDIR=empty, PMI_RANK="0"
            )
        self.assertEqual(status, 2)
        self.assertIn("mpich", err)
        self.assertIn("not built for", err)

    def test_a_module_files_directory_of_libraries_is_none_of_these(self):
        for directory in (BIN.parent, BIN.parent / "lib", "/nowhere"):
            found = which("--mpi", "mpich", "/usr/bin/env", PMI_RANK="0", HOB_LIBDIR=str(directory))
            self.assertTrue(found["hob"].startswith(str(BIN.parent / "lib")), found)

    def test_program_that_does_not_exist(self):
        status, _, err = hob_exec("./no-such-program")
        self.assertEqual(status, 127)
        self.assertIn("no-such-program", err)


class Starts(unittest.TestCase):
    """What the started program finds in its environment. An empty file stands for the library."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.directory = Path(self.scratch.name)
        mpi = next(iter(mpis().values()))
        self.mpi = mpi
        (self.directory / "p.c").write_text("""#include <mpi.h>
#include <stdio.h>
extern char** environ;
int main(int c, char** v) {
  if (c < 0) MPI_Init(&c, &v);
  for (char** e = environ; *e; ++e) puts(*e);
  for (int i = 1; i < c; ++i) printf("argument=%s\\n", v[i]);
  return 7;
}
""")
        self.program = self.directory / "p"
        subprocess.run([mpi["cc"], self.directory / "p.c", "-o", self.program], check=True)
        self.library = self.directory / f"libhob_{mpi['family']}.so"
        empty = self.directory / "empty.c"
        empty.write_text("int hob_test_library;\n")
        subprocess.run(["cc", "-shared", "-fPIC", empty, "-o", self.library], check=True)

    def start(self, *words, **environment):
        status, out, err = hob_exec(*words, HOB_LIBDIR=str(self.directory), **environment)
        self.assertEqual(status, 7, err)
        return dict(line.split("=", 1) for line in out.splitlines() if "=" in line)

    def test_preloads_in_front(self):
        other = self.directory / "other.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", self.directory / "empty.c", "-o", other], check=True
        )
        found = self.start(self.program, LD_PRELOAD=str(other))
        self.assertEqual(found["LD_PRELOAD"], f"{other}:{self.library}")

    def test_a_sanitizer_is_first(self):
        asan = self.directory / "libasan.so.8"
        subprocess.run(
            ["cc", "-shared", "-fPIC", self.directory / "empty.c", "-o", asan], check=True
        )
        other = self.directory / "other.so"
        shutil.copy(asan, other)
        found = self.start(self.program, LD_PRELOAD=f"{other}:{asan}")
        self.assertEqual(found["LD_PRELOAD"], f"{asan}:{other}:{self.library}")

    def test_the_launch_is_named(self):
        self.assertIn("hydra", self.start(self.program, PMI_FD="9")["_HOB_LAUNCH"])
        self.assertIn("job@1", self.start(self.program, PMIX_NAMESPACE="job@1")["_HOB_LAUNCH"])

    def test_options_become_settings(self):
        found = self.start(
            "--cache",
            "strict",
            "--quiet",
            "--json",
            "o.json",
            "--set",
            "cache_size=5M",
            self.program,
        )
        self.assertEqual(found["HOB_CACHE"], "strict")
        self.assertEqual(found["HOB_REPORT"], "silent")
        self.assertEqual(found["HOB_CACHE_SIZE"], "5M")
        self.assertEqual(found["HOB_JSON"], f"{os.getcwd()}/o.json")

    def test_options_override_the_environment(self):
        self.assertEqual(
            self.start("--cache", "strict", self.program, HOB_CACHE="off")["HOB_CACHE"], "strict"
        )

    def test_off_loads_nothing(self):
        self.assertNotIn("LD_PRELOAD", self.start("--off", self.program))

    def test_the_program_keeps_its_own_options(self):
        self.assertEqual(self.start(self.program, "--cache=x")["argument"], "--cache=x")
        self.assertEqual(self.start("--", self.program, "--set")["argument"], "--set")


TOOL = """#include <mpi.h>
#include <stdio.h>
int MPI_Barrier(MPI_Comm comm) {
  printf("%s saw a barrier\\n", NAME);
  fflush(stdout);
  return PMPI_Barrier(comm);
}
"""

WITH_BARRIER = """#include <mpi.h>
#include <stdlib.h>
#include <stdio.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  MPI_Barrier(MPI_COMM_WORLD);
  puts(getenv("LD_PRELOAD"));
  MPI_Finalize();
  return 0;
}
"""


class Tools(unittest.TestCase):
    """PMPI tools see the program's calls with Hob as without."""

    def test_linked_and_preloaded_tools_are_called(self):
        for name, mpi in mpis().items():
            if name not in ("mpich5", "openmpi5", "mpich4"):
                continue
            with self.subTest(name), tempfile.TemporaryDirectory() as scratch:
                self.check(mpi, Path(scratch))

    def check(self, mpi, directory):
        (directory / "tool.c").write_text(TOOL)
        (directory / "p.c").write_text(WITH_BARRIER)
        cc = [mpi["cc"], "-g"]
        for tool in ("linked", "preloaded"):
            library = directory / f"lib{tool}.so"
            command = [
                *cc,
                "-shared",
                "-fPIC",
                f'-DNAME="{tool}"',
                directory / "tool.c",
                "-o",
                library,
            ]
            subprocess.run(command, check=True)
        link = [f"-L{directory}", "-llinked", f"-Wl,-rpath,{directory}", "-Wl,--no-as-needed"]
        subprocess.run([*cc, directory / "p.c", *link, "-o", directory / "p"], check=True)
        found = which(directory / "p")
        self.assertEqual(found["tools"], [str(directory / "liblinked.so")])
        self.assertEqual(which("/bin/sh", "--mpi", mpi["family"])["tools"], [])
        status, out, err = run(
            [mpi["exec"], "-n", "1", BIN / "hob-exec", directory / "p"],
            LD_PRELOAD=str(directory / "libpreloaded.so"),
            OMPI_ALLOW_RUN_AS_ROOT="1",
            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        )
        self.assertEqual(status, 0, err)
        self.assertIn("preloaded saw a barrier", out)
        self.assertIn("libhob_", out)

    def test_linked_tool_alone(self):
        mpi = next(iter(mpis().values()))
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch)
            (directory / "tool.c").write_text(TOOL)
            (directory / "p.c").write_text(WITH_BARRIER)
            library = directory / "liblinked.so"
            subprocess.run(
                [
                    mpi["cc"],
                    "-shared",
                    "-fPIC",
                    '-DNAME="linked"',
                    directory / "tool.c",
                    "-o",
                    library,
                ],
                check=True,
            )
            link = [f"-L{directory}", "-llinked", f"-Wl,-rpath,{directory}"]
            subprocess.run([mpi["cc"], directory / "p.c", *link, "-o", directory / "p"], check=True)
            status, out, err = run([mpi["exec"], "-n", "1", BIN / "hob-exec", directory / "p"])
            self.assertEqual(status, 0, err)
            self.assertIn("linked saw a barrier", out)
            self.assertIn("libhob_", out)


SCRIPT = """#!/bin/sh
sed -n 1p /dev/null
{program} "$@"
"""


class Wrapped(unittest.TestCase):
    """A program that another one starts: the choice is made for it."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = Path(cls.scratch.name)
        (cls.directory / "p.c").write_text(WITH_BARRIER)
        cls.programs = {}
        for name, mpi in mpis().items():
            cls.programs[name] = cls.directory / name
            subprocess.run([mpi["cc"], cls.directory / "p.c", "-o", cls.programs[name]], check=True)
            script = cls.directory / f"{name}.sh"
            script.write_text(SCRIPT.format(program=cls.programs[name]))
            script.chmod(0o755)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def wrappers(self, name):
        """Commands that start the program of an MPI library; the first word of each must be there."""
        program, script = self.programs[name], self.directory / f"{name}.sh"
        python = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
        commands = [["taskset", "-c", "0-1023", program], [script]]
        if name == next(iter(mpis())):
            commands += [
                ["env", "X=1", "nice", program],
                ["timeout", "90", program],
                ["sh", "-c", f"exec {program}"],
                ["valgrind", "-q", "--tool=none", program],
                ["sh", script],
                [sys.executable, "-c", python, program],
            ]
        for words in commands:
            if shutil.which(words[0]):
                yield words

    def test_is_found_among_the_arguments(self):
        for name, mpi in mpis().items():
            for words in self.wrappers(name):
                if str(words[-1]).endswith(".sh") or words[0] == sys.executable:
                    continue  # known where it is started
                with self.subTest(words):
                    found = which(*words)
                    self.assertEqual(found["family"], mpi["family"])
                    self.assertTrue(found["wrapper"])
                    self.assertIn(words[0], found["program"])

    def test_has_the_hob_that_fits_it(self):
        for name, mpi in mpis().items():
            for words in self.wrappers(name):
                with self.subTest(words):
                    status, out, err = run(
                        [mpi["exec"], "-n", "1", BIN / "hob-exec", "--quiet", *words],
                        OMPI_ALLOW_RUN_AS_ROOT="1",
                        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                    )
                    self.assertEqual(status, 0, err)
                    self.assertIn(f"libhob_{mpi['family']}.so", out)
                    self.assertNotIn("hob: ", err)

    def test_has_it_without_a_launcher(self):
        for name, mpi in mpis().items():
            with self.subTest(name):
                status, out, err = hob_exec("--quiet", self.directory / f"{name}.sh")
                self.assertEqual(status, 0, err)
                self.assertIn(f"libhob_{mpi['family']}.so", out)

    def test_has_no_other_mpi_library_beside_its_own(self):
        """What the launcher's MPI is says nothing of the program's."""
        for name in mpis():
            for launcher in ({"PMI_RANK": "0"}, {"OMPI_COMM_WORLD_SIZE": "1"}):
                with self.subTest(name, **launcher):
                    status, out, err = hob_exec(
                        "sh", "-c", f'echo "$LD_PRELOAD"; : {self.programs[name]}', **launcher
                    )
                    self.assertEqual(status, 0, err)
                    self.assertIn("libhob_", out)
                    self.assertNotIn("libmpi", out)

    def test_may_be_no_mpi_program(self):
        status, out, err = hob_exec("env", "X=1", "echo", "here")
        self.assertEqual((status, out, err), (0, "here\n", ""))

    def test_by_hob_run(self):
        for name in mpis():
            with self.subTest(name):
                command = [
                    "run",
                    "-n",
                    "2",
                    "--quiet",
                    "taskset",
                    "-c",
                    "0-1023",
                    self.programs[name],
                ]
                status, out, err = hob(
                    *command, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"
                )
                self.assertEqual(status, 0, err)
                self.assertEqual(out.count("libhob_"), 2)

    def test_python_that_a_wrapper_starts_loads_mpi_late(self):
        try:
            import mpi4py  # noqa: F401
        except ImportError:
            self.skipTest("mpi4py is not installed")
        script = self.directory / "python.sh"
        code = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); print(open('/proc/self/maps').read())"
        script.write_text(SCRIPT.format(program=f'{sys.executable} -c "{code}"'))
        script.chmod(0o755)
        mpi = mpis()["mpich5"]
        for words in ([script], ["nice", sys.executable, "-c", code], [sys.executable, "-c", code]):
            with self.subTest(words):
                start = [mpi["exec"], "-n", "1", BIN / "hob-exec", "--quiet", *words]
                status, out, err = run(start)
                self.assertEqual(status, 0, err)
                self.assertIn("libhob_mpich.so", out)


class Launchers(unittest.TestCase):
    def test_tasks_that_mpi_does_not_know_of_are_told(self):
        mpi = next(iter(mpis().values()))
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch)
            (directory / "p.c").write_text(PROGRAM)
            subprocess.run([mpi["cc"], directory / "p.c", "-o", directory / "p"], check=True)
            start = [BIN / "hob-exec", "--quiet", directory / "p"]
            job = {"SLURM_STEP_NUM_TASKS": "4"}
            status, _, err = run(start, SLURM_PROCID="0", **job)
            self.assertEqual(status, 0, err)
            self.assertIn("started 4 tasks", err)
            self.assertNotIn("tasks", run(start, SLURM_PROCID="1", **job)[2])
            self.assertNotIn("tasks", run(start)[2])
            # An mpiexec inside the job starts ranks of its own.
            err = run([mpi["exec"], "-n", "2", *start], SLURM_PROCID="0", **job)[2]
            self.assertNotIn("tasks", err)


class Help(unittest.TestCase):
    def test_teaches(self):
        status, out, _ = hob_exec("--help")
        self.assertEqual(status, 0)
        for part in ("mpiexec -n 4 hob exec", "--set", "--ghosts", "--json", "--off", "Examples"):
            self.assertIn(part, out)


if __name__ == "__main__":
    unittest.main()
