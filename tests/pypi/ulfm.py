"""What a program that goes on after a fault sees: the arguments are the fault (revoked, killed) and the form of the collectives
(blocking, nonblocking)."""

import os
import signal
import sys
from array import array

from mpi4py import MPI

fault, form = sys.argv[1:]
world = MPI.COMM_WORLD


def outcome(communicator, form):
    """Of a sum over the ranks."""
    communicator.Set_errhandler(MPI.ERRORS_RETURN)
    one, ranks = array("i", [1]), array("i", [0])
    try:
        if form == "blocking":
            communicator.Allreduce(one, ranks)
        else:
            communicator.Iallreduce(one, ranks).Wait()
    except MPI.Exception as failure:
        return {MPI.ERR_REVOKED: "revoked", MPI.ERR_PROC_FAILED: "failed"}.get(failure.Get_error_class(), str(failure))
    return ranks[0]


communicator = world.Dup()
seen = [outcome(communicator, "nonblocking")]
world.Barrier()
if fault == "revoked":
    communicator.Revoke()
elif world.rank == world.size - 1:
    os.kill(os.getpid(), signal.SIGKILL)
seen.append(outcome(communicator, form))
if fault == "killed":
    communicator.Revoke()
    shrunk = communicator.Shrink()
    seen.append(outcome(shrunk, "nonblocking"))
    shrunk.Free()
print("saw", *seen, flush=True)
communicator.Free()
