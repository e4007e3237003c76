"""`lapwing run --reproducible`: random sums have the same bits on every engine, network and placement that is tried, and they are those
of the fixed bracketing; what is left to the MPI is named. With `--reproducible=any` the order and number of ranks do not
matter either. bench/comparison/reproducible does the same with more of each."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import types

sys.dont_write_bytecode = True
import jobs

COMPARISON = pathlib.Path(__file__).resolve().parents[2] / "bench" / "comparison"
sys.path.insert(0, str(COMPARISON))
LOADER = importlib.machinery.SourceFileLoader("reproducible", str(COMPARISON / "reproducible"))
comparison = importlib.util.module_from_spec(importlib.util.spec_from_loader("reproducible", LOADER))
LOADER.exec_module(comparison)

JOBS = [("1 host", "host", "tcp"), ("1 host", "thread", "tcp"), ("1 host", "kernel", "tcp"), ("2 hosts, in turn", "kernel", "tcp"),
        ("3 hosts, reversed", "host", "ucx")]


def any_ranks(test, mpi, options):
    """The same four contributions on 4 and 5 ranks in three orders. Level 1 is the planted fault: there the order matters."""
    lines = {}
    for word in ("any", "1"):
        for ranks, placement, engine in ((4, "1 host", "host"), (4, "2 hosts, in turn", "kernel"), (5, "4 hosts, shuffled", "thread")):
            options.ranks = ranks
            one, report = comparison.run(mpi, options, placement, comparison.variables(engine, "tcp"), [f"--reproducible={word}"], [4])
            test.expect(f"{placement}, {engine}, {word}: it ran", comparison.ran(report, engine), f"{report}")
            count = comparison.differing(one, lines.setdefault(word, one))
            test.expect(f"{ranks} ranks on {placement}: {count} sums have other bits by --reproducible={word}",
                        (count > 0) == (word == "1" and placement != "1 host"), f"{one}")


def main():
    test = jobs.Test(*sys.argv[1:3])
    mpi = comparison.mpis.Mpi(f"debian-{test.mpi}", test.build)
    options = types.SimpleNamespace(build=test.build, ranks=5, sums=120, seed=7, limit=60)
    reference = None
    # Jobs of MPICH on several hosts take long: bench/comparison/reproducible runs them.
    for placement, engine, network in (JOBS if test.mpi == "openmpi" else JOBS[:3]) if test.has_hosts() else []:
        lines, report = comparison.run(mpi, options, placement, comparison.variables(engine, network), ["--reproducible"])
        if reference is None:
            reference = lines
            failed, compared = comparison.wrong(lines)
            test.expect(f"{compared} results are in the fixed bracketing", failed == 0 and compared > 100, "\n".join(lines))
        test.expect(f"{placement}, {engine}, {network}: the same bits", lines == reference and comparison.ran(report, engine), f"{report}")
    # A planted fault: the checks above see it.
    if reference:
        changed = [line[:-1] + ("0" if line[-1] != "0" else "1") for line in reference]
        test.expect("other bits are found", comparison.differing(changed, reference) == len(reference) and comparison.wrong(changed)[0] > 10)
    if test.has_hosts():
        any_ranks(test, mpi, options)
    left = "MPI_Iallreduce is left to the MPI, whose result may differ from run to run: intercommunicator"
    for options in ([], ["--reproducible"]):
        status, output = test.run_job(2, [test.built("drop_in"), "--gtest_filter=Communicator.Intercommunicators*"], options)
        test.expect(f"an intercommunicator's {' '.join(options)}", status == 0 and output.count(left) == len(options), f"{status} {output}")
    status, output = test.run_job(2, [test.built("drop_in"), "--gtest_filter=-*"], ["--reproducible", "--engine", "mpi"])
    test.expect("the engine mpi is refused", status != 0 and "LAPWING_REPRODUCIBLE=1 needs an engine" in output, f"{status} {output}")
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
