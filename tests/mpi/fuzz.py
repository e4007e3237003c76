"""Random collectives under `lapwing run`: every result equals the MPI's own, and Lapwing took every collective."""

import sys

import jobs

# Without shared memory, and with shared memory but without single copies between processes.
MPI_MESSAGES = {"LAPWING_SHARED_MEMORY": "0"}
PIECES = {"LAPWING_TRANSFER": "processor"}
THREAD = {"LAPWING_PROGRESS_THREAD": "any"}
# Ranks, first seed, sequences, options of `lapwing run`, variables. The seeds are fixed, so each run tests the same sequences.
RUNS = {
    "openmpi": [(1, 1, 200, [], {}), (2, 1000, 400, [], {}), (4, 2000, 300, [], {}), (5, 3000, 150, ["--engine", "kernel"], {}),
                (4, 4000, 300, ["--engine", "kernel"], {}), (2, 5000, 400, ["--engine", "kernel"], {}),
                (3, 6000, 200, [], PIECES), (3, 7000, 200, [], MPI_MESSAGES), (3, 8000, 100, [], PIECES | THREAD)],
    "mpich": [(1, 1, 200, [], {}), (2, 1000, 300, [], {}), (3, 2000, 200, [], {}), (3, 3000, 200, ["--engine", "kernel"], {}),
              (2, 4000, 300, ["--engine", "kernel"], {}), (2, 5000, 200, [], PIECES), (2, 6000, 200, [], MPI_MESSAGES)],
}


def main():
    test = jobs.Test(*sys.argv[1:3])
    taken = {}
    for ranks, seed, sequences, options, variables in RUNS[test.mpi]:
        status, output, report = test.run_with_report(ranks, [test.built("fuzz"), seed, sequences], options, 120, **variables)
        words = [*options, *(f"{name}={value}" for name, value in variables.items())]
        rows = report.get("collectives", [])
        for row in rows:
            for use in row["uses_of_rank_0"]:
                key = (row["name"], use["engine"])
                taken[key] = taken.get(key, 0) + use["calls"]
        left = [f"{row['name']} was left to the MPI: {row['reasons']}" for row in rows if row["fell_back"] > 0]
        calls = sum(row["taken"] for row in rows)
        test.expect(f"{ranks} ranks {' '.join(words)}: {sequences} sequences, seeds from {seed}, {calls} calls taken",
                    status == 0 and f" {calls} calls, nothing differs" in output and "do not match" not in output and not left,
                    f"exit status {status}\n{output}\n" + "\n".join(left))
    names = {name for name, _ in taken}
    test.expect(f"{len(names)} collectives were called", len(names) >= 18, sorted(names))
    missing = [(name, engine) for name in sorted(names) for engine in ("host", "kernel") if taken.get((name, engine), 0) == 0]
    test.expect("each was taken by both engines", not missing, missing)
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
