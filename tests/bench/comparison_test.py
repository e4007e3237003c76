"""The tables of bench/comparison, from invented results: which results are compared, and which pass.

Variable: LAPWING_COMPARISON (the directory of the scripts).
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import unittest

SCRIPTS = pathlib.Path(os.environ["LAPWING_COMPARISON"])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(SCRIPTS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


one_host = load("one_host")
several_hosts = load("several_hosts")
many_ranks = load("many_ranks")
networks = load("networks")


def engine(name, rounds, confirmed=True):
    return {"engine": name, "used": "mpi" if name == "mpi" else "host", "confirmed": confirmed, "rounds": rounds}


def base(mpi, ranks, collective, size, theirs, ours, confirmed=True):
    """A result with one row; times in microseconds, one for each round."""
    rows = [engine(name, [{"base": time * 1e-6} for time in times], confirmed)
            for name, times in (("mpi", theirs), ("auto", ours))]
    return {"mpi_name": mpi, "ranks": ranks, "rows": [{"collective": collective, "bytes": size, "engines": rows}]}


class ManyRanks(unittest.TestCase):
    def test_the_worst_rank_counts_and_the_median_of_the_passes(self):
        def job(variant, **changes):
            values = {what: [1.0, 2.0, 4.0] for what, *_ in many_ranks.COLUMNS}
            return {"mpi_name": "debian-openmpi", "ranks": 3, "variant": variant, "values": {**values, **changes}}

        rows = many_ranks.rows_of([job("without"), job("kernel", init=[3, 5, 1]), job("kernel", init=[1, 1, 7], finalize=[]),
                                   job("kernel", init=[9, 8, 9])])
        first, second = (dict(zip(rows[0], row)) for row in rows[1:])
        self.assertEqual((first["Lapwing"], first["init s"], first["first ms"], first["growth B"]),
                         ("without", "4.00", "2000.00", "4.0"))
        self.assertEqual((second["Lapwing"], second["init s"], second["finalize s"]), ("kernel", "7.00", "4.00"))
        (row,) = many_ranks.rows_of([job("host", finalize=[])])[1:]
        self.assertEqual(dict(zip(rows[0], row))["finalize s"], "-")


class OneHost(unittest.TestCase):
    NAMES = ["debian-openmpi", "pypi-mpich"]

    def compare(self, *results):
        rows, verdict = one_host.compare(self.NAMES, list(results))
        return [dict(zip(rows[0], row)) for row in rows[1:]], verdict

    def test_lapwing_must_be_as_fast_as_the_best_mpi_on_every_mpi(self):
        for other, verdict in (([4], "yes"), ([6], "on 1 of 2")):
            (row,), summary = self.compare(base("debian-openmpi", 2, "MPI_Igather", 65536, [5, 5, 90], [1, 3, 5]),
                                           base("pypi-mpich", 2, "MPI_Igather", 65536, [20], other))
            self.assertEqual(row["best MPI"], "Debian's Open MPI")
            self.assertEqual(row["Debian's Open MPI / Lapwing"], "5.000 / 3.000")
            self.assertEqual(row["Lapwing / best"], f"0.60..{other[0] / 5:.2f}")
            self.assertEqual(row["at most the best"], verdict)
            self.assertIn("1 of 1" if verdict == "yes" else "0 of 1", summary)

    def test_passes_are_put_together(self):
        (row,), _ = self.compare(*(base("pypi-mpich", 2, "MPI_Ibarrier", 0, [time], [2 * time]) for time in (7, 9, 8)))
        self.assertEqual(row["PyPI's MPICH / Lapwing"], "8.000 / 16.0")
        self.assertEqual(row["at most the best"], "no")

    def test_what_is_not_asked_is_not_judged(self):
        results = [base("pypi-mpich", 8, name, 8, [7], [9])
                   for name in ("MPI_Ialltoall", "MPI_Ibcast")] + [base("pypi-mpich", 8, "MPI_Ialltoall", 4096, [7], [9])]
        rows, _ = self.compare(*results)
        self.assertEqual([row["at most the best"] for row in rows], ["no", "", ""])

    def test_an_engine_that_did_not_run_does_not_pass(self):
        (row,), _ = self.compare(base("pypi-mpich", 2, "MPI_Ibarrier", 0, [7], [1]),
                                 base("debian-openmpi", 2, "MPI_Ibarrier", 0, [7], [1], confirmed=False))
        self.assertEqual(row["PyPI's MPICH / Lapwing"], "7.000 / 1.000")
        self.assertIn("?", row["Debian's Open MPI / Lapwing"])


class FakeMpi:
    """Returns the invented result of each job."""

    def __init__(self, rounds_of):
        self.rounds_of = rounds_of

    def bench(self, words, ranks, per_host, cluster, variables):
        name = words[words.index("--engine") + 1]
        return {"rows": [{"collective": "MPI_Ibarrier", "bytes": 8,
                          "engines": [engine(name, self.rounds_of(name, variables), name != "kernel")]}]}


class Networks(unittest.TestCase):
    class options:
        rounds = seconds = "1"

    def lines(self, place, rounds_of):
        for contender in networks.CONTENDERS:
            place.run(contender, [FakeMpi(rounds_of(mpi)) for mpi in ("Open MPI", "MPICH")], self.options)
        return [[cell.strip() for cell in line.split("  ") if cell] for line in place.table().splitlines()], place.verdict()

    def test_lapwing_is_held_against_the_better_mpi(self):
        times = {"tcp": 11, "ucx": 11.9, "ofi": 13}

        def rounds_of(mpi):
            return lambda name, variables: [{"base": (times[variables["LAPWING_NETWORK"]] if name == "host" else
                                                      {"Open MPI": 10, "MPICH": 20}[mpi]) * 1e-6}]

        lines, verdict = self.lines(networks.Latency("", 2, [], ["base"], 1.2), rounds_of)
        self.assertEqual(lines[3], ["Ibarrier", "1.00 (10.0)", "2.00 (20.0)", "2.00 (20.0)", "?", "1.10 (11.0)", "1.19 (11.9)",
                                    "1.30 (13.0)"])
        self.assertEqual(verdict, "At most 1.2 times the better MPI's: 2 of 3; not host, ofi: Ibarrier")

    def test_overlap_is_the_median_of_all_rounds_between_0_and_100(self):
        lost = {"tcp": [0.1, 0.2, 9], "ucx": [-3, -3, 0], "ofi": [4, 2, 0]}

        def rounds_of(_):
            return lambda name, variables: [{"base": 2e-3, "alone": 1e-3, "total": (1 + part) * 1e-3}
                                            for part in lost.get(variables.get("LAPWING_NETWORK"), [1])]

        lines, verdict = self.lines(networks.Overlap("", 4, [], ["overlap"], 0.9), rounds_of)
        self.assertEqual(lines[3], ["Ibarrier", *["50.0 (2.0)"] * 3, "?", "90.0 (2.0)", "100.0 (2.0)", "0.0 (2.0)"])
        self.assertEqual(verdict, "At least 90 %: 2 of 3; not host, ofi: Ibarrier")


class SeveralHosts(unittest.TestCase):
    def text(self, times):
        comparison = several_hosts.Comparison(2, 2, "ibcast")
        for name, by_size in times.items():
            rows = [{"bytes": size, "engines": [engine("auto", [{"base": time * 1e-6, "alone": 10e-6,
                                                                 "total": (10 + time / 4) * 1e-6}])]}
                    for size, time in by_size.items()]
            comparison.add(name, "auto", {"rows": rows})
        lines = comparison.text([name for name in times if name != "MPICH"], ["MPICH"]).splitlines()
        return [line.split("  ") for line in lines], lines[-1]

    def test_the_default_is_held_against_the_best_variant_and_all_mpis(self):
        lines, verdict = self.text({"default": {8: 10, 1024: 20}, "flat": {8: 9.6, 1024: 19}, "MPICH": {8: 9, 1024: 21}})
        small, large = ([cell.strip() for cell in line if cell] for line in lines[3:5])
        self.assertEqual(small, ["8", "10.0 (75 %)", "9.6 (75 %)", "9.0 (75 %)", "flat", "yes", "no"])
        self.assertEqual(large, ["1024", "20.0 (75 %)", "19.0 (75 %)", "21.0 (75 %)", "flat", "no", "yes"])
        self.assertTrue(verdict.endswith("for every size: no"))

    def test_variants(self):
        variant = several_hosts.Variant("two:LAPWING_ALGORITHM=ibcast=a:b=1,ialltoall=c,LAPWING_X=y,LAPWING_ENGINE=host")
        self.assertEqual(variant.name, "two")
        self.assertEqual(variant.variables, {"LAPWING_ALGORITHM": "ibcast=a:b=1,ialltoall=c", "LAPWING_X": "y"})
        self.assertEqual(variant.engine, "host")
        self.assertEqual(several_hosts.Variant("default").engine, "auto")
        for wrong in ("x:FOO=1", ":LAPWING_X=1", "x:LAPWING_X"):
            with self.assertRaises(ValueError):
                several_hosts.Variant(wrong)


if __name__ == "__main__":
    unittest.main()
