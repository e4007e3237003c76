// A double of CUDA's driver library, libcuda.so.1, for tests on machines without a device. It has the
// functions that tests and Lapwing call, written from the documentation of CUDA's driver API, and takes the
// strict side wherever that leaves a choice:
//   - the memory of its devices faults when the processor uses it;
//   - an asynchronous copy happens when its stream is synchronized, not before;
//   - a copy must lie inside one allocation, with the context of that allocation's device and of the stream
//   current;
//   - handles that were destroyed, ranges that are pinned twice, unknown flags and null pointers are errors.
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "device/doubles/control.hpp"
#include "device/doubles/memory.hpp"

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;

namespace {

using doubles::control;

constexpr CUresult success = 0;
constexpr CUresult invalid_value = 1;
constexpr CUresult out_of_memory = 2;
constexpr CUresult not_initialized = 3;
constexpr CUresult invalid_device = 101;
constexpr CUresult invalid_context = 201;
constexpr CUresult invalid_handle = 400;
constexpr CUresult host_memory_already_registered = 712;
constexpr CUresult host_memory_not_registered = 713;

constexpr int devices = 2;

struct Context {
    CUdevice device;
    unsigned long long id;
    int retained = 0;  // of a primary one
};

struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
};

struct Stream {
    Context* context;
    std::vector<Copy> copies;
};

struct Driver {
    bool initialized = false;
    std::deque<Context> all_contexts;  // never destroyed: their addresses stay their own
    std::set<Context*> contexts;       // that exist
    Context* primary[devices] = {};
    std::set<Stream*> streams;
    doubles::DeviceMemory memory;
    doubles::HostRanges pinned;                      // by cuMemHostRegister
    doubles::HostRanges managed;                     // by cuMemAllocManaged
    std::vector<std::unique_ptr<std::byte[]>> host;  // what it has allocated
    unsigned long long next_id = 1;

    ~Driver() {
        for (Stream* const stream : streams) delete stream;
    }
    void* allocate_on_host(std::size_t bytes) {
        host.push_back(std::make_unique<std::byte[]>(bytes));
        return host.back().get();
    }
    // With the context go its streams.
    void forget_streams(const Context* context) {
        std::erase_if(streams, [&](Stream* stream) {
            if (stream->context != context) return false;
            delete stream;
            return true;
        });
    }
    Context* make_context(CUdevice device) {
        all_contexts.push_back({device, next_id++});
        contexts.insert(&all_contexts.back());
        return &all_contexts.back();
    }
};
Driver driver;
thread_local std::vector<Context*> stack;

Context* current() {
    return stack.empty() ? nullptr : stack.back();
}

bool exists(Context* context) {
    return driver.contexts.count(context) > 0;
}

