"""PMPI tools preloaded before or behind Lapwing, linked, or in the program; a tool that redirects calls; MPI sessions, spawned jobs, and Valgrind: the results are right, and each
tool sees the expected calls."""

import pathlib
import re
import shutil
import tempfile

import jobs

# What tool.c wraps: 5 sends of rank 0, 5 alltoalls, 3 waits in each of 5 rounds.
ALL = "tool: 1 starts, 5 sends, 5 collectives, 15 waits"
TAKEN = {"MPI_Ibarrier": 15, "MPI_Iallreduce": 30, "MPI_Ialltoall": 15}


def counts_in(report, count="taken"):
    return {row["name"]: row[count] for row in report.get("collectives", [])}


def run(test, ranks, engine, words, preload=None, tool="tool"):
    """Status, output, and the report. `preload`: the tool is preloaded by hand, before or behind Lapwing, or by `lapwing run`."""
    library = test.build / "lib" / f"liblapwing-{test.mpi}.so"
    tool = test.build / "tests" / f"lib{tool}-{test.mpi}.so"
    order = {None: [], "run": [tool], "before": [tool, library], "behind": [library, tool], "program": [library]}[preload]
    preloaded = {"LD_PRELOAD": ":".join(filter(None, [*map(str, order), test.environment.get("LD_PRELOAD")]))}
    if preload in (None, "run"):
        return test.run_with_report(ranks, words, ["--engine", engine], **preloaded)
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        variables = {"LAPWING_ENGINE": engine, "LAPWING_REPORT": "json", "LAPWING_REPORT_FILE": str(report)}
        return *jobs.execute([*jobs.launcher(test.mpi, ranks), *words], 60, test.environment | preloaded | variables), jobs.report_in(report)


