"""The manual pages of the tool: one for each subcommand, well formed, and with every option."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from support import ToolTest


class ManPages(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)

    def setUp(self):
        self.call("man-pages", self.directory.name, "--date", "November 22, 2026")
        self.pages = sorted(pathlib.Path(self.directory.name).iterdir())

    def test_one_for_each_subcommand(self):
        _, *subcommands = self.call("complete", "")[0].splitlines()
        names = {f"lapwing-{line.split()[0]}.1" for line in subcommands}
        self.assertGreater(len(names), 5)
        self.assertEqual({page.name for page in self.pages}, names | {"lapwing.1"})

    def test_well_formed(self):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *self.pages], capture_output=True, text=True)
        self.assertEqual(done.stdout + done.stderr, "")

    def test_every_option_and_example_of_the_help(self):
        for page in self.pages:
            words = page.stem.split("-")[1:]
            told, _ = self.call(*words, "--help")
            text = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=200", page], capture_output=True, text=True, check=True)
            text = re.sub(".\b", "", text.stdout)
            for option in re.findall(r"^  (?:-\w,)?(--[\w-]+)", told, re.M) if words else []:
                with self.subTest(page=page.name, option=option):
                    self.assertRegex(text, rf"{option}\b")
            for example in re.findall(r"^  (lapwing .*)$", told, re.M):
                with self.subTest(page=page.name, example=example):
                    self.assertIn(example, text)

    def test_a_directory_that_is_not_there(self):
        self.refused("man-pages", "/nowhere", "--date", "today", because="/nowhere/lapwing.1")


if __name__ == "__main__":
    unittest.main()
