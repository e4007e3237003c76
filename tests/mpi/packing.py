"""The packing of typed elements, in a job of one rank without `lapwing run`."""

import jobs


def check(test):
    status, output = jobs.execute([*jobs.launcher(test.mpi, 1), test.built("packing")], 180, test.environment)
    test.expect("packing", status == 0, output)


if __name__ == "__main__":
    jobs.run(check)
