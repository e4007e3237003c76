"""Compares programs without Lapwing, with it, and on several MPIs: installs, starts, takes turns, and prints tables.

  python3 bench/compare --list                                     all suites and their cases
  python3 bench/compare fft cg --passes 7 --save                   tables in docs/results, in the directory of this processor
  python3 bench/compare real_codes --case 'cp2k.*4 hosts'
  python3 bench/compare several_hosts --passes 2 --rounds 7 --seconds 2
  lapwing report build/bench/applications.json -o report.html      every sample of the applications

Each variant of a case is a job of its own on virtual hosts (`lapwing cluster`), and the jobs take turns: every pass runs all variants
once, in another order. What a run computes must be what the first run has computed. Let nothing else run meanwhile. The suites: {}.
"""

import argparse
import json
import pathlib
import re
import shlex
import sys

sys.dont_write_bytecode = True
import cases  # noqa: E402
import harness  # noqa: E402
import programs  # noqa: E402


def keep(file, benchmark, rows):
    """The samples for `lapwing report`. What is not measured now stays as it is in the file."""
    def key(row):
        return row["collective"], row.get("parameter")

    old = json.loads(file.read_text())["rows"] if file.exists() else []
    now = [key(row) for row in rows]
    rows = [row for row in old if key(row) not in now] + rows
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"benchmark": benchmark, "command": sys.argv, "rows": rows}, indent=1) + "\n")


def save(options, name, text):
    if options.save:
        file = options.save / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"$ python3 bench/compare {shlex.join(sys.argv[1:])}\n{text}\n")


def measure(case, mpis, options):
    """None if the program is missing here."""
    try:
        if not case.program.is_prepared:
            case.program.prepare(options.build, mpis)
            case.program.is_prepared = True
    except harness.Failure as failure:
        print(f"left out: {case.title()}: {failure}", file=sys.stderr)
        return None
    comparison = harness.Comparison(case, mpis, options.build)
    for _ in range(1 if isinstance(case.program, programs.Printed) else options.passes):
        comparison.measure()
    return comparison


def compare(name, mpis, options):
    """Whether all chosen cases of a suite were measured."""
    chosen = [case for case in cases.SUITES[name]() if re.search(options.case, case.title())
              and any(not variant.mpi or variant.mpi in mpis for variant in case.variants)]
    found = [one for one in (measure(case, mpis, options) for case in chosen) if one]
    head = "\n".join(harness.machine(options.build, mpis))
    tables = []
    for one in found:
        if isinstance(one.case.program, programs.Printed):
            text = f"{head}\n{one.case.title()}\n\n{one.results['']}"
            save(options, one.case.program.file, text)
            print(text)
        else:
            tables.append(one)
    if tables:
        text = "\n\n".join([f"{head}\nmedians of {options.passes} passes", *(one.text() for one in tables)])
        print(text, end="\n\n")
        benchmark = "applications" if name in cases.APPLICATIONS else name
        part = f"-{re.sub('[^a-z0-9]+', '-', options.case.lower()).strip('-')}" if options.case else ""
        save(options, f"applications/{name}{part}" if name in cases.APPLICATIONS else f"{name}{part}", text)
        keep(options.build / "bench" / f"{benchmark}.json", benchmark, [row for one in tables for row in one.for_report()])
    return len(found) == len(chosen)


def main():
    parser = argparse.ArgumentParser(prog="bench/compare", description=__doc__.format(", ".join(cases.SUITES)),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    parser.add_argument("--case", default="", metavar="REGEX", help="only cases whose title matches; --list prints titles")
    parser.add_argument("--list", action="store_true", help="list the cases, and run nothing")
    parser.add_argument("--passes", type=int, default=3, metavar="N", help="times through all variants; usually 3")
    parser.add_argument("--mpi", default="debian-openmpi", metavar="MPI", help=f"where a case names none; of {', '.join(harness.MPIS)}")
    parser.add_argument("--without", type=lambda text: text.split(","), default=[], metavar="MPI,...", help="MPIs that are left out")
    parser.add_argument("--rounds", metavar="N", help="of each job of lapwing bench; usually as the case has it")
    parser.add_argument("--seconds", metavar="S", help="the same, for a collective and size")
    parser.add_argument("--save", type=pathlib.Path, nargs="?", const=harness.results_directory(), metavar="DIRECTORY",
                        help="save the tables; usually in docs/results, in the directory of this processor")
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=pathlib.Path("build").resolve(),
                        help="the build directory; usually build")
    options = parser.parse_args()
    wrong = [name for name in options.suites if name not in cases.SUITES]
    if wrong or (not options.suites and not options.list):
        parser.error(f"{repr(wrong[0]) + ' is no suite' if wrong else 'no suite'}: choose of {', '.join(cases.SUITES)}")
    if options.mpi not in harness.MPIS:
        parser.error(f"unknown MPI '{options.mpi}'; valid: {', '.join(harness.MPIS)}")
    if options.list:
        for name in options.suites or cases.SUITES:
            for case in cases.SUITES[name]():
                if re.search(options.case, case.title()):
                    print(f"{name:14}{case.title()}  {case.words}")
        return 0
    programs.Bench.rounds, programs.Bench.limit = options.rounds, options.seconds
    try:
        named = {variant.mpi for name in options.suites for case in cases.SUITES[name]() for variant in case.variants if variant.mpi}
        mpis = {name: harness.Mpi(name, options.build) for name in dict.fromkeys([options.mpi, *sorted(named)]) if name not in options.without}
        for mpi in mpis.values():
            mpi.prepare()
        complete = [compare(name, mpis, options) for name in options.suites]
    except (harness.Failure, harness.wheels.Failure, OSError) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0 if all(complete) else 1


if __name__ == "__main__":
    sys.exit(main())
