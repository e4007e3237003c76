"""Collectives written in Python, as in the tutorial: proven for each number of ranks; wrong ones are refused."""

import importlib.util
import os
import pathlib
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.pop("LAPWING_BUILD"))
ROOT = pathlib.Path(os.environ.pop("LAPWING_ROOT"))
os.environ["PATH"] = f"{BUILD}/bin:{os.environ['PATH']}"

from lapwing.lists import Collective, WrongLists, save  # noqa: E402

specification = importlib.util.spec_from_file_location("circulant", ROOT / "examples/lists/circulant.py")
circulant = importlib.util.module_from_spec(specification)
specification.loader.exec_module(circulant)


def ring_allgather(ranks):
    lists = Collective("allgather", ranks)
    for rank in lists:
        rank.copy(rank.out[rank], rank.input[0])
        for step in range(ranks - 1):
            rank.send((rank + 1) % ranks, rank.out[(rank - step) % ranks])
            rank.recv((rank - 1) % ranks, rank.out[(rank - step - 1) % ranks])
    return lists


class Lists(unittest.TestCase):
    def test_the_example_is_right_for_each_number_of_ranks(self):
        for ranks in range(1, 10):
            told = circulant.allreduce(ranks).verify()
            proved = "1 list and its chain form" if ranks == 1 else f"{ranks} lists and their chain forms"
            self.assertIn(f"proved {proved}: problem allreduce ranks {ranks} chunks {ranks} by circulant", told)
            self.assertNotIn("divide evenly", told)

    def test_wrong_lists_are_refused(self):
        lists = circulant.allreduce(5)
        lists[2].send(3, lists[2].out[0])
        with self.assertRaisesRegex(WrongLists, r"circulant\.lists: \d violations?: problem.*\n  line \d+: matching: rank \d"):
            lists.verify()

    def test_receives_go_to_the_start_where_their_memory_is_free(self):
        lists = Collective("broadcast", ranks=3)
        lists[0].send(1, lists[0].input[0])
        lists[1].recv(0, lists[1].out[0])
        lists[1].send(2, lists[1].out[0])
        lists[2].copy(lists[2].scratch[0], lists[2].scratch[1])
        lists[2].recv(1, lists[2].scratch[0])
        lists[2].copy(lists[2].out[0], lists[2].scratch[0])
        self.assertEqual(str(lists[1]._text()), "list 1 in 0 out 1 scratch 0\n  recv 0 out[0+1]\n  wait 0 1\n  send 2 out[0+1]\nend\n")
        self.assertIn("  copy scratch[0+1] scratch[1+1]\n  recv 1 scratch[0+1]\n", str(lists))

    def test_a_ring_in_ten_lines(self):
        self.assertIn("and their chain forms", ring_allgather(4).verify())

    def test_mistakes_are_named(self):
        lists = Collective("allreduce", ranks=2, chunks=2, min_bytes=8)
        rank = lists[0]
        for expected, call in [
                ("no collective 'allsum'; there are allgather, allreduce", lambda: Collective("allsum", 2)),
                ("allreduce has no root", lambda: Collective("allreduce", 2, root=1)),
                ("no root 2 of 2 ranks", lambda: Collective("reduce", 2, root=2)),
                ("rank 0: no peer 2", lambda: rank.send(2, rank.input[0])),
                ("rank 0: no peer 0", lambda: rank.recv(0, rank.out[0])),
                ("rank 0: no chunks 2 to 2 of in: it has 2", lambda: rank.input[2]),
                ("slices with an end", lambda: rank.out[0:]),
                ("the numbers of chunks differ", lambda: rank.copy(rank.out[0:2], rank.input[0])),
                (r"in\[0\+1\] belongs to rank 1", lambda: rank.send(1, lists[1].input[0])),
                ("chunks are named as", lambda: rank.send(1, 0)),
                ("allgather does not reduce", lambda: ring_allgather(2)[0].reduce(None, None))]:
            with self.subTest(expected), self.assertRaisesRegex((ValueError, IndexError, TypeError), expected):
                call()


if __name__ == "__main__":
    unittest.main()
