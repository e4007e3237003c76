"""Collectives of your own: write what each rank does, save it, and Lapwing runs it under an unmodified program.

    from lapwing.lists import Collective

    ring = Collective("allgather", ranks=4)
    for rank in ring:
        above, below = (rank + 1) % 4, (rank - 1) % 4
        rank.copy(rank.out[rank], rank.input[0])
        for step in range(3):
            rank.send(above, rank.out[(rank - step) % 4])
            rank.recv(below, rank.out[(rank - step - 1) % 4])
    ring.verify()
    ring.save("ring.lists")

    LAPWING_ALGORITHM=iallgather=file:ring.lists lapwing run -- mpirun -n 4 python3 program.py

A block is divided into `chunks` chunks, and all that a rank names are chunks: the file then serves every size, type and operator.
`input` is what the program sends (a block; P blocks in scatter, alltoall and reduce_scatter_block), `out` what it receives, `scratch`
memory of the list, as much as it names. Block b is chunks b*chunks to (b+1)*chunks-1. If the size does not divide evenly, chunks
differ in length by an element, by their position in the block; put a chunk in scratch where `position % chunks` is the same.

A list is read from top to bottom. A send starts and is not waited for, so what was sent must not be overwritten. A receive is offered at
the start of the list wherever its memory is free until then, which the kernel engine needs, and the list waits for it where it is
written. `lapwing verify` proves all of it.

The module uses nothing but Python's own library; verify() needs the tool `lapwing`.
"""

import os
import pathlib
import subprocess
import tempfile

from lapwing import Error, tool_path

__all__ = ["Collective", "Rank", "Span", "WrongLists", "save"]

# Blocks of input and of out at a rank: of (rank is root, ranks).
_ONE, _ALL, _NONE = (lambda root, ranks: 1), (lambda root, ranks: ranks), (lambda root, ranks: 0)
_MEMORIES = {
    "broadcast": (lambda root, ranks: 1 if root else 0, lambda root, ranks: 0 if root else 1),
    "gather": (_ONE, lambda root, ranks: ranks if root else 0),
    "scatter": (lambda root, ranks: ranks if root else 0, _ONE),
    "allgather": (_ONE, _ALL),
    "alltoall": (_ALL, _ALL),
    "reduce": (_ONE, lambda root, ranks: 1 if root else 0),
    "allreduce": (_ONE, _ONE),
    "reduce_scatter_block": (_ALL, _ONE),
    "scan": (_ONE, _ONE),
    "exscan": (_ONE, _ONE),
    "barrier": (_NONE, _NONE),
}
_ROOTED = {"broadcast", "gather", "scatter", "reduce"}
_REDUCTIONS = {"reduce", "allreduce", "reduce_scatter_block", "scan", "exscan"}


class WrongLists(Error):
    """The lists do not do what the collective must. The message is the counter-example of `lapwing verify`."""


class Span:
    """Consecutive chunks of one memory of a rank: `rank.out[2]`, `rank.scratch[0:4]`."""

    def __init__(self, memory, first, count):
        self.memory, self.first, self.count = memory, first, count

    def __str__(self):
        return f"{self.memory.name}[{self.first}+{self.count}]"

    def overlaps(self, other):
        return (self.memory is other.memory and self.first < other.first + other.count
                and other.first < self.first + self.count)


class _Memory:
    def __init__(self, rank, name, chunks):
        self.rank, self.name, self.chunks = rank, name, chunks

    def __getitem__(self, index):
        first, stop = (index.start or 0, index.stop) if isinstance(index, slice) else (int(index), int(index) + 1)
        if isinstance(index, slice) and (stop is None or index.step not in (None, 1)):
            raise ValueError(f"{self.name} takes slices with an end and without a step, as {self.name}[0:4]")
        limit = "" if self.chunks is None else f": it has {self.chunks}"
        if first < 0 or stop <= first or (self.chunks is not None and stop > self.chunks):
            raise IndexError(f"rank {int(self.rank)}: no chunks {first} to {stop - 1} of {self.name}{limit}")
        return Span(self, first, stop - first)


