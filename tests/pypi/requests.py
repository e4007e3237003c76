"""Two ranks use each kind of request while Lapwing's thread drives the MPI: a large message is pending, and the ranks compute between
start and completion. Prints each kind that this MPI has when its data are right; the arguments name the kinds (none: all)."""

import os
import sys
import tempfile
import time
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
left = world.Dup(MPI.Info.Create({"lapwing_engine": "mpi"}))
me, peer = world.rank, 1 - world.rank
LENGTH = 100_000  # bytes


def compute():
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass


def wait(*requests):
    compute()
    MPI.Request.Waitall(list(requests))


def bytes_of(rank):
    return bytearray([rank + 1]) * LENGTH


def message(send, receive, before=None):
    """Makes a kind of functions that start a send and a receive; persistent requests are started three times."""
    def kind():
        got = bytearray(LENGTH)
        receiving = receive(got)
        if before:
            before()
        sending = send(bytes_of(me))
        for _ in range(3 if isinstance(sending, MPI.Prequest) else 1):
            if isinstance(sending, MPI.Prequest):
                got[:] = bytes(LENGTH)
                receiving.Start()
                if before:
                    before()
                sending.Start()
            wait(receiving, sending)
            assert got == bytes_of(peer)
        for request in (receiving, sending):
            if request != MPI.REQUEST_NULL:
                request.Free()
    return kind


def matched():
    sending, got = world.Isend(bytes_of(me), peer, 3), bytearray(LENGTH)
    while (found := world.Improbe(peer, 3)) is None:
        compute()
    wait(found.Irecv(got), sending)
    assert got == bytes_of(peer)


def exchange(replaces):
    got = bytes_of(me)
    wait(world.Isendrecv_replace(got, peer, 4, peer, 4) if replaces else world.Isendrecv(bytes_of(me), peer, 4, got, peer, 4))
    assert got == bytes_of(peer)


def partitioned():
    mine, got, parts = bytes_of(me), bytearray(LENGTH), 4
    both = [world.Psend_init(mine, parts, peer, 5), world.Precv_init(got, parts, peer, 5)]
    for _ in range(3):
        got[:] = bytes(LENGTH)
        MPI.Prequest.Startall(both)
        for part in range(parts):
            compute()
            both[0].Pready(part)
        wait(*both)
        assert got == bytes_of(peer)
    for request in both:
        request.Free()


