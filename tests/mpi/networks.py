"""Lapwing's own networks between virtual hosts: unmodified programs, random collectives compared with the MPI's own,
and faults. With --full more ranks and more sequences, for `scripts/test-networks`."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jobs

# Open MPI's own windows do not work between these hosts.
DROP_IN = "--gtest_filter=-*InsideWindow*"


class Networks(jobs.Test):
    def __init__(self, build, mpi, network):
        super().__init__(build, mpi, f"{mpi}, {network}")
        self.network = network

    def run(self, hosts, ranks, program, options=("--engine", "host"), fault=None, limit=100, until=None, under="", **variables):
        """Runs a program on hosts with a fault, see jobs.with_fault. Returns status, output and report."""
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            environment = self.environment | jobs.NETWORKS.get(self.network, {}) | variables
            launch = f"mpirun.{self.mpi} -n {ranks} {under} {self.build}/tests/{program}"
            script = jobs.with_fault(fault, f"timeout --kill-after=2 {limit - 10} {self.tool} run --report --json --output {report} "
                                            f"{' '.join(options)} -- {launch}")
            environment.setdefault("LAPWING_NETWORK", self.network)
            command = [self.tool, "cluster", "--hosts", hosts, "--", "sh", "-c", script]
            status, output = jobs.execute(command, limit, environment, until)
            return status, output, jobs.report_in(report)

    def taken(self, report):
        """Whether the collectives ran over the network, no collective was left to the MPI, and the thread made progress."""
        if report.get("schema") != 1 or not report.get("network", "").startswith(f"{self.network} ("):
            return False
        rows = [row for row in report["collectives"] if row["taken"] > 0]
        engines = {use["engine"] for row in rows for use in row["uses_of_rank_0"]}
        return rows and engines == {"host"} and sum(row["wake_ups"] for row in rows) > 0

    def programs(self, hosts, ranks, arguments=(), options=(), **variables):
        status, output, report = self.run(hosts, ranks, f"drop_in-{self.mpi} {' '.join(arguments)} '{DROP_IN}'",
                                          ["--engine", "host", *options], LAPWING_CHECK="1", **variables)
        self.expect(f"programs, {ranks} ranks on {hosts} hosts {' '.join([*arguments, *options])}",
                    status == 0 and self.taken(report), f"{status} {output} {report}")

    def random(self, hosts, ranks, seed, sequences):
        status, output, report = self.run(hosts, ranks, f"fuzz-{self.mpi} {seed} {sequences}")
        self.expect(f"{sequences} random sequences, {ranks} ranks on {hosts} hosts",
                    status == 0 and "nothing differs" in output and self.taken(report), f"{status} {output} {report}")

    def without_a_thread(self):
        status, output, report = self.run(2, 3, f"fuzz-{self.mpi} 5000 50", LAPWING_PROGRESS_THREAD="none")
        woken = sum(row["wake_ups"] for row in report["collectives"]) if report else None
        self.expect("without a progress thread", status == 0 and "nothing differs" in output and woken == 0,
                    f"{status} {output} {report}")

    def many_communicators(self, ranks):
        status, output, report = self.run(4, ranks, f"mixture-{self.mpi} 300")
        found = re.search(r"wrong 0, memory grown by (-?\d+) KiB, descriptors by (-?\d+)", output)
        self.expect(f"300 mixed collectives, {ranks} ranks on 4 hosts",
                    status == 0 and found and int(found[2]) < 64 and self.taken(report), f"{status} {output} {report}")

    def a_killed_rank(self):
        status, output, _ = self.run(2, 3, f"faults-{self.mpi} killed 1 awaited", limit=60)
        # The launchers pass on the status of a killed rank, 137.
        self.expect("a killed rank ends the job", status not in (0, None, 124) and "all done" not in output and
                    "rank 1 is about to be killed" in output, f"{status} {output}")

    def a_link_that_is_cut(self):
        error = r"lapwing: rank 0: rank 1 \(node2[^)]*\) is unreachable"
        status, output, _ = self.run(2, 2, f"faults-{self.mpi} steady $made", fault="ip link set node2 down", limit=60, until=error,
                                     LAPWING_TIMEOUT="4")
        self.expect("a link that is cut for good", status != 0 and "all done" not in output and re.search(error, output),
                    f"{status} {output}")

    def by_put(self):
        """Short messages are written into the receiver's memory."""
        status, output, report = self.run(2, 3 if self.mpi == "openmpi" else 2, f"fuzz-{self.mpi} 9000 100", LAPWING_SHORT_MESSAGES="put")
        self.expect("short messages by put", status == 0 and "nothing differs" in output and self.taken(report) and
                    report["network"].endswith("short messages by put)"), f"{status} {output} {report}")
        status, output, _ = self.run(2, 3, f"faults-{self.mpi} killed 1 awaited", limit=60, LAPWING_SHORT_MESSAGES="put")
        self.expect("a killed rank ends a job with short messages by put", status not in (0, None, 124) and
                    "rank 1 is about to be killed" in output, f"{status} {output}")

    def a_wait_inside_the_mpi(self):
        """A rank answers its peers while it waits for a message of the MPI itself."""
        status, output, _ = self.run(2, 2, f"faults-{self.mpi} mixed 6", limit=60, LAPWING_TIMEOUT="4")
        self.expect("a rank that waits inside the MPI is not lost", status == 0 and "all done" in output, f"{status} {output}")

    def one_that_cannot_be_had(self):
        """The transport is unavailable: the job continues with the next network, and says why."""
        nothing = {name: "nothing" for name in jobs.NETWORKS[self.network]}
        status, output, report = self.run(2, 2, f"faults-{self.mpi} plain", **nothing)
        said = re.search(rf"lapwing: network '{self.network}' is unavailable: rank \d+ \(node\d\): .+", output)
        self.expect("one that cannot be had", status == 0 and "all done" in output and said and report and
                    self.network in report.get("no_network", {}) and not report["network"].startswith(self.network),
                    f"{status} {output} {report}")

    def by_the_native_mpi(self):
        """A thread calls the MPI if the program has MPI_THREAD_MULTIPLE."""
        status, output, report = self.run(2, 2, f"drop_in-{self.mpi} --threads '{DROP_IN}'")
        self.expect("programs with threads", status == 0 and report and
                    report["network"] == "mpi (the native MPI, which a thread calls every 0.2 ms)", f"{status} {output} {report}")

    def an_operator_and_a_list(self):
        for level in ("single", "multiple"):
            for part in ("reduction_beside_list", "reduction_in_list"):
                status, output, report = self.run(2, 2, f"computing-{self.mpi} {part} {level}")
                self.expect(f"{level}, {part}: an operator of the program runs in the program's threads",
                            status == 0 and "all right\n" in output and report["network"].startswith("mpi ("), f"{status} {output} {report}")

    def a_first_reduction(self):
        """What Lapwing asks the MPI before the first reduction makes progress, which advances the barrier by the MPI's messages."""
        status, output, report = self.run(2, 3 if self.mpi == "openmpi" else 2, f"faults-{self.mpi} first", limit=60)
        self.expect("a first reduction beside a barrier", status == 0 and "all done" in output and report and
                    report["network"].startswith("mpi ("), f"{status} {output} {report}")

    def where_io_uring_is_refused(self):
        """A filter refuses io_uring on one host, as containers do: the network that Lapwing chooses then."""
        refuse = f"sh -c '[ \"$(hostname)\" = node1 ] || set -- {self.build}/tests/refuse io_uring_setup \"$@\"; exec \"$@\"' sh"
        status, output, report = self.run(2, 2, f"fuzz-{self.mpi} 7000 50", (), under=refuse, LAPWING_NETWORK="auto")
        self.expect("where io_uring is refused", status == 0 and "nothing differs" in output and self.taken(report) and
                    "io_uring_setup" in report.get("no_kernel_engine", ""), f"{status} {output} {report}")


