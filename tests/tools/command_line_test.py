"""The rules of the command line (CONTRIBUTING.md), in every subcommand."""

import re
import unittest

from support import ToolTest

# Names that once said what another one says, and what they are now.
OLD = {"--file": "--output, --from", "--report-file": "--output", "--results": "--output-directory", "--limit": "--seconds", "--repeat": "--rounds"}


class CommandLine(ToolTest):
    def helps(self):
        """The words of each subcommand, and its help."""
        whole, _ = self.call("--help")
        yield (), whole
        for name in re.findall(r"^  ([a-z]+) {2,}", whole, re.MULTILINE):
            text, _ = self.call(name, "--help")
            yield (name,), text
            for nested in re.findall(r"^  ([a-z]+) {2,}", text.partition("\nSubcommands:")[2], re.MULTILINE):
                yield (name, nested), self.call(name, nested, "--help")[0]

    def test_every_help(self):
        seen = set()
        for words, text in self.helps():
            with self.subTest(words=words):
                seen.add(words)
                for line in text.splitlines():
                    # A word may be longer than the line.
                    self.assertTrue(len(line) <= 80 or " " not in line.strip(), line)
                self.assertNotRegex(text, r"\{|\w\.md\b|\d=\d")
                options = dict(re.findall(r"^  ((?:-\w,)?--[\w-]+)(?: (\S+))?", text, re.MULTILINE))
                for written, value in options.items():
                    name = written.split(",")[-1]
                    self.assertNotIn(name, OLD)
                    if name == "--output":
                        self.assertEqual((written, value), ("-o,--output", "FILE"))
                    if name == "--json":
                        self.assertNotRegex(value, "^[A-Z]|^\\[")
                    if name in ("--seconds", "--stall"):
                        self.assertEqual(value, "S")
                    if name == "--network":
                        self.assertIn((words, value), ((("run",), "N"),))
                    if name == "--rounds":
                        self.assertEqual(value, "N")
        self.assertIn(("bench", "overlap"), seen)
        self.assertGreater(len(seen), 20)

    def test_statuses(self):
        """125 is Lapwing's own, in every subcommand."""
        for words, _ in self.helps():
            with self.subTest(words=words):
                _, err = self.call(*words, "--no-such-option", status=125)
                self.assertRegex(err, "^lapwing[^\n]*(--no-such-option|is required)[^\n]*\n$")

    def test_json_of_a_program_needs_a_file(self):
        for command in ("run", "profile"):
            self.refused(command, "--json", "--", "true", because="--json needs --output FILE: standard output is the program's")

    def test_manual_pages(self):
        """One for each subcommand, with its options."""
        self.call("man-pages", self.scratch, "--date", "November 22, 2026")
        pages = {page.name: page.read_text().replace("\\-", "-") for page in self.scratch.iterdir()}
        helps = {"-".join(("lapwing", *words)) + ".1": text for words, text in self.helps() if len(words) < 2}
        self.assertEqual(set(pages), set(helps))
        for name, text in helps.items():
            options = re.findall(r"--[a-z-]+", text)
            self.assertTrue(options)
            for option in options:
                self.assertIn(option, pages[name])
        self.refused("man-pages", "/dev/null/pages", "--date", "today", because="/dev/null/pages/lapwing.1")


if __name__ == "__main__":
    unittest.main()
