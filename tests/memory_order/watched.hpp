// The platform of the shared-memory protocol for Relacy (Vyukov; Debian's relacy-dev), which runs threads in
// many orders under the memory model of C++11: a load may give any value that the orders in the code allow,
// and bytes outside of words must be free of data races. Compilers keep that model on ARM, whose own is not
// weaker than it, so what holds here holds there.
//
// Each place in the code that accesses a word is a *site*. A weaker order can be planted at any of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <source_location>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

// Not relacy.hpp, which defines macros named new, delete and memory_order_relaxed. In its order:
// clang-format off
#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/atomic.hpp>
#include <relacy/var.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/event.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/semaphore.hpp>
// clang-format on
#undef $

namespace lapwing::test {

struct Site {
    const char* file = nullptr;
    unsigned line = 0;
    unsigned column = 0;
    std::memory_order order = std::memory_order_relaxed;
};

// All that have been met. No containers: Relacy counts the memory that threads take.
struct Sites {
    static inline std::array<Site, 256> met;
    static inline std::size_t count = 0;
    static constexpr std::size_t none = SIZE_MAX;
    static inline std::size_t planted = none;
    static inline std::memory_order weaker = std::memory_order_relaxed;

    // The order that counts there.
    static std::memory_order at(const std::source_location& place, std::memory_order order) {
        std::size_t number = 0;
        for (; number < count; ++number) {
            const Site& site = met[number];
            if (site.line == place.line() && site.column == place.column() &&
                std::string_view(site.file) == place.file_name())
                break;
        }
        if (number == count) met.at(count++) = {place.file_name(), place.line(), place.column(), order};
        return number == planted ? weaker : order;
    }
};

inline rl::memory_order relacy_order(std::memory_order order) {
    switch (order) {
        case std::memory_order_relaxed:
            return rl::mo_relaxed;
        case std::memory_order_consume:
            return rl::mo_consume;
        case std::memory_order_acquire:
            return rl::mo_acquire;
        case std::memory_order_release:
            return rl::mo_release;
        case std::memory_order_acq_rel:
            return rl::mo_acq_rel;
        case std::memory_order_seq_cst:
            break;
    }
    return rl::mo_seq_cst;
}

// membarrier(2): before it returns, each other thread of the process executes a full fence between two of its
// steps, wherever that is. A thread that sleeps or has ended has done so already.
struct Membarrier {
    static constexpr unsigned max_threads = 4;
    static inline std::array<bool, max_threads> due{};
    static inline std::array<bool, max_threads> away{};

    static void restart(unsigned threads) {
        due = {};
        for (unsigned i = 0; i < max_threads; ++i) away[i] = i >= threads;
    }
    static void call() {
        const unsigned own = rl::ctx().current_thread();
        fence();
        for (unsigned other = 0; other < max_threads; ++other) due[other] = other != own;
        for (unsigned other = 0; other < max_threads; ++other) {
            while (due[other] && !away[other]) rl::ctx().yield(1, RL_INFO);
        }
        fence();
    }
    // By each thread, before each step.
    static void step() {
        const unsigned own = rl::ctx().current_thread();
        if (own >= max_threads || !due[own]) return;
        fence();
        due[own] = false;
    }
    static void leave() {
        fence();
        away.at(rl::ctx().current_thread()) = true;
    }
    static void come_back() {
        away.at(rl::ctx().current_thread()) = false;
        fence();
    }

  private:
    static void fence() { rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO); }
};

template <typename Value>
class Watched {
    using Place = std::source_location;

  public:
    Watched(Value value = Value{}) : value_(value) { reset_(RL_INFO).store(0); }
    Value load(std::memory_order order = std::memory_order_seq_cst,
               const Place place = Place::current()) const {
        Membarrier::step();
        return value_.load(relacy_order(Sites::at(place, order)), info(place));
    }
    void store(Value value, std::memory_order order = std::memory_order_seq_cst,
               const Place place = Place::current()) {
        Membarrier::step();
        if (order == std::memory_order_relaxed) reset_(info(place)).store(1);
        value_.store(value, relacy_order(Sites::at(place, order)), info(place));
    }
    Value exchange(Value value, std::memory_order order = std::memory_order_seq_cst,
                   const Place place = Place::current()) {
        return value_.exchange(value, relacy_order(Sites::at(place, order)), info(place));
    }
    Value fetch_or(Value value, std::memory_order order = std::memory_order_seq_cst,
                   const Place place = Place::current()) {
        Membarrier::step();
        return value_.fetch_or(value, relacy_order(Sites::at(place, order)), info(place));
    }
    Value fetch_and(Value value, std::memory_order order = std::memory_order_seq_cst,
                    const Place place = Place::current()) {
        Membarrier::step();
        return value_.fetch_and(value, relacy_order(Sites::at(place, order)), info(place));
    }
    Value fetch_add(Value value, std::memory_order order = std::memory_order_seq_cst,
                    const Place place = Place::current()) {
        static_cast<void>(reset_(info(place)).load());
        return value_.fetch_add(value, relacy_order(Sites::at(place, order)), info(place));
    }

