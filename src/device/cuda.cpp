// CUDA, by its driver API. What is declared here follows the documentation of CUDA's driver API; its names
// are kept.
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "device/driver.hpp"
#include "device/functions.hpp"

namespace lapwing::device {
namespace {

using CUresult = int;
using CUcontext = void*;
using CUstream = void*;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;

constexpr CUresult CUDA_SUCCESS = 0;
constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
constexpr CUresult CUDA_ERROR_NOT_INITIALIZED = 3;
constexpr CUresult CUDA_ERROR_DEINITIALIZED = 4;
constexpr CUresult CUDA_ERROR_INVALID_CONTEXT = 201;

constexpr int CU_POINTER_ATTRIBUTE_CONTEXT = 1;
constexpr int CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2;
constexpr int CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6;
constexpr int CU_POINTER_ATTRIBUTE_IS_MANAGED = 8;
constexpr int CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;
constexpr int CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11;
constexpr int CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12;

constexpr unsigned CU_MEMORYTYPE_DEVICE = 2;
constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
constexpr unsigned CU_MEMHOSTREGISTER_PORTABLE = 1;

CUdeviceptr as_number(const void* address) {
    return reinterpret_cast<CUdeviceptr>(address);
}

struct Functions {
    CUresult (*pointer_get)(unsigned, int*, void**, CUdeviceptr);
    CUresult (*pointer_set)(const void*, int, CUdeviceptr);
    CUresult (*push)(CUcontext);
    CUresult (*pop)(CUcontext*);
    CUresult (*context_id)(CUcontext, unsigned long long*);  // null before CUDA 12
    CUresult (*device_count)(int*);
    CUresult (*primary_state)(CUdevice, unsigned*, int*);
    CUresult (*primary_retain)(CUcontext*, CUdevice);
    CUresult (*primary_release)(CUdevice);
    CUresult (*stream_create)(CUstream*, unsigned);
    CUresult (*stream_destroy)(CUstream);
    CUresult (*stream_wait)(CUstream);
    CUresult (*to_host)(void*, CUdeviceptr, std::size_t, CUstream);
    CUresult (*to_device)(CUdeviceptr, const void*, std::size_t, CUstream);
    CUresult (*host_register)(void*, std::size_t, unsigned);
    CUresult (*host_unregister)(void*);
    CUresult (*error_name)(CUresult, const char**);
    CUresult (*error_string)(CUresult, const char**);

    bool find(void* library) {
        find_function(library, "cuCtxGetId", context_id);
        return find_function(library, "cuPointerGetAttributes", pointer_get) &&
               find_function(library, "cuPointerSetAttribute", pointer_set) &&
               find_function(library, "cuCtxPushCurrent_v2", push) &&
               find_function(library, "cuCtxPopCurrent_v2", pop) &&
               find_function(library, "cuDeviceGetCount", device_count) &&
               find_function(library, "cuDevicePrimaryCtxGetState", primary_state) &&
               find_function(library, "cuDevicePrimaryCtxRetain", primary_retain) &&
               (find_function(library, "cuDevicePrimaryCtxRelease_v2", primary_release) ||
                find_function(library, "cuDevicePrimaryCtxRelease", primary_release)) &&
               find_function(library, "cuStreamCreate", stream_create) &&
               find_function(library, "cuStreamDestroy_v2", stream_destroy) &&
               find_function(library, "cuStreamSynchronize", stream_wait) &&
               find_function(library, "cuMemcpyDtoHAsync_v2", to_host) &&
               find_function(library, "cuMemcpyHtoDAsync_v2", to_device) &&
               find_function(library, "cuMemHostRegister_v2", host_register) &&
               find_function(library, "cuMemHostUnregister", host_unregister) &&
               find_function(library, "cuGetErrorName", error_name) &&
               find_function(library, "cuGetErrorString", error_string);
    }
};

class CudaDriver final : public Driver {
  public:
    explicit CudaDriver(const Functions& functions) : cuda_(functions) {}

    const char* name() const override { return "CUDA"; }

    Place find(const void* address) override {
        unsigned type = 0;
        unsigned managed = 0;
        Place place;
        place.device = -1;
        std::array<int, 4> which = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
        std::array<void*, 4> values = {&type, &managed, &place.context, &place.device};
        const auto ask = [&] {
            return cuda_.pointer_get(4, which.data(), values.data(), as_number(address));
        };
        CUresult result = ask();
        if (result == CUDA_ERROR_INVALID_CONTEXT) result = in_some_context(ask);
        // Nobody can have memory of a device before the driver has begun.
        if (result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_DEINITIALIZED ||
            result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_CONTEXT) {
            return {};
        }
        check(result, "cuPointerGetAttributes");
        if (type != CU_MEMORYTYPE_DEVICE || managed != 0) return {};
        place.driver = this;
        std::size_t bytes = 0;
        std::array<int, 2> range = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
        std::array<void*, 2> ends = {&place.begin, &bytes};
        // Drivers before CUDA 10.2 do not know these.
        if (cuda_.pointer_get(2, range.data(), ends.data(), as_number(address)) == CUDA_SUCCESS && bytes > 0)
            place.end = place.begin + bytes;
        else
            place.begin = 0;
        // The program's next cudaMemset and the like of this memory shall be complete when they return: the
        // stream of these copies does not wait for others. Refused for some kinds of memory, where nothing
        // can be done.
        const unsigned yes = 1;
        cuda_.pointer_set(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as_number(address));
        return place;
    }

