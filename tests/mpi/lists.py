"""Lists from a file under an unmodified program: the results are right, the requested engine runs the lists, and wrong lists are refused."""

import json
import pathlib
import sys
import tempfile

import jobs

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "python"), str(ROOT / "examples/lists")]

import circulant  # noqa: E402
from lapwing.lists import Collective, save  # noqa: E402

RANKS = 3
NAMES = {"allreduce": "MPI_Iallreduce", "gather": "MPI_Igather", "broadcast": "MPI_Ibcast", "alltoall": "MPI_Ialltoall",
         "reduce": "MPI_Ireduce", "reduce_scatter_block": "MPI_Ireduce_scatter_block"}


def flat(name, ranks, root=0):
    """Every rank sends its blocks to the ranks that need them. Reductions combine in rank order."""
    lists = Collective(name, ranks, root=root)
    sender, receiver = name == "broadcast", name in ("gather", "reduce")  # the root alone
    per_peer = name in ("alltoall", "reduce_scatter_block")
    for rank in lists:
        others = [peer for peer in range(ranks) if peer != rank]
        own = None if sender and rank != root else rank.input[rank if per_peer else 0]
        for peer in others:
            if (not sender or rank == root) and (not receiver or peer == root):
                rank.send(peer, rank.input[peer if per_peer else 0])
        if (sender and rank == root) or (receiver and rank != root):
            continue
        arrived = {rank: own}
        for peer in [root] if sender else others:
            arrived[peer] = rank.out[0] if sender else rank.out[peer] if name in ("gather", "alltoall") else rank.scratch[peer]
            rank.recv(peer, arrived[peer])
        if name in ("gather", "alltoall"):
            rank.copy(rank.out[rank], own)
        elif not sender:
            rank.copy(rank.out[0], arrived[ranks - 1])
            for peer in reversed(range(ranks - 1)):
                rank.reduce(rank.out[0], arrived[peer])
    return lists


class Jobs:
    def __init__(self, build, mpi, directory):
        self.build = build
        self.mpi = mpi
        self.directory = directory
        self.failed = 0

    def expect(self, what, good, output):
        print(f"{self.mpi}: {what}: {'ok' if good else 'FAILED'}", flush=True)
        if not good:
            print(output, flush=True)
            self.failed += 1

    def run(self, algorithms, engine, tests, ranks=RANKS, environment=None):
        """Exit status, output, and for each collective the algorithms of rank 0 with their engine."""
        report = self.directory / "report.json"
        report.unlink(missing_ok=True)
        command = [self.build / "bin/lapwing", "run", "--report", "--json", "--report-file", report, "--engine", engine,
                   "--algorithm", algorithms, "--", *jobs.launcher(self.mpi, ranks),
                   self.build / "tests" / f"drop_in-{self.mpi}", f"--gtest_filter={tests}"]
        status, output = jobs.execute(command, 60, jobs.environment(self.mpi, self.build) | (environment or {}))
        uses = {}
        if report.is_file():
            for row in json.loads(report.read_text())["collectives"]:
                uses[row["name"]] = {(use["algorithm"], use["engine"]) for use in row["uses_of_rank_0"]}
        return status, output, uses


def main():
    build, mpi = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as directory:
        tests = Jobs(build, mpi, pathlib.Path(directory))
        file = tests.directory / "own.lists"
        save(file, [circulant.allreduce(RANKS), flat("alltoall", RANKS), flat("reduce_scatter_block", RANKS),
                    *(flat(name, RANKS, root) for name in ("broadcast", "gather", "reduce") for root in range(RANKS))])
        algorithms = ",".join(f"{name}=file:{file}" for name in NAMES)
        for engine in ("host", "kernel"):
            status, output, uses = tests.run(algorithms, engine, "Data.EveryKind*:Elements/Reductions*:Reduction.Log*",
                                             environment={"LAPWING_CHECK": "1"})
            missing = [name for name in NAMES.values() if (f"file:{file}", engine) not in uses.get(name, set())]
            tests.expect(f"lists of a file by the {engine} engine", status == 0 and not missing and "lapwing: " not in output,
                         f"{output}\n{missing} {uses}")

        late = tests.directory / "late.lists"
        receive, send = "  recv 2 out[2+1]\n", "  send 1 in[1+1]\n"
        late.write_text(str(flat("alltoall", RANKS)).replace(receive + send, send + receive, 1))
        status, output, uses = tests.run(f"ialltoall=file:{late}", "kernel", "Data.EveryKind*")
        tests.expect("a late receive at one rank leaves all ranks to the host engine", status == 0 and
                     (f"file:{late}", "host") in uses["MPI_Ialltoall"], f"{output}\n{uses}")

        status, output, uses = tests.run(algorithms, "host", "Reduction.*", ranks=2)
        tests.expect("no lists for these ranks: the catalogue takes over", status == 0 and uses and "lapwing: " not in output and
                     not any("file:" in name for use in uses.values() for name, _ in use), f"{output}\n{uses}")

        wrong = tests.directory / "wrong.lists"
        text = str(circulant.allreduce(RANKS))
        wrong.write_text(text.replace("  reduce scratch[0+1] scratch[6+1]\n", "", 1))
        status, output, uses = tests.run(f"iallreduce=file:{wrong}", "host", "Reduction.*")
        tests.expect("wrong lists are refused, with rank, line and rule, once", status == 0 and
                     output.count(f"lapwing: {wrong}:13: provenance: rank 0") == 1 and "is used for allreduce instead" in output and
                     not any("file:" in name for use in uses.values() for name, _ in use), f"{output}\n{uses}")

        wrong.write_text(text.replace("wait 1 1", "await 1 1", 1))
        status, output, uses = tests.run(f"iallreduce=file:{wrong}", "host", "Reduction.*")
        tests.expect("a mistake in the text ends the job, with its position",
                     status not in (0, None) and f"{wrong}:9:3: unknown kind 'await'" in output, output)

        # The same path, but each rank sees a different file, as on hosts with their own disks.
        for rank in range(2):
            (tests.directory / str(rank)).mkdir()
            save(tests.directory / str(rank) / "own.lists", [flat("alltoall", 2 + rank)])
        algorithm = "ialltoall=file:own.lists"
        script = tests.directory / "program"
        for what, setting, arguments, ends, message in [
                ("files that differ end the job", f"export LAPWING_ALGORITHM={algorithm}", "plain", False,
                 "'own.lists' (LAPWING_ALGORITHM) is not the same on all hosts: rank 1 ("),
                ("a hint with files that differ is ignored", ":", f"hinted {algorithm}", True,
                 f"lapwing_algorithm '{algorithm}': the files are not the same on all ranks; the hint is ignored")]:
            script.write_text(f"#!/bin/sh\ncd {directory}/${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} && {setting}\n"
                              f"LD_PRELOAD={build}/lib/liblapwing-{mpi}.so:$LD_PRELOAD exec {build}/tests/faults-{mpi} {arguments}\n")
            script.chmod(0o755)
            status, output = jobs.execute([*jobs.launcher(mpi, 2), script], 30, jobs.environment(mpi, build))
            tests.expect(what, (status == 0) == ends and status is not None and ("all done" in output) == ends and message in output,
                         output)
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
