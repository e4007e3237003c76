"""lapwing topology, and `lapwing run` with a topology file."""

import json
import unittest

from support import ToolTest


class Network(ToolTest):
    def write(self, text):
        path = self.scratch / "my.topology"
        path.write_text(text)
        return str(path)

    def test_hosts_in_their_order(self):
        file = self.write("a\nmesh 2x2 n[1-4]")
        hosts = ["a", "n1", "n2", "n4", "n3"]
        self.assertEqual(self.call("topology", file)[0].splitlines(), hosts)
        self.assertEqual(json.loads(self.call("topology", "--json", file)[0]), {"schema": 1, "hosts": hosts})

    def test_what_is_wrong(self):
        self.refused("topology", "/nowhere/t", because="the topology file '/nowhere/t' cannot be read")
        file = self.write("a\nb a\n")
        for words in (("topology", file), ("run", "--topology", file, "--", "true")):
            self.refused(*words, because=f"{file}:2: a is already named on line 1")
        self.refused("run", "--", "true", because=f"{file}:2: ", LAPWING_TOPOLOGY=file)
        file = self.write("a\nb\x1b]0;title\x07\n")
        self.refused("topology", file, because=f"{file}:2: 'b\\x1b]0;title\\x07': a host name")
        self.refused("topology", because="FILE is required")


if __name__ == "__main__":
    unittest.main()
