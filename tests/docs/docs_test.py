"""README and manual keep to the truth: variables, links between pages, and commands that can be pasted.

python3 docs_test.py ROOT TOOL

Blocks marked `sh` are run, line by line, in one directory; they start no MPI program.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT, TOOL = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Docs(unittest.TestCase):
    def test_the_manual_lists_the_variables_with_their_defaults(self):
        rows = re.findall(r'^LAPWING_SETTING\(\w+, "(\w+)", "(\w*)"', (ROOT / "src/base/settings.def").read_text(),
                          re.MULTILINE)
        self.assertTrue(rows)
        manual = (ROOT / "docs/manual.md").read_text()
        listed = re.findall(r"^\| `LAPWING_(\w+)` \| (?:`(\w+)`)? *\|", manual, re.MULTILINE)
        self.assertEqual(listed, rows)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if "://" in target:
                    continue
                path, _, anchor = target.partition("#")
                there = (page.parent / path).resolve() if path else page
                self.assertTrue(there.exists(), f"{page.name}: {target}")
                if anchor:
                    self.assertIn(anchor, anchors(there), f"{page.name}: {target}")

    def test_commands_can_be_pasted(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAPWING_")}
        environment["PATH"] = f"{TOOL.parent}:{environment['PATH']}"
        count = 0
        for page in PAGES:
            for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
                with self.subTest(page=page.name), tempfile.TemporaryDirectory() as directory:
                    for command in block.splitlines():
                        done = subprocess.run(command, shell=True, cwd=directory, env=environment, timeout=60,
                                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
                        count += 1
        self.assertGreater(count, 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
