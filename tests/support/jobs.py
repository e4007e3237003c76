"""Starting MPI jobs in tests: launchers, time limits, and the search for processes that a job leaves behind."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

# Programs heed signals that these tests send, also where a script started the tests in the background or below nohup.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

SKIPPED = 77  # the exit status of a test that cannot run here

# Networks between hosts for the host engine, and the variables that their libraries need on virtual hosts.
NETWORKS = {"ucx": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}, "ofi": {"FI_PROVIDER": "tcp"}, "tcp": {}}

# Words before a program, which rank 1 then runs without Lapwing's library.
WITHOUT_LIBRARY = ["sh", "-c", '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && unset LD_PRELOAD; exec "$@"', "sh"]


def neighbors_differ(launcher, program, tool, environment):
    """Compares what neighbors.cpp prints by itself with what it prints under `lapwing run`, which must take its collectives. Returns
    what differs; empty if nothing does."""
    def lines(status, output):
        return {line for line in output.splitlines() if ":" in line} if status == 0 else {f"exit status {status}: {output}"}
    alone = lines(*execute([*launcher, program], 120, environment))
    differ = {}
    for options in ([], ["--blocking"]):
        status, output, report = with_report([tool], options, [*launcher, program], 120, environment)
        taken = [row["taken"] for row in report.get("collectives", []) if row["name"].startswith("MPI_Ineighbor")]
        found = sorted(alone ^ lines(status, output))
        if found or len(alone) < 14 * 10 or not taken or min(taken) == 0:
            differ[" ".join(options)] = (found, taken)
    return differ


class Failure(Exception):
    """Ends one case of a test."""


def must(what, command, limit, environment=None):
    """Runs a command, which must succeed. Returns its output."""
    status, output = execute(command, limit, environment)
    if status != 0:
        raise Failure(f"{what} failed (exit status {status}):\n{output}")
    return output


def parser(description):
    """A parser of the command line, with the build directory as the first argument."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("build", type=lambda path: pathlib.Path(path).resolve(), help="the build directory")
    return made


