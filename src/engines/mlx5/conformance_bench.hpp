// The tools of the conformance program's questions: queues, memory and completions.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "engines/mlx5/conformance_limits.hpp"
#include "engines/mlx5/queues.hpp"
#include "engines/mlx5/wqe.hpp"

namespace lapwing::mlx5::conformance {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Ends one question.
struct Failed {
    std::string why;
};
inline void expect(bool holds, const std::string& why) {
    if (!holds) throw Failed{why};
}

constexpr std::uint32_t blocks = 64;  // of a send queue here
constexpr std::uint32_t receives = 16;
constexpr std::size_t half = 4096;  // of the memory: what is sent, and where it goes

inline std::string print(const Completion& seen) {
    if (seen.error)
        return fmt::format("an error completion, {}, of index {:#06x}", syndrome_in_words(seen.syndrome),
                           seen.index);
    return fmt::format("a completion of index {:#06x}", seen.index);
}

class Completions {
  public:
    explicit Completions(Device& device, std::uint32_t entries = 256, bool ignore_overrun = false)
        : device_(device),
          queue_(device.create_completion_queue(
              {.entries = entries, .ignore_overrun = ignore_overrun, .events = true})) {}
    ~Completions() { device_.destroy(queue_); }
    Completions(const Completions&) = delete;
    Completions& operator=(const Completions&) = delete;

    const CompletionQueue& queue() const { return queue_; }
    std::uint32_t number() const { return queue_.number; }
    // The index of completion `count` since it was made, from 0 on.
    std::uint32_t index(std::uint32_t count) const { return queue_.first + count; }
    std::uint32_t next() const { return index(read_); }
    std::optional<Completion> look() {
        const std::optional<Completion> seen = completion(queue_, next());
        if (seen) store_record(&queue_.record[0], index(++read_) & 0xffffff);
        return seen;
    }

  private:
    Device& device_;
    CompletionQueue queue_;
    std::uint32_t read_ = 0;
};

// Memory that the card may read and write: what is sent, and where it goes.
struct Memory {
    alignas(64) std::array<std::byte, 2 * half> bytes{};
    MemoryKey key;

    Data from(std::uint32_t at, std::uint32_t count) const { return {address(at), count, key.local}; }
    Data to(std::uint32_t at, std::uint32_t count) const { return {address(half + at), count, key.local}; }
    RemoteData remote(std::uint32_t at) const { return {address(half + at), key.remote}; }
    void fill(unsigned seed) {
        for (std::size_t at = 0; at < half; ++at) {
            bytes[at] = static_cast<std::byte>(at * 7 + seed);
            bytes[half + at] = std::byte{0};
        }
    }
    bool arrived(std::uint32_t at, std::uint32_t count) const {
        return std::memcmp(bytes.data() + at, bytes.data() + half + at, count) == 0;
    }

  private:
    std::uint64_t address(std::size_t at) const { return reinterpret_cast<std::uint64_t>(bytes.data() + at); }
};

// A queue pair that is connected to itself.
class Queue {
  public:
    Queue(Device& device, const Memory& memory, const Completions& sends, const Completions& arrived,
          Role role = Role::plain)
        : device_(device),
          memory_(memory),
          sends_(device.create_queue_pair({.send_blocks = blocks,
                                           .receive_entries = receives,
                                           .send_completions = &sends.queue(),
                                           .receive_completions = &arrived.queue(),
                                           .role = role})),
          receives_(sends_.pair()) {
        device.connect(sends_.pair(), device.address(sends_.pair()));
    }
    ~Queue() { device_.destroy(sends_.pair()); }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    std::uint32_t number() const { return sends_.pair().number; }
    std::uint16_t first() const { return sends_.pair().first_send; }
    std::uint16_t next() const { return sends_.next(); }

