"""Programs that open their MPI at run time, with AddressSanitizer's runtime as well: Lapwing takes their calls, and functions that the MPI
lacks are not found."""

import exports
import jobs


def check(test):
    library = exports.native_library(test.build, test.mpi)
    has = int("MPI_Barrier_init" in exports.functions_of(library))
    # Opened with RTLD_DEEPBIND, MPICH calls UCX directly: Lapwing has no hook in its progress.
    for program, mode in (("loaded", "local"), ("loaded", "global"), ("loaded", "deepbind"), ("loaded_address", "local")):
        words = [test.build / "tests" / program, library, has, mode]
        if not words[0].exists():
            continue
        status, output, report = test.run_with_report(2, words, ASAN_OPTIONS="detect_leaks=0")
        rows = {row["name"]: row for row in report.get("collectives", [])}
        test.expect(f"{program}: the MPI is opened {mode}", status == 0 and "MPI_Iallreduce" in rows and
                    rows["MPI_Iallreduce"]["taken"] == 2, output)


if __name__ == "__main__":
    jobs.run(check)
