"""Calls with wrong arguments: every one has the same end under `lapwing run` as with the MPI alone."""

import pathlib
import sys
import tempfile

import jobs

# Ranks, the form of the calls, options of `lapwing run`.
RUNS = [(ranks, "nonblocking", options) for ranks in (1, 2, 3) for options in ([], ["--engine", "kernel"])] + [
    (2, "blocking", ["--blocking"]), (2, "blocking", ["--blocking", "--engine", "kernel"]),
    (2, "persistent", []), (2, "persistent", ["--engine", "kernel"])]


def run(words, file, environment):
    """Exit status, what rank 0 has told of each case, and the output."""
    file.write_text("")
    status, output = jobs.execute(words, 120, environment)
    told = file.read_text().splitlines()
    return status, told if told[-1:] == ["end"] else [*told, "no end"], output


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    alone = {}
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "answers"
        environment = jobs.environment(mpi, build)
        for ranks, form, options in RUNS:
            program = [*jobs.launcher(mpi, ranks), build / "tests" / f"wrong_arguments-{mpi}", form, file]
            if (ranks, form) not in alone:
                status, told, output = run(program, file, environment)
                alone[ranks, form] = told
                if status != 0 or len(told) < 500 or told[-1] == "no end":
                    print(f"{output}\nFAILED {mpi} alone, {ranks} ranks, {form}: exit status {status}, {told[-1:]}", flush=True)
                    failed += 1
            expected = alone[ranks, form]
            status, told, output = run([build / "bin" / "lapwing", "run", *options, "--", *program], file, environment)
            what = f"{mpi}, {ranks} ranks, {form} {' '.join(options)}"
            if status != 0 or told != expected:
                differences = [f"{ours!r} instead of {theirs!r}" for ours, theirs in zip(told, expected) if ours != theirs]
                print(f"{output[-2000:]}\nFAILED {what}: exit status {status}, {len(told)} answers, {len(expected)} alone; "
                      f"{differences[:20]}", flush=True)
                failed += 1
            else:
                print(f"{what}: {len(told)} answers as alone", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
