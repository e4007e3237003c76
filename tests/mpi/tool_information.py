"""MPI_T: a reader written from the standard finds the MPI's variables and Lapwing's, with the right values."""

import collections
import pathlib
import re
import sys

import jobs


def read(output):
    found = collections.defaultdict(list)
    for line in output.splitlines():
        kind, *fields = line.split("\t")
        found[kind].append(fields)
    return found


def main():
    test = jobs.Test(*sys.argv[1:3])
    expect = test.expect
    program = test.built("tool_information")
    _, alone = jobs.execute([*jobs.launcher(test.mpi, 2), program, "alone"], 60, test.environment)
    native = read(alone)
    settings = {line.split("(")[1].split(",")[1].strip().strip('"') for line in
                (pathlib.Path(__file__).parents[2] / "src" / "base" / "settings.def").read_text().splitlines()
                if line.startswith("LAPWING_SETTING(")}
    for engine in ("host", "kernel"):
        status, output = test.run_job(2, [program], ["--engine", engine])
        found = read(output)
        # An error that occurs without Lapwing as well is the MPI's own.
        wrong = [line for line in re.findall(r"wrong: .*", output) if line not in alone]
        expect(f"{engine}: as the standard says", status == 0 and not wrong, output if status else "\n".join(wrong))
        for kind in ("cvar", "pvar", "category"):
            ours = [one for one in found[kind] if one[1].lower().startswith("lapwing")]
            others = [one for one in found[kind] if one not in ours]
            # Each of the MPI's variables is there once, under its own index.
            indices = [one[0] for one in found[kind]]
            expect(f"{engine}: {len(ours)} of Lapwing's and {len(others)} of the MPI's, {kind}",
                   ours and {one[1] for one in native[kind]} == {one[1] for one in others} and len(set(indices)) == len(indices) and
                   len(others) == len(native[kind]), f"{len(native[kind])}")
        values = {name: value for _, name, value in found["cvar"] if name.startswith("LAPWING_")}
        expect(f"{engine}: every setting", {f"LAPWING_{name}" for name in settings} <= set(values) and
               values.get("LAPWING_ENGINE") == engine and values.get("LAPWING_TIMEOUT") == "10", str(values))
        names = {one[1] for one in found["pvar"]}
        expect(f"{engine}: all counters of a collective", {f"lapwing_iscan_{one}".replace("iscan", "scan") for one in (
            "calls", "calls_left_to_mpi", "bytes_sent", "wake_ups", "start_time", "wait_time", "hidden_time")} <= names, str(names))
        category = [one for one in found["category"] if one[1] == "lapwing"]
        expect(f"{engine}: the category has them all", len(category) == 1 and int(category[0][2]) == len(values) and
               int(category[0][3]) == sum(name.startswith("lapwing_") for name in names), str(category))
        counts = {name: (float(before), float(after)) for name, before, after in found["value"]}
        # Seven calls, of which the stopped handle has seen five; each sends 8 bytes to the other rank.
        hidden = counts.pop("lapwing_alltoall_hidden_time", (0, 0))
        expect(f"{engine}: {counts}", counts == {"lapwing_alltoall_calls": (0, 7), "lapwing_calls": (0, 5),
                                                 "lapwing_alltoall_bytes_sent": (0, 56)}, output)
        # A timer turns measurement on. Each call takes 2 ms or more, and the hidden time cannot exceed the run.
        expect(f"{engine}: hidden time {hidden}", hidden[0] == 0 and hidden[1] > 0, output)
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
