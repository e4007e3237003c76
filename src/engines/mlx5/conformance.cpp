#include "engines/mlx5/conformance.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "engines/mlx5/queues.hpp"
#include "engines/mlx5/wqe.hpp"

namespace lapwing::mlx5 {

// The tools of the questions: queues, memory and completions.
namespace conformance {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Ends one question.
struct Failed {
    std::string why;
};
void expect(bool holds, const std::string& why) {
    if (!holds) throw Failed{why};
}

constexpr std::uint32_t blocks = 64;  // of a send queue here
constexpr std::uint32_t receives = 16;
constexpr std::size_t half = 4096;  // of the memory: what is sent, and where it goes

std::string print(const Completion& seen) {
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
    bool arrived(std::uint32_t at, std::uint32_t count, std::uint32_t beyond = 0) const {
        return std::memcmp(bytes.data() + at, bytes.data() + half + at + beyond, count) == 0;
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

    void write(const RemoteData& to, const Data& from, bool immediate, Report report) {
        put_write(sends_.block(), position(), to, from, immediate, report);
        sends_.post();
    }
    void write(std::uint32_t at, std::uint32_t bytes, bool immediate, Report report) {
        write(memory_.remote(at), memory_.from(at, bytes), immediate, report);
    }
    // A request that moves nothing.
    void mark(Report report) { write(memory_.remote(0), {}, false, report); }
    // With a key that nobody has given.
    void write_wrongly() {
        Data data = memory_.from(0, 8);
        data.key ^= 0x00ff0100;
        write(memory_.remote(0), data, false, Report::yes);
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
    void ring() { sends_.ring(); }

  private:
    Position position() const { return {sends_.next(), number()}; }

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
        device.rest(limits.min_wait);
        if (const auto seen = of.look()) throw Failed{fmt::format("{}: {}", what, print(*seen))};
    }

    Device& device;
    Capabilities capabilities;
    ConformanceLimits limits;
    Memory memory;
};

// Queue pair and completion queues of most questions.
struct Loop {
    explicit Loop(Bench& bench)
        : done(bench.device), arrived(bench.device), queue(bench.device, bench.memory, done, arrived) {}
    Completions done, arrived;
    Queue queue;
};

// `ask` returns if the card has passed, and throws Failed if not.
struct Question {
    const char* name;
    const char* asks;
    void (*ask)(Bench&);
    enum Needs { nothing, wait_in_plain, wait, cross_channel } needs = nothing;
};

// The role in which a queue takes WAITs on this card.
Role waiting_role(const Bench& bench) {
    return bench.capabilities.wait_in_plain ? Role::plain : Role::master;
}

void ask_report(Bench& bench) {
    Completions done(bench.device);
    Queue queue(bench.device, bench.memory, done, done);
    queue.mark(Report::no);
    queue.mark(Report::yes);
    queue.ring();
    const Completion seen = bench.good(done, "a request");
    expect(static_cast<std::uint16_t>(seen.index + 1) == queue.next(),
           "instead of the last request: " + print(seen));
    expect(seen.queue_pair == queue.number(),
           fmt::format("a completion of queue pair {:#x}", seen.queue_pair));
    bench.none(done, "after the only request that reports");
}

void ask_write(Bench& bench) {
    Loop here(bench);
    auto& [done, arrived, queue] = here;
    for (unsigned round = 0; round < 20; ++round) {
        bench.memory.fill(round);
        queue.receive_nothing();
        queue.write(0, half, true, Report::yes);
        queue.ring();
        const Completion seen = bench.good(arrived, "an RDMA write with immediate, where it arrives");
        expect(bench.memory.arrived(0, half), "the completion came before the data");
        expect(seen.received && seen.bytes == half, fmt::format("{} bytes instead of {}", seen.bytes, half));
        bench.good(done, "an RDMA write");
    }
}

void ask_send(Bench& bench) {
    Loop here(bench);
    auto& [done, arrived, queue] = here;
    constexpr std::uint32_t part = 100;
    for (unsigned round = 0; round < 10; ++round) {
        bench.memory.fill(round);
        for (std::uint32_t message = 0; message < 4; ++message) queue.receive(message * part, part + message);
        for (std::uint32_t message = 0; message < 4; ++message)
            queue.send(message * part, part, message == 3 ? Report::yes : Report::no);
        queue.ring();
        for (std::uint32_t message = 0; message < 4; ++message) {
            const Completion seen = bench.good(arrived, "a send, where it arrives");
            expect(seen.bytes == part, fmt::format("{} bytes instead of {}", seen.bytes, part));
            expect(bench.memory.arrived(message * part, part),
                   "another message, or the completion before its data");
        }
        const Completion seen = bench.good(done, "the last of four sends");
        expect(static_cast<std::uint16_t>(seen.index + 1) == queue.next(),
               "instead of the last request: " + print(seen));
    }
    bench.none(done, "after the last send");
}

void ask_without_receive(Bench& bench, bool write) {
    Loop here(bench);
    auto& [done, arrived, queue] = here;
    bench.memory.fill(3);
    if (write) {
        queue.write(0, half, true, Report::yes);
    } else {
        queue.send(0, half, Report::yes);
    }
    queue.ring();
    bench.none(write ? done : arrived, "without a receive");
    queue.receive(0, half);
    bench.good(arrived, "a message that was tried again, where it arrives");
    expect(bench.memory.arrived(0, half), "other bytes arrived");
    bench.good(done, "a message that was tried again");
}

void ask_write_nothing(Bench& bench) {
    Loop here(bench);
    auto& [done, arrived, queue] = here;
    queue.receive_nothing();
    queue.write({}, {}, false, Report::yes);
    queue.write({}, {}, true, Report::yes);
    queue.ring();
    bench.good(done, "a write of no bytes");
    bench.good(done, "one with immediate");
    expect(bench.good(arrived, "one with immediate, where it arrives").bytes == 0, "it has bytes");
    bench.none(arrived, "after the one that uses up a receive");
}

void ask_event(Bench& bench) {
    Completions done(bench.device);
    Queue queue(bench.device, bench.memory, done, done);
    const auto event = [&](milliseconds limit) {
        pollfd descriptor{bench.device.event_descriptor(), POLLIN, 0};
        return poll(&descriptor, 1, static_cast<int>(limit.count())) == 1;
    };
    bench.device.clear_events();
    bench.device.arm(done.queue(), done.next());
    bench.device.rest(bench.limits.min_wait);
    expect(!event(milliseconds(0)), "an event without a completion");
    queue.mark(Report::yes);
    queue.ring();
    expect(event(bench.limits.max_wait), "no event for a completion");
    bench.device.clear_events();
    expect(!event(milliseconds(0)), "an event that stays after clear_events()");
    bench.device.arm(done.queue(), done.next());
    expect(event(bench.limits.max_wait), "no event for a completion that came before");
    bench.device.clear_events();
    bench.good(done, "a request");
}

void ask_key(Bench& bench) {
    Completions done(bench.device);
    Queue queue(bench.device, bench.memory, done, done);
    queue.write_wrongly();
    queue.ring();
    const Completion seen = bench.next(done, "a write with a wrong key");
    expect(seen.error, print(seen));
}

// A queue that waits, and one whose completions it waits for, read or not.
struct Waiting {
    Bench& bench;
    Completions counted;
    Completions done;
    Completions paces;
    Queue source;
    Queue waiter;
    Queue pacer;
    std::uint32_t completed = 0;

    Waiting(Bench& with, Role role, std::uint32_t entries = 256, bool ignore_overrun = false)
        : bench(with),
          counted(with.device, entries, ignore_overrun),
          done(with.device),
          paces(with.device),
          source(with.device, with.memory, counted, counted),
          waiter(with.device, with.memory, done, done, role),
          pacer(with.device, with.memory, paces, paces, role) {}
    void complete(std::uint32_t count) {
        while (count > 0) {
            const std::uint32_t part = std::min(count, blocks / 2);
            for (std::uint32_t one = 0; one < part; ++one) source.mark(Report::yes);
            source.ring();
            count -= part;
            completed += part;
            if (count == 0) break;  // else not over requests that still run
            pacer.wait(counted, completed - 1, Report::yes);
            pacer.ring();
            bench.good(paces, "a WAIT for requests that run");
        }
    }
};

// A first write, and a second one of the bytes that the first wrote, behind a WAIT for the first. With a
// master, the second write is in a managed queue, and its enable behind the WAIT.
void ask_wait_before(Bench& bench, bool by_master) {
    bench.memory.fill(5);
    Completions first_done(bench.device), done(bench.device);
    Queue first(bench.device, bench.memory, first_done, first_done);
    Queue waiter(bench.device, bench.memory, done, done, by_master ? Role::master : Role::plain);
    std::optional<Queue> managed;
    if (by_master) managed.emplace(bench.device, bench.memory, done, done, Role::managed);
    Queue& second = by_master ? *managed : waiter;
    waiter.wait(first_done, 0, Report::no);
    second.write(bench.memory.remote(8), bench.memory.to(0, 8), false, Report::yes);
    if (by_master) waiter.enable(second.number(), second.next(), Report::no);
    waiter.ring();
    bench.none(done, "a write behind a WAIT for an empty queue ran");
    first.write(0, 8, false, Report::yes);
    first.ring();
    bench.good(first_done, "a write");
    bench.good(done, "a write behind a WAIT");
    expect(bench.memory.arrived(0, 8) && bench.memory.arrived(0, 8, 8), "it ran before its WAIT had ended");
}

void ask_wait_after(Bench& bench) {
    Waiting here(bench, waiting_role(bench));
    here.complete(3);
    for (int count = 0; count < 3; ++count) bench.good(here.counted, "a request");
    here.waiter.wait(here.counted, 2, Report::yes);
    here.waiter.wait(here.counted, 0, Report::yes);
    here.waiter.ring();
    bench.good(here.done, "a WAIT for the last completion");
    bench.good(here.done, "a WAIT for one before it");
}

void ask_wait_count(Bench& bench) {
    Waiting here(bench, waiting_role(bench));
    here.waiter.wait(here.counted, 4, Report::yes);
    here.waiter.ring();
    here.complete(4);
    bench.none(here.done, "a WAIT for the fifth completion ended with four");
    here.complete(1);
    bench.good(here.done, "a WAIT for the fifth completion, with five");
}

void ask_waits_in_order(Bench& bench) {
    Waiting here(bench, waiting_role(bench));
    std::uint16_t first = here.waiter.next();
    for (int count = 0; count < 4; ++count) here.waiter.wait(here.counted, 1, Report::yes);
    here.waiter.mark(Report::yes);
    here.waiter.ring();
    here.complete(1);
    bench.none(here.done, "one of several WAITs ended early");
    here.complete(1);
    for (int count = 0; count < 5; ++count, ++first) {
        const Completion seen = bench.good(here.done, "one of several WAITs for one count");
        expect(seen.index == first, fmt::format("index {:#06x} instead of {:#06x}", seen.index, first));
    }
}

void ask_wait_quiet(Bench& bench) {
    Waiting here(bench, waiting_role(bench));
    here.waiter.wait(here.counted, 0, Report::no);
    here.waiter.mark(Report::yes);
    here.waiter.ring();
    here.complete(1);
    const Completion seen = bench.good(here.done, "a request behind a WAIT");
    expect(static_cast<std::uint16_t>(seen.index + 1) == here.waiter.next(), print(seen));
    bench.none(here.done, "after the only request that reports");
}

void ask_overrun(Bench& bench) {
    Waiting here(bench, waiting_role(bench), 16, true);
    here.waiter.wait(here.counted, 99, Report::yes);
    here.waiter.ring();
    here.complete(99);
    bench.none(here.done, "a WAIT for 100 completions ended with 99");
    here.complete(1);
    bench.good(here.done, "a WAIT for 100 completions of a queue of 16");
}

void ask_far_wait(Bench& bench) {
    Waiting here(bench, waiting_role(bench));
    constexpr std::uint32_t far = 40000;  // beyond half of 16 bits
    here.waiter.wait(here.counted, 0u - far, Report::yes);
    here.waiter.wait(here.counted, far, Report::yes);
    here.waiter.ring();
    here.complete(2);
    bench.good(here.done, "a WAIT for what came 40,000 completions before");
    bench.none(here.done, "a WAIT for 40,000 more completions ended");
}

void ask_index_wrap(Bench& bench) {
    Waiting here(bench, waiting_role(bench), 16, true);
    const std::uint32_t all = 0x10000u - here.source.first() + 2 * blocks;
    here.complete(all);
    here.waiter.wait(here.counted, all - 1, Report::yes);
    here.waiter.ring();
    bench.good(here.done, fmt::format("a WAIT for {} requests", all).c_str());
}

void ask_destroy(Bench& bench) {
    for (int round = 0; round < 3; ++round) {
        Waiting here(bench, waiting_role(bench));
        here.waiter.wait(here.counted, 0, Report::yes);
        here.waiter.ring();
        bench.none(here.done, "a WAIT for an empty queue ended");
    }
    ask_report(bench);
}

// A managed queue, and its master.
struct Managed {
    Bench& bench;
    Completions done;
    Completions own;
    Queue slave;
    Queue master;
    int seen = 0;

    explicit Managed(Bench& with)
        : bench(with),
          done(with.device),
          own(with.device),
          slave(with.device, with.memory, done, done, Role::managed),
          master(with.device, with.memory, own, own, Role::master) {}
    void through(int count) {
        for (; seen < count; ++seen) bench.good(done, "an enabled request");
        bench.none(done, fmt::format("more than {} requests ran", count).c_str());
    }
    void enable(std::uint16_t end, Report report = Report::no) { master.enable(slave.number(), end, report); }
};

void ask_enable(Bench& bench) {
    Managed here(bench);
    const auto after = [&](int count) { return static_cast<std::uint16_t>(here.slave.first() + count); };
    for (int count = 0; count < 10; ++count) here.slave.mark(Report::yes);
    here.through(0);
    here.enable(after(3));
    here.master.ring();
    here.through(3);
    here.enable(after(3));
    here.enable(after(1));
    here.master.ring();
    here.through(3);
    here.enable(after(4));
    here.enable(after(10));
    here.master.ring();
    here.through(10);
    bench.none(here.own, "a SEND_EN that does not report");
    here.enable(after(10), Report::yes);
    here.master.ring();
    bench.good(here.own, "a SEND_EN");
}

void ask_enable_in_turn(Bench& bench) {
    Managed here(bench);
    bench.memory.fill(9);
    // One bell, and the writes go one at a time, each after the one before it is complete.
    constexpr int steps = 8;
    for (std::uint32_t step = 0; step < steps; ++step) {
        here.slave.write(step * 8, 8, false, Report::yes);
        here.enable(here.slave.next());
        here.master.wait(here.done, step, step + 1 == steps ? Report::yes : Report::no);
    }
    here.master.ring();
    bench.good(here.own, "the last WAIT of a chain");
    expect(bench.memory.arrived(0, steps * 8), "the chain ended before its data had arrived");
    here.through(steps);
}

void ask_enable_wrap(Bench& bench) {
    Managed here(bench);
    const std::uint32_t all = 0x10000u - here.slave.first() + 2 * blocks;
    for (std::uint32_t through = 0; through < all;) {
        for (int count = 0; count < 16; ++count) here.slave.mark(Report::yes);
        here.enable(here.slave.next());
        here.master.ring();
        for (int count = 0; count < 16; ++count, ++through)
            bench.good(here.done, "a request of a managed queue");
    }
}

constexpr Question questions[] = {
    {"report", "Of two requests, only the one that reports leaves a completion.", ask_report},
    {"write", "An RDMA write with immediate arrives, its data before its completion.", ask_write},
    {"send", "Sends arrive in order, each in the receive that is next.", ask_send},
    {"receiver_late", "A send without a receive is tried again until there is one.",
     [](Bench& bench) { ask_without_receive(bench, false); }},
    {"write_late", "A write with immediate is not complete before there is a receive.",
     [](Bench& bench) { ask_without_receive(bench, true); }},
    {"write_nothing", "A write of zero bytes that names no memory completes.", ask_write_nothing},
    {"event", "An armed completion queue gives one event for its next completion.", ask_event},
    {"key", "Memory that a key does not cover is refused.", ask_key},
    {"wait_plain",
     "A WAIT in a plain queue pair holds the next request back until the completion that it names.",
     [](Bench& bench) { ask_wait_before(bench, false); }, Question::wait_in_plain},
    {"wait_master", "A WAIT in a master holds an enable back until the completion that it names.",
     [](Bench& bench) { ask_wait_before(bench, true); }, Question::cross_channel},
    {"wait_after", "A WAIT for a completion that was already read ends at once.", ask_wait_after,
     Question::wait},
    {"wait_count", "A WAIT for the fifth completion ends with the fifth.", ask_wait_count, Question::wait},
    {"waits_in_order", "Several WAITs for one count all end, in order.", ask_waits_in_order, Question::wait},
    {"wait_quiet", "A WAIT that does not report leaves no completion.", ask_wait_quiet, Question::wait},
    {"overrun", "If overrun is ignored, a WAIT can count more completions than the ring holds.", ask_overrun,
     Question::wait},
    {"far_wait", "A WAIT compares more than 16 bits, cyclically.", ask_far_wait, Question::wait},
    {"index_wrap", "Indices of requests wrap at 16 bits.", ask_index_wrap, Question::wait},
    {"destroy", "A queue pair that waits can be destroyed.", ask_destroy, Question::wait},
    {"enable", "A managed queue runs up to the request that SEND_EN names; repeating SEND_EN does no harm.",
     ask_enable, Question::cross_channel},
    {"enable_in_turn", "One doorbell runs a chain of enables and WAITs.", ask_enable_in_turn,
     Question::cross_channel},
    {"enable_wrap", "Enables wrap at 16 bits.", ask_enable_wrap, Question::cross_channel},
};

const char* why_not(const Capabilities& can, Question::Needs needs) {
    switch (needs) {
        case Question::nothing:
            return nullptr;
        case Question::wait_in_plain:
            return can.wait_in_plain.reason();
        case Question::wait:
            return can.wait_in_plain ? nullptr : can.cross_channel.reason();
        case Question::cross_channel:
            return can.cross_channel.reason();
    }
    return nullptr;
}

Answer ask(Device& device, const ConformanceLimits& limits, const Question& question) {
    Answer answer{question.name, question.asks, Outcome::not_asked, ""};
    if (const char* const reason = why_not(device.capabilities(), question.needs); reason != nullptr) {
        answer.found = reason;
        return answer;
    }
    try {
        // Each question has queues of its own: errors of one must not reach the next.
        Bench bench(device, limits);
        question.ask(bench);
        answer.outcome = Outcome::passed;
    } catch (const Failed& failed) {
        answer.outcome = Outcome::failed;
        answer.found = failed.why;
    } catch (const Error& error) {
        answer.outcome = Outcome::failed;
        answer.found = error.what();
    }
    return answer;
}

}  // namespace
}  // namespace conformance

const char* print(Outcome outcome) {
    switch (outcome) {
        case Outcome::passed:
            return "passed";
        case Outcome::failed:
            return "failed";
        case Outcome::not_asked:
            return "not asked";
    }
    return "?";
}

std::vector<Answer> check_conformance(Device& device, const ConformanceLimits& limits,
                                      std::string_view only) {
    std::vector<Answer> answers;
    for (const conformance::Question& question : conformance::questions) {
        if (only.empty() || only == question.name)
            answers.push_back(conformance::ask(device, limits, question));
    }
    return answers;
}

}  // namespace lapwing::mlx5
