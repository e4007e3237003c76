// ROCm, by HIP's runtime. What is declared here follows the documentation of HIP; its names are kept.
#include <fmt/format.h>

#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "device/driver.hpp"
#include "device/functions.hpp"

namespace lapwing::device {
namespace {

using hipError_t = int;
using hipStream_t = void*;

constexpr hipError_t hipSuccess = 0;
constexpr unsigned hipStreamNonBlocking = 1;
constexpr unsigned hipHostRegisterPortable = 1;
constexpr int hipMemcpyHostToDevice = 1;
constexpr int hipMemcpyDeviceToHost = 2;

// The same in ROCm 5, 6 and 7, but for the values of its first member.
struct hipPointerAttribute_t {
    int type;
    int device;
    void* devicePointer;
    void* hostPointer;
    int isManaged;
    unsigned allocationFlags;
};
// Memory of a device: hipMemoryTypeDevice. In ROCm 5 the types begin with the host's, since ROCm 6 with the
// unregistered.
constexpr int device_type_of(int version) {
    constexpr int version_6 = 60'000'000;
    return version < version_6 ? 1 : 2;
}

struct Functions {
    hipError_t (*attributes)(hipPointerAttribute_t*, const void*);
    hipError_t (*address_range)(void**, std::size_t*, void*);
    hipError_t (*version)(int*);
    hipError_t (*get_device)(int*);
    hipError_t (*set_device)(int);
    hipError_t (*stream_create)(hipStream_t*, unsigned);
    hipError_t (*stream_wait)(hipStream_t);
    hipError_t (*copy)(void*, const void*, std::size_t, int, hipStream_t);
    hipError_t (*host_register)(void*, std::size_t, unsigned);
    hipError_t (*host_unregister)(void*);
    hipError_t (*peek_error)();
    hipError_t (*take_error)();
    const char* (*error_name)(hipError_t);
    const char* (*error_string)(hipError_t);

    bool find(void* library) {
        return find_function(library, "hipPointerGetAttributes", attributes) &&
               find_function(library, "hipMemGetAddressRange", address_range) &&
               find_function(library, "hipRuntimeGetVersion", version) &&
               find_function(library, "hipGetDevice", get_device) &&
               find_function(library, "hipSetDevice", set_device) &&
               find_function(library, "hipStreamCreateWithFlags", stream_create) &&
               find_function(library, "hipStreamSynchronize", stream_wait) &&
               find_function(library, "hipMemcpyAsync", copy) &&
               find_function(library, "hipHostRegister", host_register) &&
               find_function(library, "hipHostUnregister", host_unregister) &&
               find_function(library, "hipPeekAtLastError", peek_error) &&
               find_function(library, "hipGetLastError", take_error) &&
               find_function(library, "hipGetErrorName", error_name) &&
               find_function(library, "hipGetErrorString", error_string);
    }
};

// HIP keeps a thread's last error for hipGetLastError(): the program shall find its own there, not one of
// these calls'.
class LastError {
  public:
    explicit LastError(const Functions& hip) : hip_(hip), clean_(hip.peek_error() == hipSuccess) {}
    ~LastError() {
        if (clean_) hip_.take_error();
    }
    LastError(const LastError&) = delete;
    LastError& operator=(const LastError&) = delete;

  private:
    const Functions& hip_;
    bool clean_;
};

class HipDriver final : public Driver {
  public:
    HipDriver(const Functions& functions, int version)
        : hip_(functions), device_type_(device_type_of(version)) {}

    const char* name() const override { return "HIP"; }

    Place find(const void* address) override {
        const LastError kept(hip_);
        hipPointerAttribute_t found{};
        // It refuses what it has not allocated.
        if (hip_.attributes(&found, address) != hipSuccess) return {};
        if (found.type != device_type_ || found.isManaged != 0) return {};
        Place place{this, nullptr, found.device, 0, 0};
        void* begin = nullptr;
        std::size_t bytes = 0;
        if (hip_.address_range(&begin, &bytes, const_cast<void*>(address)) == hipSuccess && bytes > 0) {
            place.begin = reinterpret_cast<std::uint64_t>(begin);
            place.end = place.begin + bytes;
        }
        return place;
    }

    OpenCopies open_copies(const Place& place) override {
        const LastError kept(hip_);
        OpenCopies open;
        check(hip_.get_device(&open.device_before), "hipGetDevice");
        check(hip_.set_device(place.device), "hipSetDevice");
        try {
            open.stream = stream_of(place.device);
        } catch (...) {
            hip_.set_device(open.device_before);
            throw;
        }
        return open;
    }
    void to_host(const OpenCopies& open, std::byte* host, const void* address, std::uint64_t bytes) override {
        const LastError kept(hip_);
        check(hip_.copy(host, address, bytes, hipMemcpyDeviceToHost, open.stream), "hipMemcpyAsync", bytes);
    }
    void to_device(const OpenCopies& open, void* address, const std::byte* host,
                   std::uint64_t bytes) override {
        const LastError kept(hip_);
        check(hip_.copy(address, host, bytes, hipMemcpyHostToDevice, open.stream), "hipMemcpyAsync", bytes);
    }
    void wait(const OpenCopies& open) override {
        const LastError kept(hip_);
        check(hip_.stream_wait(open.stream), "hipStreamSynchronize");
    }
    void close_copies(const Place&, const OpenCopies& open) noexcept override {
        const LastError kept(hip_);
        hip_.set_device(open.device_before);
    }

    bool pin(const Place&, void* memory, std::uint64_t bytes) noexcept override {
        const LastError kept(hip_);
        return hip_.host_register(memory, bytes, hipHostRegisterPortable) == hipSuccess;
    }
    void unpin(void* memory) noexcept override {
        const LastError kept(hip_);
        hip_.host_unregister(memory);
    }

  private:
    struct Stream {
        int device;
        hipStream_t stream;
    };

    void check(hipError_t result, const char* function, std::uint64_t bytes = 0) const {
        if (result == hipSuccess) return;
        throw Error(ErrorCode::system, fmt::format("{}{}: {} ({})", function,
                                                   bytes > 0 ? fmt::format(" of {} bytes", bytes) : "",
                                                   hip_.error_name(result), hip_.error_string(result)));
    }

    // Of the current device. One of Lapwing's own, which neither waits for the program's streams nor makes
    // them wait.
    hipStream_t stream_of(int device) {
        const std::lock_guard lock(mutex_);
        for (const Stream& known : streams_) {
            if (known.device == device) return known.stream;
        }
        hipStream_t made = nullptr;
        check(hip_.stream_create(&made, hipStreamNonBlocking), "hipStreamCreateWithFlags");
        streams_.push_back({device, made});
        return made;
    }

    const Functions hip_;
    const int device_type_;
    std::mutex mutex_;  // of the streams
    std::vector<Stream> streams_;
};

}  // namespace

std::unique_ptr<Driver> make_hip_driver(void* library) {
    Functions functions{};
    int version = 0;
    if (!functions.find(library) || functions.version(&version) != hipSuccess) return nullptr;
    return std::make_unique<HipDriver>(functions, version);
}

}  // namespace lapwing::device
