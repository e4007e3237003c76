"""Collectives with buffers in the memory of a device, which is a double (tests/device/doubles), on both engines."""

import json
import pathlib
import sys
import tempfile

import jobs

# Ranks, variables, options of the program.
RUNS = [
    (1, {}, []),
    (2, {}, []),
    (3, {"LAPWING_TRANSFER": "processor"}, []),
    (4, {}, []),
    (3, {"LAPWING_PROGRESS_THREAD": "auto"}, []),
    (2, {}, ["--threads"]),
    (3, {"LAPWING_ENGINE": "kernel"}, []),
    (2, {"LAPWING_ENGINE": "kernel"}, ["--threads"]),
    (2, {"LAPWING_BLOCKING": "1"}, []),
]


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    for ranks, variables, arguments in RUNS:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            command = [build / "bin" / "lapwing", "run", "--report", "--json", "--report-file", report, "--",
                       *jobs.launcher(mpi, ranks), build / "tests" / f"device-{mpi}", *arguments]
            status, output = jobs.execute(command, 120, jobs.environment(mpi, build) | variables)
            try:
                told = json.loads(report.read_text())["device_memory"]
            except (OSError, ValueError, KeyError) as error:
                told = {"error": repr(error)}
        good = status == 0 and all(told.get(name, 0) > 0 for name in ("buffers", "bytes_to_host", "bytes_to_device"))
        what = f"{mpi}, {ranks} ranks {variables} {arguments}: {told}"
        print(what if good else f"{output}\nFAILED {what}: exit status {status}", flush=True)
        failed += not good
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
