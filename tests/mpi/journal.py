"""What ranks record of their MPI calls, by each engine and without one."""

import pathlib
import sys

import jobs

RUNS = [(2, []), (4, []), (1, []), (3, ["--engine", "kernel"]), (3, ["--engine", "mpi"]), (3, ["--blocking"])]


def main():
    build, mpi = pathlib.Path(sys.argv[1]), sys.argv[2]
    failed = 0
    for ranks, options in RUNS:
        command = [build / "bin" / "lapwing", "run", *options, "--", *jobs.launcher(mpi, ranks),
                   build / "tests" / f"journal-{mpi}"]
        status, output = jobs.execute(command, 120, jobs.environment(mpi, build))
        what = f"{mpi}, {ranks} ranks {' '.join(options)}"
        if status != 0:
            print(f"{output}\nFAILED {what}: exit status {status}", flush=True)
            failed += 1
        else:
            print(what, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