// What every function begins with.
#define BEGIN(function)                                                   \
    const std::lock_guard lock(control.mutex);                            \
    if (const int code = control.call(#function); code != 0) return code; \
    if (!driver.initialized) return not_initialized

#define BEGIN_IN_CONTEXT(function) \
    BEGIN(function);               \
    if (current() == nullptr || !exists(current())) return invalid_context

CUresult attribute(void* value, int which, CUdeviceptr pointer, bool* known) {
    if (value == nullptr) return invalid_value;
    std::uint64_t begin = 0;
    const doubles::Allocation* const allocation = driver.memory.find(pointer, &begin);
    const void* const address = reinterpret_cast<const void*>(pointer);
    const bool managed = driver.managed.find(address);
    const bool pinned = driver.pinned.find(address);
    *known = allocation != nullptr || managed || pinned;
    switch (which) {
        case 1:  // CONTEXT
            *static_cast<void**>(value) = allocation != nullptr ? allocation->context : nullptr;
            return success;
        case 2:  // MEMORY_TYPE: 1 the host's, 2 a device's; managed memory may be either
            *static_cast<unsigned*>(value) = allocation != nullptr || managed ? 2 : pinned ? 1 : 0;
            return success;
        case 8:  // IS_MANAGED
            *static_cast<unsigned*>(value) = managed ? 1 : 0;
            return success;
        case 9:  // DEVICE_ORDINAL
            *static_cast<int*>(value) = allocation != nullptr ? allocation->device : *known ? 0 : -2;
            return success;
        case 11:  // RANGE_START_ADDR
            *static_cast<CUdeviceptr*>(value) = allocation != nullptr ? begin : 0;
            return success;
        case 12:  // RANGE_SIZE
            *static_cast<std::size_t*>(value) = allocation != nullptr ? allocation->bytes : 0;
            return success;
        default:
            return invalid_value;
    }
}

CUresult enqueue(Stream* stream, CUdeviceptr device, std::size_t bytes, void* host, bool to_device) {
    if (driver.streams.count(stream) == 0) return invalid_handle;
    if (stream->context != current()) return invalid_handle;
    if (bytes == 0 || host == nullptr || driver.memory.overlaps(host, bytes)) return invalid_value;
    std::byte* const alias = driver.memory.alias(device, bytes);
    if (alias == nullptr) return invalid_value;
    const doubles::Allocation* const allocation = driver.memory.find(device);
    if (allocation->device != current()->device) return invalid_context;
    if (allocation->context != nullptr && allocation->context != current()) return invalid_context;
    auto* const bytes_of_host = static_cast<std::byte*>(host);
    if (to_device) {
        control.to_device += bytes;
        stream->copies.push_back({alias, bytes_of_host, bytes});
    } else {
        control.to_host += bytes;
        stream->copies.push_back({bytes_of_host, alias, bytes});
    }
    return success;
}

void drain(Stream* stream) {
    for (const Copy& copy : stream->copies) __builtin_memcpy(copy.to, copy.from, copy.bytes);
    stream->copies.clear();
}

CUresult copy_now(CUdeviceptr device, std::size_t bytes, void* host, bool to_device) {
    std::byte* const alias = driver.memory.alias(device, bytes);
    if (alias == nullptr || host == nullptr || driver.memory.overlaps(host, bytes)) return invalid_value;
    __builtin_memcpy(to_device ? alias : host, to_device ? host : alias, bytes);
    return success;
}

CUresult allocate(CUdeviceptr* pointer, std::size_t bytes, Context* context) {
    if (pointer == nullptr || bytes == 0) return invalid_value;
    *pointer = driver.memory.allocate(bytes, context, current()->device);
    return *pointer != 0 ? success : out_of_memory;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned flags) {
    const std::lock_guard lock(control.mutex);
    if (const int code = control.call("cuInit"); code != 0) return code;
    if (flags != 0) return invalid_value;
    driver.initialized = true;
    return success;
}

CUresult cuDeviceGetCount(int* count) {
    BEGIN(cuDeviceGetCount);
    if (count == nullptr) return invalid_value;
    *count = devices;
    return success;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    BEGIN(cuDevicePrimaryCtxGetState);
    if (device < 0 || device >= devices) return invalid_device;
    if (flags == nullptr || active == nullptr) return invalid_value;
    *flags = 0;
    *active = driver.primary[device] != nullptr ? 1 : 0;
    return success;
}

CUresult cuDevicePrimaryCtxRetain(Context** context, CUdevice device) {
    BEGIN(cuDevicePrimaryCtxRetain);
    if (device < 0 || device >= devices) return invalid_device;
    if (context == nullptr) return invalid_value;
    Context*& primary = driver.primary[device];
    if (primary == nullptr) primary = driver.make_context(device);
    ++primary->retained;
    *context = primary;
    return success;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    BEGIN(cuDevicePrimaryCtxRelease_v2);
    if (device < 0 || device >= devices) return invalid_device;
    Context*& primary = driver.primary[device];
    if (primary == nullptr) return invalid_context;
    if (--primary->retained == 0) {
        driver.contexts.erase(primary);
        driver.forget_streams(primary);
        primary = nullptr;
    }
    return success;
}

CUresult cuCtxCreate_v2(Context** context, unsigned flags, CUdevice device) {
    BEGIN(cuCtxCreate_v2);
    if (device < 0 || device >= devices) return invalid_device;
    if (context == nullptr || flags != 0) return invalid_value;
    *context = driver.make_context(device);
    stack.push_back(*context);
    return success;
}

CUresult cuCtxDestroy_v2(Context* context) {
    BEGIN(cuCtxDestroy_v2);
    if (!exists(context) || context == driver.primary[context->device]) return invalid_context;
    driver.contexts.erase(context);
    driver.forget_streams(context);
    if (current() == context) stack.pop_back();
    return success;
}

CUresult cuCtxPushCurrent_v2(Context* context) {
    BEGIN(cuCtxPushCurrent_v2);
    if (!exists(context)) return invalid_context;
    stack.push_back(context);
    return success;
}

CUresult cuCtxPopCurrent_v2(Context** context) {
    BEGIN(cuCtxPopCurrent_v2);
    if (stack.empty()) return invalid_context;
    if (context != nullptr) *context = stack.back();
    stack.pop_back();
    return success;
}

CUresult cuCtxGetCurrent(Context** context) {
    BEGIN(cuCtxGetCurrent);
    if (context == nullptr) return invalid_value;
    *context = current();
    return success;
}

CUresult cuCtxSetCurrent(Context* context) {
    BEGIN(cuCtxSetCurrent);
    if (context != nullptr && !exists(context)) return invalid_context;
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return success;
}

CUresult cuCtxGetId(Context* context, unsigned long long* id) {
    BEGIN(cuCtxGetId);
    if (!exists(context)) return invalid_context;
    if (id == nullptr) return invalid_value;
    *id = context->id;
    return success;
}

CUresult cuStreamCreate(Stream** stream, unsigned flags) {
    BEGIN_IN_CONTEXT(cuStreamCreate);
    if (stream == nullptr || flags > 1) return invalid_value;
    *stream = new Stream{current(), {}};
    driver.streams.insert(*stream);
    return success;
}

CUresult cuStreamDestroy_v2(Stream* stream) {
    BEGIN(cuStreamDestroy_v2);
    if (driver.streams.erase(stream) == 0) return invalid_handle;
    drain(stream);
    delete stream;
    return success;
}

CUresult cuStreamSynchronize(Stream* stream) {
    BEGIN_IN_CONTEXT(cuStreamSynchronize);
    if (driver.streams.count(stream) == 0 || stream->context != current()) return invalid_handle;
    drain(stream);
    return success;
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
    BEGIN_IN_CONTEXT(cuMemAlloc_v2);
    return allocate(pointer, bytes, current());
}

// From a pool: of the device, not of a context.
CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, Stream* stream) {
    BEGIN_IN_CONTEXT(cuMemAllocAsync);
    if (driver.streams.count(stream) == 0) return invalid_handle;
    return allocate(pointer, bytes, nullptr);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
    BEGIN_IN_CONTEXT(cuMemFree_v2);
    return driver.memory.free(pointer) ? success : invalid_value;
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned flags) {
    BEGIN_IN_CONTEXT(cuMemAllocManaged);
    if (pointer == nullptr || bytes == 0 || (flags != 1 && flags != 2)) return invalid_value;
    void* const memory = driver.allocate_on_host(bytes);
    driver.managed.add(memory, bytes);
    *pointer = reinterpret_cast<CUdeviceptr>(memory);
    return success;
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
    BEGIN_IN_CONTEXT(cuMemHostAlloc);
    if (pointer == nullptr || bytes == 0 || flags > 7) return invalid_value;
    *pointer = driver.allocate_on_host(bytes);
    driver.pinned.add(*pointer, bytes);
    return success;
}

CUresult cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
    BEGIN_IN_CONTEXT(cuMemHostRegister_v2);
    if (pointer == nullptr || bytes == 0 || flags > 15) return invalid_value;
    if (driver.memory.overlaps(pointer, bytes)) return invalid_value;
    return driver.pinned.add(pointer, bytes) ? success : host_memory_already_registered;
}

