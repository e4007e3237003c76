"""One table of bad values over the tool's options and settings, and one of files that cannot be written."""

import os
import subprocess
import unittest

from support import TOOL, ToolTest, clean_environment

RUN = ("run", "--", "true")
LAUNCH = ("--", "mpirun")
NUMBERS = {  # commands, and all their options that take a number
    ("status",): "watch",
    ("explain", "barrier"): "ranks", ("explain", "alltoallv", "--ranks", "4"): "root rank numa caches bytes sizes hosts",
    ("cluster", *LAUNCH): "hosts mtu seed", ("cluster", "--hosts", "2", *LAUNCH): "rate burst delay loss slow cores-per-host network",
    ("doctor", *LAUNCH): "seconds", ("tune", *LAUNCH): "rounds seconds ranks bytes",
    ("bench", "overlap", *LAUNCH): "iterations rounds seconds work-factor quantum bytes",
    ("bench", "window", *LAUNCH): "window", ("bench", "concurrent", *LAUNCH): "collectives tests",
    ("bench", "overhead", *LAUNCH): "bytes-per-test", ("bench", "noise", *LAUNCH): "frequency burst", ("run", *LAUNCH): "stall",
    ("compare", *LAUNCH): "rounds seconds within tolerance",
}
BAD_NUMBERS = ("nan", "-1", "1e999", "3x", "99999999999999999999")
WORDS = [  # a command, and what its message names
    *[(("run", f"--{name}=foo", "--", "true"), f"--{name}") for name in ("engine", "network", "algorithm", "blocking")],
    (("run", "--blocking", "auto", "--", "true"), "--blocking: unknown value 'auto'; valid: on, off"),
    (("run", "--mpi", "foo", "--", "true"), "--mpi"), (("run", "--json=auto", "--", "true"), "--json takes no value"),
    (("run", "-O", "x"), "'-O'; did you mean '-o'"), (("bench", "foo"), "valid: all, overlap"),
    *[(("explain", "allreduce", "--ranks", "4", f"--{name}", "foo"), f"--{name}")
      for name in "op type bytes hosts engine algorithm level format".split()],
    *[(("run", f"--{name}", "", "--", "true"), f"--{name}") for name in ("trace", "report-file", "engine")],
    # Options that would have no effect.
    (("doctor", "--nic", "--seconds", "9"), "--seconds cannot be used with --nic"),
    *[(("cluster", "--hosts", "2", *options, "--", "true"), named) for *options, named in (
        ("--rate", "none", "--burst", "64Ki", "--burst cannot be used with --rate none"),
        ("--rate", "none", "--slow", "1:1mbit", "--slow cannot be used with --rate none"), ("--seed", "2", "--seed needs --loss or --delay"),
        ("--rate", "100", "100mbit"), ("--rate", "1bit", "100kbit"), ("--mtu", "100", "576 to 65535"), ("--burst", "1Ki", "9018"),
        ("--slow", "3:1mbit", "'3' must be a host from 1 to 2"), ("--slow", "1-1:1mbit", "must join two hosts"),
        ("--slow", "1:2gbit", "less than"), ("--slow", "1-2", "must be 4:10mbit"),
        ("--addresses", "10.0.0.0/8", "10.77.0.0/24"), ("--addresses", "10.0.300.0/24", "10.77.0.0/24"),
        ("--cores-per-host", "0,,1", "cores"), ("--cores-per-host", "1023", "core 1023"),
        ("--delay", "2s", "such as 50us"), ("--delay", "us", "such as 50us"), ("--loss", "60%", "such as 0.1%"), ("--loss", "%", "such as 0.1%"))],
    *[(("cluster", *words), named) for *words, named in (
        ("no command",), ("--hosts", "2", "no command"), ("--hosts", "2", "--", "no command"), ("--", "true", "--hosts is missing"),
        ("--hosts", "2", "mpirun", "a", "lapwing cluster --hosts 4 -- mpirun a"), ("--hosts", "0", "--", "true", "1 to 250"),
        ("--hosts", "251", "--", "true", "1 to 250"), ("--hosts", "2", "--", "no-such-program", "'no-such-program'"))],
]
SETTINGS = {
    **dict.fromkeys("ENGINE NETWORK ALGORITHM TUNING TOPOLOGY BLOCKING CHECK REPORT SHARED_MEMORY TRANSFER DEVICE_MEMORY "
                    "TCP_FAMILY WORK_QUEUES SUBMIT".split(), ("nan",)),
    **dict.fromkeys("TIMEOUT STALL TCP_LANES TCP_BUFFER TRACE_EVENTS INSIDE PROGRESS_THREAD TRIGGER_ENTRIES TRIGGER_COUNTERS "
                    "TRIGGER_BYTES".split(), BAD_NUMBERS),
    "FOO": ("1",),
}
USERS = (RUN, ("profile", "--", "true"), ("compare", "--", "true"), ("bench", "overlap", *LAUNCH), ("tune", *LAUNCH),
         ("doctor", *LAUNCH), ("explain", "barrier", "--ranks", "4"))


