"""The triggered engine between virtual hosts, by libfabric's provider sockets: unmodified programs, and random collectives compared
with the MPI's own, with reductions and persistent collectives. With --full more ranks and more sequences."""

import json
import subprocess
import sys

import jobs
import networks

# The programs' collectives that the engine runs. In the other collectives a rank does not know the length of all blocks.
RUN = {f"MPI_I{name}" for name in ("barrier", "bcast", "gather", "scatter", "allgather", "allgatherv", "alltoall", "reduce", "allreduce",
                                   "reduce_scatter_block", "reduce_scatter", "scan", "exscan")}
VARIABLES = {"LAPWING_TRIGGER_PROVIDER": "sockets", "LAPWING_CHECK": "1"}


class Triggered(networks.Networks):
    def __init__(self, build, mpi):
        super().__init__(build, mpi, "tcp")

    def engines(self, report):
        """The engines that ran each collective."""
        return {row["name"]: {use["engine"] for use in row["uses_of_rank_0"]} for row in report["collectives"] if row["taken"] > 0}

    def runs(self, report, names):
        """The collectives among the names that the engine runs."""
        return {name for name, engines in self.engines(report).items() if name in names and "triggered" in engines} if report else set()

    def programs(self, hosts, ranks, **variables):
        status, output, report = self.run(hosts, ranks, f"drop_in-{self.mpi} '{networks.DROP_IN}'", ["--engine", "triggered"], limit=200,
                                          **VARIABLES, **variables)
        most = {"MPI_Ibarrier", "MPI_Ialltoall"}
        self.expect(f"programs, {ranks} ranks on {hosts} hosts", status == 0 and self.runs(report, most) == most, f"{status} {output} {report}")

    def random(self, hosts, ranks, seed, sequences):
        status, output, report = self.run(hosts, ranks, f"fuzz-{self.mpi} {seed} {sequences}", ["--engine", "triggered"], limit=200,
                                          **VARIABLES)
        self.expect(f"{sequences} random sequences, {ranks} ranks on {hosts} hosts",
                    status == 0 and "nothing differs" in output and self.runs(report, RUN) == RUN, f"{status} {output} {report}")


def check(triggered):
    full = "--full" in sys.argv
    if not triggered.has_hosts():
        return jobs.SKIPPED
    here = {row["name"]: row for row in json.loads(subprocess.run([triggered.tool, "info", "--json"], stdout=subprocess.PIPE).stdout)["engines"]}
    if "libfabric" in here["triggered"].get("reason", "") and "cannot be loaded" in here["triggered"]["reason"]:
        print(f"skipped: {here['triggered']['reason']}")
        return jobs.SKIPPED
    # Only two ranks finish within seconds: the provider's threads wait for processors (docs/compatibility.md).
    triggered.random(2, 2, 1000, 60)
    if full or triggered.mpi == "openmpi":
        triggered.programs(2, 2)
        triggered.random(4, 4, 2000, 40 if not full else 300)
    if full:
        triggered.programs(4, 4)
        for seed in range(4):
            triggered.random(2 + seed % 3, 2 + seed, 10000 * seed + 1, 200)


if __name__ == "__main__":
    jobs.run(check, of=Triggered)
