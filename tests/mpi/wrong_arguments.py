"""Calls with wrong arguments: every one has the same end under `lapwing run` as with the MPI alone."""

import pathlib
import sys

import jobs

RUNS = [(1, []), (2, []), (3, []), (1, ["--engine", "kernel"]), (2, ["--engine", "kernel"]), (3, ["--engine", "kernel"])]


def answers(output):
    """What rank 0 has told of each case; the MPIs write lines of their own in between."""
    told = [line for line in output.splitlines() if line[:1].isdigit() and (": " in line or line.endswith("touched"))]
    return told if "\nend" in output else [*told, "no end"]


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    alone = {}
    for ranks, options in RUNS:
        program = [*jobs.launcher(mpi, ranks), build / "tests" / f"wrong_arguments-{mpi}"]
        environment = jobs.environment(mpi, build)
        if ranks not in alone:
            status, output = jobs.execute(program, 120, environment)
            alone[ranks] = answers(output)
            if status != 0 or len(alone[ranks]) < 500 or "no end" in alone[ranks]:
                print(f"{output}\nFAILED {mpi} alone, {ranks} ranks: exit status {status}", flush=True)
                failed += 1
        status, output = jobs.execute([build / "bin" / "lapwing", "run", *options, "--", *program], 120, environment)
        told = answers(output)
        what = f"{mpi}, {ranks} ranks {' '.join(options)}"
        if status != 0 or told != alone[ranks]:
            differences = [f"{ours!r} instead of {theirs!r}" for ours, theirs in zip(told, alone[ranks]) if ours != theirs]
            print(f"FAILED {what}: exit status {status}, {len(told)} answers, {len(alone[ranks])} alone; "
                  f"{differences[:20]}\n{output[-2000:]}", flush=True)
            failed += 1
        else:
            print(f"{what}: {len(told)} answers as alone", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
