"""The rules of arrows.py, on small trees that break them and on trees that obey them."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from arrows import problems  # noqa: E402


def tree_of(*words):
    """A tree: its files as path, text, path, text."""
    return dict(zip(words[::2], words[1::2]))


LAB = ("lab/simulate/b.hpp", "\n", "lab/predict/c.hpp", "\n")
WORD = "TO" + "DO"
OBEY = (
    tree_of("src/plan/a.cpp", '#include "engines/engine.hpp"\n#include <map>\n'),
    tree_of("tools/lapwing/a.cpp", '#include "mpi/report.hpp"\n'),
    tree_of("src/mpi/a.cpp", "#include <mpi.h>\n"),
    # Files that meet again are no circle.
    tree_of("src/task/a.hpp", "\n", "src/task/a.cpp", '#include "task/a.hpp"\n#include "task/b.hpp"\n#include "task/c.hpp"\n',
            "src/task/b.hpp", '#include "task/d.hpp"\n', "src/task/c.hpp", '#include "task/d.hpp"\n#include <task/a.hpp>\n',
            "src/task/d.hpp", "\n"),
    tree_of("src/mpi/calls/a.cpp", '#include "mpi/native/native.hpp"\n'),
    tree_of("src/mpi/profile/a.cpp", '#include "mpi/calls/exported.hpp"\n'),
    tree_of("lab/predict/a.cpp", '#include "simulate/b.hpp"\n#include "lapwing/tune/a.hpp"\n', *LAB),
    tree_of("src/base/a.cpp", "using text = std::basic_string<char>;\n"),
    tree_of("tests/base/a.cpp", "#include <bits/stdc++.h>\nstd::basic_string<std::byte> bytes;\n"),
)
# With the beginning of each problem.
BREAK = (
    (tree_of("src/task/checker/a.cpp", '// text\n#include "collectives/catalogue.hpp"\n'),
     "src/task/checker/a.cpp:2: task/ includes collectives/"),
    (tree_of("src/collectives/a.hpp", '#include "links/link.hpp"\n'), "src/collectives/a.hpp:1: collectives/ includes links/"),
    (tree_of("src/mpi/a.cpp", '#  include "tools/lapwing/run.hpp"\n'), "src/mpi/a.cpp:1: mpi/ includes tools/"),
    (tree_of("src/engines/a.cpp", "#include <mpi.h>\n"), "src/engines/a.cpp:1: engines/ includes <mpi.h>"),
    *((tree_of(f"{root}/task/a.hpp", "\n", f"{root}/task/a.cpp", '// text\n#include "task/b.hpp"\n',
               f"{root}/task/b.hpp", '#include "task/c.hpp"\n', f"{root}/task/c.hpp", "\n", f"{root}/task/c.cpp", '#include "task/a.hpp"\n'),
       f"{root}/task/a.cpp:2: a circle of 3 files, header and source as one: task/a, task/b, task/c")
      for root in ("src", "tools", "bench", "lab")),
    # Each circle once.
    (tree_of("src/task/a.hpp", '#include "task/b.hpp"\n', "src/task/b.hpp", '#include "task/a.hpp"\n',
             "src/base/c.h", '#include "base/d.def"\n', "src/base/d.def", '#include "c.h"\n'),
     "src/base/c.h:1: a circle", "src/task/a.hpp:1: a circle"),
    (tree_of("src/mpi/native/a.cpp", '#include "mpi/requests/request.hpp"\n'), "src/mpi/native/a.cpp:1: mpi/native/ includes"),
    *((tree_of(path, '#include "simulate/b.hpp"\n', *LAB),
       f"{path}:1: {path.split('/')[0]}/ includes simulate/b.hpp; nothing outside of lab/ may")
      for path in ("src/plan/a.cpp", "tools/lapwing/a.cpp", "tests/plan/a.cpp", "bench/a.cpp")),
    (tree_of("lab/simulate/a.cpp", '#include "predict/c.hpp"\n', *LAB), "lab/simulate/a.cpp:1: lab/simulate/ includes"),
    (tree_of("src/attic/a.cpp", "\n"), "src/attic/a.cpp:1: room attic/ has no place"),
    (tree_of("src/base/a.cpp", f"\n// {WORD}: more\n"), f"src/base/a.cpp:2: the word {WORD}"),
    (tree_of("tools/a.cpp", "fmt::print(\n    stderr,\n"), "tools/a.cpp:2: use print_message()"),
    *((tree_of("src/base/a.cpp", line + "\n"), "src/base/a.cpp:1: libc++")
      for line in ("#include <bits/stdc++.h>", "std::char_traits<std::uint8_t>::length(x);", "std::basic_string<std::byte> bytes;",
                   "nlohmann::json::from_cbor(first, last);")),
)


class WrongTrees(unittest.TestCase):
    def test_trees(self):
        for tree, *wanted in [*((tree,) for tree in OBEY), *BREAK]:
            with self.subTest(tree=tree), tempfile.TemporaryDirectory() as root:
                for path, text in tree.items():
                    file = pathlib.Path(root, path)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
                found = list(problems(root))
                self.assertEqual(len(found), len(wanted), found)
                for problem, beginning in zip(found, wanted):
                    self.assertTrue(problem.startswith(beginning), problem)


if __name__ == "__main__":
    unittest.main()