    // A request that moves nothing.
    void mark(Report report) {
        put_write(sends_.block(), position(), memory_.remote(0), {}, false, report);
        sends_.post();
    }
    void write(std::uint32_t at, std::uint32_t bytes, bool immediate, Report report) {
        put_write(sends_.block(), position(), memory_.remote(at), memory_.from(at, bytes), immediate, report);
        sends_.post();
    }
    void write_nothing(bool immediate, Report report) {
        put_write(sends_.block(), position(), {}, {}, immediate, report);
        sends_.post();
    }
    // With a key that nobody has given.
    void write_wrongly() {
        Data data = memory_.from(0, 8);
        data.key ^= 0x00ff0100;
        put_write(sends_.block(), position(), memory_.remote(0), data, false, Report::yes);
        sends_.post();
    }
    void send(std::uint32_t at, std::uint32_t bytes, Report report) {
        put_send(sends_.block(), position(), memory_.from(at, bytes), report);
        sends_.post();
    }
    void receive(std::uint32_t at, std::uint32_t bytes) {
        receives_.post(memory_.to(at, bytes));
        receives_.publish();
    }
    void receive_nothing() {
        receives_.post({});
        receives_.publish();
    }
    void wait(const Completions& of, std::uint32_t count, Report report) {
        put_wait(sends_.block(), position(), of.number(), of.index(count), report);
        sends_.post();
    }
    void enable(std::uint32_t queue_pair, std::uint16_t end, Report report) {
        put_enable(sends_.block(), position(), queue_pair, end, report);
        sends_.post();
    }
    // The last request says that it is another one.
    void move_last() { move_to(last(), static_cast<std::uint16_t>(next() + 7)); }
    void report_last() {
        put_write(last(), {static_cast<std::uint16_t>(next() - 1), number()}, memory_.remote(0), {}, false,
                  Report::yes);
    }
    void ring() { sends_.ring(); }

  private:
    Position position() const { return {sends_.next(), number()}; }
    std::byte* last() const {
        return sends_.pair().send +
               std::size_t{(next() - 1u) & (sends_.pair().send_blocks - 1)} * block_bytes;
    }

    Device& device_;
    const Memory& memory_;
    SendQueue sends_;
    ReceiveQueue receives_;
};

// One for each question.
class Bench {
  public:
    Bench(Device& of, const ConformanceLimits& within)
        : device(of), capabilities(of.capabilities()), limits(within) {
        memory.key = device.register_memory(memory.bytes.data(), memory.bytes.size());
    }
    ~Bench() { device.deregister(memory.key); }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    // The next completion, which must come.
    Completion next(Completions& of, const char* what) {
        const auto end = Clock::now() + limits.max_wait;
        for (int looks = 0;; ++looks) {
            if (const auto seen = of.look()) return *seen;
            if (Clock::now() >= end)
                throw Failed{fmt::format("no completion of {} in {} ms", what, limits.max_wait.count())};
            if (looks > 1000) std::this_thread::yield();
        }
    }
    Completion good(Completions& of, const char* what) {
        const Completion seen = next(of, what);
        expect(!seen.error, fmt::format("{}: {}", what, print(seen)));
        return seen;
    }
    void none(Completions& of, const char* what) {
        const auto end = Clock::now() + limits.min_wait;
        while (Clock::now() < end) {
            if (const auto seen = of.look()) throw Failed{fmt::format("{}: {}", what, print(*seen))};
            std::this_thread::yield();
        }
    }

    // Whether one comes in a while.
    bool comes(Completions& of) {
        const auto end = Clock::now() + limits.min_wait;
        while (Clock::now() < end) {
            if (of.look()) return true;
            std::this_thread::yield();
        }
        return false;
    }

    Device& device;
    Capabilities capabilities;
    ConformanceLimits limits;
    Memory memory;
    std::string note;  // the answer of a question that has one
};

// Queue pair and completion queues of most questions.
struct Loop {
    explicit Loop(Bench& bench)
        : done(bench.device), arrived(bench.device), queue(bench.device, bench.memory, done, arrived) {}
    Completions done, arrived;
    Queue queue;
};

// `ask` returns if the card has passed, and throws Failed if not. It may set a note.
struct Question {
    const char* name;
    const char* asks;
    void (*ask)(Bench&);
    enum Needs { nothing, wait_in_plain, wait, cross_channel } needs = nothing;
    bool note = false;
};

// The role in which a queue takes WAITs on this card.
inline Role waiting_role(const Bench& bench) {
    return bench.capabilities.wait_in_plain ? Role::plain : Role::master;
}

// In the order of the answers.
std::span<const Question> questions();

}  // namespace lapwing::mlx5::conformance
