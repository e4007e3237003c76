"""Jobs that hang in different ways: `lapwing status` and the report of the stall name the rank that causes the hang.
tests/watch/diagnosis_test.cpp has more ways."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import uuid

import jobs

RANKS = 3
GUILTY = 1
# For each way of hanging: the kinds of findings, one of which must name the rank that causes it.
MODES = {
    "missing": {"missing", "cycle", "native_call"},
    "order": {"mismatch"},
    "counts": {"mismatch"},
    "loop": {"missing"},
    "stopped": {"silent"},
    "receive": {"native_call"},
    "testing": {"missing"},
}
RUNS = {"openmpi": ["missing", "order", "counts", "stopped", "receive", "testing"], "mpich": ["order", "loop", "stopped", "testing"]}
MARK = "MARK_OF_THE_JOB"


class Status(jobs.Test):
    def __init__(self, build, mpi):
        super().__init__(build, mpi)
        self.marks = []

    def start(self, words, stall="1"):
        output = tempfile.TemporaryFile("w+")
        mark = uuid.uuid4().hex
        self.marks.append(mark)
        process = subprocess.Popen(
            [str(word) for word in self.under(["--stall", stall], RANKS, [self.built("hangs"), *words])],
            env=self.environment | {MARK: mark}, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True)
        process.mark = mark
        return process, output

    def kill(self, mark):
        """Ends all processes of a job. They have inherited the mark, also those in other sessions."""
        while left := jobs.processes_with(MARK, mark):
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)

    def end(self, process, output):
        self.kill(process.mark)
        process.wait()
        output.seek(0)
        text = output.read()
        output.close()
        return text

    def ask(self, *words):
        done = subprocess.run([self.tool, "status", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout, done.stderr

    def asked_until(self, process, good, limit=60):
        """The first answer that is right, or else the last one."""
        deadline = time.monotonic() + limit
        said = {}
        while time.monotonic() < deadline and process.poll() is None:
            status, out, _ = self.ask(str(process.pid), "--json")
            if status not in (0, 1):
                continue
            said = json.loads(out)
            # The status tells what cannot go on from what may.
            stands = any(finding["kind"] in ("mismatch", "cycle") for finding in said["findings"])
            if (status == 1) != stands or said["schema"] != 1:
                self.expect(f"status {status} of these findings", False, out)
            if good(said):
                return True, said
            time.sleep(0.2)
        return False, said

    def wait_for_report(self, process, output, limit=60):
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline and process.poll() is None:
            if b"LAPWING_STALL=0 turns" in os.pread(output.fileno(), 1 << 20, 0):
                return
            time.sleep(0.1)

    def hang(self, mode):
        process, output = self.start([mode, GUILTY])
        found, said = self.asked_until(process, lambda said: any(
            finding["kind"] in MODES[mode] and GUILTY in finding["ranks"] for finding in said["findings"]))
        self.wait_for_report(process, output)
        text = self.end(process, output)
        self.expect(f"{mode}: status names rank {GUILTY}", found, json.dumps(said, indent=1) + text)
        self.expect(f"{mode}: so does the report of the stall",
                    re.search(r"lapwing: ranks have waited for 1 s without progress \(report 1 of", text) and
                    re.search(rf"\brank {GUILTY}\b", text), text)

    def a_healthy_job(self):
        process, output = self.start(["slow", GUILTY], stall="0")
        status = process.wait(60)
        text = self.end(process, output)
        self.expect("a late rank, no reports wanted: none", status == 0 and "all done" in text and "waited" not in text, text)
        process, output = self.start(["slow", GUILTY])
        status = process.wait(60)
        text = self.end(process, output)
        self.expect("a late rank: a report, and the job goes on",
                    status == 0 and "all done" in text and "without progress (report" in text, text)

    def at_the_end(self, engine):
        """Different operators do not show in any message, so the program ends normally."""
        status, output = self.run_job(RANKS, [self.built("hangs"), "operator", GUILTY], ["--engine", engine])
        said = re.findall(r"results may be wrong: .*: the operators differ", output)
        self.expect(f"calls that do not match are named at the end, engine {engine}",
                    status == 0 and len(said) == 1 and f"rank {GUILTY} called MPI_Iallreduce (MPI_DOUBLE, MPI_MAX" in said[0], output)

    def alone(self, engine, network):
        """MPI_Finalize does not wait for what other ranks never call."""
        status, output = self.run_job(RANKS, [self.built("hangs"), "alone", GUILTY], ["--engine", engine, "--network", network],
                                      LAPWING_SHARED_MEMORY="0")
        self.expect(f"a collective of one rank, engine {engine}, network {network}",
                    status == 0 and "all done" in output and "MPI_Finalize was called while 1 collective does not complete" in output, output)

    def who_may_ask(self):
        status, out, err = self.ask("12345678")
        self.expect("an unknown job", status == 125 and "no job '12345678' on this host" in err, out + err)
        if os.getuid() != 0:
            return
        process, output = self.start(["sleep", GUILTY])
        found, said = self.asked_until(process, lambda said: True)
        words = [self.tool, "status", said["job"]["id"]] if found else ["false"]
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        listens = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0lapwing/0123abcd/0'); s.listen(); print(flush=True); input()"
        with subprocess.Popen(["setpriv", "--reuid=65534", "--clear-groups", "python3", "-c", listens], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as stranger:
            stranger.stdout.readline()
            _, out, err = self.ask()
            stranger.communicate()
        self.expect("the superuser's list has the jobs of all users, also one that does not answer",
                    "root (uid 0)" in out and "no rank of job 0123abcd on this host answers" in err, out + err)
        text = self.end(process, output)
        self.expect("another user is refused", done.returncode == 125 and "belongs to root (uid 0)" in done.stderr,
                    done.stdout + done.stderr + text)


def check(status):
    try:
        status.side_by_side(
            *((status.hang, mode) for mode in RUNS[status.mpi]), (status.alone, "host", "mpi"), (status.alone, "kernel", "auto"),
            (status.at_the_end, "host"), (status.at_the_end, "mpi"), (status.a_healthy_job,))
        status.who_may_ask()
    finally:
        for mark in status.marks:
            status.kill(mark)


if __name__ == "__main__":
    jobs.run(check, of=Status)