def execute(command, limit, environment=None, until=None):
    """Runs a command in its own session. Returns its exit status (None: this function ended it) and output. Ends the command
    after `limit` seconds, which is meant for commands that hang and bounds no performance, or soon after its output has matched
    `until`."""
    process = subprocess.Popen(
        [str(word) for word in command], env=environment, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        if until is not None:
            return output_until(process, limit, until)
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return None, output
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def with_report(before, options, words, limit, environment):
    """Runs a program by `before`, the words that end in the tool, and `run`. Returns what execute() returns, and the report; it
    is empty if the job wrote none."""
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        command = [*before, "run", "--report", "--json", "--output", report, *options, "--", *words]
        return *execute(command, limit, environment), report_in(report)


def output_until(process, limit, pattern):
    """Waits until the output matches. Returns what execute() returns."""
    lines = []
    heard = threading.Event()

    def read():
        for line in process.stdout:
            lines.append(line)
            if re.search(pattern, line):
                heard.set()
        heard.set()

    reader = threading.Thread(target=read)
    reader.start()
    heard.wait(limit)
    reader.join(1)
    ended = not reader.is_alive()
    if not ended:
        os.killpg(process.pid, signal.SIGTERM)
        reader.join(5)
        os.killpg(process.pid, signal.SIGKILL)
        reader.join()
    status = process.wait()
    return status if ended else None, "".join(lines)


def launcher(mpi, ranks):
    """The launcher's words for `ranks` ranks on this machine, even if it has fewer cores. mpi: openmpi or mpich."""
    command = [f"mpirun.{mpi}"]
    if mpi == "openmpi":
        command += ["--oversubscribe"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
    return [*command, "-n", str(ranks)]


def with_fault(fault, command):
    """A shell script that runs a command, and runs a fault beside the command as soon as it has created the file $made."""
    return f"made=$(mktemp -u); (until [ -e $made ]; do sleep 0.1; done; rm $made; {fault}) & {command}" if fault else command


def on_small_disk(folder, size):
    """The words before a command for which a new folder is a disk of this size; none where mounts are forbidden."""
    folder.mkdir()
    words = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c",
             f'mount -t tmpfs -o size={size} none {folder} && exec "$@"', "sh"]
    if execute([*words, "true"], 60)[0] == 0:
        return words
    print("no mounts here: a full disk is not tried", flush=True)
    return []


def environment(mpi, build):
    """The environment for such a job: waiting ranks yield their core to others."""
    variables = dict(os.environ)
    if mpi == "mpich":
        pace = pathlib.Path(build) / "lib" / "tests" / "libmpich-yield.so"
        if not pace.is_file():
            raise FileNotFoundError(f"{pace} is missing; build the tests first")
        variables["LD_PRELOAD"] = str(pace)
    return variables


class Test:
    """A test with jobs of one MPI. Starts the jobs and counts the expectations that failed."""

    def __init__(self, build, mpi, title=None):
        self.build, self.mpi, self.title = pathlib.Path(build), mpi, title or mpi
        self.tool = self.build / "bin" / "lapwing"
        self.environment = environment(mpi, build)
        self.failed = 0
        self.more = "more" in sys.argv[3:]

    def built(self, program):
        """The path of a test program."""
        return self.build / "tests" / f"{program}-{self.mpi}"

    def expect(self, what, good, output=""):
        print(f"{self.title}: {what}: {'ok' if good else 'FAILED'}", flush=True)
        if not good:
            print(output, flush=True)
            self.failed += 1

    def under(self, options, ranks, words):
        """The words that run such a job by `lapwing run`."""
        return [self.tool, "run", *options, "--", *launcher(self.mpi, ranks), *words]

    def run_job(self, ranks, words, options=(), limit=60, **variables):
        """Runs a job by `lapwing run`. Returns exit status and output."""
        return execute(self.under(options, ranks, words), limit, self.environment | variables)

    def run_with_report(self, ranks, words, options=(), limit=60, **variables):
        """The same, and returns the report as well; it is empty if the job wrote none."""
        return with_report([self.tool], options, [*launcher(self.mpi, ranks), *words], limit, self.environment | variables)

    def run_by_hand(self, ranks, before, words, **variables):
        """Runs a job without `lapwing run`. The shell of each rank first runs `before`, where $RANK is the rank."""
        script = (f"RANK=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; {before}\n"
                  f"LD_PRELOAD={self.build}/lib/liblapwing-{self.mpi}.so:$LD_PRELOAD exec \"$@\"")
        return execute([*launcher(self.mpi, ranks), "sh", "-c", script, "sh", *words], 60, self.environment | variables)

    def has_hosts(self):
        """Whether this machine allows virtual hosts."""
        status, output = execute([self.tool, "cluster", "--hosts", 1, "--", "true"], 60)
        if status != 0:
            print(f"skipped: virtual hosts are forbidden here: {output}", flush=True)
        return status == 0

    def side_by_side(self, *parts):
        """Calls functions whose jobs mostly wait, four at once: rows of a function and its arguments."""
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            for part in [threads.submit(*part) for part in parts]:
                part.result()

    def status(self):
        """The exit status of the test."""
        return 1 if self.failed else 0


def run(check, *more, of=Test):
    """Runs check(test) as a script: SCRIPT BUILD MPI [more]. Ends the process with what it returns, or with the status of the test."""
    test = of(*sys.argv[1:3], *more)
    sys.exit(check(test) or test.status())


def not_run(report, wanted, engine):
    """What is wrong with a report, by which this engine must have run these collectives: names, or names with their calls."""
    rows = {row["name"]: row for row in report.get("collectives", [])}
    for name in wanted:
        row = rows.get(name, {"taken": 0, "uses_of_rank_0": []})
        calls = wanted[name] if isinstance(wanted, dict) else max(1, row["taken"])
        if row["taken"] != calls or engine not in [use["engine"] for use in row["uses_of_rank_0"]]:
            yield f"{name}: not {calls} calls taken by {engine}: {row}"


def report_in(file):
    """The report that a job has written; empty if it wrote none."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def processes_of(program):
    """Processes that run this program now."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state != "Z" and any(word.decode(errors="replace").endswith(str(program)) for word in words[:1]):
            found.append(int(entry.name))
    return found


def processes_with(variable, value):
    """Processes that have this variable in their environment."""
    word = f"{variable}={value}".encode()
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if word in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def listening_ports(program):
    """TCP ports on which only processes that run this program listen: ports that a launcher also holds are inherited."""
    own = set(processes_of(program))
    sockets = set()
    others = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            links = [os.readlink(link) for link in (entry / "fd").iterdir()]
        except OSError:
            continue
        (sockets if int(entry.name) in own else others).update(
            link[len("socket:["):-1] for link in links if link.startswith("socket:["))
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets - others:
                ports.add(int(words[1].rsplit(":", 1)[1], 16))
    return sorted(ports)
