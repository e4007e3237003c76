"""Collectives with buffers in device memory, on both engines. The device is a double (tests/device/doubles)."""

import sys

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
    test = jobs.Test(*sys.argv[1:3])
    for ranks, variables, arguments in RUNS:
        status, output, report = test.run_with_report(ranks, [test.built("device"), *arguments], limit=120, **variables)
        told = report.get("device_memory", {})
        good = status == 0 and all(told.get(name, 0) > 0 for name in ("buffers", "bytes_to_host", "bytes_to_device"))
        test.expect(f"{ranks} ranks {variables} {arguments}: {told}", good, f"exit status {status}\n{output}")
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
