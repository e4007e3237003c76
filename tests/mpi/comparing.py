"""`lapwing compare` with real ranks: what it times in programs of C and Fortran, and in one that opens a library with its MPI."""

import json
import os
import sys
import tempfile

import jobs

PAUSES = 5 * 0.02  # of the program `waits` on rank 0, at least


def check(test):
    programs = {name: [test.build / "tests" / f"{name}-{test.mpi}"] for name in ("waits", "f08")}
    opened = test.build / "tests" / f"libopened-{test.mpi}.so"
    programs["opened"] = [sys.executable, "-c", f"import ctypes, sys; sys.exit(ctypes.CDLL('{opened}').begin_and_end())"]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # where files of ranks are left, if any
        for program, words in programs.items():
            if program == "f08" and not words[0].exists():  # no Fortran compiler
                continue
            pauses, line = (PAUSES, ["--same-output", "all done"]) if program == "waits" else (0, [])
            status, output = jobs.execute([test.tool, "compare", "--rounds", "1", "--no-warm-up", "--json", "-o", "c.json",
                                           *line, "--", *jobs.launcher(test.mpi, 2), *words],
                                          120, test.environment)
            test.expect(f"{program}: all runs succeed", status == 0 and "1 pair is too few" in output and "No MPI" not in output, output)
            with open("c.json") as file:
                variants = json.load(file)["rows"][0]["engines"]
            for variant in variants:
                seconds, processor = (variant["summary"].get(name, {"median": 0})["median"] for name in ("program", "processor"))
                whole = variant["summary"]["total"]["median"]
                test.expect(f"{program}, {variant['engine']}: times of the ranks", seconds > pauses and processor > 0 and whole > pauses,
                            str(variant))
            os.unlink("c.json")
        status, output = jobs.execute([test.tool, "compare", "--rounds", "1", "--", *jobs.launcher(test.mpi, 2), "true"], 120, test.environment)
        test.expect("a program without MPI", status == 0 and "No MPI was seen" in output, output)
        test.expect("nothing is left", os.listdir() == [], str(os.listdir()))
        os.chdir("/")


if __name__ == "__main__":
    jobs.run(check)
