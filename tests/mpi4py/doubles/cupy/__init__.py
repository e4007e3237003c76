"""A double of CuPy, as far as mpi4py's tests use it: arrays in the memory of the double of CUDA's driver (tests/device/doubles),
which the processor may not touch. It moves elements by the driver's own copies only."""

import ctypes
import os
import struct

__version__ = "10.0.0"  # of the CuPy that it acts as: one without booleans

_driver = ctypes.CDLL(os.environ["CUDA_DOUBLE"])


def _must(result):
    if result != 0:
        raise RuntimeError(f"the driver's double refuses: error {result}")


_must(_driver.cuInit(0))
_context = ctypes.c_void_p()
_must(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(_context), 0))
_must(_driver.cuCtxSetCurrent(_context))

_COMPLEX = {"F": "f", "D": "d"}
_KINDS = {"b": "i", "h": "i", "i": "i", "l": "i", "q": "i", "B": "u", "H": "u", "I": "u", "L": "u", "Q": "u",
          "f": "f", "d": "f", "F": "c", "D": "c"}


class dtype:  # noqa: N801
    def __init__(self, char):
        if char not in _KINDS:
            raise ValueError(f"no arrays of type {char}")
        self.char = char
        self.format = _COMPLEX[char] * 2 if char in _COMPLEX else char
        self.itemsize = struct.calcsize(self.format)

    def pack(self, value):
        if self.char in _COMPLEX:
            value = complex(value)
            return struct.pack(self.format, value.real, value.imag)
        if self.char in "fd":
            return struct.pack(self.format, value)
        return (int(value) % (1 << 8 * self.itemsize)).to_bytes(self.itemsize, "little")  # as C converts

    def unpack(self, data):
        values = struct.unpack(self.format, data)
        return complex(*values) if self.char in _COMPLEX else values[0]


class _Memory:
    def __init__(self, size):
        pointer = ctypes.c_uint64()
        _must(_driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(size, 1))))
        self.address = pointer.value

    def __del__(self):
        _driver.cuMemFree_v2(ctypes.c_uint64(self.address))


class ndarray:  # noqa: N801
    """Its elements are numbered through all dimensions."""

    def __init__(self, shape, typecode):
        self.shape = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
        self.dtype = dtype(typecode)
        self.size = 1
        for extent in self.shape:
            self.size *= extent
        self._memory = _Memory(self.size * self.itemsize)
        self.fill(0)

    @property
    def itemsize(self):
        return self.dtype.itemsize

    typecode = property(lambda self: self.dtype.char)

    def buffer_info(self):
        return self._memory.address, self.size

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "shape": self.shape, "strides": None,
                "typestr": f"{'|' if self.itemsize == 1 else '<'}{_KINDS[self.dtype.char]}{self.itemsize}",
                "data": (self._memory.address if self.size else 0, False)}

    def __len__(self):
        return self.shape[0]

    def _place(self, index):
        if not -self.size <= index < self.size:
            raise IndexError(index)
        return ctypes.c_uint64(self._memory.address + index % self.size * self.itemsize)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        data = ctypes.create_string_buffer(self.itemsize)
        _must(_driver.cuMemcpyDtoH_v2(data, self._place(index), ctypes.c_size_t(self.itemsize)))
        return self.dtype.unpack(data.raw)

    def _write(self, data):
        if data:
            _must(_driver.cuMemcpyHtoD_v2(self._place(0), data, ctypes.c_size_t(len(data))))

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            if index != slice(None):
                raise IndexError("all elements or one")
            values = [value[i] for i in range(value.size if isinstance(value, ndarray) else len(value))]
            if len(values) != self.size:
                raise ValueError("another number of elements")
            self._write(b"".join(self.dtype.pack(one) for one in values))
        else:
            data = self.dtype.pack(value)
            _must(_driver.cuMemcpyHtoD_v2(self._place(index), data, ctypes.c_size_t(len(data))))

    def fill(self, value):
        self._write(self.dtype.pack(value) * self.size)

    def ravel(self):
        return self

    def toDlpack(self):  # noqa: N802
        import dlpackimpl
        managed = dlpackimpl.make_dl_managed_tensor(self)
        managed.dl_tensor.device = dlpackimpl.DLDevice(dlpackimpl.DLDeviceType.kDLCUDA, 0)
        return dlpackimpl.make_py_capsule(managed)

    class device:  # noqa: N801
        id = 0


def zeros(shape, typecode):
    return ndarray(shape, typecode)


def array(values, typecode):
    made = ndarray(() if isinstance(values, (int, float, complex)) else len(values), typecode)
    if made.shape:
        made[:] = values
    else:
        made.fill(values)
    return made


def asarray(values, typecode):
    return array(values, typecode)


class _Stream:
    @staticmethod
    def synchronize():
        """Does nothing: every call of the double returns when it is complete."""


class cuda:  # noqa: N801
    @staticmethod
    def get_current_stream():
        return _Stream

    class runtime:  # noqa: N801
        is_hip = False
