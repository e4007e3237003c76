// A double of CUDA's driver library, libcuda.so.1, for tests on machines without a device. It has the
// functions that tests and Lapwing call, written from the documentation of CUDA's driver API, and takes the
// strict side wherever that leaves a choice:
//   - the memory of its devices faults when the processor uses it;
//   - an asynchronous copy happens when its stream is synchronized, not before;
//   - a copy must lie inside one allocation, with the context of that allocation's device and of the stream
//   current;
//   - handles that were destroyed, ranges that are pinned twice, unknown flags and null pointers are errors.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device/doubles/double.h"

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;

namespace {

// Counts of calls, and errors on demand.
struct Failure {
    int code = 0;
    int times = 0;
};

// One lock for all of a double, whose functions may call each other.
struct Control {
    std::recursive_mutex mutex;
    std::map<std::string, unsigned long long> calls;
    std::map<std::string, Failure> failures;
    unsigned long long to_host = 0;
    unsigned long long to_device = 0;
    bool demands_context = false;

    // Counts a call; the error that it shall fail with, or 0.
    int call(const char* function) {
        ++calls[function];
        Failure& failure = failures[function];
        if (failure.times == 0) return 0;
        --failure.times;
        return failure.code;
    }
};
Control control;

// An allocation has two mappings of one memfd: the address that the program gets, which the processor may
// neither read nor write, and another one, through which the double's copies go. So whoever uses a device's
// pointer as a host pointer faults.
struct Allocation {
    std::uint64_t bytes = 0;  // as asked for; the mappings are whole pages
    std::byte* alias = nullptr;
    void* context = nullptr;
    int device = 0;
    std::uint64_t mapped = 0;
};

class DeviceMemory {
  public:
    // 0 when there is none.
    std::uint64_t allocate(std::uint64_t bytes, void* context, int device) {
        const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        const std::uint64_t mapped = (bytes + page - 1) / page * page;
        const int memory = ::memfd_create("device double", MFD_CLOEXEC);
        if (memory < 0) return 0;
        void* device_address = MAP_FAILED;
        void* alias = MAP_FAILED;
        if (::ftruncate(memory, static_cast<off_t>(mapped)) == 0) {
            device_address = ::mmap(nullptr, mapped, PROT_NONE, MAP_SHARED, memory, 0);
            alias = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
        }
        ::close(memory);
        if (device_address == MAP_FAILED || alias == MAP_FAILED) return 0;
        const auto address = reinterpret_cast<std::uint64_t>(device_address);
        all_[address] = {bytes, static_cast<std::byte*>(alias), context, device, mapped};
        return address;
    }

    // False when it is not the beginning of an allocation.
    bool free(std::uint64_t address) {
        const auto found = all_.find(address);
        if (found == all_.end()) return false;
        ::munmap(reinterpret_cast<void*>(address), found->second.mapped);
        ::munmap(found->second.alias, found->second.mapped);
        all_.erase(found);
        return true;
    }

    // The allocation that an address is in, with its beginning; null when there is none.
    const Allocation* find(std::uint64_t address, std::uint64_t* begin = nullptr) const {
        auto after = all_.upper_bound(address);
        if (after == all_.begin()) return nullptr;
        --after;
        if (address >= after->first + after->second.bytes) return nullptr;
        if (begin != nullptr) *begin = after->first;
        return &after->second;
    }

    // Where the processor finds a range that lies inside one allocation; null when it does not.
    std::byte* alias(std::uint64_t address, std::uint64_t bytes) const {
        std::uint64_t begin = 0;
        const Allocation* const in = find(address, &begin);
        if (in == nullptr || address - begin + bytes > in->bytes) return nullptr;
        return in->alias + (address - begin);
    }

    bool overlaps(const void* host, std::uint64_t bytes) const {
        const auto begin = reinterpret_cast<std::uint64_t>(host);
        for (const auto& [address, allocation] : all_)
            if (begin < address + allocation.mapped && address < begin + bytes) return true;
        return false;
    }

