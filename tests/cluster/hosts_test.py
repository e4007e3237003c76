"""lapwing cluster: hosts with names, addresses, links and cores; options; the command's streams and status."""

import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import support
from support import BUILD, TOOL, ClusterTest, environment

TRANSFER = pathlib.Path(__file__).resolve().parent / "transfer.py"


class Hosts(ClusterTest):
    def test_names_and_addresses(self):
        output = self.shell(3, "hostname; for h in node1 node2 node3; do ssh $h hostname; done; getent hosts node3",
                            "--cores-per-host", "all")
        words = output.split()
        self.assertEqual(words[:4], ["head", "node1", "node2", "node3"])
        self.assertEqual(words[4:], ["10.77.0.3", "node3"])
        self.assertIn("192.168.7.2", self.shell(2, "getent hosts node2", "--addresses", "192.168.7.0/24"))

    def test_interfaces(self):
        output = self.shell(2, "ssh node2 'ls /sys/class/net; cat /sys/class/net/eth0/mtu; cat /proc/net/route'; "
                               "cat /sys/class/net/eth0/mtu", "--mtu", "1400")
        self.assertEqual(output.split()[:3], ["eth0", "lo", "1400"])
        self.assertEqual(output.split()[-1], "1400")

    def test_each_host_has_its_own_memory_and_temporary_directory(self):
        script = ("ssh node1 'echo one > $TMPDIR/x; echo one > /dev/shm/x; ls $TMPDIR /dev/shm'; "
                  "ssh node2 'ls $TMPDIR /dev/shm'; ssh node1 'cat $TMPDIR/x'")
        self.assertEqual(self.shell(2, script).count("x\n"), 2)
        self.assertFalse(pathlib.Path("/dev/shm/lapwing").exists())

    def test_rate_holds_both_ways(self):
        # Two senders and one receiver: the receiver's link is the limit as well. The test does not ask how close the rate is to it.
        for rate, told, most in (("50mbit", "50Mbit", 60), ("400mbit", "400Mbit", 480)):
            size = 2_000_000 if rate == "50mbit" else 20_000_000
            output = self.shell(3, "tc qdisc show dev node1; "
                                   f"ssh node1 {sys.executable} {TRANSFER} receive 2 & "
                                   f"ssh node2 {sys.executable} {TRANSFER} send node1 {size} & "
                                   f"ssh node3 {sys.executable} {TRANSFER} send node1 {size} & wait",
                                "--rate", rate)
            megabits = float(output.split()[-1])
            self.assertIn(f"rate {told} ", output)
            self.assertGreater(megabits, 0, output)
            self.assertLess(megabits, most, output)

    def test_slow_ports_and_links(self):
        output = self.shell(3, "tc qdisc show dev node3; for host in 1 2 3; do ssh node$host tc qdisc show dev eth0; done; "
                               "ssh node1 tc class show dev eth0; ssh node1 tc filter show dev eth0",
                            "--rate", "100mbit", "--slow", "3:10mbit,1-2:20mbit")
        self.assertEqual(output.count("qdisc tbf"), 4, output)  # both ends of the slow port, and of the slow link
        self.assertEqual(output.count("rate 10Mbit burst"), 2, output)
        self.assertEqual(output.count("parent 1:2 rate 20Mbit burst"), 2, output)
        self.assertEqual(output.count("qdisc htb"), 2, output)  # node1 and node2
        self.assertIn("rate 20Mbit ceil 20Mbit", output)
        self.assertIn("rate 80Mbit ceil 100Mbit", output)
        self.assertIn("match 0a4d0002/ffffffff", output)  # 10.77.0.2

    def test_cores(self):
        usable = sorted(os.sched_getaffinity(0))
        show = f"{sys.executable} -c 'import os; print(sorted(os.sched_getaffinity(0)))'"
        shown = "; ".join(f'ssh node{host} "{show}"' for host in (1, 2, 3))
        output = self.shell(3, shown, "--cores-per-host", f"{usable[0]},{usable[-1]}")
        self.assertEqual(output.splitlines(), [str([usable[0]]), str([usable[-1]]), str([usable[0]])])
        for options in ((), ("--cores-per-host", "all")):
            self.assertEqual(self.shell(1, f'ssh node1 "{show}"', *options).strip(), str(usable))
        output = self.shell(2, shown.replace("; ssh node3", "; : ssh node3"), "--cores-per-host", "all")
        self.assertEqual(output.splitlines(), [str(usable)] * 2)

    def test_cores_of_their_own(self):
        usable = sorted(os.sched_getaffinity(0))
        show = f"{sys.executable} -c 'import os; print(*sorted(os.sched_getaffinity(0)))'"
        hosts = len(usable)
        if hosts > 250:
            self.skipTest("more cores than hosts")
        shown = "; ".join(f'ssh node{host + 1} "{show}"' for host in range(hosts))
        output = self.shell(hosts, shown, "--rate", "none")
        self.assertEqual(sorted(int(core) for core in output.split()), usable)
        if hosts > 3:
            output = self.shell(2, shown.split("; ssh node3")[0], "--rate", "none")
            first, second = (set(line.split()) for line in output.splitlines())
            self.assertEqual(len(first), len(second))
            self.assertFalse(first & second)
        output = self.shell(hosts + 1, f'ssh node1 "{show}"', "--rate", "none")
        told, cores = output.splitlines()
        self.assertIn(f"{hosts + 1} hosts share {hosts} cores", told)
        self.assertEqual(cores, " ".join(map(str, usable)))
        output = self.shell(hosts + 1, f'ssh node1 "{show}"', "--rate", "none", "--cores-per-host", "all")
        self.assertEqual(output.splitlines(), [cores])

    def test_hosts_describe_their_own_cores(self):
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            self.skipTest("one core")
        script = "ssh node2 'echo $HWLOC_THISSYSTEM; cat $HWLOC_XMLFILE'"
        told, description = self.shell(2, script, "--cores-per-host", f"{usable[0]},{usable[1]}").split("\n", 1)
        self.assertEqual(told, "1")
        units = [unit for unit in xml.etree.ElementTree.fromstring(description).iter("object") if unit.get("type") == "PU"]
        self.assertEqual([int(unit.get("os_index")) for unit in units], [usable[1]])
        self.assertIn(f'name="Architecture" value="{os.uname().machine} cores {usable[1]}"', description)
        # The user's own setting is kept.
        self.assertEqual(self.shell(2, "ssh node2 'echo $HWLOC_SYNTHETIC $HWLOC_XMLFILE'", HWLOC_SYNTHETIC="pu:9"), "pu:9\n")

    def test_two_clusters_at_once(self):
        words = [str(TOOL), "cluster", "--hosts", "2", "--", "sh", "-c",
                 'echo here; read line; ssh node2 "echo $line \\$(hostname)"']
        pair = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
                for _ in range(2)]
        try:
            for process in pair:
                self.assertEqual(process.stdout.readline(), "here\n")
            for process in pair:
                output, _ = process.communicate("x\n", timeout=30)
                self.assertEqual(output, "x node2\n")
                self.assertEqual(process.returncode, 0)
        finally:
            for process in pair:
                process.kill()
                process.wait()
                process.stdout.close()


