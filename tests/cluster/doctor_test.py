"""lapwing doctor on virtual hosts: a cluster without faults, and planted faults, each of which it finds and names.

python3 doctor_test.py BUILD openmpi|mpich
"""

import json
import os
import shlex
import sys

import jobs
import support
from support import BUILD, TOOL, ClusterTest

MPI = sys.argv[2]
LIMIT = 30  # seconds that the doctor gets


class DoctorTest(ClusterTest):
    def examine(self, prepare="true", hosts=2, ranks=None, status=0, limit=LIMIT, launcher=None, **variables):
        """The doctor's findings on a cluster, after `prepare` has run in its head."""
        told = self.scratch / "told.json"
        launcher = launcher or f"mpirun.{MPI} -n {ranks or hosts}"
        script = f"{prepare}\n{TOOL} doctor --seconds {limit} --json -- {launcher} > {told}; echo status $?"
        output = self.shell(hosts, script, "--rate", "none", limit=100, **variables)
        found = json.loads(told.read_text())
        self.assertIn(f"status {status}\n", output, json.dumps(found["problems"], indent=1))
        self.assertEqual((found["schema"], found["works"]), (1, status == 0), output)
        self.assertEqual(bool(found["problems"]), status != 0)
        return found

    def on_this_host(self, *command, status=0):
        """The output of a command that runs the doctor without a cluster."""
        ended, output = jobs.execute(command, 60, support.environment())
        self.assertEqual(ended, status, output)
        return output

    def expect(self, found, kind, where, *words):
        """One finding of this kind names this place, has this text, and says what to do."""
        for one in found[kind]:
            if one["where"] == where and all(word in one["what"] for word in words):
                self.assertTrue(one["advice"])
                return one
        self.fail(f"no {kind} at '{where}' with {words} in {json.dumps(found[kind], indent=1)}")

    def only(self, found, kind, count=1):
        self.assertEqual(len(found[kind]), count, json.dumps(found[kind], indent=1))


class Sound(DoctorTest):
    def test_nothing_is_found(self):
        found = self.examine(hosts=3, ranks=6)
        self.assertEqual(found["problems"], [])
        self.assertEqual([one for one in found["hints"] if "more ranks than CPUs" not in one["what"]], [])
        self.assertEqual([host["name"] for host in found["hosts"]], ["node1", "node2", "node3"])
        self.assertEqual(sorted(rank for host in found["hosts"] for rank in host["ranks"]), list(range(6)))
        self.assertTrue(all(step["works"] for step in found["steps"].values()))
        self.assertEqual(found["steps"]["network"]["words"], "6 of 6 host-to-host paths reachable")
        mpi = found["mpi"]
        self.assertEqual((mpi["engine"], mpi["link_between_hosts"]), ("kernel", "tcp"))
        self.assertEqual(mpi["right"], mpi["collectives"])
        self.assertGreater(mpi["right"], 0)
        for host in found["hosts"]:
            facts = host["facts"]
            self.assertEqual(facts["kernel"]["release"], os.uname().release)
            self.assertIn("tcp", [network["name"] for network in facts["networks"]["networks"] if network["available"]])
            self.assertEqual(facts["interfaces"]["used"][0]["interface"], "eth0")

    def test_the_table_of_one_host(self):
        output = self.on_this_host(TOOL, "doctor", "--", *jobs.launcher(MPI, 2))
        for part in ("2 ranks on 1 host\n", "\nsteps\n", "\nhosts\n", "Lapwing can work here."):
            self.assertIn(part, output)
        self.assertNotIn("problems", output)