CUresult cuMemHostUnregister(void* pointer) {
    BEGIN_IN_CONTEXT(cuMemHostUnregister);
    return driver.pinned.remove(pointer) ? success : host_memory_not_registered;
}

CUresult cuMemcpyDtoHAsync_v2(void* host, CUdeviceptr device, std::size_t bytes, Stream* stream) {
    BEGIN_IN_CONTEXT(cuMemcpyDtoHAsync_v2);
    return enqueue(stream, device, bytes, host, false);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr device, const void* host, std::size_t bytes, Stream* stream) {
    BEGIN_IN_CONTEXT(cuMemcpyHtoDAsync_v2);
    return enqueue(stream, device, bytes, const_cast<void*>(host), true);
}

CUresult cuMemcpyDtoH_v2(void* host, CUdeviceptr device, std::size_t bytes) {
    BEGIN_IN_CONTEXT(cuMemcpyDtoH_v2);
    return copy_now(device, bytes, host, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr device, const void* host, std::size_t bytes) {
    BEGIN_IN_CONTEXT(cuMemcpyHtoD_v2);
    return copy_now(device, bytes, const_cast<void*>(host), true);
}

CUresult cuPointerGetAttributes(unsigned count, int* which, void** values, CUdeviceptr pointer) {
    BEGIN(cuPointerGetAttributes);
    if (control.demands_context && current() == nullptr) return invalid_context;
    if (count == 0 || which == nullptr || values == nullptr) return invalid_value;
    // Of a pointer that it does not know it says nothing, without an error.
    for (unsigned i = 0; i < count; ++i) {
        bool known = false;
        if (const CUresult result = attribute(values[i], which[i], pointer, &known); result != success)
            return result;
    }
    return success;
}

CUresult cuPointerGetAttribute(void* value, int which, CUdeviceptr pointer) {
    BEGIN(cuPointerGetAttribute);
    if (control.demands_context && current() == nullptr) return invalid_context;
    bool known = false;
    const CUresult result = attribute(value, which, pointer, &known);
    return result == success && !known ? invalid_value : result;
}

CUresult cuPointerSetAttribute(const void* value, int which, CUdeviceptr pointer) {
    BEGIN(cuPointerSetAttribute);
    constexpr int sync_memops = 6;
    if (value == nullptr || which != sync_memops) return invalid_value;
    const doubles::Allocation* const allocation = driver.memory.find(pointer);
    return allocation != nullptr && allocation->context != nullptr ? success : invalid_value;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
    if (name == nullptr) return invalid_value;
    static const std::map<CUresult, const char*> names = {
        {success, "CUDA_SUCCESS"},
        {invalid_value, "CUDA_ERROR_INVALID_VALUE"},
        {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
        {not_initialized, "CUDA_ERROR_NOT_INITIALIZED"},
        {invalid_device, "CUDA_ERROR_INVALID_DEVICE"},
        {invalid_context, "CUDA_ERROR_INVALID_CONTEXT"},
        {invalid_handle, "CUDA_ERROR_INVALID_HANDLE"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {host_memory_already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
        {host_memory_not_registered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"}};
    const auto found = names.find(error);
    *name = found == names.end() ? nullptr : found->second;
    return *name == nullptr ? invalid_value : success;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
    if (cuGetErrorName(error, text) != success) return invalid_value;
    *text = "by the double of the driver";
    return success;
}

}  // extern "C"