class Command(ClusterTest):
    def test_exit_status(self):
        self.shell(1, "exit 7", status=7)
        self.shell(1, "kill -TERM $$", status=128 + 15)
        self.shell(1, "ssh node1 'exit 9'", status=9)

    def test_streams_and_directory(self):
        done = self.execute([TOOL, "cluster", "--hosts", 1, "--", "ssh", "node1", "cat; pwd; echo no >&2"], stdin=None,
                            input="text", cwd=self.scratch)
        self.assertEqual(done, (0, f"text{self.scratch}\n", "no\n"))

    def test_environment_is_kept(self):
        output = self.shell(1, "echo $HYDRA_LAUNCHER $OWN; ssh node1 'echo $OWN'", HYDRA_LAUNCHER="mine", OWN="kept")
        self.assertEqual(output, "mine kept\nkept\n")

    def test_options_of_ssh(self):
        output = self.shell(1, "echo in | ssh -x -l someone -o Some=thing -p 22 user@node1 cat; "
                               "echo in | ssh -n node1 'cat; echo \"a  b\"'; ssh 10.77.0.1 echo c  d")
        self.assertEqual(output, "in\na  b\nc d\n")
        self.assertIn("'node1'", self.shell(1, "ssh nod1 true", status=125))
        self.assertIn("no host", self.shell(1, "ssh -x", status=125))

    def test_as_another_user(self):
        if os.getuid() != 0:
            return
        # The build directory may be closed to others.
        tool = shutil.copy2(TOOL, self.scratch / "lapwing")
        self.scratch.chmod(0o755)
        user = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
        status, out, err = self.execute(
            [*user, tool, "cluster", "--hosts", 2, "--rate", "100mbit", "--", "sh", "-c",
             "ssh node2 'hostname; ls /sys/class/net'; id -u; kill -9 $$"], cwd="/", env=environment(PATH="/usr/bin:/bin"))
        if status == 125:
            self.assertIn("run as root", err)
            self.skipTest(err)
        self.assertEqual((status, out.split()), (137, ["node2", "eth0", "lo", "0"]), err)

    def test_from_a_bind_mount(self):
        # As the first process of a container whose image has the tool on a volume.
        script = 'mount --bind "$1" "$2" && exec "$2/bin/lapwing" cluster --hosts 1 -- ssh node1 hostname'
        status, out, err = self.execute(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", BUILD,
                                         self.scratch])
        self.assertEqual((status, out), (0, "node1\n"), err)


class Wrong(ClusterTest):
    def wrong(self, *words, because, **more):
        output = self.cluster(*words, status=125, **more)
        self.assertIn(because, output)
        self.assertEqual(output.count("\n"), 1, output)

    def with_program(self, name, says):
        """A PATH with a program that fails with this message."""
        self.script(name, f"echo '{says}' >&2; exit 1")
        return f"{self.scratch}:{os.environ['PATH']}"

    def test_a_kernel_without_shapers(self):
        path = self.with_program("tc", "Error: Specified qdisc kind is unknown.")
        self.wrong("--hosts", 2, "--", "true", because="--rate none", PATH=path)
        self.shell(2, "true", "--rate", "none", PATH=path)

    def test_a_network_that_cannot_be_made(self):
        self.wrong("--hosts", 2, "--", "true", because="no more", PATH=self.with_program("ip", "RTNETLINK answers: no more"))

    def test_outside_of_a_cluster(self):
        status, _, err = self.execute([TOOL, "cluster-shell", "node1", "true"])
        self.assertEqual(status, 125)
        self.assertIn("inside `lapwing cluster`", err)

    def test_without_namespaces(self):
        # Two limits of zero in a user namespace represent a system that forbids namespaces.
        script = "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$@\""
        status, _, err = self.execute(["unshare", "--user", "--map-root-user", "--mount-proc", "--pid", "--fork", "sh", "-c",
                                       script, "sh", TOOL, "cluster", "--hosts", 1, "--", "true"])
        if "unshare" in err.split("\n")[0].split(":")[0]:
            self.skipTest(err)
        self.assertEqual(status, 125, err)
        self.assertIn("run as root", err)


if __name__ == "__main__":
    support.main()
