"""The kernel engine between virtual hosts: many ranks, mixed collectives, links that are cut."""

import re
import time

import jobs

REPORT = "Numbers are sums over ranks"


class Hosts(jobs.Test):
    def run(self, hosts, ranks, program, fault=None, limit=120, until=None, rate="100mbit", **variables):
        """Runs a program on hosts with a fault, see jobs.with_fault. Ends the job when its output matches `until`."""
        environment = self.environment | variables
        launch = f"mpirun.{self.mpi} -n {ranks} {self.build}/tests/{program}"
        # Ends a job that the launcher cannot end, so that its output is shown.
        script = jobs.with_fault(fault, f"timeout --kill-after=2 {limit - 10} {self.tool} run --report -- {launch}")
        command = [self.tool, "cluster", "--hosts", hosts, "--rate", rate, "--", "sh", "-c", script]
        return jobs.execute(command, limit, environment, until)

    def many_ranks(self, ranks, collectives):
        began = time.monotonic()
        # Thousands of connections share queues of 100 Mbit/s: one that loses a packet six times in a row is silent for more than 10 s.
        status, output = self.run(4, ranks, f"mixture-{self.mpi} {collectives}", limit=300 if ranks > 8 else 60, LAPWING_TIMEOUT="60")
        found = re.search(r"wrong 0, memory grown by (-?\d+) KiB, descriptors by (-?\d+)", output)
        good = status == 0 and REPORT in output and found and int(found[1]) < 16384 and int(found[2]) < 64 and "on kernel" in output
        if ranks > 4:  # several on each host
            good = good and "two_level on kernel" in output
        self.expect(f"{ranks} ranks on 4 hosts, {collectives} mixed collectives ({time.monotonic() - began:.0f} s)",
                    good, output)

    def many_communicators(self):
        """Beside eight with the same members, another one gets its connections late."""
        status, output = self.run(2, 2, f"mixture-{self.mpi} 1200 12", rate="none")
        self.expect("copies of MPI_COMM_WORLD change from the host engine to the kernel's",
                    status == 0 and "wrong 0" in output and "on host" in output and "on kernel" in output, output)

    def short_reductions(self):
        """Two ranks on each host. The pause between start and wait is long enough for the threads, so both ways are tried."""
        status, output = self.run(2, 4, f"away-{self.mpi}")
        self.expect("threads advance short reductions of several ranks on a host", status == 0 and "all right" in output and
                    re.search(r"MPI_Iallreduce of 8 B on 4 ranks: the event thread advanced [1-9]\d* of 400 runs", output), output)

    def floating_point(self):
        """The event thread reduces."""
        status, output = self.run(2, 2, f"floating_point-{self.mpi} upward 70000 watch", rate="none")
        self.expect("reductions in each floating-point environment", status == 0 and "all right" in output and "on kernel" in output, output)

    def a_link_that_is_cut(self):
        status, output = self.run(2, 2, f"faults-{self.mpi} steady $made",
                                  "ip link set node2 down; sleep 2; ip link set node2 up", 50)
        self.expect("a link that is cut for two seconds", status == 0 and REPORT in output and "all done" in output and
                    "on kernel" in output, output)
        began = time.monotonic()
        # Open MPI's launcher may wait for the lost host for ever, so the rank's message is the sign of the error.
        error = r"lapwing: rank 0: rank 1 \(node2, .*\) is unreachable"
        status, output = self.run(2, 2, f"faults-{self.mpi} steady $made", "ip link set node2 down", 90, error,
                                  LAPWING_TIMEOUT="4")
        self.expect(f"a link that is cut for good ({time.monotonic() - began:.0f} s)",
                    status != 0 and "all done" not in output and re.search(error, output), output)

    def a_link_that_is_cut_at_the_end(self):
        """In MPI_Finalize, when Lapwing has left its own network and the ranks wait for each other inside the MPI."""
        tcp = {"LAPWING_ENGINE": "host", "LAPWING_NETWORK": "tcp"}
        status, output = self.run(2, 2, f"faults-{self.mpi} ends $made", "ip link set node2 down; touch $made; sleep 2; ip link set node2 up", 50, **tcp)
        self.expect("a link that is cut for two seconds in MPI_Finalize", status == 0 and REPORT in output and "all done" in output and
                    "on host" in output, output)
        error = r"lapwing: rank 0: rank 1 \(node2, .*\) is unreachable"
        status, output = self.run(2, 2, f"faults-{self.mpi} ends $made", "ip link set node2 down; touch $made", 60, error, LAPWING_TIMEOUT="4", **tcp)
        self.expect("a link that is cut for good in MPI_Finalize", status != 0 and re.search(error, output), output)

    def a_rank_without_the_library(self):
        status, output = jobs.execute([self.tool, "cluster", "--hosts", "2", "--", *self.under([], 2, [
            *jobs.WITHOUT_LIBRARY, self.built("faults"), "plain"])], 60, self.environment)
        # Hydra's store has no names of hosts, and no other rank is there.
        host = {"openmpi": "node2", "mpich": "number 2 of the launcher's list"}[self.mpi]
        self.expect("a rank without the library is named", status not in (0, None) and
                    f"rank 1 on host {host} starts the MPI without Lapwing's library" in output, output)

    def open_mpi_polls_its_sockets(self):
        """Without a connection, Open MPI polls its sockets once in a tick, 10 ms by default."""
        status, output = jobs.execute([self.tool, "cluster", "--hosts", "2", "--", *self.under([], 2, [self.built("computing"), "once"])], 60,
                                      self.environment | {"OMPI_MCA_mpi_event_tick_rate": "1000000000"})
        self.expect("MPI_Init makes connections without waiting for ticks", status == 0 and "all right" in output, (status, output))

    def few_connections(self):
        """Open MPI's nonblocking allgather would connect each rank with all others: the exchanges of the start have partners of their own."""
        status, output = jobs.execute([self.tool, "cluster", "--hosts", "16", "--", *self.under(["--engine", "mpi"], 16, [
            self.built("faults"), "connected"])], 60, self.environment)
        found = [int(count) for count in re.findall(r"connections: (\d+)", output)]
        self.expect("the start connects few ranks", status == 0 and len(found) == 16 and max(found) < 14, (status, output))

    def idle_connections_stay(self):
        """Of MPICH's connections none has the keep-alive of seconds that UCX gives them: a link may be down for longer."""
        status, output = self.run(2, 2, "faults-mpich steady $made", "ssh node2 ss -tnopH")
        self.expect("MPICH's connections stay while they are idle", status == 0 and "faults-mpich" in output and
                    not re.search(r"faults-mpich.*timer:\(keepalive,[\d.]+(ms|sec)", output), output)

    def jobs_end(self):
        """Ranks that spin while they wait: MPICH 4.0 by itself hangs in some MPI_Finalize, see flush_native()."""
        failed = []
        for _ in range(4):
            status, output = self.run(2, 4, "../libexec/lapwing/lapwing-survey-mpich", limit=60, LD_PRELOAD="")
            if status != 0:
                failed.append((status, output))
        self.expect("jobs of four ranks end", not failed, failed)


def check(hosts):
    if not hosts.has_hosts():
        return jobs.SKIPPED
    if not hosts.more:
        hosts.floating_point()
        hosts.many_communicators()
        hosts.a_rank_without_the_library()
        hosts.a_link_that_is_cut()
        if hosts.mpi == "mpich":  # Open MPI's ranks do not wait for each other there
            hosts.a_link_that_is_cut_at_the_end()
    elif hosts.mpi == "openmpi":
        hosts.open_mpi_polls_its_sockets()
        hosts.few_connections()
        hosts.many_ranks(64, 300)
        hosts.short_reductions()
    else:
        # MPICH's ranks spin: more of them than cores take minutes, with and without Lapwing.
        hosts.many_ranks(2, 300)
        hosts.idle_connections_stay()
        hosts.jobs_end()


if __name__ == "__main__":
    jobs.run(check, of=Hosts)
