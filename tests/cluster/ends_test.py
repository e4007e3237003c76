"""lapwing cluster: no process, namespace, interface or file remains, however it ends."""

import os
import pathlib
import pty
import select
import signal
import subprocess
import time

import jobs
import support
from support import TOOL, ClusterTest, environment

MARK = "987654"  # seconds to sleep, by which the processes of these tests are known


def namespaces():
    """The network namespaces of all processes."""
    found = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(os.readlink(entry))
        except OSError:
            continue
    return found


def sleepers():
    return [process for process in jobs.processes_of("sleep")
            if MARK in pathlib.Path(f"/proc/{process}/cmdline").read_text(errors="replace")]


def within(seconds, condition):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Ends(ClusterTest):
    def start(self, script, options=(), **more):
        process = subprocess.Popen([str(TOOL), "cluster", "--hosts", "2", *options, "--", "sh", "-c", script], text=True,
                                   env=environment(), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, **more)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def assert_nothing_is_left(self):
        self.assertTrue(within(60, lambda: not self.left()), self.left())
        self.assertTrue(within(60, lambda: not sleepers()), sleepers())
        self.assertTrue(within(60, lambda: not namespaces() - self.namespaces_before))
        self.assertEqual(self.mounts_before, pathlib.Path("/proc/self/mounts").read_text())
        self.assertEqual(self.links_before, sorted(os.listdir("/sys/class/net")))

    def setUp(self):
        super().setUp()
        self.namespaces_before = namespaces()
        self.mounts_before = pathlib.Path("/proc/self/mounts").read_text()
        self.links_before = sorted(os.listdir("/sys/class/net"))

    # Sleeps on the head and on a host; one of them leaves the session, as daemons do.
    BUSY = f"ssh node1 setsid sleep {MARK} & setsid sleep {MARK} & echo ready; "

    def test_what_runs_on_ends_with_the_command(self):
        for options in ((), ("--delay", "1ms", "--seed", "3")):
            process = self.start(f"{self.BUSY} sleep 0.2; exit 3", options)
            self.assertEqual(process.wait(timeout=60), 3)
            self.assert_nothing_is_left()

    def test_killed(self):
        for options in ((), ("--delay", "1ms", "--seed", "3")):
            process = self.start(f"{self.BUSY} sleep {MARK}", options)
            self.assertTrue(within(60, lambda: len(sleepers()) == 3))
            self.assertTrue(namespaces() - self.namespaces_before)
            process.kill()
            self.assertEqual(process.wait(timeout=60), -signal.SIGKILL)
            self.assert_nothing_is_left()

    def test_signals_reach_the_command(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            script = f"trap 'echo caught; exit 5' {number.name[3:]}; {self.BUSY} while :; do sleep 0.1; done"
            process = self.start(script)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), 5, number)
            self.assertEqual(process.stdout.read(), "caught\n")
            self.assert_nothing_is_left()

    def test_a_signal_that_the_command_does_not_catch(self):
        process = self.start(f"echo ready; exec sleep {MARK}")
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM)
        self.assert_nothing_is_left()

    def test_control_c(self):
        # At a terminal the command gets the key's signal directly, and must get it once, not twice.
        child, terminal = pty.fork()
        if child == 0:
            script = "n=0; trap 'n=$((n+1))' INT; echo ready; while [ $n = 0 ]; do sleep 0.1; done; " \
                     "sleep 0.5; echo times $n; exit 6"
            os.execve(TOOL, [str(TOOL), "cluster", "--hosts", "1", "--", "sh", "-c", script], environment())
        output = ""
        try:
            deadline = time.monotonic() + 30
            sent = False
            while "times" not in output:
                ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
                self.assertTrue(ready, output)
                try:
                    output += os.read(terminal, 1000).decode()
                except OSError:  # the process has ended
                    self.fail(f"ended too soon: {output}")
                if "ready" in output and not sent:
                    os.write(terminal, b"\x03")
                    sent = True
            _, status = os.waitpid(child, 0)
            child = None
        finally:
            os.close(terminal)
            if child:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        self.assertIn("times 1", output)
        self.assertEqual(os.waitstatus_to_exitcode(status), 6)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    support.main()