class Hosts(DoctorTest):
    def launcher_with(self, command, ranks=2):
        """A launcher that runs the ranks of node2 under this shell command."""
        script = self.script("under", f'[ "$(hostname)" = node2 ] || exec "$@"\n{command} "$@"')
        return f"mpirun.{MPI} -n {ranks} {script}"

    def test_what_one_host_refuses(self):
        """io_uring, copies between processes, descriptors, locked memory, a broken UCX. Only the agent uses the double of UCX,
        because an MPI may use the real one."""
        refuse = f"{BUILD}/tests/refuse io_uring_setup,process_vm_readv"
        doubles = f'case "$1" in *lapwing) export LD_LIBRARY_PATH={BUILD}/tests/doubles/fabrics ;; esac'
        pod = "export KUBERNETES_SERVICE_HOST=10.0.0.1"
        launcher = self.launcher_with(f"ulimit -l 64; ulimit -n 60; {pod}; {doubles}; exec {refuse}", ranks=4)
        card = "mkdir -p /sys/class/cxi/cxi0; ln -s /sys/devices/virtual/net /sys/class/net"
        found = self.examine(f"ssh node2 'mount -t tmpfs card /sys/class && {card}'", launcher=launcher, status=1)
        hint = self.expect(found, "hints", "node2", "kernel engine is unavailable: io_uring_setup: not permitted", "seccomp")
        self.assertIn("over TCP with a progress thread", hint["advice"])
        hint = self.expect(found, "hints", "node2", "Kubernetes container does not permit io_uring")
        self.assertIn("localhostProfile: lapwing.json", hint["advice"])
        self.expect(found, "problems", "node2", "a process may open 60 descriptors")
        self.only(found, "problems", 1)
        self.expect(found, "hints", "node2", "a process cannot copy from the memory of another process: process_vm_readv")
        facts = [host["facts"] for host in found["hosts"]]
        self.assertEqual([one["engines"]["seccomp"] == 2 for one in facts], [False, True])
        self.assertEqual(facts[1]["locked_memory"]["soft"], 65536)
        # The other host has no card, so it reports nothing.
        self.expect(found, "hints", "node2", "a process may lock only 64 KiB of memory", "cxi0")
        self.expect(found, "hints", "node2", "UCX or libfabric does not work: the process that opened them ended by signal 6")
        self.assertEqual(found["mpi"]["engine"], "host")

    def test_little_locked_memory_without_a_card(self):
        """The limit is shown, but not as a fault."""
        script = f"ulimit -l 64; exec {TOOL} doctor --json -- {shlex.join(map(str, jobs.launcher(MPI, 2)))}"
        output = self.on_this_host("sh", "-c", script)
        found = json.loads(output)
        self.assertEqual(found["hosts"][0]["facts"]["locked_memory"]["soft"], 65536)
        self.assertFalse([one for one in found["hints"] if "lock" in one["what"]], output)

    def test_what_differs_on_one_host(self):
        tuning = self.scratch / "tuning.json"
        tuning.write_text('{"lapwing_tuning": 1, "tables": []}\n')
        other = self.scratch / "other.json"
        other.write_text('{"lapwing_tuning": 1,  "tables": []}\n')
        library = BUILD / "lib" / f"liblapwing-{MPI}.so"
        build = self.scratch / "other.so"
        build.write_bytes(library.read_bytes() + b"\0")
        found = self.examine(f"ssh node2 'mount --bind {other} {tuning}; mount --bind {build} {library}'\n"
                             f"export LAPWING_TUNING={tuning}", hosts=3, status=1,
                             launcher=self.launcher_with("export LAPWING_TCP_LANES=3 LAPWING_TIMEOUT=20; exec", 3))
        self.expect(found, "problems", "node2", "tuning file", str(tuning), "not the same as on node1, node3")
        self.expect(found, "problems", "node2", library.name, "a different build than on node1, node3")
        self.expect(found, "problems", "node2", "LAPWING_TCP_LANES is 3, but 2 on node1, node3")
        # The job reports the same, and that the MPI works.
        self.expect(found, "problems", "", "a small MPI job failed with Lapwing, but works without Lapwing", "it differs between rank 0 and rank 1")
        self.only(found, "problems", 4)


