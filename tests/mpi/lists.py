"""Lists from a file under an unmodified program: the results are right, the requested engine runs the lists, and wrong lists are refused."""

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


class Lists(jobs.Test):
    def run(self, algorithms, engine, words, ranks=RANKS, **variables):
        """Exit status, output, and for each collective the algorithms of rank 0 with their engine."""
        status, output, report = self.run_with_report(ranks, words, ["--engine", engine, "--algorithm", algorithms], **variables)
        return status, output, {row["name"]: {(use["algorithm"], use["engine"]) for use in row["uses_of_rank_0"]}
                                for row in report.get("collectives", [])}


def check(tests):
    # Random collectives, compared with the MPI's; the communicators of other numbers of ranks use the catalogue.
    random = [tests.built("fuzz"), 1, 100]
    reductions = [tests.built("drop_in"), "--gtest_filter=Reduction.*"]
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        file = directory / "own.lists"
        save(file, [circulant.allreduce(RANKS), flat("alltoall", RANKS), flat("reduce_scatter_block", RANKS),
                    *(flat(name, RANKS, root) for name in ("broadcast", "gather", "reduce") for root in range(RANKS))])
        algorithms = ",".join(f"{name}=file:{file}" for name in NAMES)
        for engine in ("host", "kernel"):
            status, output, uses = tests.run(algorithms, engine, random, LAPWING_CHECK="1")
            missing = [name for name in NAMES.values() if (f"file:{file}", engine) not in uses.get(name, set())]
            tests.expect(f"lists of a file by the {engine} engine", status == 0 and not missing and "lapwing: " not in output,
                         f"{output}\n{missing} {uses}")

        late = directory / "late.lists"
        receive, send = "  recv 2 out[2+1]\n", "  send 1 in[1+1]\n"
        late.write_text(str(flat("alltoall", RANKS)).replace(receive + send, send + receive, 1))
        status, output, uses = tests.run(f"ialltoall=file:{late}", "kernel", random)
        tests.expect("a late receive at one rank leaves all ranks to the host engine", status == 0 and
                     (f"file:{late}", "host") in uses["MPI_Ialltoall"], f"{output}\n{uses}")

        status, output, uses = tests.run(algorithms, "host", reductions, ranks=2)
        tests.expect("no lists for these ranks: the catalogue takes over", status == 0 and uses and "lapwing: " not in output and
                     not any("file:" in name for use in uses.values() for name, _ in use), f"{output}\n{uses}")

        wrong = directory / "wrong.lists"
        text = str(circulant.allreduce(RANKS))
        wrong.write_text(text.replace("  reduce scratch[0+1] scratch[6+1]\n", "", 1))
        status, output, uses = tests.run(f"iallreduce=file:{wrong}", "host", reductions)
        tests.expect("wrong lists are refused, with rank, line and rule, once", status == 0 and
                     output.count(f"lapwing: {wrong}:13: provenance: rank 0") == 1 and "is used for allreduce instead" in output and
                     not any("file:" in name for use in uses.values() for name, _ in use), f"{output}\n{uses}")

        wrong.write_text(text.replace("wait 1 1", "await 1 1", 1))
        status, output, uses = tests.run(f"iallreduce=file:{wrong}", "host", reductions)
        tests.expect("a mistake in the text ends the job, with its position",
                     status not in (0, None) and f"{wrong}:9:3: unknown kind 'await'" in output, output)

        # The same path, but each rank sees a different file, as on hosts with their own disks.
        for rank in range(2):
            (directory / str(rank)).mkdir()
            save(directory / str(rank) / "own.lists", [flat("alltoall", 2 + rank)])
        algorithm = "ialltoall=file:own.lists"
        for what, setting, arguments, ends, message in [
                ("files that differ end the job", f"export LAPWING_ALGORITHM={algorithm}", ["plain"], False,
                 "'own.lists' (LAPWING_ALGORITHM) is not the same on all hosts: rank 1 ("),
                ("a hint with files that differ is ignored", ":", ["hinted", algorithm], True,
                 f"lapwing_algorithm '{algorithm}': the files are not the same on all ranks; the hint is ignored")]:
            status, output = tests.run_by_hand(2, f"cd {directory}/$RANK && {setting}", [tests.built("faults"), *arguments])
            tests.expect(what, (status == 0) == ends and status is not None and ("all done" in output) == ends and message in output,
                         output)


if __name__ == "__main__":
    jobs.run(check, of=Lists)
