"""Every engine and algorithm between the ranks of real jobs of 2 to 5 ranks."""

import pathlib
import sys

import jobs


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    for ranks in (2, 3, 5):
        status, output = jobs.execute([*jobs.launcher(mpi, ranks), build / "tests" / f"engines-{mpi}"], 180,
                                      jobs.environment(mpi, build))
        print(f"{mpi}, {ranks} ranks: exit status {status}", flush=True)
        if status != 0:
            print(output, flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
