"""Groups of the C API on two virtual hosts: shared memory inside each, TCP between them."""

import support
from support import BUILD, ClusterTest

PROGRAM = BUILD / "tests" / "c-api"
RANKS = 4


class CApi(ClusterTest):
    def run_ranks(self, first="", **variables):
        """The output of the ranks, two on each host. `first`: words before the program of rank 0."""
        parts = [f"ssh node{1 + rank // 2} {first if rank == 0 else ''} {PROGRAM} {self.scratch} {rank} {RANKS} &"
                 for rank in range(RANKS)]
        output = self.shell(2, " ".join([*parts, "wait"]), "--rate", "none", **variables)
        return sorted(line for line in output.splitlines() if line.startswith("rank "))

    def test_ranks_of_a_host_share_memory(self):
        self.assertEqual(self.run_ranks(), sorted(
            f"rank {rank}, engine={engine}: shared memory; long messages may be copied once, by the kernel: right"
            for rank in range(RANKS) for engine in ("host", "kernel")))

    def test_one_rank_that_cannot_is_told_to_both_hosts(self):
        lines = self.run_ranks(first=f"{BUILD / 'tests' / 'refuse'} memfd_create")
        self.assertEqual(len(lines), 2 * RANKS, lines)
        for line in lines:
            self.assertRegex(line, r"no shared memory: rank 0 \(node1\): memfd_create: Operation not permitted: right$")


if __name__ == "__main__":
    support.main()