def check(test):
    build, mpi, expect = test.build, test.mpi, test.expect
    for engine in ("host", "kernel"):
        tool = str(build / "tests" / f"libtool-{mpi}.so")
        for preload, program in (("before", "tools"), ("behind", "tools"), ("run", "tools"), ("program", "tools_linked"),
                                 ("program", "tools_with_tool")):
            status, output, report = run(test, 3, engine, [build / "tests" / f"{program}-{mpi}"], preload)
            taken = counts_in(report)
            where = f"engine {engine}, the tool {preload}, {program}"
            expect(f"{where}: it sees each call once", status == 0 and "all right" in output and output.count("tool:") == 1 and
                   ALL in output, output)
            expect("and Lapwing takes them all", all(taken.get(name, 0) == calls for name, calls in TAKEN.items()), (taken, output))
            if program == "tools":
                # The program does not call the function that the tool does not pass on. If the tool is loaded behind
                # Lapwing, that function remains Lapwing's.
                before = {tool: ["MPI_Ibcast"]} if preload != "behind" else {}
                expect("and the report names the tool, and the function that the tool does not pass on",
                       report.get("tools", []) == [tool] and report.get("before_lapwing", {}) == before, report)
        # Open MPI 4 has no sessions.
        for mode in ("sessions_once", "session", "sessions_outlive") if mpi == "mpich" else ():
            # One rank without MPI_Init crashes in MPICH 4.0 by itself.
            for ranks in (2, 3) if mode == "sessions_once" else (1, 3):
                status, output, report = run(test, ranks, engine, [test.built("communicators"), 5, 0, mode])
                taken = counts_in(report)
                # Without MPI_Init there is no report, and lapwing run says so.
                good = (status == 125 and "only sessions" in output) if mode == "sessions_once" else status == 0
                expect(f"engine {engine}, {ranks} ranks, {mode}", good and output.startswith("ok\n"), output)
                expect("and the collectives are taken, or left alone where there is no MPI_Init",
                       (sum(taken.values()) == 0) == (mode == "sessions_once"), (taken, output))
    program = build / "tests" / f"tools-{mpi}"
    status, output, _ = run(test, 3, "mpi", [program], "behind")
    expect("a tool sees all that is left to the MPI", status == 0 and ALL in output, output)
    for preload in ("before", "behind"):
        status, output, report = run(test, 3, "host", [program], preload, "redirect")
        taken = counts_in(report)
        expect(f"a tool that redirects calls, also of dlsym, {preload} Lapwing: each rank's waits pass it, and Lapwing takes the collectives",
               status == 0 and "all right" in output and output.count("redirected: 15 waits\n") == 3 and
               all(taken.get(name, 0) == calls for name, calls in TAKEN.items()), (taken, output))
    status, output, report = run(test, 2, "host", [program, "blocking"])
    seen = {name: calls for name, calls in counts_in(report, "blocking").items() if calls > 0}
    expect("blocking collectives are counted", seen == {"MPI_Iallreduce": 6, "MPI_Ibarrier": 2}, (seen, output))
    for options, told in (([], "8 collectives are blocking, and left to the MPI. `lapwing run --blocking`"),
                          (["--blocking"], "8 of 8 collectives taken")):
        status, output = test.run_job(2, [program, "blocking"], ["--report", *options])
        expect(f"the report ends in a sentence {options}", status == 0 and told in output, output)
    # The pause is long enough for the event thread, so both ways are tried there; the report says what was chosen.
    status, output, report = test.run_with_report(2, [test.built("away")], ["--engine", "kernel"], 100)
    choices = report.get("choices_of_rank_0", [])
    expect("the event thread's share of short reductions is learned and reported", status == 0 and "all right" in output and
           len(choices) == 1 and re.search(r"MPI_Iallreduce of 8 B on 2 ranks: the event thread advanced [1-9]\d* of 400 runs", choices[0]),
           (output, choices))
    passed = ["-x", f"LD_PRELOAD={tool}"] if mpi == "openmpi" else ["-genv", "LD_PRELOAD", tool]
    status, output = jobs.execute([test.tool, "doctor", "--", *jobs.launcher(mpi, 2), *passed], 100, test.environment)
    expect("lapwing doctor names the tool, and its order", status == 0 and
           f"LD_PRELOAD names a tool that wraps MPI's functions: {tool}" in output and "before Lapwing's library in LD_PRELOAD" in output, output)
    program = build / "tests" / f"spawn-{mpi}"
    version = jobs.execute([f"mpirun.{mpi}", "--version"], 60, test.environment)[1]
    if mpi == "mpich" and re.search(r"Version: +4[.]0[.]2\b", version):
        print("mpich: Debian's MPICH 4.0.2 cannot spawn, without Lapwing either (\"Error in spawn call\")", flush=True)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            for options in (["--report"], ["--report", "--output", f"{scratch}/report"], ["--trace", f"{scratch}/trace"]):
                status, output = test.run_job(2, [program], options)
                reports = output.count("2 of 6 collectives taken")
                expect(f"a job that spawns another, {options[-1].split('/')[-1]}", status == 0 and output.count("all right") == 4 and
                       reports == {"--report": 2, f"{scratch}/report": 1}.get(options[-1], 0), output)
    if shutil.which("valgrind") is None:
        print(f"{mpi}: no valgrind: what memcheck reports is not tested", flush=True)
        return None
    program = build / "tests" / f"memcheck-{mpi}"
    for engine, shared_memory in (("host", "1"), ("kernel", "0")):
        status, output = test.run_job(2, ["valgrind", program], ["--engine", engine], 120, LAPWING_SHARED_MEMORY=shared_memory)
        # The report has a row for Open MPI's own calls as well.
        ours = [line for line in output.splitlines() if "memcheck.c:" in line or "liblapwing" in line]
        expect(f"engine {engine}: memcheck reports the value that is not set, on each rank, and no result of a collective",
               status == 0 and len(ours) == 2 and len(set(line.split("(")[-1] for line in ours)) == 1, output)


if __name__ == "__main__":
    jobs.run(check)
