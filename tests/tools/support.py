"""Functions that the tests of the tool share: they call the tool and compare its output with golden files."""

import os
import pathlib
import subprocess

from scratch import ScratchTest

TOOL = os.environ["LAPWING_TOOL"]
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"


def clean_environment(**changes):
    """The environment without the variables that the tool reads."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("LAPWING_") and name not in ("LD_PRELOAD", "COLUMNS")}
    return {**kept, **changes}


class ToolTest(ScratchTest):
    def call(self, *arguments, status=0, tool=TOOL, cwd=None, **variables):
        """Runs the tool and expects `status`. Returns standard output and standard error."""
        done = subprocess.run([tool, *map(str, arguments)], env=clean_environment(**variables), cwd=cwd,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done.stdout, done.stderr

    def refused(self, *arguments, because, **more):
        """Expects exit status 2, an empty standard output and the reason on standard error. Returns the reason."""
        out, err = self.call(*arguments, status=125, **more)
        self.assertEqual(out, "")
        self.assertIn(because, err)
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def refused_each(self, rows, *before, **more):
        """Rows of words and what the message names: the option, the value, the file or the nearest name."""
        for *words, named in rows:
            with self.subTest(words=words):
                self.refused(*before, *words, because=named, **more)

    def assert_golden(self, text, name):
        self.assertEqual(text, (GOLDEN / name).read_text())
