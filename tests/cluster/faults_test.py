"""lapwing cluster: the command itself cuts a link, for a while and permanently."""

import pathlib
import sys
import tempfile

import support
from support import ClusterTest

TRANSFER = f"{sys.executable} {pathlib.Path(__file__).resolve().parent / 'transfer.py'}"

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
        with tempfile.TemporaryDirectory() as directory:
            words = self.shell(2, f"SHARED={directory}\n{script}", "--rate", "100mbit").split("\n")
        self.assertEqual(words[:4], ["reached", "0", "cut off", "reached"], words)
        self.assertIn("tbf", words[4])

    def test_a_transfer_survives_two_seconds(self):
        output = self.shell(2, f"ssh node1 {TRANSFER} receive 1 & ssh node2 {TRANSFER} send node1 10000000 & sleep 1; "
                               "ip link set node2 down; sleep 2; ip link set node2 up; wait", "--rate", "20mbit")
        # 4 seconds without the cut, so that two more are visible.
        self.assertLess(float(output), 15)
        self.assertGreater(float(output), 0)


if __name__ == "__main__":
    support.main()
