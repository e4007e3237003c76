"""Random collectives under `lapwing run`: every result equals the MPI's own, and Lapwing took every collective; and so with each
algorithm on each engine."""

import json
import subprocess

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


def sweep(test, ranks):
    """The k-th algorithm of each collective, for all k: on the host engine over the MPI's messages, and on the kernel engine.
    Those that know hosts decline here: tests/engines has hosts, as have topology.py and hosts.py."""
    answer = subprocess.run([test.tool, "info", "--algorithms", "--json"], check=True, capture_output=True).stdout
    algorithms = {}
    for row in json.loads(answer)["algorithms"]:
        if not row["knows_hosts"]:
            algorithms.setdefault(row["collective"], []).append(row["name"])
    for engine, variables in (("host", MPI_MESSAGES), ("kernel", {})):
        used = set()
        for k in range(max(map(len, algorithms.values()))):
            asked = ",".join(f"{collective}={names[k % len(names)]}" for collective, names in algorithms.items())
            status, output, report = test.run_with_report(ranks, [test.built("fuzz"), 9000 + k, 100],
                                                          ["--engine", engine, "--algorithm", asked], 120, **variables)
            used |= {(row["name"], use["algorithm"].split(":")[0]) for row in report.get("collectives", [])
                     for use in row["uses_of_rank_0"] if use["engine"] == engine}
            test.expect(f"{ranks} ranks, {engine} engine: {asked}", status == 0 and "nothing differs" in output, output)
        # Two and five ranks are too few, or no power of two, for some.
        all_used = len(used) == sum(map(len, algorithms.values()))
        test.expect(f"{ranks} ranks: {len(used)} algorithms ran on the {engine} engine", all_used or ranks != 4, sorted(used))


def check(test):
    if test.more:
        for ranks in (2, 5):
            sweep(test, ranks)
        return None
    sweep(test, 4)
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


if __name__ == "__main__":
    jobs.run(check)
