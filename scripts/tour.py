#!/usr/bin/env python3
"""Runs the commands of the pages of the tour, and writes what they print below them.

  scripts/tour.py [--build BUILD]            new outputs; the plot is saved from the report's page
  scripts/tour.py --check [--build BUILD]    changes nothing; fails where a command fails, or prints something of another shape

A shape is a text without its figures, and without the widths of its columns. A block below the comment "varies" is run, but may
have other words. Without virtual hosts --check ends with status 77.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "docs" / "tour.md", ROOT / "docs" / "overlap.md"]
BLOCK = re.compile(r"(<!-- varies -->\n)?```console\n(.*?)```\n", re.DOTALL)
# What launchers say now and then.
NOISE = re.compile(r"^\[[^\]]*\] plm:rsh: .*\n", re.MULTILINE)


def commands(block):
    """The commands of a block, each with what stands below it."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line, ""])
        elif not found[-1][1] and found[-1][0].endswith("\\\n"):
            found[-1][0] += line
        else:
            found[-1][1] += line
    return found


def shape(text):
    # A figure with its unit; percentages and lists of them, too.
    text = re.sub(r"-?\d[\d.,]*(e[+-]?\d+)?( ?[munpk]?s\b|Mi\b|Ki\b)?", "#", text)
    text = re.sub(r"[-─]{3,}", "---", text)
    # Which networks are missing is the machine's affair, and ranks and launcher write in any order.
    return sorted(" ".join(line.split()) for line in text.splitlines() if not line.startswith("the network "))


def run(command, directory, build):
    environment = {**os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}", "COLUMNS": "120",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["bash", "-c", command], cwd=directory, env=environment, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = NOISE.sub("", done.stdout)
    if done.returncode != 0:
        sys.exit(f"tour: status {done.returncode} of: {command}\n{text}")
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def walk(page, directory, build, check):
    """The page with new outputs, and what differs in shape."""
    differences = []

    def renewed(match):
        text = ""
        for command, before in commands(match[2]):
            output = run(command.removeprefix("$ "), directory, build)
            if match[1] is None and shape(output) != shape(before):
                differences.append(f"{page.name}: {command}--- the page\n{before}+++ now\n{output}")
            text += command + output
        return f"{match[1] or ''}```console\n{text}```\n"

    text = BLOCK.sub(renewed, page.read_text())
    return text, differences if check else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    build = options.build.resolve()
    hosts = subprocess.run([build / "bin" / "lapwing", "cluster", "--hosts", "1", "--", "true"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True)
    if hosts.returncode != 0:
        print(f"tour: no virtual hosts: {hosts.stderr}", file=sys.stderr)
        return 77 if options.check else 1
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "transpose.c").symlink_to(ROOT / "apps/transpose/transpose.c")
        for page in PAGES:
            text, differences = walk(page, directory, build, options.check)
            wrong += differences
            if not options.check:
                page.write_text(text)
        if not options.check:
            shutil.copy(directory / "report.html", build)  # its button SVG saves docs/tour/overlap.svg
    print("\n".join(wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
