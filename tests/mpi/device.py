"""Collectives with buffers in device memory, on both engines. The device is a double (tests/device/doubles)."""

import jobs

# Ranks, variables, options of the program with tests of its own.
RUNS = [
    (1, {}, []),
    (2, {}, []),
    (3, {"LAPWING_TRANSFER": "processor"}, []),
    (4, {}, []),
    (3, {"LAPWING_PROGRESS_THREAD": "auto"}, []),
    (2, {}, ["--threads"]),
    (3, {"LAPWING_ENGINE": "kernel"}, []),
    (2, {"LAPWING_ENGINE": "kernel"}, ["--threads"]),
    (2, {"LAPWING_BLOCKING": "on"}, []),
]


def check(test):
    for number, (ranks, variables, arguments) in enumerate(RUNS):
        # Random collectives have neither threads nor blocking forms.
        random = [] if arguments or "LAPWING_BLOCKING" in variables else [[test.built("fuzz"), 1000 * number + 1, 150, "device"]]
        for words in [[test.built("device"), *arguments], *random]:
            status, output, report = test.run_with_report(ranks, words, limit=120, **variables)
            told = report.get("device_memory", {})
            good = status == 0 and all(told.get(name, 0) > 0 for name in ("buffers", "bytes_to_host", "bytes_to_device"))
            test.expect(f"{ranks} ranks {variables} {' '.join(map(str, words[1:]))}: {told}", good, f"exit status {status}\n{output}")


if __name__ == "__main__":
    jobs.run(check)
