// ROCm, by HIP's runtime. The declarations use the names of HIP's documentation.

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

// The same in ROCm 5, 6 and 7, except for the values of `type`.
struct hipPointerAttribute_t {
    int type;
    int device;
    void* devicePointer;
    void* hostPointer;
    int isManaged;
    unsigned allocationFlags;
};
// The value of hipMemoryTypeDevice. The first type is hipMemoryTypeHost in ROCm 5 and
// hipMemoryTypeUnregistered since ROCm 6.
constexpr int device_type_of(int version) {
    constexpr int version_6 = 60'000'000;
    return version < version_6 ? 1 : 2;
}

struct Functions {
    Library library;
    Function<hipError_t(hipPointerAttribute_t*, const void*)> attributes{library, "hipPointerGetAttributes"};
    Function<hipError_t(void**, std::size_t*, void*)> address_range{library, "hipMemGetAddressRange"};
    Function<hipError_t(int*)> version{library, "hipRuntimeGetVersion"};
    Function<hipError_t(int*)> get_device{library, "hipGetDevice"};
    Function<hipError_t(int)> set_device{library, "hipSetDevice"};
    Function<hipError_t(hipStream_t*, unsigned)> stream_create{library, "hipStreamCreateWithFlags"};
    Function<hipError_t(hipStream_t)> stream_wait{library, "hipStreamSynchronize"};
    Function<hipError_t(void*, const void*, std::size_t, int, hipStream_t)> copy{library, "hipMemcpyAsync"};
    Function<hipError_t(void*, std::size_t, unsigned)> host_register{library, "hipHostRegister"};
    Function<hipError_t(void*)> host_unregister{library, "hipHostUnregister"};
    Function<hipError_t()> peek_error{library, "hipPeekAtLastError"};
    Function<hipError_t()> take_error{library, "hipGetLastError"};
    Function<const char*(hipError_t)> error_name{library, "hipGetErrorName"};
    Function<const char*(hipError_t)> error_string{library, "hipGetErrorString"};
};

// HIP stores a thread's last error for hipGetLastError(). The program must not find an error of Lapwing's
// calls there.
class LastError {
  public:
    explicit LastError(const Functions& hip) : hip_(hip), clean_(hip.peek_error() == hipSuccess) {}
    ~LastError() {
        if (clean_) hip_.take_error();
    }
    LastError& operator=(LastError&&) = delete;

  private:
    const Functions& hip_;
    bool clean_;
};

class HipDriver final : public Driver {
  public:
    HipDriver(const Functions& functions, int version)
        : hip_(functions), device_type_(device_type_of(version)) {}

    const char* name() const override { return "HIP"; }

    Location find(const void* address) override {
        const LastError restore(hip_);
        hipPointerAttribute_t found{};
        // HIP refuses memory that it has not allocated.
        if (hip_.attributes(&found, address) != hipSuccess) return {};
        if (found.type != device_type_ || found.isManaged != 0) return {};
        Location location{this, nullptr, found.device, 0, 0};
        void* begin = nullptr;
        std::size_t bytes = 0;
        if (hip_.address_range(&begin, &bytes, const_cast<void*>(address)) == hipSuccess && bytes > 0) {
            location.begin = reinterpret_cast<std::uint64_t>(begin);
            location.end = location.begin + bytes;
        }
        return location;
    }

    OpenCopies open_copies(const Location& location) override {
        const LastError restore(hip_);
        OpenCopies open;
        check(hip_.get_device(&open.device_before), "hipGetDevice");
        check(hip_.set_device(location.device), "hipSetDevice");
        try {
            open.stream = stream_of(location.device);
        } catch (...) {
            hip_.set_device(open.device_before);
            throw;
        }
        return open;
    }
    void to_host(const OpenCopies& open, std::byte* host, const void* address, std::uint64_t bytes) override {
        const LastError restore(hip_);
        check(hip_.copy(host, address, bytes, hipMemcpyDeviceToHost, open.stream), "hipMemcpyAsync", bytes);
    }
    void to_device(const OpenCopies& open, void* address, const std::byte* host,
                   std::uint64_t bytes) override {
        const LastError restore(hip_);
        check(hip_.copy(address, host, bytes, hipMemcpyHostToDevice, open.stream), "hipMemcpyAsync", bytes);
    }
    void wait(const OpenCopies& open) override {
        const LastError restore(hip_);
        check(hip_.stream_wait(open.stream), "hipStreamSynchronize");
    }
    void close_copies(const Location&, const OpenCopies& open) noexcept override {
        const LastError restore(hip_);
        hip_.set_device(open.device_before);
    }

    bool pin(const Location&, void* memory, std::uint64_t bytes) noexcept override {
        const LastError restore(hip_);
        return hip_.host_register(memory, bytes, hipHostRegisterPortable) == hipSuccess;
    }
    void unpin(void* memory) noexcept override {
        const LastError restore(hip_);
        hip_.host_unregister(memory);
    }

  private:
    void check(hipError_t result, const char* function, std::uint64_t bytes = 0) const {
        if (result == hipSuccess) return;
        throw_failed(function, bytes, hip_.error_name(result), hip_.error_string(result));
    }

    // `device` must be current.
    hipStream_t stream_of(int device) {
        return streams_.of(device, [&] {
            hipStream_t made = nullptr;
            check(hip_.stream_create(&made, hipStreamNonBlocking), "hipStreamCreateWithFlags");
            return made;
        });
    }

    const Functions hip_;
    const int device_type_;
    Streams<int> streams_;  // by device
};

}  // namespace

std::unique_ptr<Driver> make_hip_driver(void* library) {
    const Functions functions{.library = {library}};
    int version = 0;
    if (!functions.library.complete || functions.version(&version) != hipSuccess) return nullptr;
    return std::make_unique<HipDriver>(functions, version);
}

}  // namespace lapwing::device
