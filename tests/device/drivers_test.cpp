// The driver of CUDA, by a double of its library (doubles/), and what is built on it.
#include <dlfcn.h>

#include "base/error.hpp"
#include "device/copies.hpp"
#include "device/host_memory.hpp"
#include "device/memory.hpp"
#include "support/unit.hpp"

namespace lapwing::device {
namespace {

using testing::ThrowsMessage;

// A library, and its functions by name.
class Library {
  public:
    explicit Library(const char* name)
        : library_(
              ::dlopen(fmt::format("{}/{}", LAPWING_TEST_DOUBLES, name).c_str(), RTLD_NOW | RTLD_GLOBAL)) {}
    void* handle() const { return library_; }
    template <typename... Arguments>
    long operator()(const char* function, Arguments... arguments) const {
        auto* const found = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, function));
        return found != nullptr ? found(arguments...) : -1;
    }
    unsigned long long calls(const char* function) const {
        return reinterpret_cast<unsigned long long (*)(const char*)>(
            ::dlsym(library_, "lapwing_double_calls"))(function);
    }

  private:
    void* library_;
};

std::vector<std::byte> pattern(std::size_t bytes, int seed) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        made[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
    return made;
}

class Cuda : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_NE(cuda.handle(), nullptr) << ::dlerror();
        ASSERT_EQ(cuda("cuInit", 0U), 0);
        driver = make_cuda_driver(cuda.handle());
        ASSERT_NE(driver, nullptr);
    }
    void TearDown() override {
        void* left = nullptr;
        cuda("cuCtxGetCurrent", &left);
        EXPECT_EQ(left, current) << "the thread has another context than before";
        for (void* popped = nullptr; cuda("cuCtxPopCurrent_v2", &popped) == 0;) {
        }
    }
    void make_current(int device) {
        cuda("cuDevicePrimaryCtxRetain", &current, device);
        cuda("cuCtxSetCurrent", current);
    }
    // The pool of host memory keeps what this has pinned for ever.
    Driver* lasting() {
        static std::vector<std::unique_ptr<Driver>>& all = *new std::vector<std::unique_ptr<Driver>>;
        all.push_back(std::move(driver));
        return all.back().get();
    }
    std::byte* allocate(std::size_t bytes) const {
        std::uint64_t pointer = 0;
        EXPECT_EQ(cuda("cuMemAlloc_v2", &pointer, bytes), 0);
        return reinterpret_cast<std::byte*>(pointer);
    }
    void write(std::byte* pointer, const std::vector<std::byte>& bytes) const {
        EXPECT_EQ(cuda("cuMemcpyHtoD_v2", reinterpret_cast<std::uint64_t>(pointer),
                       static_cast<const void*>(bytes.data()), bytes.size()),
                  0);
    }
    std::vector<std::byte> read(const std::byte* pointer, std::size_t bytes) const {
        std::vector<std::byte> found(bytes);
        EXPECT_EQ(cuda("cuMemcpyDtoH_v2", static_cast<void*>(found.data()),
                       reinterpret_cast<std::uint64_t>(pointer), bytes),
                  0);
        return found;
    }

    Library cuda{"libcuda.so.1"};
    std::unique_ptr<Driver> driver;
    void* current = nullptr;
};

TEST_F(Cuda, MemoryOfTheHostIsTheHosts) {
    make_current(0);
    int on_stack = 0;
    EXPECT_FALSE(driver->find(&on_stack).on_device());
    EXPECT_FALSE(driver->find(nullptr).on_device());
    void* pinned = nullptr;
    ASSERT_EQ(cuda("cuMemHostAlloc", &pinned, std::size_t{100}, 0U), 0);
    EXPECT_FALSE(driver->find(pinned).on_device());
    std::uint64_t managed = 0;
    ASSERT_EQ(cuda("cuMemAllocManaged", &managed, std::size_t{100}, 1U), 0);
    EXPECT_FALSE(driver->find(reinterpret_cast<void*>(managed)).on_device());
}

