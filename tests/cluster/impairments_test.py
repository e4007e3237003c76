"""lapwing cluster: links that the command cuts; delay and loss of links, by the kernel's netem or by a relay."""

import os
import pathlib
import struct
import sys

import support
from support import ClusterTest

TRANSFER = pathlib.Path(__file__).resolve().parent / "transfer.py"
# With a seed, the relay is used on every kernel.
SEED = 7
# Each lost packet costs its sender 200 ms or more.
ROUNDS = 300
MASK = 2**64 - 1


class Generator:
    """SplitMix64, as the relay uses it."""

    def __init__(self, state):
        self.state = state

    def draw(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


def losses(host, packets, share):
    """The number of lost packets among the first ones to a host, for each host from 0."""
    generator = Generator(Generator(SEED + host).draw())
    return sum((generator.draw() >> 11) / 2**53 < share for _ in range(packets))


class Impairments(ClusterTest):
    def exchange(self, rounds, *options, after=""):
        """Round trips between two hosts: the seconds of the fastest, and the output of the shell command `after`."""
        output = self.shell(2, f"ssh node2 {sys.executable} {TRANSFER} answer & "
                               f"ssh node1 {sys.executable} {TRANSFER} ask node2 {rounds}; wait; {after}", *options)
        lines = [line for line in output.splitlines() if not line.startswith("lapwing cluster: a relay process ")]
        return float(lines[0]), lines[1:]

    def test_a_packet_takes_the_delay_in_each_direction(self):
        for delay, seconds in (("50us", 50e-6), ("3ms", 3e-3)):
            for options in ((), ("--seed", SEED), ("--rate", "none")):
                least, _ = self.exchange(100, "--delay", delay, *options)
                self.assertGreaterEqual(least, 2 * seconds, (delay, options))

    def test_losses_follow_the_seed(self):
        counts = "od -A n -v -w16 -t u8 /dev/shm/lapwing/relay.counts"
        for share, options in ((0.05, ("--loss", "5%")), (0.05, ("--loss", "5%", "--delay", "100us"))):
            # Read until no packet is in flight.
            _, rows = self.exchange(ROUNDS, *options, "--seed", SEED,
                                    after=f"a=; b=-; while [ \"$a\" != \"$b\" ]; do b=$a; sleep 0.5; a=$({counts}); done; echo \"$a\"")
            found = [[int(word) for word in row.split()] for row in rows]
            self.assertEqual(len(found), 2, rows)
            for host, (packets, lost) in enumerate(found):
                self.assertGreaterEqual(packets, ROUNDS)
                self.assertEqual(lost, losses(host, packets, share), found)
                self.assertGreater(lost, 0)

    def test_without_losses_all_packets_arrive(self):
        _, rows = self.exchange(200, "--delay", "1ms", "--seed", SEED, after="od -A n -v -w16 -t u8 /dev/shm/lapwing/relay.counts")
        for row in rows:
            packets, lost = map(int, row.split())
            self.assertGreaterEqual(packets, 200)
            self.assertEqual(lost, 0)

    def test_links_can_still_be_cut(self):
        output = self.shell(2, f"ssh node2 {sys.executable} {TRANSFER} answer & ip link set node2 down; sleep 1; "
                               "grep -c . /proc/net/route; ip link set node2 up; "
                               f"ssh node1 {sys.executable} {TRANSFER} ask node2 10 && echo done; wait", "--delay", "1ms")
        self.assertIn("\ndone\n", output)

    def test_it_is_told(self):
        program = self.script("tc", "echo 'Error: Specified qdisc kind is unknown.' >&2; exit 1")
        path = f"{self.scratch}:{os.environ['PATH']}"
        output = self.shell(2, "cat /dev/shm/lapwing/cluster.json", "--rate", "none", "--delay", "50us", PATH=path)
        self.assertIn("relay process", output)
        self.assertIn('"by": "relay"', output)
        # A `tc` that accepts everything represents a kernel with netem.
        program.write_text(f"#!/bin/sh\necho \"$@\" >> {self.scratch}/calls; cat >> {self.scratch}/calls\n")
        output = self.shell(2, "cat /dev/shm/lapwing/cluster.json", "--rate", "1gbit", "--delay", "50us", "--loss", "0.1%", PATH=path)
        self.assertNotIn("relay", output)
        self.assertIn('"by": "netem"', output)
        calls = (self.scratch / "calls").read_text()
        self.assertIn("qdisc add dev node2 root handle 1: netem limit 1000000 delay 50us loss 0.1%\n"
                      "qdisc add dev node2 parent 1:1 handle 2: tbf rate 1gbit ", calls)
        self.assertIn("qdisc add dev eth0 root tbf rate 1gbit ", calls)
        # The attempt is undone.
        self.assertIn("qdisc del dev lo root netem", calls)


# Prints whether node2 connects to node1's port 7000 within that many seconds.
REACH = f"""{sys.executable} -c "
import socket, sys, time
end = time.monotonic() + int(sys.argv[1])
said = 'cut off'
while said == 'cut off' and time.monotonic() < end:
    try:
        socket.create_connection(('node1', 7000), timeout=2).close()
        said = 'reached'
    except OSError:
        time.sleep(0.1)
print(said)
" $1"""


class Faults(ClusterTest):
    def test_a_link_is_cut_and_comes_back(self):
        script = f"""
cat > $SHARED/reach <<'END'
{REACH}
END
reach() {{ ssh node2 sh $SHARED/reach $1; }}
ssh node1 {sys.executable} -m http.server 7000 --bind node1 >/dev/null 2>&1 &
for i in 1 2 3 4 5 6 7 8 9 10; do ssh node1 'ss -tln' | grep -q :7000 && break; sleep 0.5; done
reach 60
ip link set node2 down
ssh node2 cat /sys/class/net/eth0/carrier
reach 2
ip link set node2 up
for i in 1 2 3 4 5 6 7 8 9 10; do ssh node2 grep -q 1 /sys/class/net/eth0/carrier && break; sleep 0.5; done
reach 60
tc qdisc show dev node2
"""
        # The directory is one that the hosts share with the head.
        words = self.shell(2, f"SHARED={self.scratch}\n{script}", "--rate", "100mbit").split("\n")
        self.assertEqual(words[:4], ["reached", "0", "cut off", "reached"], words)
        self.assertIn("tbf", words[4])

    def test_a_transfer_survives_two_seconds(self):
        output = self.shell(2, f"ssh node1 {sys.executable} {TRANSFER} receive 1 & ssh node2 {sys.executable} {TRANSFER} send node1 10000000 & sleep 1; "
                               "ip link set node2 down; sleep 2; ip link set node2 up; wait", "--rate", "20mbit")
        # Prints its seconds when all has arrived: 4 without the cut, and then TCP's next attempt, which may come late.
        self.assertGreater(float(output), 0)


if __name__ == "__main__":
    support.main(support.SideBySide)