    // As futex(2): compares and sleeps in one step. A wake that comes too early is lost, and there is no
    // limit.
    void sleep(Value expected) const {
        rl::context& context = rl::ctx();
        context.sched();
        if (value_.debug_value() == expected)
            const_cast<rl::atomic<Value>&>(value_).wait(context, false, false, info({}));
    }
    void wake(int threads = 1) {
        rl::context& context = rl::ctx();
        context.sched();
        value_.wake(context, threads, info({}));
    }
    // As std::atomic.
    void wait(Value old, std::memory_order) const {
        Membarrier::leave();
        sleep(old);
        Membarrier::come_back();
    }
    void notify_all() { wake(static_cast<int>(Membarrier::max_threads)); }

  private:
    static rl::debug_info info(const Place& place) {
        return {place.function_name(), place.file_name(), place.line()};
    }

    rl::atomic<Value> value_;
    // Relacy gives all threads one order of the stores to a word. A processor may swap a reset with another's
    // change, unless one happens before the other; that is checked as a race.
    rl::var<int> reset_;
};

// Memory outside of words, in cells of so many bytes. Races are found cell by cell.
class Cells {
  public:
    void watch(const void* begin, std::uint64_t bytes, std::uint64_t cell) {
        Region& region = regions_[reinterpret_cast<std::uintptr_t>(begin) + bytes];
        region.begin = reinterpret_cast<std::uintptr_t>(begin);
        region.cell = cell;
        region.cells = std::vector<rl::var<int>>((bytes + cell - 1) / cell);
        for (auto& one : region.cells) one(RL_INFO).store(0);
    }
    void access(const void* begin, std::uint64_t bytes, bool writes) {
        const auto from = reinterpret_cast<std::uintptr_t>(begin);
        const auto found = regions_.upper_bound(from);
        const bool inside =
            found != regions_.end() && from >= found->second.begin && from + bytes <= found->first;
        RL_ASSERT_IMPL(inside, rl::test_result_user_assert_failed, "bytes that nobody knows", RL_INFO);
        if (bytes == 0) return;
        Region& region = found->second;
        for (std::uint64_t cell = (from - region.begin) / region.cell;
             cell <= (from + bytes - 1 - region.begin) / region.cell; ++cell) {
            if (writes)
                region.cells[cell](RL_INFO).store(1);
            else
                region.cells[cell](RL_INFO).load();
        }
    }

  private:
    struct Region {
        std::uintptr_t begin = 0;
        std::uint64_t cell = 1;
        std::vector<rl::var<int>> cells;
    };
    std::map<std::uintptr_t, Region> regions_;  // by their ends
};

struct Relacy {
    template <typename Value>
    using Word = Watched<Value>;

    class Mutex {
      public:
        void lock() { mutex_.lock(RL_INFO); }
        void unlock() { mutex_.unlock(RL_INFO); }

      private:
        rl::mutex mutex_;
    };

    struct Cells : test::Cells {
        Cells() { cells = this; }
    };
    static inline test::Cells* cells = nullptr;

    static void fence(const std::source_location place = std::source_location::current()) {
        rl::atomic_thread_fence(relacy_order(Sites::at(place, std::memory_order_seq_cst)), RL_INFO);
    }
    static void writes(const void* at, std::uint64_t bytes) { cells->access(at, bytes, true); }
    static void reads(const void* at, std::uint64_t bytes) { cells->access(at, bytes, false); }

    static int so_far() { return 0; }
    static void pause(int) { rl::ctx().yield(1, RL_INFO); }
    static void fail(const char* why) {
        RL_ASSERT_IMPL(false, rl::test_result_user_assert_failed, why, RL_INFO);
    }

    static void wake(Word<std::uint32_t>& word) { word.wake(); }
    static void wake(int) {}  // nobody sleeps at a pipe here
    static void sleep(const Word<std::uint32_t>& word, std::uint32_t value, long) { word.sleep(value); }
    static std::uint64_t nanoseconds() { return 1; }

    static int copy(void* target, const void* source, std::uint64_t bytes) {
        rl::ctx().sched();
        reads(source, bytes);
        writes(target, bytes);
        std::memcpy(target, source, bytes);
        return 0;
    }
    static int copy_from(pid_t, std::uint64_t address, std::byte* target, std::uint64_t bytes) {
        return copy(target, reinterpret_cast<const void*>(address), bytes);
    }
    static int copy_to(pid_t, std::uint64_t address, const std::byte* source, std::uint64_t bytes) {
        return copy(reinterpret_cast<void*>(address), source, bytes);
    }
};

}  // namespace lapwing::test
