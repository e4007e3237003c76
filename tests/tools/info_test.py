"""lapwing info, and the tool's version and help."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from support import TOOL, ToolTest, clean_environment


class Info(ToolTest):
    def test_text(self):
        out, _ = self.call("info")
        for part in ("lapwing ", "\nengines\n  kernel", "\n  host ", "\nMPI\n", "\nvariables\n", "\nbetween hosts (LAPWING_NETWORK)\n"):
            self.assertIn(part, out)
        self.assertLess(out.count("\n"), 45)
        out, _ = self.call("info", LAPWING_ENGINE="host")
        self.assertRegex(out, r"\n  LAPWING_ENGINE +host  \(default: auto\)\n")

    def test_json(self):
        out, _ = self.call("info", "--json", LAPWING_ENGINE="host")
        told = json.loads(out)
        self.assertEqual(told["schema"], 1)
        self.assertRegex(told["version"], r"^\d+\.\d+\.\d+(-dev)?$")
        self.assertTrue(next(engine for engine in told["engines"] if engine["name"] == "host")["available"])
        self.assertEqual([mpi["name"] for mpi in told["mpi"]], ["openmpi", "mpich", "abi"])
        variables = {variable["name"]: variable for variable in told["variables"]}
        self.assertEqual(variables["LAPWING_ENGINE"]["value"], "host")
        self.assertEqual(variables["LAPWING_ENGINE"]["default"], "auto")
        self.assertTrue(all(variable["meaning"] for variable in variables.values()))
        self.assertGreaterEqual(len(told["algorithms"]), 14)

    def test_algorithms(self):
        out, _ = self.call("info", "--algorithms")
        self.assertTrue(out.startswith("algorithms\n"))
        self.assertIn("window: ", out)
        told, _ = self.call("info", "--algorithms", "--json")
        self.assertIn("algorithms", json.loads(told))

    def test_every_algorithm_can_be_explained(self):
        told = json.loads(self.call("info", "--json")[0])
        for algorithm in told["algorithms"]:
            options = ("--algorithm", algorithm["name"], *(("--hosts", "2x2") if algorithm["knows_hosts"] else
                                                           ("--ranks", 4)))
            out, _ = self.call("explain", algorithm["collective"], *options)
            self.assertIn(algorithm["source"], out)

    def networks(self, double=None, **variables):
        if double is not None:
            directory = pathlib.Path(os.environ["TEST_DOUBLES"]) / double
            if not directory.is_dir():
                self.skipTest("built without the headers of UCX")
            variables["LD_LIBRARY_PATH"] = str(directory)
        return {row["name"]: row for row in json.loads(self.call("info", "--json", **variables)[0])["networks"]}

    def test_networks(self):
        for row in self.networks().values():
            self.assertTrue(row["description" if row["available"] else "reason"])

    def test_reason_of_an_unavailable_network(self):
        for double, variables, reason in (("ucp", {"DOUBLE_UCP": "old"}, r"1\.9\.0"), ("ucp", {}, r"ucp_worker_create"),
                                          ("ucp_without_messages", {}, r"libucp\.so\.0.* ucp_\w+")):
            row = self.networks(double, **variables)["ucx"]
            self.assertFalse(row["available"])
            self.assertRegex(row["reason"], reason)

    def test_wrong_variable_is_reported_last(self):
        out, err = self.call("info", status=125, LAPWING_ENGINE="hots")
        self.assertIn("\nvariables\n", out)
        self.assertIn("'host'", err)
        _, err = self.call("info", status=125, LAPWING_ALGORITM="x")
        self.assertIn("'LAPWING_ALGORITHM'", err)

    def test_every_variable(self):
        source = pathlib.Path(__file__).resolve().parents[2] / "src"
        tables = [source / "base" / "settings.def", *sorted(source.glob("engines/*/settings.def"))]
        names = re.findall(r'^LAPWING_SETTING\(\w+, "(\w+)"', "".join(t.read_text() for t in tables), re.M)
        out, _ = self.call("info", "--variables")
        self.assertCountEqual(re.findall(r"^  LAPWING_(\w+)", out, re.M), names)
        self.refused("info", "--variables", "--algorithms", because="--algorithms")


class Tool(ToolTest):
    def test_version(self):
        out, _ = self.call("--version")
        self.assertRegex(out, r"^lapwing \d+\.\d+\.\d+(-dev)?\n$")

    def test_help_has_examples(self):
        for words in ((), ("explain",), ("run",), ("tune",), ("topology",), ("info",), ("doctor",)):
            out, _ = self.call(*words, "--help")
            self.assertIn("Example", out)
            self.assertNotIn("probe", out)

    def test_nothing_to_do(self):
        self.assertTrue(self.call(status=125)[1])
        self.refused("--versoin", because="'--version'")

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            environment = clean_environment()
            done = subprocess.run([TOOL, "info"], stdout=full, stderr=subprocess.PIPE, env=environment)
        self.assertEqual(done.returncode, 125)
        self.assertTrue(done.stderr)


if __name__ == "__main__":
    unittest.main()
