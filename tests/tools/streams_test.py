"""Standard output and standard error that are closed or full: each command ends as it does with open ones, but a result that was to
go to standard output and could not be written is an error."""

import os
import subprocess
import unittest

from support import TOOL, ToolTest, clean_environment

RESULTS = ("info", "info --algorithms", "explain barrier --ranks 4", "topology --help", "bench --table", "status --help",
           "run --dry-run -- mpirun a", "profile --dry-run -- mpirun a",
           "compare --rounds 1 -- mpirun a", "cluster --hosts 1 -- lapwing-tool info --variables")
# Those that print messages, and no result on standard output.
MESSAGES = ("", "nothing", "explain", "info --nothing", "status nosuchjob", "report", "report missing -o page",
            "run --report -- mpirun a", "run --report -- false", "run --trace t.json -- mpirun a", "profile -- mpirun a", "topology missing",
            "bench overlap --json -o b.json -- mpirun", "bench all --output-directory all --only latency -- mpirun", "tune -- mpirun", "topology",
            "doctor -- false", "cluster --hosts 2 --delay 1ms -- true", "cluster --hosts 2 -- false")


class Streams(ToolTest):
    def setUp(self):
        self.script("mpirun", 'case $1 in --version) echo "mpirun (Open MPI) 4.1.4";; *) exit 0;; esac')
        self.script("lapwing-tool", f'exec {TOOL} "$@"')

    def status_with(self, words, redirection):
        environment = clean_environment(PATH=f"{self.scratch}:{os.environ['PATH']}")
        done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", TOOL, *words.split()], env=environment, cwd=self.scratch,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        return done.returncode, done.stdout, done.stderr

    def test_each_subcommand(self):
        listed = subprocess.run([TOOL, "--help"], capture_output=True, text=True, check=True).stdout
        for words in RESULTS + MESSAGES:
            status, out, err = self.status_with(words, "")
            has_result = words in RESULTS and "namespaces" not in err  # which a container may forbid
            self.assertTrue(out or not has_result, f"{words}\n{err}")
            for broken in ("2>&-", "2>/dev/full", ">&-", ">/dev/full", "<&- 2>&-", ">&- 2>&-"):
                with self.subTest(words=words, broken=broken):
                    ended, _, err = self.status_with(words, broken)
                    lost = has_result and broken.startswith(">")
                    self.assertEqual(ended, 125 if lost else status, err)
                    if lost and "2>&-" not in broken:
                        self.assertIn("write", err)
        words = " ".join(RESULTS + MESSAGES)
        for name in ("run", "cluster", "profile", "explain", "topology", "report", "status", "compare", "bench", "tune", "doctor", "info"):
            self.assertIn(f"\n  {name} ", listed)
            self.assertIn(name, words)
        # A file that is opened while number 2 is closed would have that number, and get the messages.
        for file in self.scratch.glob("*.json"):
            self.assertNotIn("lapwing bench: ", file.read_text())


if __name__ == "__main__":
    unittest.main()
