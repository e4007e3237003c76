"""Calls with wrong arguments: every call ends in the same way under `lapwing run` as with the MPI alone."""

import pathlib
import tempfile

import jobs

# Ranks, the form of the calls, options of `lapwing run`.
RUNS = [(ranks, "nonblocking", options) for ranks in (1, 2, 3) for options in ([], ["--engine", "kernel"])] + [
    (2, "blocking", ["--blocking"]), (2, "blocking", ["--blocking", "--engine", "kernel"]),
    (2, "persistent", []), (2, "persistent", ["--engine", "kernel"])]


def run(words, file, environment):
    """Exit status, rank 0's lines on each case, and the output."""
    file.write_text("")
    status, output = jobs.execute(words, 120, environment)
    told = file.read_text().splitlines()
    return status, told if told[-1:] == ["end"] else [*told, "no end"], output


def check(test):
    alone = {}
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "answers"
        for ranks, form, options in RUNS:
            program = [test.built("wrong_arguments"), form, file]
            if (ranks, form) not in alone:
                status, told, output = run([*jobs.launcher(test.mpi, ranks), *program], file, test.environment)
                alone[ranks, form] = told
                test.expect(f"alone, {ranks} ranks, {form}", status == 0 and len(told) >= 500 and told[-1] == "end",
                            f"{output}\nexit status {status}, {told[-1:]}")
            expected = alone[ranks, form]
            status, told, output = run(test.under(options, ranks, program), file, test.environment)
            differences = [f"{ours!r} instead of {theirs!r}" for ours, theirs in zip(told, expected) if ours != theirs]
            test.expect(f"{ranks} ranks, {form} {' '.join(options)}: {len(told)} answers as alone", status == 0 and told == expected,
                        f"{output[-2000:]}\nexit status {status}, {len(expected)} answers alone; {differences[:20]}")
        program = [test.built("wrong_arguments"), "own_blocks", file]
        for ranks in (1, 3):
            for engine in ("host", "kernel"):
                status, told, output = run(test.under(["--engine", engine], ranks, program), file, test.environment)
                test.expect(f"own blocks that differ, {ranks} ranks, {engine}",
                            status == 0 and len(told) == 57 and told[-1] == "end" and not any("touched" in line for line in told),
                            f"{output[-2000:]}\nexit status {status}, {told}")


if __name__ == "__main__":
    jobs.run(check)