TEST_F(Cuda, MemoryOfADeviceIsFoundWithItsAllocation) {
    make_current(1);
    std::byte* const memory = allocate(1000);
    for (const int at : {0, 1, 999}) {
        const Location location = driver->find(memory + at);
        ASSERT_TRUE(location.on_device());
        EXPECT_EQ(location.context, current);
        EXPECT_EQ(location.device, 1);
        EXPECT_EQ(location.begin, reinterpret_cast<std::uint64_t>(memory));
        EXPECT_EQ(location.end - location.begin, 1000U);
    }
    EXPECT_FALSE(driver->find(memory + 1000).on_device());
}

TEST_F(Cuda, ADriverThatHasNotBegunHasNoMemory) {
    int here = 0;
    for (const int code : {3, 4, 1}) {
        cuda("lapwing_double_fail", "cuPointerGetAttributes", code, 1);
        EXPECT_FALSE(driver->find(&here).on_device());
    }
    cuda("lapwing_double_fail", "cuPointerGetAttributes", 700, 1);
    EXPECT_THAT([&] { driver->find(&here); },
                ThrowsMessage<Error>(testing::HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
}

TEST_F(Cuda, CopiesBothWaysFromAnyThread) {
    make_current(0);
    std::byte* const memory = allocate(5000);
    write(memory, pattern(5000, 1));
    std::vector<std::byte> got(4000);
    const Location location = driver->find(memory);
    std::thread([&] {
        // This thread has no context.
        Copies copies;
        copies.to_host(location, got.data(), memory + 500, 1000);
        copies.to_host(location, got.data() + 1000, memory + 1500, 3000);
        copies.finish();
        const auto other = pattern(100, 77);
        copies.to_device(location, memory + 10, other.data(), other.size());
        copies.finish();
        void* left = &copies;
        EXPECT_EQ(cuda("cuCtxGetCurrent", &left), 0);
        EXPECT_EQ(left, nullptr);
    }).join();
    auto expected = pattern(5000, 1);
    EXPECT_EQ(got, std::vector<std::byte>(expected.begin() + 500, expected.begin() + 4500));
    const auto other = pattern(100, 77);
    std::copy(other.begin(), other.end(), expected.begin() + 10);
    EXPECT_EQ(read(memory, 5000), expected);
}

TEST_F(Cuda, MemoryOfSeveralDevicesInOneGo) {
    make_current(0);
    std::byte* const first = allocate(64);
    write(first, pattern(64, 1));
    void* second_context = nullptr;
    ASSERT_EQ(cuda("cuCtxCreate_v2", &second_context, 0U, 1), 0);
    std::byte* const second = allocate(64);
    write(second, pattern(64, 2));
    void* popped = nullptr;
    ASSERT_EQ(cuda("cuCtxPopCurrent_v2", &popped), 0);
    std::vector<std::byte> got(128);
    {
        Copies copies;
        copies.to_host(driver->find(first), got.data(), first, 64);
        copies.to_host(driver->find(second), got.data() + 64, second, 64);
        copies.finish();
    }
    auto expected = pattern(64, 1);
    const auto more = pattern(64, 2);
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_EQ(got, expected);
}

TEST_F(Cuda, MemoryOfAPoolHasNoContext) {
    make_current(1);
    void* stream = nullptr;
    ASSERT_EQ(cuda("cuStreamCreate", &stream, 1U), 0);
    std::uint64_t pointer = 0;
    ASSERT_EQ(cuda("cuMemAllocAsync", &pointer, std::size_t{64}, stream), 0);
    auto* const memory = reinterpret_cast<std::byte*>(pointer);
    write(memory, pattern(64, 5));
    const Location location = driver->find(memory);
    ASSERT_TRUE(location.on_device());
    EXPECT_EQ(location.context, nullptr);
    std::vector<std::byte> got(64);
    Copies copies;
    copies.to_host(location, got.data(), memory, 64);
    copies.finish();
    EXPECT_EQ(got, pattern(64, 5));
}

TEST_F(Cuda, QuestionsInAThreadWithoutAContext) {
    make_current(1);
    std::byte* const memory = allocate(64);
    cuda("lapwing_double_demand_context", 1);
    std::thread([&] {
        EXPECT_TRUE(driver->find(memory).on_device());
        EXPECT_FALSE(driver->find(&current).on_device());
    }).join();
    cuda("lapwing_double_demand_context", 0);
}

TEST_F(Cuda, AStreamIsKeptForEachContextThatExists) {
    const auto before = cuda.calls("cuStreamCreate");
    for (int round = 0; round < 3; ++round) {
        void* context = nullptr;
        ASSERT_EQ(cuda("cuCtxCreate_v2", &context, 0U, 0), 0);
        std::byte* const memory = allocate(64);
        for (int i = 0; i < 4; ++i) {
            std::vector<std::byte> got(64);
            Copies copies;
            copies.to_host(driver->find(memory), got.data(), memory, 64);
            copies.finish();
        }
        cuda("cuMemFree_v2", reinterpret_cast<std::uint64_t>(memory));
        ASSERT_EQ(cuda("cuCtxDestroy_v2", context), 0);
    }
    EXPECT_EQ(cuda.calls("cuStreamCreate") - before, 3U);
}

TEST_F(Cuda, ErrorsSayWhatFailed) {
    make_current(0);
    std::byte* const memory = allocate(64);
    const Location location = driver->find(memory);
    std::vector<std::byte> host(100);
    Copies copies;
    EXPECT_THAT(
        [&] { copies.to_host(location, host.data(), memory, 100); },
        ThrowsMessage<Error>(
            "cuMemcpyDtoHAsync of 100 bytes: CUDA_ERROR_INVALID_VALUE (by the double of the driver)"));
    EXPECT_THAT([&] { copies.to_device(location, memory + 1, host.data(), 64); },
                ThrowsMessage<Error>(
                    "cuMemcpyHtoDAsync of 64 bytes: CUDA_ERROR_INVALID_VALUE (by the double of the driver)"));
    copies.to_device(location, memory, host.data(), 64);
    copies.finish();
}

TEST_F(Cuda, HostMemoryIsPinnedOnceAndUsedAgain) {
    make_current(0);
    const Location location = lasting()->find(allocate(64));
    const auto pinned = cuda.calls("cuMemHostRegister_v2");
    std::byte* first = nullptr;
    for (int i = 0; i < 5; ++i) {
        HostMemory staging;
        std::byte* const taken = staging.take(location, 100'000);
        std::memset(taken, i, 100'000);
        if (i == 0) first = taken;
        EXPECT_EQ(taken, first);
    }
    EXPECT_EQ(cuda.calls("cuMemHostRegister_v2") - pinned, 1U);
    HostMemory two;
    EXPECT_NE(two.take(location, 100'000), two.take(location, 100'000));
}

TEST_F(Cuda, HostMemoryIsUsedWhereItCannotBePinned) {
    make_current(0);
    const Location location = lasting()->find(allocate(64));
    cuda("lapwing_double_fail", "cuMemHostRegister_v2", 2, 1);
    HostMemory staging;
    std::memset(staging.take(location, 3'000'000), 1, 3'000'000);
}

TEST_F(Cuda, HostMemoryThatNobodyUsesIsLimited) {
    make_current(0);
    const Location location = lasting()->find(allocate(64));
    const auto freed = cuda.calls("cuMemHostUnregister");
    {
        HostMemory staging;
        for (int i = 0; i < 5; ++i) staging.take(location, std::uint64_t{100} << 20);
        EXPECT_EQ(cuda.calls("cuMemHostUnregister"), freed);
    }
    EXPECT_GE(cuda.calls("cuMemHostUnregister") - freed, 3U);
}

TEST(Look, FindsADriverThatIsLoadedLater) {
    if (::dlopen(LAPWING_TEST_DOUBLES "/libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr)
        GTEST_SKIP() << "in a process of its own only";
    memory.enabled = true;
    look();
    ASSERT_FALSE(present());
    int here = 0;
    EXPECT_FALSE(find(&here).on_device());
    look();
    ASSERT_FALSE(present());
    const Library cuda("libcuda.so.1");
    look();
    EXPECT_TRUE(present());
    ASSERT_EQ(cuda("cuInit", 0U), 0);
    void* context = nullptr;
    ASSERT_EQ(cuda("cuCtxCreate_v2", &context, 0U, 0), 0);
    std::uint64_t pointer = 0;
    ASSERT_EQ(cuda("cuMemAlloc_v2", &pointer, std::size_t{64}), 0);
    EXPECT_TRUE(find(reinterpret_cast<void*>(pointer)).on_device());
    EXPECT_FALSE(find(&here).on_device());
}

}  // namespace
}  // namespace lapwing::device
