"""Tools that stand before or behind Lapwing by PMPI, and MPI sessions: results right, and who sees which calls."""

import json
import pathlib
import sys
import tempfile

import jobs

# What tool.c wraps: 5 sends of rank 0, 5 alltoalls, 3 waits in each of 5 rounds.
BEFORE = "tool: 5 sends, 5 collectives, 15 waits"
BEHIND = "tool: 5 sends, 0 collectives, 0 waits"


def taken_in(report):
    try:
        return {row["name"]: row["taken"] for row in json.loads(report.read_text())["collectives"]}
    except (OSError, ValueError, KeyError):
        return {}


def run(build, mpi, ranks, engine, words, preload=None):
    """Status, output, and what the report says was taken; `preload`: before or behind."""
    library = build / "lib" / f"liblapwing-{mpi}.so"
    tool = build / "tests" / f"libtool-{mpi}.so"
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        environment = jobs.environment(mpi, build)
        rest = environment.get("LD_PRELOAD", "")
        if preload is None:
            command = [build / "bin" / "lapwing", "run", "--engine", engine, "--report", "--json", "--report-file", report, "--"]
        else:
            command = []
            order = [tool, library] if preload == "before" else [library, tool]
            environment["LD_PRELOAD"] = ":".join(str(word) for word in [*order, rest] if str(word))
            environment.update(LAPWING_ENGINE=engine, LAPWING_REPORT="json", LAPWING_REPORT_FILE=str(report))
        status, output = jobs.execute([*command, *jobs.launcher(mpi, ranks), *words], 60, environment)
        return status, output, taken_in(report)


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0

    def expect(what, good, seen):
        nonlocal failed
        print(f"{mpi}: {what}: {'ok' if good else 'FAILED'}", flush=True)
        if not good:
            print(seen, flush=True)
            failed += 1

    for engine in ("host", "kernel"):
        for preload, told in (("before", BEFORE), ("behind", BEHIND)):
            status, output, taken = run(build, mpi, 3, engine, [build / "tests" / f"tools-{mpi}"], preload)
            good = status == 0 and "all right" in output and told in output
            expect(f"engine {engine}, a tool {preload} Lapwing sees what it should", good, output)
            # A persistent collective is left to the MPI when its wait would pass Lapwing by.
            expected = {"MPI_Ibarrier": 15, "MPI_Iallreduce": 15 if preload == "before" else 30,
                        "MPI_Ialltoall": 0 if preload == "before" else 15}
            expect(f"engine {engine}, and Lapwing takes the others",
                   all(taken.get(name, 0) == calls for name, calls in expected.items()), (taken, output))
        program = build / "tests" / f"sessions-{mpi}"
        for mode in ("only", "inside", "outlives") if program.exists() else ():
            # One rank without MPI_Init crashes in MPICH 4.0 by itself.
            for ranks in (2, 3) if mode == "only" else (1, 3):
                status, output, taken = run(build, mpi, ranks, engine, [program, mode])
                expect(f"engine {engine}, {ranks} ranks, sessions {mode}", status == 0 and "all right" in output, output)
                expect("and the collectives are taken, or left alone where there is no MPI_Init",
                       (taken.get("MPI_Ialltoall", 0) == 0) == (mode == "only"), (taken, output))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
