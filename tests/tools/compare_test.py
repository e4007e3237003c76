"""lapwing compare: scripts in place of launchers count their runs, and know by their options how they run."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import jobs
from support import TOOL, ToolTest, clean_environment

# Appends to `runs`; $under is "lapwing", "native", or with the timer "timed-lapwing", "timed-native", and $round counts the runs of this variant.
LAUNCHER = """[ "$1" = --version ] && { echo "mpirun (Open MPI) 4.1.4"; exit; }
timed=; case "$*" in *TIMER_OF*) timed=timed-;; esac
under=$timed""native; case "$*" in *liblapwing-openmpi*) under=$timed""lapwing;; esac
echo $under "$@" >> runs
round=$(grep -c "^$under" runs)
"""


class Compare(ToolTest):
    def setUp(self):
        (self.scratch / "bin").mkdir()
        (self.scratch / "lib").mkdir()
        for library in ("openmpi", "timer"):  # never loaded, because no script here calls them
            (self.scratch / "lib" / f"liblapwing-{library}.so").touch()
        self.tool = shutil.copy2(TOOL, self.scratch / "bin" / "lapwing")
        self.place = self.scratch / "place"
        self.place.mkdir()
        self.path = f"{self.scratch / 'bin'}:{os.environ['PATH']}"
        self.job("")

    def job(self, then):
        self.script("mpirun", LAUNCHER + then, self.scratch / "bin")

    def runs(self):
        """The variant of each run."""
        file = self.place / "runs"
        return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []

    def compare(self, *words, **more):
        (self.place / "runs").unlink(missing_ok=True)
        return self.call("compare", *words, "--", "mpirun", "a", tool=self.tool, cwd=self.place, PATH=self.path, **more)

    def test_turns(self):
        out, err = self.compare("--rounds", 3)
        self.assertEqual(err, "")
        self.assertIn("Lapwing: 3 pairs are too few for an interval", out)
        self.assertRegex(out, r"variant +seconds +q1 +q3 +ratio +from +to +in the program +processor\n  native .* 1.000 +- +- +- +-\n  lapwing ")
        # The first round does not count, and rounds begin in turn with each variant.
        timed = ["timed-native", "timed-lapwing", "timed-lapwing", "timed-native"]
        self.assertEqual(self.runs(), ["native", "lapwing", "lapwing", "native"] * 2 + timed)
        self.assertIn("No MPI was seen", out)
        self.compare("--rounds", 1, "--no-warm-up", "--with", "other: --engine host")
        self.assertEqual(self.runs()[:3], ["native", "lapwing", "lapwing"])
        self.assertEqual(len(self.runs()), 9)
        lines = (self.place / "runs").read_text().splitlines()
        self.assertEqual(lines[0], "native a")  # as it is given
        self.assertIn("LAPWING_ENGINE=host", lines[2])
        self.compare("--seconds", 1e-9)
        self.assertEqual(len(self.runs()), 8)

    def test_reports_and_traces_of_the_environment(self):
        self.compare("--rounds", 1, LAPWING_REPORT="text", LAPWING_TRACE="t")
        line = (self.place / "runs").read_text().splitlines()[1]
        self.assertIn("LAPWING_REPORT=none", line)
        self.assertNotIn("LAPWING_TRACE=t", line)

    def test_the_answer(self):
        """From times that the program prints; the last line that matches counts."""
        self.job('echo "Loop time of 9 s"; case $under in *native) echo "Loop time of 2.$round s";; *) echo "Loop time of 1.${round}e0 s";; esac')
        words = ["--time", r"Loop time of (\S+) s", "--no-warm-up"]
        out, _ = self.compare(*words, "--rounds", 7, "--within", 0.001)
        self.assertRegex(out, r"^Lapwing saves 42 % \(38 to 46, 95 % of 7 pairs\)\nNo MPI was seen.*\n\n  variant")
        self.assertIn("seconds: as printed", out)
        self.assertRegex(out, "native +2.400 +2.250 +2.550")
        self.assertEqual(len(self.runs()), 18)
        self.compare(*words, "--rounds", 20, "--within", 100)  # it stops when the interval is narrow: with 7 pairs
        self.assertEqual(len(self.runs()), 18)
        for printed in ("soon", "0", "-1", "1x", "nan", "inf"):
            self.job(f"echo 'Loop time of {printed} s'")
            self.assertIn("native, in round 1: no line of its output has a time above 0", self.compare(*words, status=1)[1])

    def test_long_lines(self):
        """A line without end, and a progress bar, whose lines end with carriage returns."""
        self.job("head -c 1000000 /dev/zero | tr '\\0' x; printf '50 %%\\rtime 1.5\\r100 %%\\n'")
        out, _ = self.compare("--rounds", 1, "--no-warm-up", "--time", "^time (.*)", "--same-output=(x|y)*$")
        self.assertRegex(out, "native +1.500")

    def test_another_command(self):
        self.job("echo $@ >> said")
        self.compare("--rounds", 1, "--no-warm-up", "--with", "tests: native -- mpirun a  --tests", "--with", "one: --engine host -- mpirun b")
        first = (self.place / "runs").read_text().splitlines()[:4]
        self.assertEqual(first[0], "native a")
        self.assertEqual(first[2], "native a --tests")
        self.assertRegex(first[3], "^lapwing .*LAPWING_ENGINE=host b$")

    def test_times_of_the_ranks(self):
        """Two ranks in each timed run: the longer time, and the processors of both."""
        write = 'for word in "$@"; do case $word in TIMER_OF*) for rank in 1 2; do echo $rank.25 0.5 > ${word#*=}/$rank; done;; esac; done'
        self.job(write)
        out, _ = self.compare("--rounds", 1)
        self.assertNotIn("No MPI", out)
        self.assertRegex(out, r"\n  native .* 2.250 +1.000\n  lapwing .* 2.250 +1.000\n")
        summary = json.loads(self.compare("--rounds", 1, "--json")[0])["rows"][0]["engines"][0]["summary"]
        self.assertEqual([summary[name]["median"] for name in ("program", "processor")], [2.25, 1])
        self.job("[ $under$round = timed-lapwing2 ] && exit 3; exit 0")
        self.assertIn("lapwing, in timed round 2: exit status 3", self.compare("--rounds", 1, status=1)[1])
        self.assertEqual([path.name for path in self.place.iterdir()], ["runs"])

    def test_json(self):
        out, err = self.compare("--rounds", 6, "--json", "-o", "c.json")
        self.assertEqual(out, "")
        self.assertIn("Lapwing", err)
        self.assertIn("No MPI", err)
        self.assertEqual(err.count("\n"), 2)
        result = json.loads((self.place / "c.json").read_text())
        self.assertEqual((result["schema"], result["conclusion"]), (1, err.strip()))
        [row] = result["rows"]
        self.assertEqual([one["engine"] for one in row["engines"]], ["native", "lapwing"])
        for one in row["engines"]:
            self.assertEqual(len(one["rounds"]), 6)
            low, high = one["interval"]
            self.assertLessEqual(low, one["ratio"])
            self.assertLessEqual(one["ratio"], high)
            self.assertLessEqual(one["summary"]["total"]["q1"], one["summary"]["total"]["q3"])
        self.assertEqual(row["engines"][0]["interval"], [1, 1])
        page = self.place / "page.html"
        self.call("report", self.place / "c.json", "-o", page)
        for drawn in (result["conclusion"], "Does Lapwing help the program?", "Time over the MPI"):
            self.assertIn(drawn, page.read_text())

    def test_a_run_that_fails(self):
        self.job('echo "words of $under"; [ $under$round = lapwing3 ] && exit 5; exit 0')
        out, err = self.compare("--no-warm-up", status=1)
        self.assertEqual(err, "lapwing compare: lapwing, in round 3: exit status 5\nwords of lapwing\n")
        self.assertRegex(out, r"^Lapwing: 2 pairs are too few.*\n\n  variant ")  # the rounds that are complete
        self.assertEqual(self.runs(), ["native", "lapwing", "lapwing", "native", "native", "lapwing"])
        self.job("kill -KILL $$")
        out, err = self.compare(status=1)
        self.assertEqual(out, "")
        self.assertIn("native, in the round before those that count: ended by signal 9", err)
        for then, said in (("rm -r ${word#*=}", "parts"), ("exit 6", "exit status 6")):  # in the timed runs
            self.job(f'for word in "$@"; do case $word in TIMER_OF*) {then};; esac; done; exit 0')
            out, err = self.compare("--rounds", 2, status=1)
            self.assertIn("2 pairs are too few", out)
            self.assertIn(said, err)
            self.assertEqual(err.count("\n"), 1)
        self.job("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done; exit 1")
        _, err = self.compare(status=1)
        self.assertIn("\n...\nline ", err)
        self.assertTrue(err.endswith("line 2000\n"))

    def test_results(self):
        energy = "printf 'time %s\\nenergy %s J\\n' $round$under {} | tee result >&2"
        cases = (  # the program, options, what is said; nothing: they agree
            (energy.format("1.5"), ["--same-output", "energy"], ""),
            (energy.format("1.5"), ["--same-output"], "its output differs"),
            (energy.format("1.5"), ["--same", "result"], "'result' differs"),
            (energy.format("1.50000$round"), ["--same-output=^energy"],
             "its output differs from that of the first run: 'energy 1.500002 J', there 'energy 1.500001 J'"),
            (energy.format("1.50000$round"), ["--same-output=^energy", "--tolerance", "1e-5"], ""),
            (energy.format("1.50000$round"), ["--same-output=^energy", "--tolerance", "1e-7"], "its output differs"),
            (energy.format("1$round"), ["--same-output=^energy", "--tolerance", "1e-3"], "its output differs"),
            (energy.format("1"), ["--same-output=entropy"], "no line of its output matches"),
            ("[ ${under#timed-} = native ] && echo a > result; exit 0", ["--same", "result"], "lapwing, in round 1: it did not write 'result'"),
            ("mkdir -p result; touch result/$round$under", ["--same", "result"], "'result' cannot be read"),
        )
        for program, options, said in cases:
            with self.subTest(program=program, options=options):
                self.job(program)
                _, err = self.compare("--rounds", 2, "--no-warm-up", *options, status=1 if said else 0)
                self.assertIn(said, err)
                self.assertEqual(err.count("\n"), 1 if said else 0, err)
                file = self.place / "result"
                shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)

    def test_each_run_reads_the_whole_input(self):
        self.job("cat >> read")
        file = self.place / "input"
        file.write_text("input\n")
        with file.open() as stream:
            subprocess.run([self.tool, "compare", "--rounds", "1", "--", "mpirun", "a"], env=clean_environment(PATH=self.path),
                           cwd=self.place, stdin=stream, capture_output=True, check=True, timeout=100)
        self.assertEqual((self.place / "read").read_text(), "input\n" * 8)

    def interrupted(self, wait_for_run, number, whole_group):
        ready = self.place / "ready"
        os.mkfifo(ready)
        self.job(f'[ "$(wc -l < runs)" = {wait_for_run} ] && {{ echo > {ready}; exec sleep 987650; }}; exit 0')
        (self.place / "runs").unlink(missing_ok=True)
        process = subprocess.Popen([self.tool, "compare", "--", "mpirun", "a"], cwd=self.place, start_new_session=True, text=True,
                                   env=clean_environment(PATH=self.path, MARK=str(self.place)), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ready.read_text()
        os.killpg(process.pid, number) if whole_group else process.send_signal(number)
        out, err = process.communicate(timeout=100)
        self.assertEqual(err, "")
        self.assertEqual(process.returncode, -number)
        self.assertEqual(jobs.processes_with("MARK", str(self.place)), [])
        ready.unlink()
        return out

    def test_interrupted(self):
        """As by Ctrl-C, to all processes of the terminal, and by another process: the answer of the rounds that are complete."""
        for whole_group in (True, False):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(whole_group=whole_group, number=number):
                    self.assertIn("Lapwing: 2 pairs are too few", self.interrupted(8, number, whole_group))
        self.assertEqual(self.interrupted(2, signal.SIGINT, True), "No round is complete.\n")
        self.assertEqual([path.name for path in pathlib.Path(self.place).iterdir()], ["runs"])

    def test_ignored_signals(self):
        """As below nohup, or in the background of a script."""
        for name in ("HUP", "INT", "TERM"):
            self.job(f"kill -{name} $PPID; exit 0")
            done = subprocess.run(["sh", "-c", f"trap '' {name}; exec {self.tool} compare --rounds 1 -- mpirun a"], cwd=self.place,
                                  env=clean_environment(PATH=self.path), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_dry_run(self):
        out, _ = self.compare("--dry-run", "--all", "--with", "mine: --messages on --engine host")
        self.assertEqual(self.runs(), [])
        preload = f"mpirun -x LD_PRELOAD={self.scratch}/lib/liblapwing-openmpi.so"
        self.assertEqual(out.splitlines(), [
            "mpirun a", f"{preload} a", f"{preload} -x LAPWING_ENGINE=host -x LAPWING_MESSAGES=on a", f"{preload} -x LAPWING_ENGINE=host a",
            f"{preload} -x LAPWING_ENGINE=kernel a", f"{preload} -x LAPWING_MESSAGES=off a", f"{preload} -x LAPWING_BLOCKING=on a"])

    def test_refusals(self):
        for words, named in (
                (("--with", "blocking"), "'blocking' must have the form NAME: OPTIONS"), (("--with", ": --blocking"), "NAME: OPTIONS"),
                (("--with", "a: --egine host"), "--with: unknown option '--egine'; did you mean '--engine'?"),
                (("--with", "a: --report"), "--with: unknown option '--report'"), (("--with", "a: x"), "unexpected argument 'x'"),
                (("--with", "a: --engine foo"), "--with: --engine: unknown value 'foo'"), (("--with", "a: --help"), "--help"),
                (("--with", "a:", "--with", "a:"), "two variants have the name 'a'"), (("--with", "native:"), "'native'"),
                (("--all", "--with", "host:"), "'host'"), (("--same-output=(",), "'(' is not a regular expression"),
                (("--tolerance", "1e-3"), "--tolerance needs --same or --same-output"), (("--time", "a"), "'a' has no group for the seconds"), (("--time", "(a"), "--time: '(a' is not a regular"),
                (("--with", "a: native --"), "has no command after --"), (("--with", "a: native -- /no/launcher x"), "/no/launcher"),
                (("--with", "a: native x"), "unexpected argument 'native'"), (("-o", "/dev/null/x"), "/dev/null/x"),
                (("-o", self.scratch), str(self.scratch)), (("-o", "/dev/full"), "/dev/full")):
            with self.subTest(words=words):
                self.refused("compare", *words, "--", "mpirun", "a", because=named, tool=self.tool, cwd=self.place, PATH=self.path)
                self.assertEqual(self.runs(), [])

    def test_native_runs_have_no_library(self):
        self.refused("compare", "--", "mpirun", "-x", "LD_PRELOAD=/x/liblapwing-openmpi.so", "a", because="native runs must have none",
                     tool=self.tool, cwd=self.place, PATH=self.path)

    def test_a_file_that_has_no_room(self):
        """The disk is full at the end: the answer is printed, and the file is not there."""
        self.job(f'head -c 100000 /dev/zero > {self.place}/disk/all 2> {self.place}/full; exit 0')
        (self.place / "disk").mkdir()
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c",
                   f"mount -t tmpfs -o size=12k none disk && {self.tool} compare --rounds 1 -o disk/c -- mpirun a; status=$?; ls disk; exit $status"]
        if subprocess.run([*command[:-1], "mount -t tmpfs none /mnt"], capture_output=True).returncode != 0:
            self.skipTest("no mounts")
        done = subprocess.run(command, env=clean_environment(PATH=self.path), cwd=self.place, capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (125, "all\n"), done.stderr)
        self.assertIn("variant", done.stderr)
        self.assertIn("the comparison cannot be written to", done.stderr)
        self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    unittest.main()
