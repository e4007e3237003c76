"""Random collectives under `lapwing run`, compared with the MPI's own: nothing differs, and every collective was taken."""

import json
import pathlib
import re
import sys
import tempfile

import jobs

# Without shared memory, and with memory that is shared but not copied from directly.
MPI_MESSAGES = {"LAPWING_SHARED_MEMORY": "0"}
PIECES = {"LAPWING_TRANSFER": "processor"}
# Ranks, first seed, sequences, options of `lapwing run`, variables. The seeds are fixed: what is new here is the program's code.
RUNS = {
    "openmpi": [(1, 1, 200, [], {}), (2, 1000, 400, [], {}), (4, 2000, 300, [], {}), (5, 3000, 150, ["--engine", "kernel"], {}),
                (4, 4000, 300, ["--engine", "kernel"], {}), (2, 5000, 400, ["--engine", "kernel"], {}),
                (3, 6000, 200, [], PIECES), (3, 7000, 200, [], MPI_MESSAGES)],
    "mpich": [(1, 1, 200, [], {}), (2, 1000, 300, [], {}), (3, 2000, 200, [], {}), (3, 3000, 200, ["--engine", "kernel"], {}),
              (2, 4000, 300, ["--engine", "kernel"], {}), (2, 5000, 200, [], PIECES), (2, 6000, 200, [], MPI_MESSAGES)],
}


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    taken = {}
    for ranks, seed, sequences, options, variables in RUNS[mpi]:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            command = [build / "bin" / "lapwing", "run", "--report", "--json", "--report-file", report, *options, "--",
                       *jobs.launcher(mpi, ranks), build / "tests" / f"fuzz-{mpi}", seed, sequences]
            status, output = jobs.execute(command, 120, jobs.environment(mpi, build) | variables)
            words = [*options, *(f"{name}={value}" for name, value in variables.items())]
            what = f"{mpi}, {ranks} ranks {' '.join(words)}: seeds from {seed}"
            try:
                rows = json.loads(report.read_text())["collectives"]
            except (OSError, ValueError) as error:
                rows = []
                status = status or str(error)
        if status != 0 or "nothing differs" not in output or "do not match" in output:
            print(f"{output}\nFAILED {what}: {status}", flush=True)
            failed += 1
            continue
        engine = "kernel" if "kernel" in options and ranks > 1 else "host"
        for row in rows:
            for use in row["uses_of_rank_0"]:
                key = (row["name"], use["engine"])
                taken[key] = taken.get(key, 0) + use["calls"]
            if row["fell_back"] > 0:
                print(f"FAILED {what}: {row['name']} was left to the MPI: {row['reasons']}", flush=True)
                failed += 1
        calls = sum(row["taken"] for row in rows)
        if calls != int(re.search(r"(\d+) calls, nothing differs", output)[1]):
            print(f"FAILED {what}: {calls} calls were taken: {output}", flush=True)
            failed += 1
        print(f"{what}: {sequences} sequences, {calls} calls taken, engine {engine}", flush=True)
    names = {name for name, _ in taken}
    for name in sorted(names):
        for engine in ("host", "kernel"):
            if taken.get((name, engine), 0) == 0:
                print(f"FAILED: {name} was never taken by the {engine} engine", flush=True)
                failed += 1
    if len(names) < 18:
        print(f"FAILED: only {sorted(names)} were called", flush=True)
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
