// Memory of a device that is a double (tests/device/doubles/), for MPI programs that know nothing of Lapwing.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "device/doubles/double.h"

// The driver, loaded as the CUDA runtime does it: by dlopen, when the program first needs it.
class Cuda {
  public:
    static Cuda& get() {
        static Cuda& cuda = *new Cuda;
        return cuda;
    }

    void* allocate(std::size_t bytes) const {
        std::uint64_t pointer = 0;
        must(call<int>("cuMemAlloc_v2", &pointer, bytes > 0 ? bytes : 1), "cuMemAlloc");
        return reinterpret_cast<void*>(pointer);
    }
    void* allocate_managed(std::size_t bytes) const {
        std::uint64_t pointer = 0;
        must(call<int>("cuMemAllocManaged", &pointer, bytes, 1U), "cuMemAllocManaged");
        return reinterpret_cast<void*>(pointer);
    }
    void* allocate_pinned(std::size_t bytes) const {
        void* pointer = nullptr;
        must(call<int>("cuMemHostAlloc", &pointer, bytes, 0U), "cuMemHostAlloc");
        return pointer;
    }
    void free(void* memory) const {
        must(call<int>("cuMemFree_v2", reinterpret_cast<std::uint64_t>(memory)), "cuMemFree");
    }
    void write(void* memory, const void* host, std::size_t bytes) const {
        if (bytes > 0)
            must(call<int>("cuMemcpyHtoD_v2", reinterpret_cast<std::uint64_t>(memory), host, bytes), "HtoD");
    }
    void read(void* host, const void* memory, std::size_t bytes) const {
        if (bytes > 0)
            must(call<int>("cuMemcpyDtoH_v2", host, reinterpret_cast<std::uint64_t>(memory), bytes), "DtoH");
    }
    void* context() const {
        void* context = nullptr;
        call<int>("cuCtxGetCurrent", &context);
        return context;
    }
    void set_context(void* context) const { must(call<int>("cuCtxSetCurrent", context), "cuCtxSetCurrent"); }
    unsigned long long calls(const char* function) const {
        return call<unsigned long long>("lapwing_double_calls", function);
    }
    unsigned long long bytes_to_host() const {
        return call<unsigned long long>("lapwing_double_bytes_to_host");
    }
    unsigned long long bytes_to_device() const {
        return call<unsigned long long>("lapwing_double_bytes_to_device");
    }
    void fail(const char* function, int code, int times) const {
        call<int>("lapwing_double_fail", function, code, times);
    }

  private:
    Cuda() : library_(::dlopen(LAPWING_TEST_DOUBLES "/libcuda.so.1", RTLD_NOW)) {
        must(library_ == nullptr ? -1 : 0, "loading the double");
        must(call<int>("cuInit", 0U), "cuInit");
        void* context = nullptr;
        must(call<int>("cuDevicePrimaryCtxRetain", &context, 1), "cuDevicePrimaryCtxRetain");
        must(call<int>("cuCtxSetCurrent", context), "cuCtxSetCurrent");
    }
    template <typename Result, typename... Arguments>
    Result call(const char* function, Arguments... arguments) const {
        return reinterpret_cast<Result (*)(Arguments...)>(::dlsym(library_, function))(arguments...);
    }
    static void must(int result, const char* what) {
        if (result == 0) return;
        std::fprintf(stderr, "%s: error %d of the double\n", what, result);
        std::abort();
    }
    void* library_;
};

// Some numbers in the memory of the device or of the host.
template <typename Number>
class Buffer {
  public:
    Buffer(bool on_device, std::vector<Number> content) : host_(std::move(content)) {
        if (!on_device) return;
        memory_ = Cuda::get().allocate(bytes());
        Cuda::get().write(memory_, host_.data(), bytes());
    }
    ~Buffer() {
        if (memory_ != nullptr) Cuda::get().free(memory_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Number* data() { return memory_ != nullptr ? static_cast<Number*>(memory_) : host_.data(); }
    // As many numbers as before.
    void write(const std::vector<Number>& content) {
        std::copy(content.begin(), content.end(), host_.begin());
        if (memory_ != nullptr) Cuda::get().write(memory_, host_.data(), bytes());
    }
    std::vector<Number> content() const {
        std::vector<Number> found = host_;
        if (memory_ != nullptr) Cuda::get().read(found.data(), memory_, bytes());
        return found;
    }

  private:
    std::size_t bytes() const { return host_.size() * sizeof(Number); }

    std::vector<Number> host_;
    void* memory_ = nullptr;
};
