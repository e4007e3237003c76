"""lapwing cluster --rails: hosts with several interfaces, jobs that use all of them, and an interface that fails.

rails_test.py BUILD MPI"""

import pathlib
import re
import sys
import unittest

import support
from support import BUILD, TOOL, ClusterTest

MPI = sys.argv[2]
PROGRAM = BUILD / "tests" / f"cluster-{MPI}"
MULTIPATH = pathlib.Path("/proc/sys/net/mptcp/enabled").exists()
COUNTERS = ("for h in node1 node2; do for i in eth0 eth1; do echo bytes $h $i "
            "$(ssh $h cat /sys/class/net/$i/statistics/tx_bytes); done; done")
# More bytes than a job's short messages have together.
MUCH = 4_000_000


def bytes_of(output):
    return {(host, interface): int(count) for host, interface, count in re.findall(r"bytes (\S+) (\S+) (\d+)", output)}


class Hosts(ClusterTest):
    def test_each_interface_has_a_network_of_its_own(self):
        output = self.shell(2, "ssh node2 'ip -o -4 addr show; cat /sys/class/net/eth1/mtu; tc qdisc show dev eth1'; "
                               "tc qdisc show dev node2-eth1; cat /sys/class/net/node2-eth1/master/uevent; "
                               "cat /dev/shm/lapwing/cluster.json", "--rails", "2", "--rate", "50mbit", "--mtu", "1400")
        self.assertRegex(output, r"eth0 +inet 10\.77\.0\.2/24")
        self.assertRegex(output, r"eth1 +inet 10\.77\.1\.2/24")
        self.assertIn("\n1400\n", output)
        self.assertEqual(output.count("rate 50Mbit "), 2, output)
        self.assertIn("INTERFACE=eth1", output)
        self.assertIn('"rails": 2', output)

    def test_a_relay_delays_every_link(self):
        ping = f"{sys.executable} {pathlib.Path(__file__).resolve().parent / 'exchange.py'}"
        output = self.shell(2, f"ssh node2 {ping} answer & ssh node1 {ping} ask 10.77.1.2 20; wait; "
                               "od -A n -v -w16 -t u8 /dev/shm/lapwing/relay.counts",
                            "--rails", "2", "--delay", "1ms", "--seed", "7")
        lines = [line for line in output.splitlines() if not line.startswith("lapwing cluster: a relay ")]
        self.assertGreaterEqual(float(lines[0]), 2e-3)
        packets = [int(line.split()[0]) for line in lines[1:]]
        self.assertEqual(len(packets), 4, output)
        self.assertGreaterEqual(min(packets[2:]), 20)

    def test_wrong_numbers(self):
        for options, expected in ((("--rails", "0"), "--rails 0: must be 1 to 8"),
                                  (("--rails", "2", "--network", "10.77.255.0/24"), "needs as many networks")):
            self.assertIn(expected, self.shell(2, "true", *options, status=2))


@unittest.skipUnless(MULTIPATH, "this kernel has no Multipath TCP")
class Jobs(ClusterTest):
    def job(self, words, *options, prefix="", **variables):
        return self.shell(2, f"{prefix}{TOOL} run --engine kernel --report -- mpirun.{MPI} -n 2 {PROGRAM} {words}; "
                             f"echo status $?; {COUNTERS}",
                          "--rails", "2", "--rate", "300mbit", *options, limit=240, **variables)

    def expect_right(self, output):
        self.assertIn("status 0\n", output)
        for rank in range(2):
            self.assertIn(f"rank {rank} of 2 on node{rank + 1}", output)
        self.assertRegex(output, r"MPI_Ialltoall .* on kernel")

    def test_both_interfaces_carry_long_messages(self):
        output = self.job("10")
        self.expect_right(output)
        self.assertIn("sockets on eth0, eth1 together (Multipath TCP)", output)
        for end, count in bytes_of(output).items():
            self.assertGreater(count, MUCH, (end, output))

    def test_one_interface_on_request(self):
        for variables in ({"LAPWING_TCP_RAILS": "1"}, {"LAPWING_TCP_INTERFACE": "eth0"}):
            output = self.job("10", **variables)
            self.expect_right(output)
            self.assertNotIn("Multipath", output)
            for (host, interface), count in bytes_of(output).items():
                (self.assertGreater if interface == "eth0" else self.assertLess)(count, MUCH, (host, interface, output))

    def test_one_host_that_is_not_prepared(self):
        output = self.job("10", prefix="ssh node2 'ip mptcp endpoint flush'; ")
        self.expect_right(output)
        for (host, interface), count in bytes_of(output).items():
            (self.assertGreater if interface == "eth0" else self.assertLess)(count, MUCH, (host, interface, output))

    def test_an_interface_that_fails_is_left(self):
        # The last rank cuts it while messages are in flight.
        output = self.job("4 6 'ip link set eth1 down'", LAPWING_TIMEOUT="4")
        self.expect_right(output)
        warnings = re.findall(r"lapwing: rank (\d): interface eth1 \(10\.77\.1\.\d\) does not reach rank (\d) \(node\d\): "
                              r"messages take the other interfaces, and nothing is lost", output)
        self.assertTrue(warnings, output)
        self.assertEqual(len(warnings), len(set(warnings)), output)
        self.assertLessEqual(len(warnings), 2, output)

    def test_doctor_has_the_commands(self):
        output = self.shell(2, "for h in node1 node2; do ssh $h ip mptcp endpoint flush; done; "
                               f"{TOOL} doctor -- mpirun.{MPI} -n 2; "
                               "for i in 1 2; do ssh node$i 'ip mptcp endpoint add 10.77.0.'$i' dev eth0 signal'; done; "
                               f"{TOOL} doctor -- mpirun.{MPI} -n 2 | tr '\\n' ' ' | tr -s ' ' | sed 's/^/after: /'",
                            "--rails", "2", limit=240)
        before, after = " ".join(output.split()).split("after: ")
        self.assertIn("connections use one of the interfaces eth0, eth1 at a time", before)
        self.assertIn("ip mptcp limits set subflows 8 add_addr_accepted 8; ip mptcp endpoint add 10.77.0.1 dev eth0 signal; "
                      "ip mptcp endpoint add 10.77.1.1 dev eth1 signal", before)
        self.assertNotIn("at a time", after)


if __name__ == "__main__":
    support.main()
