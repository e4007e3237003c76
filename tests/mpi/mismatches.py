"""Calls that do not match are named: at once with LAPWING_CHECK=calls, otherwise at the end of the job."""

import argparse
import concurrent.futures
import pathlib
import sys

import jobs

COLLECTIVES = "the collectives differ"
COUNTS = "the counts differ"
LENGTHS = "the lengths differ"
# With engines other than host, unless all are asked for.
SOME = ["root_of_broadcast", "count_of_allreduce", "operator_of_scan", "counts_of_gatherv", "form_of_allreduce"]

# The mistake, functions that the message must name, and what it says.
MISTAKES = [
    ("barrier_broadcast", ["MPI_Ibarrier", "MPI_Ibcast"], COLLECTIVES),
    ("broadcast_reduce", ["MPI_Ibcast", "MPI_Ireduce"], COLLECTIVES),
    ("allreduce_reduce", ["MPI_Iallreduce", "MPI_Ireduce"], COLLECTIVES),
    ("gather_scatter", ["MPI_Igather", "MPI_Iscatter"], COLLECTIVES),
    ("allgather_alltoall", ["MPI_Iallgather", "MPI_Ialltoall"], COLLECTIVES),
    ("scan_exscan", ["MPI_Iscan", "MPI_Iexscan"], COLLECTIVES),
    ("block_allreduce", ["MPI_Ireduce_scatter_block", "MPI_Iallreduce"], COLLECTIVES),
    ("alltoall_alltoallv", ["MPI_Ialltoall", "MPI_Ialltoallv"], COLLECTIVES),
    ("gather_gatherv", ["MPI_Igather", "MPI_Igatherv"], COLLECTIVES),
    ("root_of_broadcast", ["MPI_Ibcast (root 0", "MPI_Ibcast (root 1"], "the roots differ"),
    ("root_of_reduce", ["MPI_Ireduce (root 0", "MPI_Ireduce (root 1"], "the roots differ"),
    ("root_of_gather", ["MPI_Igather (root 0", "MPI_Igather (root 1"], "the roots differ"),
    ("root_of_scatter", ["MPI_Iscatter (root 0", "MPI_Iscatter (root 1"], "the roots differ"),
    ("count_of_broadcast", ["32 bytes", "24 bytes"], LENGTHS),
    ("count_of_allreduce", ["32 bytes", "24 bytes"], LENGTHS),
    ("count_of_allgather", ["16 bytes", "8 bytes"], LENGTHS),
    ("count_of_alltoall", ["16 bytes", "8 bytes"], LENGTHS),
    ("count_of_gather", ["16 bytes", "8 bytes"], LENGTHS),
    ("count_of_scan", ["16 bytes", "8 bytes"], LENGTHS),
    ("type_of_allreduce", ["MPI_DOUBLE", "MPI_LONG"], "the datatypes differ"),
    ("type_of_reduce", ["MPI_FLOAT", "MPI_INT"], "the datatypes differ"),
    ("operator_of_allreduce", ["MPI_SUM", "MPI_MAX"], "the operators differ"),
    ("operator_of_scan", ["MPI_BAND", "MPI_BOR"], "the operators differ"),
    ("counts_of_alltoallv", ["MPI_Ialltoallv", "sends 16 bytes to rank 0", "receives 8 bytes from rank 2"], COUNTS),
    ("counts_of_allgatherv", ["MPI_Iallgatherv"], COUNTS),
    ("counts_of_gatherv", ["rank 2 sends 16 bytes to rank 0", "rank 0 receives 8 bytes"], COUNTS),
    ("counts_of_scatterv", ["rank 0 sends 8 bytes to rank 2", "rank 2 receives 16 bytes"], COUNTS),
    ("counts_of_reduce_scatter", ["MPI_Ireduce_scatter"], COUNTS),
    ("neighbors", ["MPI_Ineighbor_alltoall", "MPI_Ineighbor_allgather"], COLLECTIVES),
    ("counts_of_neighbors", ["MPI_Ineighbor_alltoall"], COUNTS),
    ("in_place", ["MPI_Ialltoallv"], COUNTS),
    ("form_of_broadcast", ["MPI_Ibcast", "MPI_Bcast"], COLLECTIVES),
    ("form_of_allreduce", ["MPI_Iallreduce", "MPI_Allreduce"], COLLECTIVES),
    ("order_swapped", ["MPI_Ibcast", "MPI_Ibarrier"], COLLECTIVES),
    ("communicator", ["MPI_Ibarrier", "MPI_Iallreduce"], COLLECTIVES),
]


class Mismatches(jobs.Test):
    def run(self, mistake, engine, check):
        return self.run_job(3, [self.built("mismatches"), mistake], ["--engine", engine], LAPWING_CHECK=check)

    def named(self, mistake, engine):
        name, parts, difference = mistake
        status, output = self.run(name, engine, "calls")
        lines = [line for line in output.splitlines() if "the calls of the ranks do not match" in line]
        good = status not in (0, None) and lines and difference in lines[0]
        good = good and all(part in lines[0] for part in parts) and lines[0].count("mismatches.c:") == 2
        self.expect(f"{name}, engine {engine}", good, f"status {status}\n{output}")

    def correct(self, engine, check):
        status, output = self.run("none", engine, check)
        self.expect(f"correct calls, engine {engine}, check {check}",
                    status == 0 and "do not match" not in output, f"status {status}\n{output}")

    def at_the_end(self, engine):
        """Different operators do not show in any message, so the program ends normally."""
        status, output = self.run("operator_of_allreduce", engine, "0")
        self.expect(f"at the end, engine {engine}",
                    status == 0 and output.count("results may be wrong") == 1 and "the operators differ" in output,
                    f"status {status}\n{output}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("mpi", choices=["openmpi", "mpich"])
    parser.add_argument("--all", action="store_true", help="every mistake by every engine; minutes")
    options = parser.parse_args()
    test = Mismatches(options.build, options.mpi)
    with concurrent.futures.ThreadPoolExecutor(2) as side_by_side:
        parts = [side_by_side.submit(test.named, mistake, "host") for mistake in MISTAKES]
        # The comparison is the same for all engines; the ways in which a job ends differ. The MPI itself aborts when
        # lengths differ, perhaps before the comparison.
        others = [mistake for mistake in MISTAKES if options.all or mistake[0] in SOME]
        parts += [side_by_side.submit(test.named, mistake, "kernel") for mistake in others]
        parts += [side_by_side.submit(test.named, mistake, "mpi") for mistake in others
                  if mistake[2] not in (COUNTS, LENGTHS)]
        parts += [side_by_side.submit(test.correct, engine, check)
                  for engine in ("host", "kernel", "mpi") for check in ("calls", "1,calls", "0")]
        parts += [side_by_side.submit(test.at_the_end, engine) for engine in ("host", "mpi")]
        for part in parts:
            part.result()
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
