"""lapwing fit: the message costs of a tuning file from the times measured in it."""

import json
import pathlib
import unittest

import tune_test
from tune_test import TABLE


class Fit(tune_test.WithFile):
    def test_what_messages_cost(self):
        # The measured times are the simulation's own. Netgauge's method was far off.
        found = {}
        for burst, words in ((0, ()), (18100, ("--burst", 18100))):
            rows = []
            for collective, sizes in (("ialltoall", "16,64Ki"), ("ibcast", "1Ki,64Ki")):
                out, _ = self.call("predict", collective, "--ranks", 4, "--bytes", sizes, "--algorithm", "all", "--engine", "kernel", "--work",
                                   0, "--constants", "latency=20us,task=5us,per_byte=80ns", *words, "--json", "-", status=0)
                for row in json.loads(out)["rows"]:
                    seconds = {one["algorithm"]: one["summary"]["base"]["median"] for one in row["engines"]}
                    rows.append({"collective": collective[1:], "bytes": row["bytes"], "seconds": seconds})
            wrong = {"latency": 5e-6, "task": 2e-6, "gap": 1e-6, "per_byte": 20e-9, "task_per_byte": 30e-9}
            machine = {"latency": 2e-5, "task": 3e-6, "per_byte": 7e-8, "copy_per_byte": 1e-10, "copy": 5e-8}
            merged = {}
            for row in rows:
                merged.setdefault((row["collective"], row["bytes"]), {}).update(row["seconds"])
            file = self.write("again.json", {"lapwing_tuning": 1, "tables": [
                {**TABLE, "ranks": [4, 4], "ranks_per_host": [1, 1], "machine": machine, "messages": wrong,
                 "measured": [{"collective": collective, "bytes": size, "seconds": seconds}
                              for (collective, size), seconds in merged.items()]}]})
            out, _ = self.call("fit", file, *words)
            self.assertIn("fitted 1 table of", out)
            table, = json.loads(pathlib.Path(file).read_text())["tables"]
            self.assertEqual(table["made"], {"netgauge": wrong, "burst": burst})
            found[burst] = table["messages"]
        for costs in found.values():
            self.assertAlmostEqual(costs["per_byte"] / 80e-9, 1, delta=0.1)
            self.assertLess(costs["task_per_byte"], 8e-9)
        self.refused("fit", self.file, because=self.file)
        # Of one host, as lapwing tune writes it there.
        alone = {key: value for key, value in table.items() if key != "ranks_per_host"} | {"hosts": "one"}
        self.refused("fit", self.write("alone.json", {"lapwing_tuning": 1, "tables": [alone]}), because="several hosts")

    def test_times_of_a_starved_machine_are_fitted(self):
        # A second for 8 bytes, three microseconds for each byte of a long message: simulations accept no such costs.
        slow = {"latency": 5e-3, "task": 1e-3, "gap": 0, "per_byte": 3.3e-6, "task_per_byte": 2e-6}
        machine = {"latency": 2.0, "task": 3e-6, "per_byte": 3.3e-6, "copy_per_byte": 1e-10, "copy": 5e-8}
        file = self.write("slow.json", {"lapwing_tuning": 1, "tables": [
            {**TABLE, "ranks": [2, 2], "ranks_per_host": [1, 1], "machine": machine, "messages": slow,
             "measured": [{"collective": "broadcast", "bytes": size, "seconds": {"binomial": seconds}}
                          for size, seconds in ((8, 1.0), (262144, 0.9))]}]})
        self.call("fit", file)
        table, = json.loads(pathlib.Path(file).read_text())["tables"]
        self.assertLessEqual(table["messages"]["per_byte"], 1e-6)
        self.call("predict", "ibcast", "--ranks", 4, "--engine", "kernel", "--work", 0, "--tuning", file)


if __name__ == "__main__":
    unittest.main()
