"""`lapwing profile`: the program's own collectives, by source line; what waits for late ranks is told from what overlap
could hide. Bounds only: nothing here asks how fast the machine is."""

import json
import os
import pathlib
import re
import sys
import tempfile

import jobs

PAUSES = 5 * 0.02  # of the program, in each of its functions that pause


class Profile(jobs.Test):
    def run(self, options, program, ranks=4, **variables):
        return jobs.execute([self.tool, "profile", *options, "--", *jobs.launcher(self.mpi, ranks), *program], 60,
                            self.environment | variables)

    def full_disk(self, scratch, program):
        """A rank that cannot write costs the profile, not the job."""
        disk = pathlib.Path(scratch) / "disk"
        apart = jobs.on_small_disk(disk, "4k")
        if not apart:
            return
        status, output = jobs.execute([*apart, self.tool, "profile", "--output", disk / "new", "--", *jobs.launcher(self.mpi, 2), *program],
                                      60, self.environment)
        self.expect("a full disk costs the profile only, and is named once", status == 0 and "all done" in output and
                    output.count("No space left on device") == output.count("lapwing") == 1, output)


def main():
    build, mpi = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    source = pathlib.Path(__file__).resolve().with_name("waits.c")
    marks = {mark: number + 1 for number, line in enumerate(source.read_text().splitlines(), 1)
             for mark in re.findall(r"mark: ([\w ]+?) \*/", line)}
    test = Profile(build, mpi)
    program = [build / "tests" / f"waits-{mpi}"]
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # where parts are left, if any
        file = pathlib.Path(scratch) / "profile.json"
        timeline = file.with_name("timeline.json")
        status, output = test.run(["--json", "--output", file, "--trace", timeline], program)
        found = json.loads(file.read_text())
        drawn = [event for event in json.loads(timeline.read_text())["traceEvents"] if event.get("cat") == "call"]
        starts = [place for place, event in enumerate(drawn) if event["name"] == "MPI_Ialltoall"]
        test.expect("a timeline has the program's calls, each where it was", len(starts) == 5 * 4 and
                    all(drawn[place + 1]["name"] == "MPI_Wait" and drawn[place + 1]["ts"] >= drawn[place]["ts"] + 1e6 * PAUSES / 5
                        for place in starts), str(drawn))
        # An extension in Open MPI 4.
        calls = {row["function"].replace("MPIX_", "MPI_"): row for row in found["calls"]}
        test.expect("the program does as ever, and all its collectives are found", status == 0 and "all done" in output and
                    set(calls) == {"MPI_Ialltoall", "MPI_Iallreduce", "MPI_Barrier", "MPI_Allgather", "MPI_Bcast", "MPI_Scan_init",
                                   "MPI_Iallgather", "MPI_Ibarrier", "MPI_Alltoall"} and
                    all(row["calls"] == 5 for row in calls.values()) and (found["schema"], found["unmatched_calls"]) == (1, 0), output + str(found))
        lines = {name: (pathlib.Path(row.get("file", "")).name, row.get("line"), row.get("symbol"))
                 for name, row in calls.items() if name != "MPI_Bcast"}
        test.expect("by source line and function", lines == {
            "MPI_Ialltoall": ("waits.c", marks["computes"], "computes_before_it_waits"),
            "MPI_Iallreduce": ("waits.c", marks["at once"], "waits_at_once"),
            "MPI_Barrier": ("waits.c", marks["late"], "comes_late"),
            "MPI_Allgather": ("waits.c", marks["blocks"], "blocks"),
            "MPI_Iallgather": ("waits.c", marks["first of both"], "waits_for_both"),
            "MPI_Ibarrier": ("waits.c", marks["second of both"], "waits_for_both"),
            "MPI_Alltoall": ("waits.c", marks["between groups"], "comes_late_for_the_others"),
            "MPI_Scan_init": ("waits.c", marks["starts"], "starts_again")}, str(lines))
        starts = calls["MPI_Scan_init"]
        test.expect("each start of a persistent collective is timed", starts["away_seconds"] >= PAUSES and
                    starts["bytes"] == [4096, 4096] and starts["ranks"] == 2 and
                    starts["completed_at"] == f"waits.c:{marks['starts waits']} (starts_again)", str(starts))
        exchange, reduction, barrier = calls["MPI_Ialltoall"], calls["MPI_Iallreduce"], calls["MPI_Barrier"]
        test.expect("bytes and ranks", exchange["bytes"] == [4096, 4096] and exchange["ranks"] == 4 and
                    reduction["bytes"] == [4096, 4096] and reduction["ranks"] == 2 and barrier["bytes"] == [0, 0] and
                    calls["MPI_Bcast"]["bytes"] == [8, 8], str(found))
        test.expect("what the program computes before it waits is told",
                    exchange["away_seconds"] >= PAUSES and
                    exchange["completed_at"] == f"waits.c:{marks['computes waits']} (computes_before_it_waits)", str(exchange))
        both = [calls["MPI_Iallgather"], calls["MPI_Ibarrier"]]
        test.expect("the wait for two collectives is shared by them",
                    both[0]["wait_seconds"] > 0 and abs(both[0]["wait_seconds"] - both[1]["wait_seconds"]) < 1e-6, str(both))
        test.expect("waiting for a late rank is no overlap", barrier["late_seconds"] > 0, str(barrier))
        between = calls["MPI_Alltoall"]
        test.expect("on an intercommunicator all ranks meet, and nothing is promised", between["ranks"] == 4 and between["late_seconds"] > 0 and
                    between["saved_at_once_seconds_at_most"] == between["saved_if_moved_seconds_at_most"] == 0, str(between))
        parts = all(abs(row["start_seconds"] + row["wait_seconds"] - row["late_seconds"] - row["own_seconds"]) < 1e-9 and
                    min(row["late_seconds"], row["own_seconds"]) >= 0 for row in calls.values())
        bounds = all(row["saved_at_once_seconds_at_most"] <= min(row["away_seconds"], row["wait_seconds"]) + 1e-9 and
                     row["saved_at_once_seconds_at_most"] + row["saved_if_moved_seconds_at_most"] <= row["own_seconds"] + 1e-9
                     for row in calls.values())
        test.expect("the parts are the whole, and no more is promised than is spent", parts and bounds, str(found))

        messages = {row["function"]: row for row in found["messages"]}
        receive, send = messages["MPI_Irecv"], messages["MPI_Send"]
        test.expect("messages are timed at their sites", set(messages) == {"MPI_Irecv", "MPI_Send"} and
                    all(row["calls"] == 5 and row["bytes"] == [4096, 4096] for row in messages.values()) and
                    (receive["line"], send["line"]) == (marks["receives"], marks["sends"]) and
                    receive["completed_at"] == f"waits.c:{marks['receives waits']} (passes_on)" and
                    receive["wait_seconds"] > 0 and not send["nonblocking"], str(messages))
        test.full_disk(scratch, program)
        status, output = test.run([], program)
        test.expect("as text", status == 0 and f"waits.c:{marks['late']} (comes_late)" in output and "(passes_on)" in output and
                    "late: waiting for ranks that had not begun" in output, output)
        status, output = test.run([], program, LAPWING_TRACE_EVENTS="16")
        test.expect("what is dropped is told", status == 0 and "events were dropped" in output, output)
        fortran = build / "tests" / f"f90-{mpi}"
        if fortran.exists():
            status, output = test.run(["--json", "--output", file], [fortran], 2)
            rows = json.loads(file.read_text())["calls"]
            test.expect("a Fortran program's own functions are named", status == 0 and rows and all(
                row["module"].endswith(f"f90-{mpi}") and row.get("symbol") for row in rows), output + str(rows))
        late = build / "tests" / f"late-{mpi}"
        if late.exists():
            status, output = test.run([], [late, build / "tests" / f"late_library-{mpi}"], 2)
            test.expect("a program that loads its MPI late", status == 0 and "MPI_Ialltoall" in output, output)
        status, output = test.run(["--output", "/no/directory/file"], program)
        test.expect("a file that cannot be written", status == 125 and "all done" not in output and
                    "/no/directory/file" in output, output)
        status, output = test.run([], [build / "tests" / f"faults-{mpi}", "killed", "1", "offered"], 3)
        test.expect("a rank that is killed", status not in (0, None) and "did not reach MPI_Finalize" in output, output)
        left = list(pathlib.Path.cwd().glob("lapwing-profile.parts*"))
        os.chdir(before)
    test.expect("no parts are left", not left, str(left))
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