class Networks(DoctorTest):
    def test_firewalls_and_interfaces(self):
        """node1 gets no answer from node2, whose firewall drops packets, and node3 refuses its connections. node3 reaches
        node4 at the lower ports only. An interface of node4 is down."""
        ports = "ipproto tcp dport 1024-65534"
        prepare = f"""
for i in 1 2 3 4; do
    ssh node$i "ip link add eth1 type veth peer name end1; ip address add 10.88.0.$i/24 dev eth1"
    ssh node$i "ip link set end1 up; ip link set eth1 up"
done
ssh node4 ip link set eth1 down
ssh node2 "ip rule add pref 5 lookup local; ip rule del pref 0; ip rule add pref 1 from 10.77.0.1 {ports} blackhole"
ssh node1 "ip rule add pref 1 to 10.77.0.3 {ports} unreachable"
ssh node4 "ip rule add pref 5 lookup local; ip rule del pref 0"
ssh node4 "ip rule add pref 1 from 10.77.0.3 ipproto tcp dport 51000-65534 blackhole"
"""
        found = self.examine(prepare, hosts=4, status=1, limit=20, LAPWING_TCP_FAMILY="ipv4")
        # Nobody answers at eth1: hosts that do not answer at one of their addresses are named together.
        self.expect(found, "problems", "node1 to node2, node3", "unreachable: no answer within 2 s", "10.77.0.2 (eth0)")
        self.expect(found, "problems", "node1 to node3", "unreachable: Network is unreachable", "10.77.0.3 (eth0)")
        one = self.expect(found, "problems", "node3 to node4", "no answer within 2 s", "other ports of that host answer")
        self.assertIn("ip_local_port_range", one["advice"])
        self.expect(found, "hints", "node4", "the interface eth1 is down, but up on node1, node2, node3")
        self.expect(found, "hints", "node3 to node2", "10.88.0.2 (eth1)", "another address of that host answers")
        self.assertFalse(found["steps"]["network"]["works"])
        self.assertTrue(found["steps"]["launcher"]["works"])

    def test_a_port_that_another_program_takes_meanwhile(self):
        """Between the survey and the test of the network."""
        takes = """import json, os, socket, subprocess, sys
members = json.loads(os.environ["DOCTOR_OF_LAPWING"])["members"]
port = next(one["ports"][0] for one in members if one["name"] == "node2")
taker = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
sys.exit(subprocess.call(sys.argv[1:]))"""
        program = self.scratch / "takes.py"
        program.write_text(takes)
        launcher = self.script("takes", f'[ "$(hostname)" = node2 ] && [ -n "$DOCTOR_OF_LAPWING" ] && set -- python3 {program} "$@"\nexec "$@"')
        found = self.examine(launcher=f"mpirun.{MPI} -n 2 {launcher}")
        self.assertEqual(found["steps"]["network"]["words"], "2 of 2 host-to-host paths reachable")

    def test_an_interface_that_is_asked_for_is_down(self):
        prepare = """
for i in 1 2; do
    ssh node$i "ip link add eth1 type veth peer name end1; ip address add 10.88.0.$i/24 dev eth1; ip link set end1 up"
done
ssh node1 ip link set eth1 up
"""
        found = self.examine(prepare, status=1, limit=15, LAPWING_TCP_INTERFACE="eth1")
        self.expect(found, "problems", "node2", "no interface that is up matches 'eth1'")


class Launchers(DoctorTest):
    def test_one_host_never_answers(self):
        shell = self.script("shell", 'case "$*" in *node2*) sleep 100 ;; *) exec ssh "$@" ;; esac')
        found = self.examine(f"export OMPI_MCA_plm_rsh_agent={shell} HYDRA_LAUNCHER_EXEC={shell}", status=1, limit=6)
        # Open MPI waits for all hosts before it starts anything.
        started = "no rank" if MPI == "openmpi" else "1 of 2 ranks, on node1"
        one = self.expect(found, "problems", "", f"the launcher started {started} within 2 s", "still running", "node2")
        self.assertIn("the launcher fails before MPI or Lapwing start", one["advice"])
        self.only(found, "problems")
        self.assertFalse(found["steps"]["launcher"]["works"])

    def test_a_launcher_that_fails(self):
        launcher = self.script("mpirun", f'[ "$1" = --version ] && exec mpirun.{MPI} --version\necho "no such queue" >&2\nexit 3')
        found = json.loads(self.on_this_host(TOOL, "doctor", "--json", "--", launcher, "-n", 2, status=1))
        self.expect(found, "problems", "", "ended with status 3 after no rank answered; its output: no such queue")
        self.only(found, "problems")


if __name__ == "__main__":
    support.main(support.SideBySide)
