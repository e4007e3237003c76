"""lapwing-gdb.py: gdb prints the collectives of a rank that hangs, from a core dump and from the running process, also if
the preload library is stripped."""

import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import jobs

SOURCE = pathlib.Path(__file__).with_name("unfinished.c")
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gdb" / "lapwing-gdb.py"


class Debugger(jobs.Test):
    def __init__(self, build, mpi, scratch):
        super().__init__(build, mpi)
        self.scratch, self.program = scratch, self.built("unfinished")
        lines = SOURCE.read_text().splitlines()
        # The line after each mark.
        self.line_of = {match[1]: number + 2 for number, line in enumerate(lines) if (match := re.search(r"mark: (\w+)", line))}

    def gdb(self, *words):
        command = ["gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", f"source {SCRIPT}", *words,
                   "-ex", "lapwing communicators", "-ex", "lapwing lists", "-ex", "lapwing calls"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env=os.environ | {"PATH": f"{self.build / 'bin'}:{os.environ['PATH']}"})
        return done.stdout + done.stderr

    def check(self, what, output, engine):
        """Both collectives with their lists: the first tasks and, of the host engine, the one that waits."""
        where = r"rank 0 of 2 in communicator 0x[0-9a-f]+"
        for function, mark in (("MPI_Ialltoall", "alltoall"), ("MPI_Iallreduce", "allreduce")):
            found = re.search(rf"^{function}: {where}, running.*called at \S*unfinished\.c:{self.line_of[mark]}\n"
                              rf"  engine {engine}, algorithm [\w:=]+, channel (\d+), (\d+) tasks\n((?:  .*\n)*)", output, re.M)
            lines = found[3].splitlines() if found else []
            listed = [line for line in lines if re.match(r"  (  |=>) +\d+ (recv|send|copy|wait|reduce) ", line)]
            position = [line for line in listed if line.startswith("  =>")]
            good = (found and len(listed) == int(found[2]) and "recv 1 " in listed[0] and
                    # Rank 1 has sent nothing, so the list's next task is its wait.
                    (len(position) == 1 and "wait 1 1" in position[0] if engine == "host" else not position))
            self.expect(f"{what}: {function}", good, output)
        recorded = [r" +1 MPI_Ibarrier: complete, by Lapwing.*, called at \S*unfinished\.c:\d+",
                    rf" +2 MPI_Ialltoall \(8 bytes\): in flight, by Lapwing.*, called at \S*unfinished\.c:{self.line_of['alltoall']}",
                    rf" +3 MPI_Iallreduce \(MPI_LONG, MPI_MAX, 16 bytes\): in flight, by Lapwing.*:{self.line_of['allreduce']}",
                    r"(a thread is in MPI_Waitall|the last call of a thread was MPI_Testall).*, called at \S*unfinished\.c:\d+"]
        self.expect(f"{what}: calls", "MPI_COMM_WORLD: 3 collectives" in output and
                    all(re.search(f"^{line}$", output, re.M) for line in recorded), output)
        self.expect(f"{what}: communicators", re.search(rf"^{where}: 3 channels used, last engine {engine}$", output, re.M), output)

    def core(self, what, engine, words):
        for old in self.scratch.glob("core*"):
            old.unlink()
        launch = [*jobs.launcher(self.mpi, 2), *words]
        subprocess.run([str(word) for word in launch], cwd=self.scratch, env=self.environment | {"LAPWING_ENGINE": engine}, capture_output=True,
                       timeout=100, check=False, stdin=subprocess.DEVNULL)
        cores = list(self.scratch.glob("core*"))
        if len(cores) != 1:
            self.expect(f"{what}: a core dump", False, f"{cores}")
            return
        self.check(what, self.gdb(self.program, cores[0]), engine)

    def live(self):
        words = self.under(["--engine", "host", "--report"], 2, [self.program, "wait"])
        process = subprocess.Popen([str(word) for word in words], env=self.environment, start_new_session=True, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            for line in process.stdout:
                if "hangs" in line:
                    break
            outputs = [self.gdb("-p", pid) for pid in self.ranks(process.pid)]
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate()
        if any("Operation not permitted" in output for output in outputs):
            print("processes must not be attached here: no running process is tried", flush=True)
            return
        of_rank_0 = [output for output in outputs if "rank 0 of 2" in output]
        of_rank_1 = [output for output in outputs if "rank 1 of 2" in output]
        self.expect("both ranks are attached", len(of_rank_0) == len(of_rank_1) == 1, "\n".join(outputs))
        if self.failed:
            return
        self.check("a running process", of_rank_0[0], "host")
        self.expect("a running process: age", len(re.findall(r", running, started \d+\.\d s ago", of_rank_0[0])) == 2, of_rank_0[0])
        self.expect("rank 1 is in a receive", re.search(r"^a thread is in MPI_Recv on MPI_COMM_WORLD, peer 0, tag 0, started \d+\.\d s ago, "
                                                       r"called at \S*unfinished\.c:\d+$", of_rank_1[0], re.M), of_rank_1[0])
        self.expect("rank 1 has nothing in flight", "no collective of Lapwing's is in flight" in of_rank_1[0], of_rank_1[0])

    def ranks(self, session):
        """The ranks that the tool started, in whichever sessions the launcher placed them."""
        children = {}
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                fields = (directory / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(directory.name))
            except OSError:
                continue
        below, found = [session], []
        while below:
            pid = below.pop()
            below += children.get(pid, [])
            try:
                if os.readlink(f"/proc/{pid}/exe") == str(self.program):
                    found.append(pid)
            except OSError:
                continue
        return found


def main():
    build, mpi = pathlib.Path(sys.argv[1]), sys.argv[2]
    if shutil.which("gdb") is None:
        print("gdb is missing", flush=True)
        return jobs.SKIPPED
    with tempfile.TemporaryDirectory() as directory:
        test = Debugger(build, mpi, pathlib.Path(directory))
        output = test.gdb("true")
        test.expect("no process", "lapwing: no process and no core dump" in output, output)
        output = test.gdb(shutil.which("true"), "-ex", "starti")
        test.expect("a process without Lapwing", "has no preload library of Lapwing that has a table for debuggers" in output, output)
        test.live()
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if not pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith("core"):
            print("core dumps go elsewhere on this machine: none is tried", flush=True)
            return test.status()
        library = build / "lib" / f"liblapwing-{mpi}.so"
        for engine in ("host", "kernel"):
            test.core(f"a core dump, {engine}", engine, ["env", f"LD_PRELOAD={library}", test.program])
        stripped = test.scratch / library.name
        subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
        test.core("a core dump, the library is stripped", "host", ["env", f"LD_PRELOAD={stripped}", test.program])
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
