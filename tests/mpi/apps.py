"""The sample applications, under `lapwing run`, check their own results."""

import pathlib
import sys

import jobs


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    jobs_to_run = [(engine, ranks, arguments, 0) for engine in ("host", "kernel")
                   for ranks, arguments in [(4, ["64", "5"]), (3, ["48", "4"]), (1, ["32", "3"])]]
    # So short that MPI_Finalize may come before the private duplicate of the communicator is made.
    jobs_to_run += [("kernel", 4, ["64", "1"], 0)] * 4
    jobs_to_run.append(("host", 3, ["50", "1"], 2))
    for engine, ranks, arguments, wanted in jobs_to_run:
        status, output = jobs.execute(
            [build / "bin" / "lapwing", "run", "--engine", engine, "--", *jobs.launcher(mpi, ranks),
             build / "apps" / f"transpose-{mpi}", *arguments], 60, jobs.environment(mpi, build))
        good = status == wanted and ("0 errors" in output if wanted == 0 else "no multiple" in output)
        print(f"{mpi}, {engine}: transpose {' '.join(arguments)} on {ranks} ranks: {'ok' if good else 'FAILED'}",
              flush=True)
        if not good:
            print(f"exit status {status}\n{output}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
