// CUDA, by its driver API. The declarations use the names of that API's documentation.

#include <array>

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
    Library library;
    Function<CUresult(unsigned, int*, void**, CUdeviceptr)> pointer_get{library, "cuPointerGetAttributes"};
    Function<CUresult(const void*, int, CUdeviceptr)> pointer_set{library, "cuPointerSetAttribute"};
    Function<CUresult(CUcontext)> push{library, "cuCtxPushCurrent_v2"};
    Function<CUresult(CUcontext*)> pop{library, "cuCtxPopCurrent_v2"};
    OptionalFunction<CUresult(CUcontext, unsigned long long*)> context_id{library, "cuCtxGetId"};  // CUDA 12
    Function<CUresult(int*)> device_count{library, "cuDeviceGetCount"};
    Function<CUresult(CUdevice, unsigned*, int*)> primary_state{library, "cuDevicePrimaryCtxGetState"};
    Function<CUresult(CUcontext*, CUdevice)> primary_retain{library, "cuDevicePrimaryCtxRetain"};
    Function<CUresult(CUdevice)> primary_release{library, "cuDevicePrimaryCtxRelease_v2",
                                                 "cuDevicePrimaryCtxRelease"};
    Function<CUresult(CUstream*, unsigned)> stream_create{library, "cuStreamCreate"};
    Function<CUresult(CUstream)> stream_destroy{library, "cuStreamDestroy_v2"};
    Function<CUresult(CUstream)> stream_wait{library, "cuStreamSynchronize"};
    Function<CUresult(void*, CUdeviceptr, std::size_t, CUstream)> to_host{library, "cuMemcpyDtoHAsync_v2"};
    Function<CUresult(CUdeviceptr, const void*, std::size_t, CUstream)> to_device{library,
                                                                                  "cuMemcpyHtoDAsync_v2"};
    Function<CUresult(void*, std::size_t, unsigned)> host_register{library, "cuMemHostRegister_v2"};
    Function<CUresult(void*)> host_unregister{library, "cuMemHostUnregister"};
    Function<CUresult(CUresult, const char**)> error_name{library, "cuGetErrorName"};
    Function<CUresult(CUresult, const char**)> error_string{library, "cuGetErrorString"};
};

class CudaDriver final : public Driver {
  public:
    explicit CudaDriver(const Functions& functions) : cuda_(functions) {}

    const char* name() const override { return "CUDA"; }

    Location find(const void* address) override {
        unsigned type = 0;
        unsigned managed = 0;
        Location location;
        location.device = -1;
        std::array<int, 4> which = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
        std::array<void*, 4> values = {&type, &managed, &location.context, &location.device};
        const auto ask = [&] {
            return cuda_.pointer_get(4, which.data(), values.data(), as_number(address));
        };
        CUresult result = ask();
        if (result == CUDA_ERROR_INVALID_CONTEXT) result = in_some_context(ask);
        // No memory of a device exists before the driver is initialized.
        if (result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_DEINITIALIZED ||
            result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_CONTEXT) {
            return {};
        }
        check(result, "cuPointerGetAttributes");
        if (type != CU_MEMORYTYPE_DEVICE || managed != 0) return {};
        location.driver = this;
        std::size_t bytes = 0;
        std::array<int, 2> range = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
        std::array<void*, 2> ends = {&location.begin, &bytes};
        // Drivers before CUDA 10.2 do not have these attributes.
        if (cuda_.pointer_get(2, range.data(), ends.data(), as_number(address)) == CUDA_SUCCESS && bytes > 0)
            location.end = location.begin + bytes;
        else
            location.begin = 0;
        // The program's later cudaMemset and the like on this memory must be complete when they return,
        // because the stream of Lapwing's copies does not wait for other streams. The driver refuses this for
        // some kinds of memory.
        const unsigned yes = 1;
        cuda_.pointer_set(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as_number(address));
        return location;
    }

    OpenCopies open_copies(const Location& location) override {
        OpenCopies open;
        enter(location, open);
        try {
            open.stream = stream_of(open);
        } catch (...) {
            leave(location, open);
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
    void close_copies(const Location& location, const OpenCopies& open) noexcept override {
        if (open.owns_stream) cuda_.stream_destroy(open.stream);
        leave(location, open);
    }

    bool pin(const Location& location, void* memory, std::uint64_t bytes) noexcept override {
        try {
            OpenCopies open;
            enter(location, open);
            const CUresult result = cuda_.host_register(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
            leave(location, open);
            return result == CUDA_SUCCESS;
        } catch (const Error&) {
            return false;
        }
    }
    void unpin(void* memory) noexcept override {
        in_some_context([&] { return cuda_.host_unregister(memory); });
    }

  private:
    void check(CUresult result, const char* function, std::uint64_t bytes = 0) const {
        if (result == CUDA_SUCCESS) return;
        const char* name = nullptr;
        const char* meaning = nullptr;
        cuda_.error_name(result, &name);
        cuda_.error_string(result, &meaning);
        throw_failed(function, bytes, name != nullptr ? name : std::to_string(result).c_str(),
                     meaning != nullptr ? meaning : "unknown to the driver");
    }

    // Memory from pools and mapped memory belong to a device, not to a context. The device's primary context
    // serves for them.
    void enter(const Location& location, OpenCopies& open) {
        open.context = location.context;
        if (open.context == nullptr) {
            check(cuda_.primary_retain(&open.context, location.device), "cuDevicePrimaryCtxRetain");
            open.holds_primary = true;
        }
        const CUresult result = cuda_.push(open.context);
        if (result == CUDA_SUCCESS) return;
        if (open.holds_primary) cuda_.primary_release(location.device);
        check(result, "cuCtxPushCurrent");
    }
    void leave(const Location& location, const OpenCopies& open) noexcept {
        CUcontext popped = nullptr;
        cuda_.pop(&popped);
        if (open.holds_primary) cuda_.primary_release(location.device);
    }

    // Streams are kept by the number of their context: a later context may have the address of an earlier
    // one, whose streams were destroyed with it.
    CUstream stream_of(OpenCopies& open) {
        const auto make = [&] {
            CUstream made = nullptr;
            check(cuda_.stream_create(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
            return made;
        };
        unsigned long long id = 0;
        if (cuda_.context_id && cuda_.context_id(open.context, &id) == CUDA_SUCCESS)
            return streams_.of({open.context, id}, make);
        CUstream const made = make();
        open.owns_stream = true;
        return made;
    }

    // For a thread without a context: calls `call` in the primary context of a device, if one is in use.
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
    Streams<std::pair<CUcontext, unsigned long long>> streams_;  // by context and its number
};

}  // namespace

std::unique_ptr<Driver> make_cuda_driver(void* library) {
    const Functions functions{.library = {library}};
    return functions.library.complete ? std::make_unique<CudaDriver>(functions) : nullptr;
}

}  // namespace lapwing::device
