"""Every engine and algorithm between the ranks of real jobs of 2 to 5 ranks. Engines that this machine lacks are left out, unless TEST_ENGINES
promises them (support/engines.hpp). The test is skipped if no engine is left."""

import re
import sys

import jobs


def main():
    test = jobs.Test(*sys.argv[1:3])
    skipped = 0
    for ranks in (2, 5) if test.more else (4,):
        status, output = jobs.execute([*jobs.launcher(test.mpi, ranks), test.built("engines")], 180, test.environment)
        test.expect(f"{ranks} ranks", status == 0, f"exit status {status}\n{output}")
        for line in re.findall(r"^(?:host|kernel): .*|.*(?:not available).*", output, re.MULTILINE):
            print(line, flush=True)
        skipped += "[  PASSED  ] 0 tests" in output
    return 1 if test.failed else jobs.SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
