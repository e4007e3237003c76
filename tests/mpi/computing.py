"""Lapwing's thread drives the native MPI while the program computes: large messages move without a call of the program, and the program
sees nothing else of it: levels of threads, the end of a job, child processes, signals, callbacks, and tools are as by the MPI alone.

No part is bounded in time. A program that watches for a message that does not move hangs, and the limit of jobs.py ends it.
"""

import jobs

LIMIT = 120
# Parts, and the messages of both ranks together. All watch; a window may need no polls.
MOVING = {"once": 4, "persistent": 16, "derived": 4, "pmpi": 4, "late": 8, "once_away": 32, "windows": 0, "freed_window": 4, "late_agreement": 0, "end_late": 4, "children": 16, "signals": 12, "traps": 4}
LEVELS = ("init", "single", "funneled", "serialized", "multiple")
ON = {"LAPWING_MESSAGES": "on"}


def native(test, words, ranks=2, **variables):
    """Runs a program by the MPI alone. Returns exit status and output."""
    return jobs.execute([*jobs.launcher(test.mpi, ranks), *words], LIMIT, test.environment | variables)


def moving(test, program):
    for part, messages in MOVING.items():
        status, output, report = test.run_with_report(2, [program, part, "watch"], [], LIMIT, **ON)
        found = report.get("messages", {})
        test.expect(f"{part}: messages move while both ranks only watch", status == 0 and "all right" in output and "lapwing" not in output and
                    found.get("count", 0) == messages and (found.get("polls", 0) > 0 or messages == 0), (status, output, report))
    status, output, report = test.run_with_report(2, [program, "collective", "watch"], ["--engine", "mpi"], LIMIT, **ON)
    test.expect("a persistent collective of the MPI moves while a rank only watches", status == 0 and output == "all right\n" and
                report.get("messages", {}).get("count") == 8, (status, output, report))
    status, output, report = test.run_with_report(2, ["sh", "-c", 'ulimit -s 256; exec "$@"', "sh", program, "once", "watch"], [], LIMIT, **ON)
    test.expect("with small stacks of threads", status == 0 and output == "all right\n", (status, output, report))
    for process in ("alone", "threads"):
        status, output = test.run_job(2, [program, "registration", process], [], LIMIT, **ON)
        test.expect(f"{process}: MPI_Init does not wait for membarrier(2), and messages move", status == 0 and output == "all right\n",
                    (status, output))
    if test.mpi == "mpich":
        for engine in ("auto", "mpi"):
            status, output = test.run_job(2, [program, "end_late"], ["--engine", engine], LIMIT, MPIR_CVAR_NOLOCAL="1", UCX_TLS="tcp,self", **ON)
            test.expect(f"engine {engine}: a rank may come late to the end of a job over TCP", status == 0 and output == "all right\n", (status, output))
    if test.built("computing_f90").exists():
        status, output, report = test.run_with_report(2, [test.built("computing_f90"), "watch"], [], LIMIT, **ON)
        test.expect("Fortran: messages move while both ranks only watch", status == 0 and output == "all right\n" and
                    report.get("messages", {}).get("count") == 4, (status, output, report))


def same(test, program):
    """What is equal by the MPI alone and under Lapwing."""
    parts = [("level", level) for level in LEVELS] + [(part,) for part in ("requests", "attribute", "callbacks", "many_persistent", "exit", "abort")]
    # Open MPI 4 has no sessions.
    parts += [("session",), ("own_worker",)] if test.mpi == "mpich" else []
    for words in parts:
        # MPICH's launcher ends the other ranks when one exits without MPI_Finalize, unless they have just exited, too.
        ranks = 1 if words[0] == "exit" else 2
        alone = native(test, [program, *words], ranks)
        status, output = test.run_job(ranks, [program, *words], [], LIMIT, **ON)
        # The launcher's own words at a bad end name processes.
        equal = status == alone[0] and (output == alone[1] or words[0] in ("exit", "abort"))
        test.expect(f"{' '.join(words)}: as by the MPI alone, with exit status {alone[0]}", equal and "lapwing:" not in output, (alone, status, output))
    for options in (["--engine", "mpi"], []):
        status, output, report = test.run_with_report(2, [program, "reduction"], options, LIMIT, **ON)
        test.expect(f"{options}: an operator of the program runs in the program's threads", status == 0 and output == "all right\n", (status, output))
        if options:
            test.expect("and the report says that the thread left the messages alone", "reduction" in report.get("no_messages", ""), report)


