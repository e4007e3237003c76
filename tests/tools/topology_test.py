"""lapwing topology without a job: hwloc's synthetic machines, topology files, options; and `lapwing run` with a topology file."""

import json
import os
import unittest

from support import ToolTest


class Machine(ToolTest):
    def drawn(self, synthetic, **variables):
        out, err = self.call("topology", HWLOC_SYNTHETIC=synthetic, **variables)
        self.assertEqual(err, "")
        return out.splitlines()

    def test_packages_nodes_caches_cores_and_processors(self):
        lines = self.drawn("package:2 numanode:2(memory=4GB) l3cache:2(size=32MB) l2cache:2(size=512kB) core:1 pu:2")
        self.assertIn(": 2 packages, 4 NUMA nodes, 16 cores, 32 processors, ", lines[0])
        self.assertEqual(lines[1:8], [
            "  package 0",
            "    NUMA node 0: 3.7 GiB",
            "      L3 31 MiB",
            "        [0 1] [2 3]  each L2 500 KiB",
            "      L3 31 MiB",
            "        [4 5] [6 7]  each L2 500 KiB",
            "    NUMA node 1: 3.7 GiB"])
        self.assertEqual(sum(line == "  package 1" for line in lines), 1)

    def test_many_cores_are_wrapped(self):
        lines = self.drawn("core:40 pu:1", COLUMNS="60")
        self.assertGreater(len(lines), 3)
        self.assertLessEqual(max(map(len, lines[1:])), 60)
        self.assertEqual("".join(lines[1:]).count("["), 40)

    def test_this_machine(self):
        out, _ = self.call("topology")
        self.assertRegex(out, r"^\S+: \d+ packages?, \d+ NUMA nodes?, \d+ cores?, \d+ processors?, .*\n")
        for processor in os.sched_getaffinity(0):
            self.assertRegex(out, rf"[\[ ]{processor}[\] ]")

    def test_json(self):
        told = json.loads(self.call("topology", "--json", HWLOC_SYNTHETIC="package:2 numanode:1 core:2 pu:2")[0])
        self.assertEqual([package["type"] for package in told["children"]], ["Package", "Package"])
        self.assertEqual(told["children"][1]["memory"][0]["number"], 1)
        self.assertEqual(told["children"][1]["children"][0]["children"][1], {"type": "processor", "number": 5})


class Network(ToolTest):
    def write(self, text):
        path = self.scratch / "my.topology"
        path.write_text(text)
        return str(path)

    def test_a_torus_is_drawn_with_its_path(self):
        out, _ = self.call("topology", "--file", self.write("torus 4x3 n[1-12]"))
        self.assert_golden(out, "topology_torus.txt")

    def test_hosts_meshes_and_planes(self):
        text = "first second\nmesh 3x2x2 n[01-12]\n" + " ".join(f"longer{i}" for i in range(30))
        out, _ = self.call("topology", "--file", self.write(text), COLUMNS="70")
        self.assert_golden(out, "topology_mesh.txt")

    def test_json(self):
        told = json.loads(self.call("topology", "--json", "--file", self.write("a\nmesh 2x2 n[1-4]"))[0])
        self.assertEqual(told["hosts"], ["a", "n1", "n2", "n4", "n3"])
        self.assertEqual(told["grids"], [{"kind": "mesh", "extents": [2, 2], "first": 1, "links_from_end_to_beginning": 1}])

    def test_what_is_wrong(self):
        self.refused("topology", "--file", "/nowhere/t", because="the topology file '/nowhere/t' cannot be read")
        file = self.write("a\nb a\n")
        for words in (("topology", "--file", file), ("run", "--topology", file, "--", "true")):
            self.refused(*words, because=f"{file}:2: a is already named on line 1")
        self.refused("run", "--", "true", because=f"{file}:2: ", LAPWING_TOPOLOGY=file)
        file = self.write("a\nb\x1b]0;title\x07\n")
        self.refused("topology", "--file", file, because=f"{file}:2: 'b\\x1b]0;title\\x07': a host name")
        self.refused("topology", "--engine", "host", because="need a job")
        self.refused("topology", "--", because="no launcher")
        self.refused("topology", "mpirun", "-n", "2", because="'--' is missing before the launcher")
        self.refused("topology", "--flie", "x", because="did you mean '--file'?")
        self.refused("topology", "--engine", "hots", "--", "mpirun", because="did you mean 'host'?")


if __name__ == "__main__":
    unittest.main()
