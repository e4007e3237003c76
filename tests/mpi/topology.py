"""Lists that follow where ranks run; topology files in MPI_Init.

python3 topology.py BUILD MPI
"""

import os
import pathlib
import re
import tempfile

import jobs


class Topology(jobs.Test):
    def __init__(self, build, mpi):
        super().__init__(build, mpi)
        self.program = self.built("faults")
        self.unbound = ["--bind-to" if mpi == "openmpi" else "-bind-to", "none"]

    def groups_inside_a_host(self):
        """Eight ranks of one host, each with its own view of /sys: two NUMA nodes with two caches each, two ranks at a
        cache. Random collectives have the MPI's results, and those over all levels take part."""
        usable = sorted(os.sched_getaffinity(0))
        root = os.getuid() == 0
        namespace = ["unshare", "--mount"] if root else ["unshare", "--map-root-user", "--mount"]
        algorithms = ",".join(f"{name}=multi_level" for name in ("ibarrier", "ibcast", "ireduce", "iallreduce"))
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            for rank in range(8):
                cpu = usable[rank % len(usable)]
                files = {"online": ",".join(map(str, usable)), f"cpu{cpu}/node{rank // 4}/cpulist": "",
                         f"cpu{cpu}/topology/physical_package_id": "0", f"cpu{cpu}/topology/package_cpus_list": "0-7",
                         f"cpu{cpu}/topology/core_cpus_list": str(cpu), f"cpu{cpu}/cache/index3/level": "3",
                         f"cpu{cpu}/cache/index3/shared_cpu_list": str(rank // 2)}
                for name, text in files.items():
                    file = scratch / str(rank) / "cpu" / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text + "\n")
                (scratch / f"{rank}.cpu").write_text(str(cpu))
            place = scratch / "place"
            place.write_text("#!/bin/sh\n"
                             "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n"
                             f"exec unshare --mount sh -c 'mount --bind {scratch}/$0 /sys/devices/system && "
                             f"exec taskset -c $(cat {scratch}/$0.cpu) \"$@\"' $rank \"$@\"\n")
            place.chmod(0o755)
            status, output = jobs.execute([*namespace, "unshare", "--mount", "mount", "--bind", scratch / "0", "/sys/devices/system"], 60)
            if status != 0:
                print(f"skipped: no other /sys is allowed here: {output.strip()}")
                return
            words = jobs.launcher(self.mpi, 8)
            as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            status, output, report = jobs.with_report(
                [*namespace, self.tool], ["--engine", "host", "--algorithm", algorithms],
                [*words, *self.unbound, place, self.built("fuzz"), 8000, 200], 240, self.environment | as_root)
            used = {row["name"] for row in report.get("collectives", []) for use in row["uses_of_rank_0"]
                    if use["algorithm"].startswith("multi_level")}
            self.expect("lists over NUMA nodes and caches of one host", status == 0 and "nothing differs" in output and
                        {"MPI_Ibarrier", "MPI_Ibcast", "MPI_Ireduce", "MPI_Iallreduce"} <= used, f"{output}{sorted(used)}")

    def rings_cross_between_hosts_once(self):
        """Ranks are placed on two hosts in turn. In a ring of rank numbers each step would go to the other host; in the
        placement's ring, every second one does. A step sends 6 blocks of 400,000 bytes, and there are 10 collectives."""
        script = (f"{self.tool} run --engine kernel --algorithm ialltoall=ring --report -- "
                  f"{' '.join(jobs.launcher(self.mpi, 4))} --map-by node {self.program} plain; "
                  "echo sent $(ssh node1 cat /sys/class/net/eth0/statistics/tx_bytes)")
        status, output = jobs.execute([self.tool, "cluster", "--hosts", 2, "--rate", "none", "--", "sh", "-c", script], 60,
                                      self.environment)
        found = re.search(r"^sent (\d+)$", output, re.M)
        # If io_uring is forbidden, the MPI sends the messages.
        by_kernel = "ring on kernel" in output
        self.expect("a ring crosses between two hosts once in each direction", status == 0 and "all done" in output and
                    found and (not by_kernel or 24_000_000 <= int(found[1]) < 33_000_000), output)

    def a_file_of_other_hosts(self):
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "my.topology"
            said = f"lapwing: the topology file '{file}' names none of the job's hosts; rank 0 runs on {os.uname().nodename}"
            for text, times in (("elsewhere nowhere\n", 1), (f"elsewhere {os.uname().nodename}\n", 0)):
                file.write_text(text)
                status, output = self.run_job(2, [self.program, "plain"], ["--topology", file])
                self.expect(f"a file that names {text.strip()}", status == 0 and "all done" in output and
                            output.count(said) == times and output.count("lapwing: ") == times, output)

    def files_that_differ(self):
        with tempfile.TemporaryDirectory() as scratch:
            # The same path, but each rank sees a different file, as on hosts with their own disks.
            for rank in range(2):
                (pathlib.Path(scratch) / f"{rank}").write_text(f"node{rank}\n")
            status, output = self.run_by_hand(2, f"export LAPWING_TOPOLOGY={scratch}/$RANK", [self.program, "plain"])
            self.expect("files that differ", status not in (0, None) and "all done" not in output and
                        "(LAPWING_TOPOLOGY) is not the same on all hosts: rank 1 (" in output, output)


def check(topology):
    topology.groups_inside_a_host()
    topology.a_file_of_other_hosts()
    topology.files_that_differ()
    if topology.has_hosts() and topology.mpi == "openmpi":
        topology.rings_cross_between_hosts_once()


if __name__ == "__main__":
    jobs.run(check, of=Topology)
