"""An allreduce that Lapwing's catalogue lacks, for any number of ranks: reduce-scatter and allgather on a circulant graph.

J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", 2024 (arXiv:2410.14234). Each rank sends what a ring sends, the
minimum, but in log2(P) rounds, rounded up, instead of P - 1. In each round the distance to the peer is half of the last, rounded up; with
it the number of blocks that a rank still reduces. The allgather runs the same rounds backwards.

    python3 circulant.py 2:8 circulant.lists
    LAPWING_ALGORITHM=iallreduce=file:circulant.lists lapwing run -- mpirun -n 6 python3 program.py
"""

import sys

from lapwing.lists import Collective, save


def around(first, count, ranks):
    """`count` blocks from `first` on, around the ring of blocks: one range, or two."""
    first %= ranks
    ranges = [(first, min(first + count, ranks)), (0, first + count - ranks)]
    return [(begin, end) for begin, end in ranges if begin < end]


def allreduce(ranks):
    distances = [ranks]
    while distances[-1] > 1:
        distances.append((distances[-1] + 1) // 2)
    rounds = list(zip(distances, distances[1:]))

    lists = Collective("allreduce", ranks, chunks=ranks, algorithm="circulant")
    for rank in lists:
        rank.copy(rank.scratch[0:ranks], rank.input[0:ranks])  # the partial results
        for number, (last, distance) in enumerate(rounds, 1):
            for begin, end in around(rank + distance, last - distance, ranks):
                rank.send((rank + distance) % ranks, rank.scratch[begin:end])
            for begin, end in around(rank, last - distance, ranks):
                arrived = rank.scratch[number * ranks + begin : number * ranks + end]
                rank.recv((rank - distance) % ranks, arrived)
                rank.reduce(rank.scratch[begin:end], arrived)
        rank.copy(rank.out[rank], rank.scratch[rank])
        for last, distance in reversed(rounds):
            for begin, end in around(rank, last - distance, ranks):
                rank.send((rank - distance) % ranks, rank.out[begin:end])
            for begin, end in around(rank + distance, last - distance, ranks):
                rank.recv((rank + distance) % ranks, rank.out[begin:end])
    return lists


if __name__ == "__main__":
    first, _, last = sys.argv[1].partition(":")
    save(sys.argv[2], [allreduce(ranks) for ranks in range(int(first), int(last or first) + 1)])