def main():
    build, mpi = sys.argv[1:3]
    full = "--full" in sys.argv
    tcp = Networks(build, mpi, "tcp")
    if not tcp.has_hosts():
        return jobs.SKIPPED
    here = {row["name"]: row for row in json.loads(subprocess.run([tcp.tool, "info", "--json"], stdout=subprocess.PIPE).stdout)["networks"]}
    failed = 0
    for name in jobs.NETWORKS:
        if not full and name != "ucx":
            continue
        if not here.get(name, {}).get("available"):
            print(f"{name} is skipped: {here.get(name)}")
            continue
        networks = Networks(build, mpi, name)
        if full:
            for ranks in range(2, 6):
                networks.programs(min(ranks, 4), ranks)
            networks.programs(2, 2, ["--threads"])
            networks.programs(2, 4, [], ["--blocking"])
            networks.programs(2, 3, LAPWING_SHARED_MEMORY="0")
            networks.programs(2, 4, LAPWING_TRANSFER="processor")
            for seed in range(4):
                networks.random(2 + seed % 2, 2 + seed, 10000 * seed + 1, 300)
            networks.many_communicators(16 if mpi == "openmpi" else 4)
        else:
            # MPICH's ranks spin: more of them than cores take minutes.
            networks.programs(2, 3 if mpi == "openmpi" else 2)
            networks.random(2, 2, 1000, 100)
        waiting = [networks.a_killed_rank, networks.a_wait_inside_the_mpi, networks.a_link_that_is_cut]
        if full or mpi == "openmpi":
            waiting.append(networks.without_a_thread)
        if name != "tcp":
            waiting.append(networks.by_put)
        # MPICH itself is over UCX, and would have no transport either.
        if mpi == "openmpi" and jobs.NETWORKS[name]:
            waiting.append(networks.one_that_cannot_be_had)
        networks.side_by_side(*((part,) for part in waiting))
        failed += networks.failed
    tcp.where_io_uring_is_refused()
    native = Networks(build, mpi, "mpi")
    native.a_first_reduction()
    native.an_operator_and_a_list()
    if full:
        native.by_the_native_mpi()
    failed += tcp.failed + native.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
