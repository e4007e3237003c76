"""The packing of typed elements, in a job of one rank that has nothing to do with `lapwing run`."""

import pathlib
import sys

import jobs


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    status, output = jobs.execute([*jobs.launcher(mpi, 1), build / "tests" / f"packing-{mpi}"], 180,
                                  jobs.environment(mpi, build))
    print(output[-4000:], flush=True)
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
