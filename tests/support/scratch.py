"""Tests with a scratch directory of their own."""

import functools
import pathlib
import tempfile
import unittest


class ScratchTest(unittest.TestCase):
    maxDiff = None

    @functools.cached_property
    def scratch(self):
        """An empty directory, which is removed after the test."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return pathlib.Path(directory.name)

    def script(self, name, text, folder=None):
        """An executable script of the shell, in the scratch directory or in the folder."""
        path = (folder or self.scratch) / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path
