"""The packing of typed elements, in a job of one rank without `lapwing run`."""

import sys

import jobs


def main():
    test = jobs.Test(*sys.argv[1:3])
    status, output = jobs.execute([*jobs.launcher(test.mpi, 1), test.built("packing")], 180, test.environment)
    print(output[-4000:], flush=True)
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