def collective(start, persistent=False):
    def kind():
        mine, got = array("d", [me + 1.0]) * (LENGTH // 8), array("d", [0.0]) * (LENGTH // 8)
        request = start(mine, got)
        for _ in range(3 if persistent else 1):
            if persistent:
                request.Start()
            wait(request)
            assert set(got) == {3.0}
        if persistent:
            request.Free()
    return kind


def left_to_the_mpi():
    """Both are complete before the first wait, which returns one of them."""
    mine, got = array("d", [me + 1.0]), [array("d", [0.0]) for _ in range(2)]
    both = [left.Allreduce_init(mine, sums) for sums in got]
    for _ in range(3):
        MPI.Prequest.Startall(both)
        for _ in range(3):
            compute()
            world.Barrier()
        assert {MPI.Request.Waitany(both) for _ in both} == {0, 1}
        assert got == [array("d", [3.0])] * 2
    for request in both:
        request.Free()


def between_groups():
    mine, got = bytes_of(me), bytearray(LENGTH)
    between = MPI.COMM_SELF.Create_intercomm(0, world, peer, 6)
    wait(between.Iallgather(mine, got))
    between.Free()
    assert got == bytes_of(peer)


def duplicate():
    made, request = world.Idup()
    wait(request)
    made.Barrier()
    made.Free()


def window(operate, result):
    def kind():
        there, mine, got = bytes_of(me), bytes_of(me), bytearray(LENGTH)
        window = MPI.Win.Create(there, 1, comm=world)
        world.Barrier()
        window.Lock_all()
        wait(operate(window, mine, got))
        window.Unlock_all()
        world.Barrier()
        window.Free()
        assert {"there": there, "got": got}[result] == bytes_of(peer)
    return kind


def file(write, read):
    def kind():
        name = world.bcast(tempfile.mktemp() if me == 0 else None)
        opened, got = MPI.File.Open(world, name, MPI.MODE_CREATE | MPI.MODE_RDWR), bytearray(LENGTH)
        wait(write(opened, me * LENGTH, bytes_of(me)))
        opened.Sync()
        world.Barrier()
        wait(read(opened, me * LENGTH, got))
        opened.Close()
        if me == 0:
            os.unlink(name)
        assert got == bytes_of(me)
    return kind


def generalized():
    request = MPI.Grequest.Start()
    compute()
    request.Complete()
    wait(request)


def buffered():
    MPI.Attach_buffer(bytearray(4 * LENGTH))
    message(lambda data: world.Ibsend(data, peer, 7), lambda data: world.Irecv(data, peer, 7))()
    MPI.Detach_buffer()


def receive(data):
    return world.Irecv(data, peer, 2)


def receive_init(data):
    return world.Recv_init(data, peer, 2)


KINDS = {
    "Isend": message(lambda data: world.Isend(data, peer, 2), receive),
    "Issend": message(lambda data: world.Issend(data, peer, 2), receive),
    "Irsend": message(lambda data: world.Irsend(data, peer, 2), receive, world.Barrier),
    "Ibsend": buffered,
    "Imrecv": matched,
    "Isendrecv": lambda: exchange(False),
    "Isendrecv_replace": lambda: exchange(True),
    "Iallreduce": collective(world.Iallreduce),
    "Allreduce_init": collective(world.Allreduce_init, True) if hasattr(MPI.Comm, "Allreduce_init") else None,
    "Iallgather between groups": between_groups,
    "Comm_idup": duplicate,
    "Rput": window(lambda win, mine, got: win.Rput(mine, peer), "there"),
    "Rget": window(lambda win, mine, got: win.Rget(got, peer), "got"),
    "Raccumulate": window(lambda win, mine, got: win.Raccumulate(mine, peer, op=MPI.REPLACE), "there"),
    "Rget_accumulate": window(lambda win, mine, got: win.Rget_accumulate(mine, got, peer, op=MPI.REPLACE), "got"),
    "File_iwrite_at": file(lambda f, at, data: f.Iwrite_at(at, data), lambda f, at, data: f.Iread_at(at, data)),
    "File_iwrite_at_all": file(lambda f, at, data: f.Iwrite_at_all(at, data), lambda f, at, data: f.Iread_at_all(at, data)),
    "Grequest": generalized,
    # After these the thread leaves all messages of some MPIs alone.
    "Send_init": message(lambda data: world.Send_init(data, peer, 2), receive_init),
    "Ssend_init": message(lambda data: world.Ssend_init(data, peer, 2), receive_init),
    "Rsend_init": message(lambda data: world.Rsend_init(data, peer, 2), receive_init, world.Barrier),
    "Psend_init": partitioned,
    # Before others it breaks Intel MPI, also without Lapwing.
    "Allreduce_init left to the MPI": left_to_the_mpi if hasattr(MPI.Comm, "Allreduce_init") else None,
}

for name in sys.argv[1:] or KINDS:
    has = KINDS[name] is not None
    for repeated in range(5):
        # The thread polls while this is pending.
        pending = [world.Irecv(bytearray(4 * LENGTH), peer, 1)]
        try:
            if has:
                KINDS[name]()
        except NotImplementedError:
            has = False
        except MPI.Exception as failure:  # where Lapwing has the function, and the MPI has not
            if failure.Get_error_class() != MPI.ERR_UNSUPPORTED_OPERATION:
                raise
            has = False
        pending.append(world.Isend(bytearray(4 * LENGTH), peer, 1))
        wait(*pending)
    if has and me == 0:
        print(name, flush=True)
