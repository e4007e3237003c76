"""The rules of arrows.py, on small trees that break them and on one that obeys them."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from arrows import problems  # noqa: E402


class WrongTrees(unittest.TestCase):
    def judge(self, path, text, *more):
        """The problems of a tree with this file, and with more files: path, text, path, text."""
        words = [path, text, *more]
        with tempfile.TemporaryDirectory() as root:
            for path, text in zip(words[::2], words[1::2]):
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return list(problems(root))

    def test_an_arrow_that_points_down_is_fine(self):
        self.assertEqual(self.judge("src/plan/a.cpp", '#include "engines/engine.hpp"\n#include <map>\n'), [])

    def test_an_arrow_that_points_up(self):
        found = self.judge("src/task/checker/a.cpp", '// text\n#include "collectives/catalogue.hpp"\n')
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("src/task/checker/a.cpp:2: task/ includes collectives/"), found)

    def test_collectives_know_no_links_and_no_engines(self):
        for target in ("links/link.hpp", "engines/engine.hpp"):
            self.assertEqual(len(self.judge("src/collectives/a.hpp", f'#include "{target}"\n')), 1)

    def test_no_room_includes_what_stands_beside(self):
        self.assertEqual(len(self.judge("src/mpi/a.cpp", '#  include "tools/lapwing/run.hpp"\n')), 1)
        self.assertEqual(self.judge("tools/lapwing/a.cpp", '#include "mpi/report.hpp"\n'), [])

    def test_engines_do_not_know_mpi(self):
        self.assertEqual(len(self.judge("src/engines/a.cpp", "#include <mpi.h>\n")), 1)
        self.assertEqual(self.judge("src/mpi/a.cpp", "#include <mpi.h>\n"), [])

    def test_a_circle_inside_a_room(self):
        for root in ("src", "tools", "bench", "lab"):
            found = self.judge(f"{root}/task/a.hpp", "\n", f"{root}/task/a.cpp", '// text\n#include "task/b.hpp"\n',
                               f"{root}/task/b.hpp", '#include "task/c.hpp"\n', f"{root}/task/c.hpp", "\n",
                               f"{root}/task/c.cpp", '#include "task/a.hpp"\n')
            self.assertEqual(found, [f"{root}/task/a.cpp:2: a circle of 3 files, header and source as one: "
                                     "task/a, task/b, task/c"])

    def test_each_circle_is_told_once(self):
        found = self.judge("src/task/a.hpp", '#include "task/b.hpp"\n', "src/task/b.hpp", '#include "task/a.hpp"\n',
                           "src/base/c.h", '#include "base/d.def"\n', "src/base/d.def", '#include "c.h"\n')
        self.assertEqual([line.split(": ")[0] for line in found], ["src/base/c.h:1", "src/task/a.hpp:1"], found)

    def test_files_that_meet_again_are_no_circle(self):
        self.assertEqual(self.judge(
            "src/task/a.hpp", "\n", "src/task/a.cpp", '#include "task/a.hpp"\n#include "task/b.hpp"\n#include "task/c.hpp"\n',
            "src/task/b.hpp", '#include "task/d.hpp"\n', "src/task/c.hpp", '#include "task/d.hpp"\n#include <task/a.hpp>\n',
            "src/task/d.hpp", "\n"), [])

    def test_folders_of_mpi(self):
        self.assertEqual(len(self.judge("src/mpi/native/a.cpp", '#include "mpi/requests/request.hpp"\n')), 1)
        self.assertEqual(self.judge("src/mpi/calls/a.cpp", '#include "mpi/native/native.hpp"\n'), [])
        self.assertEqual(self.judge("src/mpi/profile/a.cpp", '#include "mpi/calls/exported.hpp"\n'), [])

    def test_nothing_includes_the_laboratory(self):
        lab = ("lab/simulate/b.hpp", "\n", "lab/predict/c.hpp", "\n")
        for path in ("src/plan/a.cpp", "tools/lapwing/a.cpp", "tests/plan/a.cpp", "bench/a.cpp"):
            found = self.judge(path, '#include "simulate/b.hpp"\n', *lab)
            self.assertEqual(found, [f"{path}:1: {path.split('/')[0]}/ includes simulate/b.hpp; nothing outside of lab/ may"])
        self.assertEqual(self.judge("lab/predict/a.cpp", '#include "simulate/b.hpp"\n#include "lapwing/tune/a.hpp"\n', *lab), [])
        self.assertEqual(len(self.judge("lab/simulate/a.cpp", '#include "predict/c.hpp"\n', *lab)), 1)

    def test_a_room_without_a_place(self):
        self.assertEqual(len(self.judge("src/attic/a.cpp", "\n")), 1)

    def test_a_word_that_may_not_stay(self):
        word = "TO" + "DO"
        self.assertEqual(self.judge("src/base/a.cpp", f"\n// {word}: more\n"), [f"src/base/a.cpp:2: the word {word}"])

    def test_names_that_libcxx_lacks(self):
        for line in ("#include <bits/stdc++.h>", "std::char_traits<std::uint8_t>::length(x);", "std::basic_string<std::byte> bytes;",
                     "nlohmann::json::from_cbor(first, last);"):
            found = self.judge("src/base/a.cpp", line + "\n")
            self.assertEqual(len(found), 1, line)
            self.assertTrue(found[0].startswith("src/base/a.cpp:1: libc++"), found)
            self.assertEqual(self.judge("tests/base/a.cpp", line + "\n"), [])
        self.assertEqual(self.judge("src/watch/cbor.hpp", "nlohmann::json::from_cbor(first, last);\n"), [])
        self.assertEqual(self.judge("src/base/a.cpp", "using text = std::basic_string<char>;\n"), [])


if __name__ == "__main__":
    unittest.main()
