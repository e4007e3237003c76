"""lapwing completion: its words, its script in bash, and the manual pages, which are made of the same options."""

import os
import pathlib
import re
import subprocess
import unittest

from support import TOOL, ToolTest, clean_environment


class Candidates(ToolTest):
    def complete(self, *words):
        """The first line of the answer, and the words that may follow."""
        out, _ = self.call("complete", *words)
        rest, *candidates = out.splitlines()
        return rest, candidates

    def test_every_subcommand_of_the_help_and_no_hidden_one(self):
        _, words = self.complete("")
        told = self.call("--help")[0].split("\nRun programs:\n")[1].split("\nExamples:")[0]
        laboratory = pathlib.Path(TOOL).with_name("lapwing-lab").exists()
        self.assertEqual(words, re.findall(r"^  ([a-z]+) ", told, re.M) + (["predict", "verify"] if laboratory else []))
        self.assertNotIn("cluster-shell", words)

    def test_every_option_of_every_subcommand(self):
        _, subcommands = self.complete("")
        for subcommand in subcommands:
            _, options = self.complete(subcommand, "--")
            told = self.call(subcommand, "--help")[0]
            for option in options:
                self.assertIn(option, told)
            self.assertIn("--help", options)
        self.assertIn("--algorithm", self.complete("explain", "barrier", "--a")[1])
        self.assertEqual(self.complete("bench", "overlap", "--coll")[1], ["--collective"])

    def test_values(self):
        self.assertEqual(self.complete("run", "--engine", "k")[1], ["kernel"])
        self.assertEqual(self.complete("run", "--mpi", "")[1], ["openmpi", "mpich", "abi"])
        self.assertIn("barrier", self.complete("explain", "")[1])
        self.assertEqual(self.complete("run", "--tuning", ""), ("files", []))
        self.assertEqual(self.complete("run", "--algorithm", ""), ("", []))
        self.assertEqual(self.complete("completion", "b")[1], ["bash"])

    def test_the_value_of_an_option_is_no_subcommand(self):
        self.assertEqual(self.complete("report", "--title", "run", "--engi")[1], [])

    def test_another_programs_words(self):
        self.assertEqual(self.complete("run", "--report", "--", "mpi"), ("command:3", []))

    def test_unknown_shell(self):
        self.refused("completion", "zzsh", because="bash")


class Bash(ToolTest):
    def bash(self, *words):
        """The completions of the last word."""
        quoted = " ".join(f"'{word}'" for word in words)
        script = ("compopt() { echo \"compopt $*\"; }; source <(lapwing completion bash); "
                  f"COMP_WORDS=({quoted}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _lapwing; "
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        environment = clean_environment(PATH=f"{pathlib.Path(TOOL).parent}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "--norc", "-c", script], env=environment, check=True, capture_output=True, text=True, timeout=60)
        return done.stdout.split("\n")[:-1]

    def test_completions(self):
        self.assertEqual(self.bash("lapwing", "run", "--en"), ["--engine"])
        self.assertEqual(self.bash("lapwing", "run", "--engine", ""), ["auto", "kernel", "host", "triggered", "mlx5", "mpi"])
        self.assertEqual(self.bash("lapwing", "run", "--tuning", ""), ["compopt -o default", ""])
        self.assertEqual(self.bash("lapwing", "run", "--", "mpir"), ["compopt -o default", ""])


class ManPages(ToolTest):
    def test_one_for_each_subcommand_with_its_options(self):
        self.call("man-pages", self.scratch, "--date", "November 22, 2026")
        pages = {page.name: page.read_text().replace("\\-", "-") for page in self.scratch.iterdir()}
        _, *subcommands = self.call("complete", "")[0].splitlines()
        names = [name for name in subcommands if name not in ("predict", "verify")]
        self.assertEqual(set(pages), {"lapwing.1", *(f"lapwing-{name}.1" for name in names)})
        for name in names:
            _, *options = self.call("complete", name, "--")[0].splitlines()
            self.assertTrue(options)
            for option in options:
                self.assertIn(option.split("\t")[0], pages[f"lapwing-{name}.1"])

    def test_a_directory_that_is_not_there(self):
        self.refused("man-pages", "/dev/null/pages", "--date", "today", because="/dev/null/pages/lapwing.1")


if __name__ == "__main__":
    unittest.main()
