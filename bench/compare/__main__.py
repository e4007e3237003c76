"""Repeats the measurements of docs/results. Each case is one command of `lapwing compare` or `lapwing bench`, which takes turns,
checks results and prints the table; here it gets its program, its MPI and virtual hosts (`lapwing cluster`).

  python3 bench/compare --list                                     all suites, and the commands of their cases
  python3 bench/compare fft cg --save                              tables in docs/results, in the directory of this processor
  python3 bench/compare real_codes --case 'cp2k.*2 hosts' -- --rounds 40 --within 2

Words behind -- replace options of `lapwing compare` or `bench`. Let nothing else run meanwhile. The suites: {}.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import cases  # noqa: E402
import programs  # noqa: E402


def processor(key="model name"):
    values = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.split(":")[0].strip() == key]
    return values[0] if values else "unknown"


def results_directory():
    """The directory of docs/results for this processor: amd-epyc, intel-xeon-platinum-8480c."""
    name = re.sub(r"\((r|tm)\)| (cpu )?@.*|\d+-core|processor", "", processor().lower())
    return programs.ROOT / "docs" / "results" / re.sub(r"[^a-z0-9]+", "-", name).strip("-")


def machine(build):
    """Lines that describe the machine and the software of the measurement."""
    system = os.uname()
    version = programs.must(build / "bin" / "lapwing", "--version").strip()
    return (f"{system.sysname} {system.release} {system.machine}, {len(os.sched_getaffinity(0))} processors, {processor()} "
            f"(family {processor('cpu family')}, model {processor('model')})\n{version}\n")


def execute(case, mpi, build, more):
    """What the case's command prints."""
    if case.prepare:
        case.prepare(build)
    command = case.command(build, mpi.launcher(case.ranks, case.hosts), more)
    shown = shlex.join(command).replace(f"{programs.ROOT}/", "")
    print(f"$ {shown}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=build) as scratch:
        for file, text in case.files.items():
            (pathlib.Path(scratch) / file).write_text(text() if callable(text) else text)
        done = subprocess.run(command, cwd=scratch, env={**mpi.environment(case.hosts), **case.variables}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        text = f"{case.title()}\n$ {shown}\n{done.stdout}"
        if done.returncode != 0:
            raise programs.Failure(f"{text}\nexit status {done.returncode}")
        return case.note(pathlib.Path(scratch), text) if case.note else text


def measure(name, options):
    """Whether all chosen cases of a suite were measured."""
    texts, complete = {}, True
    for case in cases.SUITES[name]():
        if not re.search(options.case, case.title()):
            continue
        try:
            mpi = programs.Mpi(case.mpi, options.build)
            mpi.prepare()
            text = execute(case, mpi, options.build, options.more)
        except (programs.Failure, programs.wheels.jobs.Failure, OSError) as failure:
            print(failure, file=sys.stderr)
            complete = False
            continue
        print(text, flush=True)
        texts.setdefault(case.file or name, []).append(text)
        if options.save:
            file = options.save / f"{case.file or name}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(machine(options.build) + "\n" + "\n".join(texts[case.file or name]))
    return complete


def main():
    given, more = sys.argv[1:], []
    if "--" in given:
        given, more = given[:given.index("--")], given[given.index("--") + 1:]
    parser = argparse.ArgumentParser(prog="bench/compare", description=__doc__.format(", ".join(cases.SUITES)),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    parser.add_argument("--case", default="", metavar="REGEX", help="only cases whose title matches; --list prints titles")
    parser.add_argument("--list", action="store_true", help="list the cases, and run nothing")
    parser.add_argument("--save", type=pathlib.Path, nargs="?", const=results_directory(), metavar="DIRECTORY",
                        help="save the tables; usually in docs/results, in the directory of this processor")
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=pathlib.Path("build").resolve(),
                        help="the build directory; usually build")
    options = parser.parse_args(given)
    options.more = more
    wrong = [name for name in options.suites if name not in cases.SUITES]
    if wrong or (not options.suites and not options.list):
        parser.error(f"{repr(wrong[0]) + ' is no suite' if wrong else 'no suite'}: choose of {', '.join(cases.SUITES)}")
    if options.list:
        for name in options.suites or cases.SUITES:
            for case in cases.SUITES[name]():
                if re.search(options.case, case.title()):
                    print(f"{name:14}{case.title()}  {' '.join(case.words)}")
        return 0
    return 0 if all([measure(name, options) for name in options.suites]) else 1


if __name__ == "__main__":
    sys.exit(main())
