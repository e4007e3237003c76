"""Faults: the job ends by itself with a clear error and leaves nothing behind, or continues in a slower way and says why."""

import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import uuid

import jobs


class Faults(jobs.Test):
    def __init__(self, build, mpi):
        super().__init__(build, mpi)
        self.program = self.built("faults")

    def run(self, arguments, ranks=3, variables=None, through_lapwing=True, options=()):
        variables = variables or {}
        if through_lapwing:
            return self.run_job(ranks, [self.program, *arguments], options, **variables)
        return self.run_by_hand(ranks, "true", [self.program, *arguments], **variables)

    def a_killed_rank(self, rank, point, options=()):
        segments = set(os.listdir("/dev/shm"))
        mark = uuid.uuid4().hex
        status, output = self.run(["killed", rank, point], variables={"MARK_OF_THE_JOB": mark}, options=options)
        self.expect(f"rank {rank} killed at the point '{point}' {' '.join(options)}: an error",
                    status not in (0, None) and f"rank {rank} is about to be killed" in output and
                    (point == "end" or "all done" not in output), output)
        left = jobs.processes_with("MARK_OF_THE_JOB", mark)
        deadline = time.monotonic() + 60
        while left and time.monotonic() < deadline:
            time.sleep(0.05)
            left = jobs.processes_with("MARK_OF_THE_JOB", mark)
        # The ranks' shared memory has no name: only a process can keep it alive.
        self.expect("leaves no process, and so no memory", not left, f"{left}")
        new = {name for name in set(os.listdir("/dev/shm")) - segments if "lapwing" in name}
        self.expect("nor a file", not new, f"{new}")

    def where_calls_are_refused(self, calls, options=(), variables=None):
        """Runs the program where system calls are refused. Returns status and output."""
        return self.run_job(3, [self.build / "tests" / "refuse", calls, self.program, "plain"], options, **(variables or {}))

    def no_io_uring(self):
        status, output = self.where_calls_are_refused("io_uring_setup", ["--engine", "kernel", "--report"])
        self.expect("where io_uring is refused the host engine serves, and the reason is told",
                    status == 0 and "all done" in output and "the kernel engine is not used: rank 0" in output and
                    "io_uring_setup" in output and " on host" in output, output)
        status, output = jobs.execute([self.build / "tests" / "refuse", "io_uring_setup",
                                       self.tool, "info"], 60)
        self.expect("and lapwing info says so, too", "kernel is unavailable: io_uring_setup" in output, output)

    def no_card(self):
        """The mlx5 engine on hosts without a ConnectX card: all ranks continue as with auto, and rank 0 says why."""
        if list(pathlib.Path("/sys/class/infiniband").glob("mlx5*")):
            print("skipped: this host has a card")
            return
        said = r"lapwing: the mlx5 engine is not used: rank 0 \(\S+\): "
        status, output = self.run(["plain"], options=["--engine", "mlx5", "--report"])
        self.expect("no ConnectX card: the host engine serves, and the reason is told once", status == 0 and
                    "all done" in output and len(re.findall(said, output)) == 1 and "engine auto" in output and
                    " on host" in output, output)

    def no_single_copies(self):
        """The data are right, sent in another way, and the report says why, once."""
        pieces = "long messages inside a host pass through shared memory in pieces: "
        for calls, why in [("process_vm_readv,process_vm_writev", r"rank 0 \(\S+\): process_vm_readv: Operation not permitted"),
                           ("process_vm_readv@1", r"rank 1 \(\S+\): process_vm_readv: Operation not permitted"),
                           ("process_vm_writev@2", r"rank 2 \(\S+\): process_vm_writev: Operation not permitted")]:
            status, output = self.where_calls_are_refused(calls, ["--report"])
            self.expect(f"{calls} refused: shared memory, in pieces", status == 0 and "all done" in output and
                        len(re.findall(pieces + why, output)) == 1 and output.count(pieces) == 1 and
                        "do not share memory" not in output, output)
        # The superuser may read such processes, unless it does without that right. UCX, and MPICH with it, do not start there.
        if os.getuid() == 0 and self.mpi == "openmpi":
            status, output = self.run_job(2, ["setpriv", "--bounding-set=-sys_ptrace", self.program, "secret"], ["--report"])
            self.expect("processes that are not dumpable: the messages of the MPI, and the reason", status == 0 and "all done" in output and
                        "(processes of this program are not dumpable: " in output, output)
        status, output = self.where_calls_are_refused("process_vm_readv")
        self.expect("nothing is said without a report", status == 0 and "all done" in output and
                    "lapwing" not in output, output)
        status, output = self.where_calls_are_refused("process_vm_readv@1", variables={"LAPWING_TRANSFER": "kernel"})
        self.expect("unless it is asked for", status == 0 and "all done" in output and output.count("lapwing") == 1 and
                    "LAPWING_TRANSFER=kernel" in output and "rank 1 (" in output, output)

    def no_shared_memory(self):
        said = "ranks of one host do not share memory: "
        status, output = self.where_calls_are_refused("memfd_create@0", ["--report"])
        self.expect("memfd_create refused in rank 0: messages of the MPI", status == 0 and "all done" in output and
                    len(re.findall(said + r"rank 0 \(\S+\): memfd_create: Operation not permitted", output)) == 1 and
                    output.count(said) == 1 and "in pieces" not in output, output)
        status, output = self.where_calls_are_refused("memfd_create@1", ["--report"])
        self.expect("and in rank 1, which makes no memory for others: shared memory", status == 0 and
                    "all done" in output and said not in output, output)
        status, output, told = self.run_with_report(2, [self.program, "plain"], LAPWING_SHARED_MEMORY="0")
        self.expect("LAPWING_SHARED_MEMORY=0", status == 0 and "all done" in output and "lapwing" not in output and
                    told.get("no_shared_memory") == "LAPWING_SHARED_MEMORY=0" and "no_single_copies" not in told,
                    f"{output}{told}")

    def a_file_limit(self):
        """MPIs create files as well, but not for messages inside a host in this job. Not with MPICH, which over TCP may wait for
        ever in MPI_Finalize, with or without Lapwing (UCX 1.13)."""
        if self.mpi == "mpich":
            return
        variables = {"OMPI_MCA_btl": "self,tcp"}
        for rank, expected in ((0, True), (1, False)):
            script = (f"[ \"${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\" = {rank} ] && ulimit -f 64; exec \"$@\"")
            status, output = self.run_job(2, ["sh", "-c", script, "sh", self.program, "plain"], ["--report"], **variables)
            told = re.search(r"do not share memory: rank 0 \(\S+\): `ulimit -f` limits files to \d+ bytes", output)
            self.expect(f"a limit of files in rank {rank}", status == 0 and "all done" in output and
                        (told is not None) == expected and ("do not share" in output) == expected, output)

    def what_info_says(self):
        for calls, variables, expected in [
                ("memfd_create", {}, "no shared memory: memfd_create: Operation not permitted"),
                ("process_vm_readv", {}, "in pieces: process_vm_readv: Operation not permitted"),
                ("io_uring_setup", {"LAPWING_SHARED_MEMORY": "0"}, "no shared memory: LAPWING_SHARED_MEMORY=0"),
                ("io_uring_setup", {"LAPWING_TRANSFER": "processor"}, "in pieces: LAPWING_TRANSFER requests it")]:
            _, output = jobs.execute([self.build / "tests" / "refuse", calls, self.tool, "info"], 60,
                                     {**os.environ, **variables})
            self.expect(f"lapwing info, {calls} refused {variables}", output.count(expected) == 1, output)

    def few_descriptors(self):
        for limit in (64, 20):
            words = ["sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh", self.program, "plain"]
            status, output = self.run_job(4, words, ["--engine", "kernel", "--report"])
            done = status == 0 and "all done" in output
            told = "ulimit -n" in output or "descriptor" in output or "Too many open files" in output
            # The MPI itself may need more; then the MPI reports the error.
            self.expect(f"a limit of {limit} descriptors: a right result, or an error (exit status {status})",
                        (done and told) or status not in (0, None), output)

    def sockets_that_hold_little(self):
        status, output = self.run(["plain"], 4, {"LAPWING_TCP_BUFFER": "2Ki"}, options=["--engine", "kernel", "--report"])
        self.expect("sockets that hold little", status == 0 and "all done" in output and "on kernel" in output, output)

    def a_stranger_at_the_port(self):
        """Connects to every port on which the ranks listen, while they run, and sends random bytes."""
        command = self.under(["--engine", "kernel", "--report"], 2, [self.program, "steady"])
        with tempfile.TemporaryFile("w+") as sink:
            job = subprocess.Popen([str(word) for word in command], stdout=sink, stderr=subprocess.STDOUT,
                                   env=self.environment)
            met = 0
            deadline = time.monotonic() + 60
            while job.poll() is None and time.monotonic() < deadline:
                time.sleep(0.5)
                for port in jobs.listening_ports(self.program):
                    for word in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(4096)):
                        try:
                            with socket.create_connection(("127.0.0.1", port), timeout=1) as stranger:
                                stranger.sendall(word)
                                met += 1
                        except OSError:
                            pass
            status = job.wait(timeout=60) if job.poll() is not None else None
            job.kill()
            sink.seek(0)
            output = sink.read()
        self.expect(f"strangers at the port ({met}) change nothing, and are told of",
                    status == 0 and met > 0 and "all done" in output and "rejected a connection" in output, output)

    def wrong_variables(self):
        for variable, value, hint in [
                ("LAPWING_ENGIEN", "host", "LAPWING_ENGINE"),
                ("LAPWING_ENGINE", "hots", "'host'"),
                ("LAPWING_ALGORITHM", "ialltoall=pairwize", "'pairwise'"),
                ("LAPWING_ALGORITHM", "ialltoal=flat", "'ialltoall'"),
                ("LAPWING_TUNING", "/nowhere/tuning.json", "'/nowhere/tuning.json' cannot be read"),
                ("LAPWING_BLOCKING", "perhaps", "unknown value 'perhaps'"),
                ("LAPWING_PROGRESS_THREAD", "some", "none, auto, any or a list"),
                ("LAPWING_TIMEOUT", "0", "number from 1"),
                ("LAPWING_TCP_FAMILY", "ipv5", "ipv4")]:
            for through_lapwing in (True, False):
                status, output = self.run(["plain"], 2, {variable: value}, through_lapwing)
                self.expect(f"{variable}={value}{'' if through_lapwing else ' without lapwing run'}",
                            status not in (0, None) and hint in output and "all done" not in output, output)
        for engine in ("auto", "mpi"):
            status, output = self.run(["plain"], 2, {"LAPWING_PROGRESS_THREAD": "60000", "LAPWING_MESSAGES": "on", "LAPWING_ENGINE": engine})
            self.expect(f"engine {engine}: a CPU that the machine has not", status not in (0, None) and "terminate called" not in output and
                        "LAPWING_PROGRESS_THREAD=60000: this process may not use" in output and "all done" not in output, output)

    def ranks_that_differ(self):
        status, output = self.run_by_hand(2, "[ $RANK = 1 ] && export LAPWING_ALGORITHM=ialltoall=ring", [self.program, "plain"])
        self.expect("ranks with different settings", status not in (0, None) and "it differs between rank 0 and rank 1" in output, output)

    def a_rank_without_the_library(self):
        status, output = self.run_job(3, [*jobs.WITHOUT_LIBRARY, self.program, "plain"])
        self.expect("a rank without the library is named", status not in (0, None) and "all done" not in output and
                    f"rank 1 on host {socket.gethostname()} starts the MPI without Lapwing's library" in output, output)
        status, output = self.run_by_hand(2, "[ $RANK = 1 ] && sleep 2", [self.program, "plain"])
        self.expect("one that is late is not", status == 0 and "all done" in output and "lapwing" not in output, output)

    def tuning_files_that_differ(self):
        with tempfile.TemporaryDirectory() as scratch:
            # The same path, but each rank sees a different file, as on hosts with their own disks.
            for rank, take in enumerate(("ring", "ring", "flat")):
                (pathlib.Path(scratch) / f"{rank}.json").write_text(
                    '{"lapwing_tuning": 1, "tables": [{"engine": "host", "hosts": "one", "ranks": [2, 9],\n'
                    f'"choices": {{"alltoall": [{{"from": 0, "take": "{take}"}}]}}}}]}}')
            own_file = f"export LAPWING_TUNING={scratch}/$RANK.json"
            status, output = self.run_by_hand(2, own_file, [self.program, "plain"])
            self.expect("equal tuning files", status == 0 and "all done" in output, output)
            status, output = self.run_by_hand(3, own_file, [self.program, "plain"])
            self.expect("tuning files that differ", status not in (0, None) and "all done" not in output and
                        "is not the same on all hosts: rank 2 (" in output, output)
            (pathlib.Path(scratch) / "1.json").unlink()
            status, output = self.run_by_hand(3, own_file, [self.program, "plain"])
            self.expect("a tuning file that one rank has not", status not in (0, None) and "all done" not in output and
                        "1.json' cannot be read" in output, output)

    def the_mpi_underneath(self):
        status, output = self.run(["plain"], 2, options=["--engine", "mpi", "--report"])
        self.expect("--engine mpi leaves every call to the MPI, and says so",
                    status == 0 and "all done" in output and "(engine mpi)" in output, output)

    def a_program_of_the_other_mpi(self):
        other = {"openmpi": "mpich", "mpich": "openmpi"}[self.mpi]
        program = self.build / "tests" / f"faults-{other}"
        if not program.exists():
            return
        status, output = self.run_job(2, [program, "plain"])
        self.expect("a program of the other MPI", status not in (0, None) and "linked to" in output, output)

    def a_report_that_cannot_be_written(self):
        status, output = self.run(["plain"], 2, options=["--report", "--output", "/nowhere/report"])
        self.expect("a report file that cannot be written", status == 125 and "/nowhere/report" in output and
                    "all done" not in output, output)
        full = "cannot be written to /dev/full: No space left on device"
        status, output = self.run(["plain"], 2, options=["--report", "--output", "/dev/full"])
        self.expect("a report file that takes nothing", status == 125 and full in output and "all done" not in output, output)
        status, output = self.run(["plain"], 2, {"LAPWING_REPORT": "text", "LAPWING_REPORT_FILE": "/dev/full"}, False)
        self.expect("without lapwing run the report is not lost",
                    status == 0 and full in output and "MPI_Ibarrier" in output, output)
        with tempfile.TemporaryDirectory() as scratch:
            pipe = f"{scratch}/pipe"
            os.mkfifo(pipe)
            status, output = self.run(["plain"], 2, options=["--output", pipe])
        self.expect("a pipe without a reader does not hold up the end of the job", status == 0 and "MPI_Ibarrier" in output and
                    f"the report cannot be written to {pipe}: no program reads this pipe; here it is" in output, output)
        self.a_full_disk()
        self.ranks_without_standard_error()

    def ranks_without_standard_error(self):
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "file"
            for closed in ("2>/dev/full", "2>&-", "2>&- >&- <&-"):
                words = ["sh", "-c", f'exec "$@" {closed}', "sh", self.program, "plain", file]
                status, output = self.run_by_hand(2, "true", words, LAPWING_REPORT="text", LAPWING_TRACE="/nowhere")
                self.expect(f"ranks with {closed} end as with standard error", status == 0 and
                            ("all done" in output or ">&- <" in closed), output)
            self.expect("a file of the program gets no message", file.read_text() == "", file.read_text())

    def a_report_that_is_lost(self):
        for options in (["--report"], ["--output", f"/tmp/lapwing-faults-{os.getpid()}"]):
            status, output = self.run(["leaves"], 2, options=options)
            # What the program itself printed may be lost: launchers end the other ranks when the first one leaves so.
            self.expect(f"a program that ends without MPI_Finalize, {options[0]}", status not in (0, None) and
                        "rank 0 ended without MPI_Finalize" in output, output)
        status, output = self.run_job(2, ["env", "-u", "LD_PRELOAD", self.program, "plain"], ["--report"])
        self.expect("a program that does not load Lapwing",
                    status == 125 and "MPI_Init" in output, output)

    def a_full_disk(self):
        with tempfile.TemporaryDirectory() as scratch:
            disk = pathlib.Path(scratch) / "disk"
            apart = jobs.on_small_disk(disk, "4k")
            if not apart:
                return
            command = self.under(["--report", "--output", disk / "report"], 2, [self.program, "plain"])
            fill = f'head -c 4096 /dev/zero >{disk}/all; exec "$@"'
            status, output = jobs.execute([*apart, "sh", "-c", fill, "sh", *command], 60, self.environment)
        self.expect("a report on a full disk", status == 125 and f"{disk}/report" in output and "all done" not in output, output)


def check(faults):
    if not faults.more:
        faults.side_by_side(
            *((faults.a_killed_rank, rank, point, options) for rank, point, options in [
                (0, "start", ()), (1, "offered", ()), (2, "moving", ()), (0, "awaited", ()), (1, "end", ()), (1, "offered", ("--engine", "kernel"))]),
            *((part,) for part in [faults.a_rank_without_the_library, faults.wrong_variables, faults.no_io_uring, faults.ranks_that_differ]))
        return None
    faults.side_by_side(*((part,) for part in [
        faults.a_report_that_cannot_be_written, faults.no_card, faults.no_single_copies, faults.no_shared_memory, faults.a_file_limit,
        faults.few_descriptors, faults.sockets_that_hold_little, faults.tuning_files_that_differ, faults.the_mpi_underneath,
        faults.a_program_of_the_other_mpi, faults.a_report_that_is_lost, *([faults.what_info_says] if faults.mpi == "openmpi" else [])]))
    # It connects to each job of this program.
    faults.a_stranger_at_the_port()


if __name__ == "__main__":
    jobs.run(check, of=Faults)