class RefusalTest(ToolTest):
    def refuses_numbers(self, commands):
        for command, options in commands.items():
            at = command.index("--") if "--" in command else len(command)
            for option in options.split():
                for value in BAD_NUMBERS:
                    with self.subTest(command=command, option=option, value=value):
                        self.refused(*command[:at], f"--{option}={value}", *command[at:], because=f"--{option}", cwd=self.scratch)

    def refuses_words(self, commands):
        for command, named in commands:
            with self.subTest(command=command):
                self.refused(*command, because=named, cwd=self.scratch)


class Refusals(RefusalTest):
    def test_numbers(self):
        self.refuses_numbers(NUMBERS)

    def test_words(self):
        self.refuses_words(WORDS)

    def test_settings(self):
        for name, values in SETTINGS.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.refused(*RUN, because=f"LAPWING_{name}", **{f"LAPWING_{name}": value})
        for command in USERS:
            for variable, value in (("LAPWING_STALL", "nan"), ("LAPWING_FOO", "1")):
                with self.subTest(command=command, variable=variable):
                    self.refused(*command, because=variable, cwd=self.scratch, **{variable: value})

    def test_files(self):
        self.script("mpirun", 'case $1 in --version) echo "mpirun (Open MPI) 4.1.4";; *) echo ran;; esac')
        path = f"{self.scratch}:{os.environ['PATH']}"
        job = ("--", "mpirun", "a")
        for file in ("/dev/null/x", "/dev/full", self.scratch):
            for command in (("run", "--output"), ("run", "--trace"), ("profile", "--output"), ("compare", "-o"), ("bench", "overlap", "-o"),
                            ("tune", "-o")):
                with self.subTest(command=command, file=file):
                    words = job if command[0] in ("run", "profile", "compare") else job[:2]
                    self.refused(*command, file, *words, because=str(file), PATH=path)
            self.refused("explain", "barrier", "--ranks", 2, "--format", "text", "-o", file, because=str(file))
        self.refused("run", "--report", *job, because="TMPDIR (/dev/null/x)", PATH=path, TMPDIR="/dev/null/x")
        _, err = self.call("run", "--trace", self.scratch / "t.json", *job, status=125, PATH=path)
        self.assertIn("no rank wrote a timeline", err)

    def test_a_strange_machine(self):
        """Each in a mount namespace: a full disk, no /proc, no working directory."""
        disk = self.scratch / "disk"
        disk.mkdir()
        full = f"mount -t tmpfs -o size=4k none {disk} && head -c 4096 /dev/zero > {disk}/all && "
        for script, words, named in (
                (full, f"run --mpi openmpi --trace {disk}/t.json -- true", str(disk)),
                (full, f"run --mpi openmpi --output {disk}/r -- true", str(disk)),
                ("mount -t tmpfs none /proc && ", "run --mpi openmpi -- true", "/proc/self/exe"),
                (f"cd {disk} && rmdir {disk} && ", "run --mpi openmpi --trace t.json -- true", "the working directory")):
            command = ["unshare", "--map-root-user", "--mount", "sh", "-c", f"{script} exec {TOOL} {words}"]
            if subprocess.run([*command[:-1], "mount -t tmpfs none /mnt"], capture_output=True).returncode != 0:
                self.skipTest("no mounts")
            with self.subTest(words=words, script=script):
                done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (125, "", 1), done.stderr)
                self.assertIn(named, done.stderr)


if __name__ == "__main__":
    unittest.main()