  private:
    std::map<std::uint64_t, Allocation> all_;
};

// Host memory that the driver knows: pinned or managed.
class HostRanges {
  public:
    bool add(const void* address, std::uint64_t bytes) {
        if (find(address) || find(static_cast<const std::byte*>(address) + bytes - 1)) return false;
        all_[reinterpret_cast<std::uint64_t>(address)] = bytes;
        return true;
    }
    bool remove(const void* address) { return all_.erase(reinterpret_cast<std::uint64_t>(address)) > 0; }
    bool find(const void* address) const {
        const auto at = reinterpret_cast<std::uint64_t>(address);
        auto after = all_.upper_bound(at);
        return after != all_.begin() && at < (--after)->first + after->second;
    }

  private:
    std::map<std::uint64_t, std::uint64_t> all_;
};

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
    DeviceMemory memory;
    HostRanges pinned;                               // by cuMemHostRegister
    HostRanges managed;                              // by cuMemAllocManaged
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

// Of a pointer that it does not know it says nothing, without an error.
CUresult attribute(void* value, int which, CUdeviceptr pointer) {
    if (value == nullptr) return invalid_value;
    std::uint64_t begin = 0;
    const Allocation* const in = driver.memory.find(pointer, &begin);
    const void* const address = reinterpret_cast<const void*>(pointer);
    const bool managed = driver.managed.find(address);
    const bool pinned = driver.pinned.find(address);
    const auto give = [value](auto what) {
        *static_cast<decltype(what)*>(value) = what;
        return success;
    };
    if (which == 1) return give(in != nullptr ? in->context : nullptr);  // CONTEXT
    // MEMORY_TYPE: 1 the host's, 2 a device's; managed memory may be either
    if (which == 2) return give(in != nullptr || managed ? 2U : pinned ? 1U : 0U);
    if (which == 8) return give(managed ? 1U : 0U);  // IS_MANAGED
    // DEVICE_ORDINAL
    if (which == 9) return give(in != nullptr ? in->device : managed || pinned ? 0 : -2);
    if (which == 11) return give(in != nullptr ? begin : CUdeviceptr{0});      // RANGE_START_ADDR
    if (which == 12) return give(in != nullptr ? std::size_t{in->bytes} : 0);  // RANGE_SIZE
    return invalid_value;
}

CUresult enqueue(Stream* stream, CUdeviceptr device, std::size_t bytes, void* host, bool to_device) {
    if (driver.streams.count(stream) == 0) return invalid_handle;
    if (stream->context != current()) return invalid_handle;
    if (bytes == 0 || host == nullptr || driver.memory.overlaps(host, bytes)) return invalid_value;
    std::byte* const alias = driver.memory.alias(device, bytes);
    if (alias == nullptr) return invalid_value;
    const Allocation* const allocation = driver.memory.find(device);
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
    for (unsigned i = 0; i < count; ++i)
        if (const CUresult result = attribute(values[i], which[i], pointer); result != success) return result;
    return success;
}

CUresult cuPointerSetAttribute(const void* value, int which, CUdeviceptr pointer) {
    BEGIN(cuPointerSetAttribute);
    constexpr int sync_memops = 6;
    if (value == nullptr || which != sync_memops) return invalid_value;
    const Allocation* const allocation = driver.memory.find(pointer);
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

unsigned long long lapwing_double_calls(const char* function) {
    const std::lock_guard lock(control.mutex);
    return control.calls[function];
}
unsigned long long lapwing_double_bytes_to_host(void) {
    const std::lock_guard lock(control.mutex);
    return control.to_host;
}
unsigned long long lapwing_double_bytes_to_device(void) {
    const std::lock_guard lock(control.mutex);
    return control.to_device;
}
void lapwing_double_fail(const char* function, int code, int times) {
    const std::lock_guard lock(control.mutex);
    control.failures[function] = {code, times};
}
void lapwing_double_demand_context(int demanded) {
    const std::lock_guard lock(control.mutex);
    control.demands_context = demanded != 0;
}

}  // extern "C"
