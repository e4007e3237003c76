// A double of ROCm's HIP runtime, libamdhip64.so.5 or .6, for tests on machines without a device. As strict
// as the double of CUDA's driver (cuda.cpp): what the processor may not use faults, and copies happen when
// their stream is synchronized. What changed with ROCm 6 is by LAPWING_DOUBLE_ROCM: the numbers of the types
// of memory.
#include <memory>
#include <set>
#include <vector>

#include "device/doubles/control.hpp"
#include "device/doubles/memory.hpp"

using hipError_t = int;

namespace {

using doubles::control;

constexpr hipError_t success = 0;
constexpr hipError_t invalid_value = 1;
constexpr hipError_t out_of_memory = 2;
constexpr hipError_t invalid_device = 101;
constexpr hipError_t invalid_handle = 400;
constexpr hipError_t host_memory_already_registered = 712;
constexpr hipError_t host_memory_not_registered = 713;

#if LAPWING_DOUBLE_ROCM == 5
constexpr int host_type = 0;
constexpr int device_type = 1;
constexpr int version = 50'422'804;
#else
constexpr int host_type = 1;
constexpr int device_type = 2;
constexpr int version = 60'032'830;
#endif

constexpr int devices = 2;

struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
};

struct Stream {
    int device;
    std::vector<Copy> copies;
};

struct Attributes {
    int type;
    int device;
    void* devicePointer;
    void* hostPointer;
    int isManaged;
    unsigned allocationFlags;
};

struct Runtime {
    doubles::DeviceMemory memory;
    doubles::HostRanges pinned;
    doubles::HostRanges managed;
    std::set<Stream*> streams;
    std::vector<std::unique_ptr<std::byte[]>> host;  // what it has allocated
    ~Runtime() {
        for (Stream* const stream : streams) delete stream;
    }
};
Runtime hip;
thread_local int current = 0;
thread_local hipError_t last_error = success;

// Every function leaves its error for hipGetLastError().
hipError_t told(hipError_t error) {
    if (error != success) last_error = error;
    return error;
}

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
}

#define BEGIN(function)                        \
    const std::lock_guard lock(control.mutex); \
    if (const int code = control.call(#function); code != 0) return told(code)

}  // namespace

extern "C" {

hipError_t hipRuntimeGetVersion(int* result) {
    BEGIN(hipRuntimeGetVersion);
    if (result == nullptr) return told(invalid_value);
    *result = version;
    return success;
}

hipError_t hipGetDevice(int* device) {
    BEGIN(hipGetDevice);
    if (device == nullptr) return told(invalid_value);
    *device = current;
    return success;
}

hipError_t hipSetDevice(int device) {
    BEGIN(hipSetDevice);
    if (device < 0 || device >= devices) return told(invalid_device);
    current = device;
    return success;
}

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
    BEGIN(hipMalloc);
    if (pointer == nullptr || bytes == 0) return told(invalid_value);
    *pointer = reinterpret_cast<void*>(hip.memory.allocate(bytes, nullptr, current));
    return *pointer != nullptr ? success : told(out_of_memory);
}

hipError_t hipFree(void* pointer) {
    BEGIN(hipFree);
    return hip.memory.free(number(pointer)) ? success : told(invalid_value);
}

hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
    BEGIN(hipMallocManaged);
    if (pointer == nullptr || bytes == 0 || flags != 1) return told(invalid_value);
    hip.host.push_back(std::make_unique<std::byte[]>(bytes));
    *pointer = hip.host.back().get();
    hip.managed.add(*pointer, bytes);
    return success;
}

hipError_t hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
    BEGIN(hipHostRegister);
    if (pointer == nullptr || bytes == 0 || flags > 15 || hip.memory.overlaps(pointer, bytes))
        return told(invalid_value);
    return hip.pinned.add(pointer, bytes) ? success : told(host_memory_already_registered);
}

