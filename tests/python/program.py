"""A typical program of a user: numpy arrays in mpi4py's nonblocking collectives, with checks."""

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
ranks = numpy.arange(world.size)
sent = 100 * world.rank + ranks
received = numpy.empty_like(sent)
# In a variable until the wait: a request of mpi4py keeps no array alive, so a temporary would be freed while it is sent.
summands = numpy.full(1000, world.rank + 1.0)
sums = numpy.empty(1000)
requests = [world.Ialltoall(sent, received), world.Iallreduce(summands, sums), world.Ibarrier()]
MPI.Request.Waitall(requests)
assert (received == 100 * ranks + world.rank).all(), received
assert (sums == world.size * (world.size + 1) / 2).all(), sums
if world.rank == 0:
    print(f"right on {world.size} ranks of {MPI.Get_library_version().split(',')[0].splitlines()[0]}")
