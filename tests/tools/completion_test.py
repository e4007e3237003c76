"""lapwing completion: its words, and its scripts in the shells themselves."""

import os
import pathlib
import pty
import re
import subprocess
import tempfile
import unittest

from support import TOOL, ToolTest, clean_environment


class Candidates(ToolTest):
    def complete(self, *words):
        """The first line of the answer, and the words that may follow."""
        out, _ = self.call("complete", *words)
        rest, *lines = out.splitlines()
        return rest, [line.split("\t")[0] for line in lines]

    def test_every_subcommand_of_the_help_and_no_hidden_one(self):
        _, words = self.complete("")
        told = self.call("--help")[0].split("\nRun programs:\n")[1].split("\nExamples:")[0]
        self.assertEqual(words, re.findall(r"^  ([a-z]+) ", told, re.M))
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
        self.assertEqual(self.complete("completion", "z")[1], ["zsh"])

    def test_the_value_of_an_option_is_no_subcommand(self):
        self.assertEqual(self.complete("report", "--title", "run", "--engi")[1], [])

    def test_another_programs_words(self):
        self.assertEqual(self.complete("run", "--report", "--", "mpi"), ("command:3", []))

    def test_unknown_shell(self):
        self.refused("completion", "zzsh", because="did you mean 'zsh'?")


class Shells(ToolTest):
    """The scripts, in their shells."""

    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.environment = clean_environment(
            PATH=f"{pathlib.Path(TOOL).parent}:{os.environ['PATH']}", HOME=self.home.name, TERM="dumb"
        )

    def run_shell(self, *words):
        return subprocess.run(
            words, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def bash(self, *words):
        """The completions of the last word."""
        quoted = " ".join(f"'{word}'" for word in words)
        return self.run_shell(
            "bash", "--norc", "-c",
            "compopt() { echo \"compopt $*\"; }; source <(lapwing completion bash); "
            f"COMP_WORDS=({quoted}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _lapwing; "
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ).split("\n")[:-1]  # fmt: skip

    def test_bash(self):
        self.assertEqual(self.bash("lapwing", "run", "--en"), ["--engine"])
        self.assertEqual(self.bash("lapwing", "run", "--engine", ""), ["auto", "kernel", "host", "triggered", "mlx5", "mpi"])
        self.assertEqual(self.bash("lapwing", "run", "--tuning", ""), ["compopt -o default", ""])
        self.assertEqual(self.bash("lapwing", "run", "--", "mpir"), ["compopt -o default", ""])

    def test_fish(self):
        def fish(line):
            out = self.run_shell("fish", "-N", "-c", f"lapwing completion fish | source; complete -C '{line}'")
            return [line.split("\t")[0] for line in out.splitlines()]

        self.assertEqual(fish("lapwing run --en"), ["--engine"])
        self.assertEqual(sorted(fish("lapwing run --engine ")), ["auto", "host", "kernel", "mlx5", "mpi", "triggered"])
        (pathlib.Path(self.home.name) / "listfile").touch()
        self.assertIn(f"{self.home.name}/listfile", fish(f"lapwing verify {self.home.name}/list"))
        self.assertIn("--report", fish("lapwing cluster --hosts 2 -- lapwing run --rep"))

    def test_zsh(self):
        process, terminal = pty.fork()
        if process == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], self.environment)
        seen = b""

        def until(text):
            nonlocal seen
            while text not in seen:
                seen += os.read(terminal, 4096)
            seen = seen.partition(text)[2]

        os.write(terminal, b"autoload -Uz compinit; compinit -u -D; source <(lapwing completion zsh); print set'-up'\n")
        until(b"set-up")
        kill_line = b"\x15"
        os.write(terminal, b"lapwing run --eng\t")
        until(b"ine ")
        os.write(terminal, kill_line + b"lapwing run --engine k\t")
        until(b"ernel ")
        os.write(terminal, kill_line + b"lapwing cluster -- lapwing ver\t")
        until(b"ify ")
        os.write(terminal, kill_line + b"exit\n")
        os.waitpid(process, 0)
        os.close(terminal)


if __name__ == "__main__":
    unittest.main()
