#!/usr/bin/python3
"""Plots of `lapwing report` as SVG files, light, without a click: all, or those whose names match a pattern.

  bench/compare/figures.py build/bench/suite/4-hosts-debian-openmpi docs/results/amd-epyc/figures 'tests-*' 'noise-*'

It needs Chromium, as the report's tests do.
"""

import argparse
import fnmatch
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "report"))
import browser  # noqa: E402

# What would be downloads is kept in the page: [name, text].
KEEP = """(() => {
    window.kept = [];
    URL.createObjectURL = blob => { window.last = blob; return ''; };
    HTMLAnchorElement.prototype.click = function() { window.kept.push([this.download, window.last]); };
    const buttons = [...document.querySelectorAll('[data-save]')];
    buttons.forEach(button => button.click());
    return buttons.length;
})()"""


def save(page, patterns, directory):
    window = browser.Browser(150)
    try:
        window.media("light")
        window.open(page)
        plots = window.evaluate(KEEP)
        window.until(f"kept.length === {plots}")
        names = window.evaluate("kept.map(one => one[0])")
        chosen = [number for number, name in enumerate(names)
                  if any(fnmatch.fnmatch(name.removesuffix(".svg"), pattern) for pattern in patterns)]
        directory.mkdir(parents=True, exist_ok=True)
        for number in chosen:
            (directory / names[number]).write_text(window.evaluate(f"kept[{number}][1].text()") + "\n")
            print(directory / names[number])
    finally:
        window.close()
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="a file or directory, as of lapwing report")
    parser.add_argument("directory", type=pathlib.Path, help="where the pictures go")
    parser.add_argument("patterns", nargs="*", default=["*"], metavar="PATTERN", help="of names, as 'tests-*'; usually all")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="the build directory; usually build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        page = pathlib.Path(directory) / "report.html"
        subprocess.run([options.build / "bin" / "lapwing", "report", options.results, "-o", page], check=True)
        if not save(page, options.patterns, options.directory):
            print(f"no plot is named {' or '.join(options.patterns)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