def repeated(test, program):
    failed = []

    def run():
        status, output = test.run_job(2, [program, "once"], [], LIMIT, **ON)
        if status != 0 or output != "all right\n":
            failed.append((status, output))

    test.side_by_side(*20 * [(run,)])
    test.expect("many short jobs end", not failed, failed)


def off(test, program):
    """Where the thread stays off, the report says why."""
    for variables, why in (({"LAPWING_MESSAGES": "off"}, "LAPWING_MESSAGES=off"), (ON | {"MPIR_CVAR_ASYNC_PROGRESS": "1"}, "MPIR_CVAR_ASYNC_PROGRESS=1"),
                           (ON | {"OMPI_MCA_btl_tcp_progress_thread": "1"}, "OMPI_MCA_btl_tcp_progress_thread=1"),
                           (ON | {"LAPWING_PROGRESS_THREAD": "none"}, "LAPWING_PROGRESS_THREAD=none")):
        status, output, report = test.run_with_report(2, [program, "once"], [], LIMIT, **variables)
        test.expect(f"{why}: the thread stays off, and the report says so", status == 0 and output == "all right\n" and
                    why in report.get("no_messages", ""), (status, output, report))


def floating_point(test):
    """Reductions by each thread that may do them."""
    runs = [(["default", 1, 1000, 70000], [], {}), (["traps", 1, 1000, 70000], ["--blocking"], ON),
            (["upward", 70000], ["--engine", "kernel", "--blocking"], {"LAPWING_PROGRESS_THREAD": "any"}),
            (["upward", 1000, 70000, "watch"], [], {"LAPWING_PROGRESS_THREAD": "any"})]
    # Open MPI's nonblocking reductions add on one rank only, so the flags differ.
    runs += [(["flush", 70000, "watch"], ["--engine", "mpi"], ON)] if test.mpi == "mpich" else []
    for words, options, variables in runs:
        status, output = test.run_job(2, [test.built("floating_point"), *map(str, words)], options, LIMIT, **variables)
        test.expect(f"reductions, MPI_Init in {words}, {options}: results, flags and traps of additions", status == 0 and output == "all right\n",
                    (status, output))


def with_tool(test, program):
    """A counting tool of PMPI before and behind Lapwing sees the program's calls once, and none of the thread's."""
    library = test.build / "lib" / f"liblapwing-{test.mpi}.so"
    tool = test.build / "tests" / f"libtool-{test.mpi}.so"
    for order, files in (("before", [tool, library]), ("behind", [library, tool])):
        preload = ":".join(filter(None, [*map(str, files), test.environment.get("LD_PRELOAD")]))
        status, output = native(test, [program, "late", "watch"], LD_PRELOAD=preload, **ON)
        test.expect(f"a tool {order} Lapwing counts the program's calls", status == 0 and "all right" in output and
                    "tool: 1 starts, 0 sends, 0 collectives, 0 waits\n" in output and "tool: 4 messages, 0 tests\n" in output, (status, output))


def between_jobs(test, program):
    for part, output_of_all in (("spawned", 2 * "all right\n"), ("ports", "all right\n")):
        status, output = native(test, [program, part], PMIX_MCA_gds="hash")
        if status != 0:
            print(f"{test.mpi}: this MPI cannot do so, {part}: status {status}", flush=True)
            continue
        status, output = test.run_job(2, [program, part, "watch"], [], LIMIT, PMIX_MCA_gds="hash", **ON)
        test.expect(f"{part}: messages between two jobs move while all ranks only watch", status == 0 and output == output_of_all,
                    (status, output))


def check(test):
    # UCX warns when MPICH ends with requests that the program has left.
    test.environment["UCX_LOG_LEVEL"] = "error"
    program = test.built("computing")
    if test.more:
        with_tool(test, program)
        between_jobs(test, program)
        repeated(test, program)
        floating_point(test)
    else:
        moving(test, program)
        test.side_by_side((same, test, program), (off, test, program))


if __name__ == "__main__":
    jobs.run(check)