class Rank(int):
    """One rank, a number, and its list. Its methods add tasks to the list."""

    def __new__(cls, number, collective):
        self = super().__new__(cls, number)
        self._collective = collective
        root = number == collective.root
        blocks = [of(root, collective.ranks) * collective.chunks for of in _MEMORIES[collective.name]]
        if collective.name == "exscan" and number == 0:
            blocks[1] = 0
        self.input, self.out = _Memory(self, "in", blocks[0]), _Memory(self, "out", blocks[1])
        self.scratch = _Memory(self, "scratch", None)
        self._tasks = []   # of text, and the spans that it uses
        self._top = []     # receives at the start of the list
        self._used = []    # spans that earlier tasks use
        self._scratch = 0  # chunks
        return self

    def send(self, peer, chunks=None):
        """Starts to send chunks to the peer. Without chunks, sends a signal."""
        self._add(f"send {self._peer(peer)}", chunks, optional=True)

    def recv(self, peer, chunks=None, wait=True):
        """Receives from the peer into chunks, and waits until they are there; with wait=False the list goes on, and wait(peer) waits."""
        text = f"recv {self._peer(peer)}"
        spans = [] if chunks is None else [self._own(chunks)]
        line = " ".join([text, *map(str, spans)])
        # Messages between two ranks keep their order: a receive may be early only if those before it from this peer are.
        early = (not any(span.overlaps(used) for span in spans for used in self._used)
                 and not any(task.startswith(text + " ") or task == text for task in self._tasks))
        (self._top if early else self._tasks).append(line)
        self._used += spans
        if wait:
            self.wait(peer)

    def wait(self, peer, count=1):
        """Waits until `count` more receives from the peer are complete."""
        self._tasks.append(f"wait {self._peer(peer)} {count}")

    def copy(self, target, source):
        """Copies chunks within the rank."""
        self._add("copy", target, source)

    def reduce(self, target, source):
        """Combines: target = source op target, chunk by chunk, by the operator of the program's call."""
        if self._collective.name not in _REDUCTIONS:
            raise ValueError(f"{self._collective.name} does not reduce")
        self._add("reduce", target, source)

    def _peer(self, peer):
        if not 0 <= peer < self._collective.ranks or peer == self:
            raise ValueError(f"rank {int(self)}: no peer {int(peer)}: the others of ranks 0 to {self._collective.ranks - 1}")
        return int(peer)

    def _own(self, span):
        if not isinstance(span, Span):
            raise TypeError(f"rank {int(self)}: chunks are named as rank.out[0], not {span!r}")
        if span.memory.rank is not self:
            raise ValueError(f"rank {int(self)}: {span} belongs to rank {int(span.memory.rank)}")
        if span.memory is self.scratch:
            self._scratch = max(self._scratch, span.first + span.count)
        return span

    def _add(self, text, *chunks, optional=False):
        spans = [self._own(one) for one in chunks if not (optional and one is None)]
        if len({span.count for span in spans}) > 1:
            raise ValueError(f"rank {int(self)}: {text} {' '.join(map(str, spans))}: the numbers of chunks differ")
        self._tasks.append(" ".join([text, *map(str, spans)]))
        self._used += spans

    def _text(self):
        sizes = f"in {self.input.chunks} out {self.out.chunks} scratch {self._scratch}"
        return "\n".join([f"list {int(self)} {sizes}", *(f"  {task}" for task in self._top + self._tasks), "end\n"])


class Collective:
    """The lists of all ranks of one collective. Iterate over it for the ranks, or take one by its number."""

    def __init__(self, name, ranks, chunks=1, root=0, min_bytes=None, max_bytes=None, algorithm=None):
        """`name` as Lapwing writes it: allreduce, alltoall, ... `chunks`: of a block. `root`: of a rooted collective. `min_bytes`,
        `max_bytes`: the blocks that the lists are for, all by default; other blocks are left to Lapwing's own choice. `algorithm`: a
        name for the lists, for people."""
        if name not in _MEMORIES:
            raise ValueError(f"no collective {name!r}; there are {', '.join(sorted(_MEMORIES))}")
        if ranks < 1 or not 0 <= root < ranks:
            raise ValueError(f"no root {root} of {ranks} ranks" if ranks > 0 else f"no collective has {ranks} ranks")
        if root and name not in _ROOTED:
            raise ValueError(f"{name} has no root")
        if chunks < 1 or (name == "barrier" and chunks != 1):
            raise ValueError(f"no {name} has {chunks} chunks in a block")
        self.name, self.ranks, self.chunks, self.root = name, ranks, chunks, root
        self.min_bytes, self.max_bytes, self.algorithm = min_bytes, max_bytes, algorithm
        self._list = [Rank(number, self) for number in range(ranks)]

    def __iter__(self):
        return iter(self._list)

    def __getitem__(self, rank):
        return self._list[rank]

    def __str__(self):
        """The text form of the lists, as `lapwing explain --format text` prints it."""
        words = [f"problem {self.name} ranks {self.ranks}"]
        if self.name in _ROOTED:
            words.append(f"root {self.root}")
        if self.name != "barrier":
            words.append(f"chunks {self.chunks}")
            words += [f"{limit} {getattr(self, limit)}" for limit in ("min_bytes", "max_bytes") if getattr(self, limit) is not None]
        if self.algorithm is not None:
            words.append(f"algorithm {self.algorithm}")
        return " ".join(words) + "\n" + "".join(rank._text() for rank in self._list)

    def save(self, path):
        """Writes the lists to a file for LAPWING_ALGORITHM. See also save() of the module."""
        save(path, [self])

    def verify(self):
        """Proves the lists by `lapwing verify` of the laboratory, for every size. Returns the text that the tool prints. Raises
        WrongLists with the counter-example, or lapwing.Error if the laboratory is not installed."""
        with tempfile.TemporaryDirectory(prefix="lapwing-") as directory:
            self.save(pathlib.Path(directory) / f"{self.algorithm or self.name}.lists")
            done = subprocess.run([tool_path(), "verify", *os.listdir(directory)], cwd=directory, capture_output=True, text=True,
                                  check=False)
        if done.returncode == 1:
            raise WrongLists((done.stdout + done.stderr).strip())
        if done.returncode != 0:
            raise Error(done.stderr.strip())
        return done.stdout.strip()


def save(path, collectives):
    """Writes several collectives to one file: of several numbers of ranks, roots or sizes. For a problem, the first that is for it is
    taken."""
    pathlib.Path(path).write_text("".join(map(str, collectives)), encoding="utf-8")
