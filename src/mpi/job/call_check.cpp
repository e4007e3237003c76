#include "mpi/job/call_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "mpi/native/guard.hpp"
#include "watch/comparison.hpp"
#include "watch/mismatches.hpp"

namespace lapwing {
namespace {

struct CallCheck {
    watch::JobWatch* watch = nullptr;
    std::atomic<std::uint64_t> sent{0};
    // Of rank 0, written by the event thread only.
    watch::CallComparison comparison;
    std::atomic<std::uint64_t> received{0};
    std::atomic<bool> failed{false};
};

CallCheck& check() {
    static auto& one = *new CallCheck;  // never destroyed: the event thread may outlive the program's main()
    return one;
}

// The first byte of a message between ranks and rank 0.
constexpr std::byte calls_of_rank{1};
constexpr std::byte failure{2};

std::vector<std::byte> message(std::byte kind, std::span<const std::byte> rest) {
    std::vector<std::byte> all(1 + rest.size());
    all.front() = kind;
    std::ranges::copy(rest, all.begin() + 1);
    return all;
}

// Threads that wait in Lapwing get the error; those that wait in the native MPI never return.
void fail(const std::string& why) {
    if (check().failed.exchange(true)) return;
    if (runtime.network != nullptr) runtime.network->fail(why);
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::seconds{2});
        ::_exit(1);
    }).detach();
}

void receive(int from, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const std::span<const std::byte> rest = bytes.subspan(1);
    if (bytes[0] == failure) return fail({reinterpret_cast<const char*>(rest.data()), rest.size()});
    if (bytes[0] != calls_of_rank) return;
    try {
        for (const watch::ReportedCall& call : watch::decode_calls(rest)) {
            const auto difference = check().comparison.add(call);
            if (!difference || check().failed) continue;
            const std::string why = fmt::format("the calls of the ranks do not match: {}", *difference);
            fmt::print(stderr, "lapwing: {}\n", why);
            check().watch->send_to_all(message(failure, std::as_bytes(std::span(why))));
        }
    } catch (const Error& error) {
        fmt::print(stderr, "lapwing: cannot compare the calls of rank {}: {}\n", from, error.what());
    }
    ++check().received;
}

// Calls that do not match may be the reason of an error of a transfer, which may end the job before rank 0
// has named them. Waits up to a second for rank 0's message.
void await_call_check() {
    constexpr int max_polls = 200;
    for (int i = 0; check().watch != nullptr && i < max_polls && !check().failed; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
}

}  // namespace

void begin_call_check(watch::JobWatch& watch) {
    check().watch = &watch;
    watch.on_message(receive);
    before_error = await_call_check;
}

void report_call(const watch::CallId& id) {
    CallCheck& one = check();
    if (one.watch == nullptr || id.communicator == nullptr) return;
    const watch::ReportedCall call = watch::journal().report(id);
    if (call.members < 2) return;
    // A call that is not reported, because rank 0 does not read, is not compared.
    if (one.watch->send_to_first(message(calls_of_rank, watch::encode(std::span(&call, 1))))) ++one.sent;
}

void compare_calls_at_end() {
    Job& job = *runtime.job;
    if (job.ranks() < 2) return;
    const std::array<std::uint64_t, 2> own{watch::journal().checksum(), check().sent};
    std::uint64_t sum = 0;
    std::uint64_t sent = 0;
    for (const std::vector<std::byte>& bytes : job.exchange(std::as_bytes(std::span(own)))) {
        std::array<std::uint64_t, 2> one{};
        std::memcpy(one.data(), bytes.data(), std::min(bytes.size(), sizeof one));
        sum += one[0];
        sent += one[1];
    }
    if (check().watch != nullptr) {
        // The last reports may still be on their way.
        constexpr int max_polls = 2000;
        for (int i = 0; job.rank() == 0 && i < max_polls && check().received < sent && !check().failed; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        job.exchange({});
        if (check().failed) std::this_thread::sleep_for(std::chrono::seconds{4});
    }
    if (sum == 0) return;
    watch::RankSnapshot snapshot = watch::journal().snapshot();
    watch::journal().add_closed(snapshot);
    std::vector<watch::Answer> answers;
    for (const std::vector<std::byte>& bytes : job.exchange(watch::encode(snapshot))) {
        answers.emplace_back();
        if (job.rank() == 0) answers.back().snapshot = watch::decode(bytes);
    }
    if (job.rank() != 0) return;
    for (const std::string& sentence : watch::compare_at_end(answers))
        fmt::print(stderr, "lapwing: the calls of the ranks do not match, and results may be wrong: {}\n",
                   sentence);
}

}  // namespace lapwing
