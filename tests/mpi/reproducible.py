"""`lapwing run --reproducible`: random sums have the same bits on every engine, network and placement that is tried, and they are those
of the fixed bracketing; what is left to the MPI is named. With `--reproducible=any` the order and number of ranks do not
matter either. bench/compare does the same with more of each."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "compare"))
import harness
import jobs
import reproducible

JOBS = [("1 host", "host", "tcp"), ("1 host", "thread", "tcp"), ("1 host", "kernel", "tcp"), ("2 hosts, in turn", "kernel", "tcp"),
        ("3 hosts, reversed", "host", "ucx")]


def lines_of(test, level, placement, engine, network="tcp", ranks=5, contributors=()):
    """The lines of one job; a Failure if they are not in the fixed bracketing (level 1), or if the MPI or another engine ran reductions."""
    hosts, _ = reproducible.PLACEMENTS[placement]
    variant = harness.Variant(engine, "host" if engine == "thread" else engine, variables=reproducible.variables(engine, network))
    case = harness.Case(placement, reproducible.Sums(level, placement, contributors), "120 7", (variant,), ranks, hosts,
                        "--rate none --cores-per-host all" if hosts else "")
    return case.program.measure(harness.Job(case, variant, harness.Mpi(f"debian-{test.mpi}", test.build), test.build)).result


def any_ranks(test):
    """The same four contributions on 4 and 5 ranks in three orders. Level 1 is the planted fault: there the order matters."""
    for level in ("any", "1"):
        first = None
        for ranks, placement, engine in ((4, "1 host", "host"), (4, "2 hosts, in turn", "kernel"), (5, "4 hosts, shuffled", "thread")):
            lines = lines_of(test, level, placement, engine, ranks=ranks, contributors=[4])
            first = first or lines
            count = reproducible.differing(lines, first)
            test.expect(f"{ranks} ranks on {placement}: {count} sums have other bits by --reproducible={level}",
                        (count > 0) == (level == "1" and placement != "1 host"), f"{lines}")


def main():
    test = jobs.Test(*sys.argv[1:3])
    has_hosts = test.has_hosts()
    reference = None
    # Jobs of MPICH on several hosts take long: bench/compare runs them.
    for placement, engine, network in (JOBS if test.mpi == "openmpi" else JOBS[:3]) if has_hosts else []:
        lines = lines_of(test, "1", placement, engine, network)
        reference = reference or lines
        test.expect(f"{placement}, {engine}, {network}: the same bits", lines == reference)
    if reference:
        test.expect("results are in the fixed bracketing", reproducible.wrong(reference)[1] > 100)
        # A planted fault: the checks above see it.
        changed = [line[:-1] + ("0" if line[-1] != "0" else "1") for line in reference]
        test.expect("other bits are found", reproducible.differing(changed, reference) == len(reference) and reproducible.wrong(changed)[0] > 10)
        any_ranks(test)
    left = "MPI_Iallreduce is left to the MPI, whose result may differ from run to run: intercommunicator"
    for options in ([], ["--reproducible"]):
        status, output = test.run_job(2, [test.built("drop_in"), "--gtest_filter=Communicator.Intercommunicators*"], options)
        test.expect(f"an intercommunicator's {' '.join(options)}", status == 0 and output.count(left) == len(options), f"{status} {output}")
    status, output = test.run_job(2, [test.built("drop_in"), "--gtest_filter=-*"], ["--reproducible", "--engine", "mpi"])
    test.expect("the engine mpi is refused", status != 0 and "LAPWING_REPRODUCIBLE=1 needs an engine" in output, f"{status} {output}")
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
