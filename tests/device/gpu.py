"""An MPI program with buffers in the memory of an NVIDIA device, by the driver's interface alone, without a toolkit: collectives,
nonblocking and persistent, and messages if the MPI can send from such memory. Every value is compared."""

import array
import ctypes
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
RANK, RANKS = world.rank, world.size
ROOT = RANKS - 1
LENGTHS = (1, 1000, 100_000)


class Device:
    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            sys.exit(f"no NVIDIA driver: {error}")
        count, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGetCount", ctypes.byref(count))
        self.count = count.value
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), RANK % self.count)
        self.call("cuCtxSetCurrent", context)

    def call(self, function, *arguments):
        status = getattr(self.driver, function)(*arguments)
        if status != 0:
            sys.exit(f"{function} returned {status}")


class Ints:
    """Numbers in the device's memory."""

    def __init__(self, device, values):
        self.device, self.host = device, array.array("i", values)
        self.bytes = len(self.host) * self.host.itemsize
        self.pointer = ctypes.c_uint64()
        device.call("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(self.bytes))
        device.call("cuMemcpyHtoD_v2", self.pointer, self.address(), ctypes.c_size_t(self.bytes))

    def address(self):
        return ctypes.c_void_p(self.host.buffer_info()[0])

    def specification(self):
        return [MPI.memory.fromaddress(self.pointer.value, self.bytes), MPI.INT]

    def free(self):
        """Returns the numbers."""
        self.device.call("cuMemcpyDtoH_v2", self.address(), self.pointer, ctypes.c_size_t(self.bytes))
        self.device.call("cuMemFree_v2", self.pointer)
        return self.host.tolist()


def numbers(rank, length):
    return [(rank * 10_007 + i * 31) % 65_521 for i in range(length)]


def cases(length):
    """Collective, what this rank sends, what it must receive, further arguments."""
    everyone = [numbers(rank, RANKS * length) for rank in range(RANKS)]
    mine, block = everyone[RANK], slice(RANK * length, (RANK + 1) * length)
    begins = [each[:length] for each in everyone]
    gathered = [one for each in begins for one in each]
    sums = [sum(column) for column in zip(*begins)]
    at_root = RANK == ROOT
    yield "allgather", mine[:length], gathered, {}
    yield "alltoall", mine, [one for each in everyone for one in each[block]], {}
    yield "allreduce", mine[:length], sums, {}
    yield "reduce", mine[:length], sums if at_root else [-1] * length, {"root": ROOT}
    yield "gather", mine[:length], gathered if at_root else [-1] * len(gathered), {"root": ROOT}
    yield "scatter", mine, everyone[ROOT][block], {"root": ROOT}
    yield "reduce_scatter_block", mine, [sum(column) for column in zip(*(each[block] for each in everyone))], {}


def must_be(found, wanted, what):
    if found != wanted:
        print(f"rank {RANK}: wrong values after {what}", file=sys.stderr, flush=True)
        world.Abort(1)


def collectives(device):
    """How many were right."""
    done = 0
    for length in LENGTHS:
        for name, sent, wanted, more in cases(length):
            for persistent in (False, True):
                function = f"{name.capitalize()}_init" if persistent else f"I{name}"
                source, target = Ints(device, sent), Ints(device, [-1] * len(wanted))
                request = getattr(world, function)(source.specification(), target.specification(), **more)
                if persistent:
                    request.Start()
                request.Wait()
                if persistent:
                    request.Free()
                source.free()
                must_be(target.free(), wanted, f"{function} of {length}")
                done += 1
        both = Ints(device, numbers(RANK, length))
        world.Ibcast(both.specification(), root=ROOT).Wait()
        must_be(both.free(), numbers(ROOT, length), f"Ibcast of {length}")
        done += 1
    return done


def mpi_sends_from_devices():
    """Whether the MPI says so."""
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "/libmpi.so" in line}
    for library in libraries:
        query = getattr(ctypes.CDLL(library), "MPIX_Query_cuda_support", None)
        if query is not None:
            return query() == 1
    return False


def messages(device):
    for length in LENGTHS:
        source, target = Ints(device, numbers(RANK, length)), Ints(device, [-1] * length)
        left, right = (RANK - 1) % RANKS, (RANK + 1) % RANKS
        MPI.Request.Waitall([world.Irecv(target.specification(), left), world.Isend(source.specification(), right)])
        source.free()
        must_be(target.free(), numbers(left, length), f"Isend of {length}")


def main():
    device = Device()
    done = collectives(device)
    sends = mpi_sends_from_devices()
    if sends:
        messages(device)
    if RANK == 0:
        print(f"{done} collectives with buffers of {device.count} devices were right;",
              "messages, too" if sends else "the MPI says that it cannot send messages from there")


main()