    OpenCopies open_copies(const Place& place) override {
        OpenCopies open;
        enter(place, open);
        try {
            open.stream = stream_of(open);
        } catch (...) {
            leave(place, open);
            throw;
        }
        return open;
    }
    void to_host(const OpenCopies& open, std::byte* host, const void* address, std::uint64_t bytes) override {
        check(cuda_.to_host(host, as_number(address), bytes, open.stream), "cuMemcpyDtoHAsync", bytes);
    }
    void to_device(const OpenCopies& open, void* address, const std::byte* host,
                   std::uint64_t bytes) override {
        check(cuda_.to_device(as_number(address), host, bytes, open.stream), "cuMemcpyHtoDAsync", bytes);
    }
    void wait(const OpenCopies& open) override {
        check(cuda_.stream_wait(open.stream), "cuStreamSynchronize");
    }
    void close_copies(const Place& place, const OpenCopies& open) noexcept override {
        if (open.owns_stream) cuda_.stream_destroy(open.stream);
        leave(place, open);
    }

    bool pin(const Place& place, void* memory, std::uint64_t bytes) noexcept override {
        try {
            OpenCopies open;
            enter(place, open);
            const CUresult result = cuda_.host_register(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
            leave(place, open);
            return result == CUDA_SUCCESS;
        } catch (const Error&) {
            return false;
        }
    }
    void unpin(void* memory) noexcept override {
        in_some_context([&] { return cuda_.host_unregister(memory); });
    }

  private:
    struct Stream {
        CUcontext context;
        unsigned long long id;
        CUstream stream;
    };

    void check(CUresult result, const char* function, std::uint64_t bytes = 0) const {
        if (result == CUDA_SUCCESS) return;
        const char* name = nullptr;
        const char* meaning = nullptr;
        cuda_.error_name(result, &name);
        cuda_.error_string(result, &meaning);
        throw Error(ErrorCode::system, fmt::format("{}{}: {} ({})", function,
                                                   bytes > 0 ? fmt::format(" of {} bytes", bytes) : "",
                                                   name != nullptr ? name : std::to_string(result).c_str(),
                                                   meaning != nullptr ? meaning : "unknown to the driver"));
    }

    // Memory from pools and mapped memory belong to a device, not to a context: its primary one will do.
    void enter(const Place& place, OpenCopies& open) {
        open.context = place.context;
        if (open.context == nullptr) {
            check(cuda_.primary_retain(&open.context, place.device), "cuDevicePrimaryCtxRetain");
            open.holds_primary = true;
        }
        const CUresult result = cuda_.push(open.context);
        if (result == CUDA_SUCCESS) return;
        if (open.holds_primary) cuda_.primary_release(place.device);
        check(result, "cuCtxPushCurrent");
    }
    void leave(const Place& place, const OpenCopies& open) noexcept {
        CUcontext popped = nullptr;
        cuda_.pop(&popped);
        if (open.holds_primary) cuda_.primary_release(place.device);
    }

    // A stream of Lapwing's, which neither waits for the program's streams nor makes them wait. One is kept
    // for each context, by its number: a later context may have the address of one that is gone, and its
    // streams went with it.
    CUstream stream_of(OpenCopies& open) {
        unsigned long long id = 0;
        const bool numbered =
            cuda_.context_id != nullptr && cuda_.context_id(open.context, &id) == CUDA_SUCCESS;
        const std::lock_guard lock(mutex_);
        if (numbered) {
            for (const Stream& known : streams_) {
                if (known.context == open.context && known.id == id) return known.stream;
            }
        }
        CUstream made = nullptr;
        check(cuda_.stream_create(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        if (numbered)
            streams_.push_back({open.context, id, made});
        else
            open.owns_stream = true;
        return made;
    }

    // In a thread without a context: a device's primary one, if any is in use.
    template <typename Call>
    CUresult in_some_context(Call call) noexcept {
        int devices = 0;
        if (cuda_.device_count(&devices) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
        for (CUdevice device = 0; device < devices; ++device) {
            unsigned flags = 0;
            int active = 0;
            if (cuda_.primary_state(device, &flags, &active) != CUDA_SUCCESS || active == 0) continue;
            CUcontext context = nullptr;
            if (cuda_.primary_retain(&context, device) != CUDA_SUCCESS) continue;
            CUresult result = cuda_.push(context);
            if (result == CUDA_SUCCESS) {
                result = call();
                cuda_.pop(&context);
            }
            cuda_.primary_release(device);
            return result;
        }
        return CUDA_ERROR_INVALID_CONTEXT;
    }

    const Functions cuda_;
    std::mutex mutex_;  // of the streams
    std::vector<Stream> streams_;
};

}  // namespace

std::unique_ptr<Driver> make_cuda_driver(void* library) {
    Functions functions{};
    return functions.find(library) ? std::make_unique<CudaDriver>(functions) : nullptr;
}

}  // namespace lapwing::device
