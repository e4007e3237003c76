"""The installed files are enough to compile, link and run the quick start of docs/c-api.md.

python3 package_test.py ROOT BUILD
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
HEADER = (ROOT / "include/lapwing.h").read_text()
FUNCTIONS = sorted(set(re.findall(r"^[\w* ]+?\b(lapwing_\w+)\(", HEADER, re.MULTILINE)) - {"lapwing_exchange", "lapwing_log",
                                                                                       "lapwing_function",
                                                                                       "lapwing_problem_of"})
RANKS = 3


def call(*words, **more):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=100, **more)
    if done.returncode != 0:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}")
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.place = pathlib.Path(cls.scratch.name)
        cls.prefix = cls.place / "prefix"
        call("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "c_api")
        cls.library = next(cls.prefix.rglob("liblapwing.so"))
        page = (ROOT / "docs/c-api.md").read_text()
        cls.source = cls.place / "sum.c"
        cls.source.write_text(re.search(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1])

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def adds_up(self, program):
        with tempfile.TemporaryDirectory() as directory:
            ranks = [subprocess.Popen([program, directory, str(rank), str(RANKS)], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True,
                                      env={**os.environ, "LD_LIBRARY_PATH": str(self.library.parent)})
                     for rank in range(RANKS)]
            try:
                said = [process.communicate(timeout=60)[0] for process in ranks]
            finally:
                for process in ranks:
                    process.kill()
        self.assertEqual(said, [f"rank {rank} of {RANKS}: 6\n" for rank in range(RANKS)])

    def test_by_pkg_config(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.library.parent / "pkgconfig")}
        flags = call("pkg-config", "--cflags", "--libs", "lapwing", env=environment).split()
        call("cc", "-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", self.source, "-o", self.place / "sum", *flags)
        self.adds_up(self.place / "sum")
        self.assertEqual(call("pkg-config", "--modversion", "lapwing", env=environment).strip(),
                         re.search(r'LAPWING_VERSION "(.*)"', HEADER)[1])

    def test_by_cmake(self):
        project = self.place / "project"
        project.mkdir()
        shutil.copy(self.source, project)
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(sum C)\nadd_executable(sum sum.c)\n"
            + re.search(r"^```cmake\n(.*?)^```$", (ROOT / "docs/c-api.md").read_text(), re.MULTILINE | re.DOTALL)[1])
        call("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        call("cmake", "--build", project / "build")
        self.adds_up(project / "build" / "sum")

    def test_the_header_is_plain_c_and_cpp(self):
        for compiler, standard in (("cc", "c11"), ("c++", "c++11")):
            language = "c" if compiler == "cc" else "c++"
            call(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", language,
                 next(self.prefix.rglob("lapwing.h")))

    def test_nothing_is_exported_but_the_header_with_its_version(self):
        self.assertGreater(len(FUNCTIONS), 30)
        rows = [line.split()[-1] for line in call("nm", "-D", "--defined-only", self.library).splitlines()]
        version = "LAPWING_0.3"
        self.assertEqual(sorted(rows), sorted([version, *(f"{name}@@{version}" for name in FUNCTIONS)]))

    def test_it_needs_nothing_but_the_c_library(self):
        dynamic = call("readelf", "-d", self.library)
        self.assertIn("[liblapwing.so.0.3]", dynamic)
        needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", dynamic))
        # If libsodium's archive cannot be linked into a shared library, the shared libsodium is needed as well.
        self.assertLessEqual(needed, {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64", "libsodium"})

    def test_manual_pages(self):
        pages = sorted((self.prefix / "share/man").rglob("*.3"))
        names = {page.name for page in pages}
        for name in ["lapwing.3", *(f"{function}.3" for function in FUNCTIONS)]:
            self.assertIn(name, names)
        whole = [page for page in pages if not page.read_text().startswith(".so ")]
        text = "\n".join(page.read_text() for page in whole)
        for function in FUNCTIONS:
            self.assertRegex(text, rf"(?m)^\.F[no] {function}\b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