hipError_t hipHostUnregister(void* pointer) {
    BEGIN(hipHostUnregister);
    return hip.pinned.remove(pointer) ? success : told(host_memory_not_registered);
}

hipError_t hipPointerGetAttributes(Attributes* attributes, const void* pointer) {
    BEGIN(hipPointerGetAttributes);
    if (attributes == nullptr) return told(invalid_value);
    const doubles::Allocation* const allocation = hip.memory.find(number(pointer));
    if (allocation != nullptr) {
        *attributes = {device_type, allocation->device, const_cast<void*>(pointer), nullptr, 0, 0};
    } else if (hip.managed.find(pointer)) {
        *attributes = {device_type, 0, const_cast<void*>(pointer), const_cast<void*>(pointer), 1, 0};
    } else if (hip.pinned.find(pointer)) {
        *attributes = {host_type, 0, const_cast<void*>(pointer), const_cast<void*>(pointer), 0, 0};
    } else {
        return told(invalid_value);
    }
    return success;
}

hipError_t hipMemGetAddressRange(void** begin, std::size_t* bytes, void* pointer) {
    BEGIN(hipMemGetAddressRange);
    std::uint64_t found = 0;
    const doubles::Allocation* const allocation = hip.memory.find(number(pointer), &found);
    if (allocation == nullptr || begin == nullptr || bytes == nullptr) return told(invalid_value);
    *begin = reinterpret_cast<void*>(found);
    *bytes = allocation->bytes;
    return success;
}

hipError_t hipStreamCreateWithFlags(Stream** stream, unsigned flags) {
    BEGIN(hipStreamCreateWithFlags);
    if (stream == nullptr || flags > 1) return told(invalid_value);
    *stream = new Stream{current, {}};
    hip.streams.insert(*stream);
    return success;
}

hipError_t hipStreamSynchronize(Stream* stream) {
    BEGIN(hipStreamSynchronize);
    if (hip.streams.count(stream) == 0) return told(invalid_handle);
    for (const Copy& copy : stream->copies) __builtin_memcpy(copy.to, copy.from, copy.bytes);
    stream->copies.clear();
    return success;
}

hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, Stream* stream) {
    BEGIN(hipMemcpyAsync);
    if (hip.streams.count(stream) == 0 || stream->device != current) return told(invalid_handle);
    const bool to_device = kind == 1;
    if ((kind != 1 && kind != 2) || bytes == 0) return told(invalid_value);
    const void* const host = to_device ? from : to;
    const std::uint64_t device = number(to_device ? to : from);
    std::byte* const alias = hip.memory.alias(device, bytes);
    if (alias == nullptr || host == nullptr || hip.memory.overlaps(host, bytes)) return told(invalid_value);
    if (hip.memory.find(device)->device != current) return told(invalid_device);
    (to_device ? control.to_device : control.to_host) += bytes;
    if (to_device)
        stream->copies.push_back({alias, static_cast<const std::byte*>(from), bytes});
    else
        stream->copies.push_back({static_cast<std::byte*>(to), alias, bytes});
    return success;
}

hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
    BEGIN(hipMemcpy);
    std::byte* const alias = hip.memory.alias(number(kind == 1 ? to : from), bytes);
    if (alias == nullptr || (kind != 1 && kind != 2)) return told(invalid_value);
    __builtin_memcpy(kind == 1 ? alias : to, kind == 1 ? from : alias, bytes);
    return success;
}

hipError_t hipPeekAtLastError(void) {
    return last_error;
}

hipError_t hipGetLastError(void) {
    const hipError_t error = last_error;
    last_error = success;
    return error;
}

const char* hipGetErrorName(hipError_t error) {
    return error == invalid_value ? "hipErrorInvalidValue"
           : error == success     ? "hipSuccess"
                                  : "hipErrorUnknown";
}

const char* hipGetErrorString(hipError_t) {
    return "by the double of the runtime";
}

}  // extern "C"
