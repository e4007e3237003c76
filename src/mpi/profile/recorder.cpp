#include "mpi/profile/recorder.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "base/clock.hpp"
#include "mpi/profile/definitions.hpp"
#include "recording/stream.hpp"

namespace lapwing::profile {
namespace detail {
std::atomic<bool> is_recording{false};
}

namespace {

constexpr std::size_t max_threads = 256;

struct Slot {
    std::uint32_t number = 0;
    bool persistent = false;
    bool active = false;
};

// What all threads share, under the lock of the profile. Never destroyed.
struct State {
    std::string path;  // of the rank's files, without what differs
    std::uint64_t began = 0;
    std::vector<std::unique_ptr<recording::Stream>> streams;
    // MPIs have one handle for all requests that are complete from the beginning.
    std::multimap<MPI_Request, Slot> slots;
    std::set<std::uint32_t> free_slots;
    std::uint32_t next_slot = 0;
    // What a recorder's clocks measure where there is no computation.
    std::uint64_t processor_bias = UINT64_MAX;
    std::uint64_t wall_bias = UINT64_MAX;
};
State& state = *new State;

// Of one thread.
struct Own {
    recording::Stream* stream = nullptr;
    bool tried = false;
    int depth = 0;                // calls of MPI, one inside the other
    std::uint64_t processor = 0;  // when the thread left its last call
    std::uint64_t wall = 0;
};
thread_local Own own;

std::uint64_t processor_time() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void remember_times() {
    own.processor = processor_time();
    own.wall = nanoseconds();
}

void make_stream() {
    own.tried = true;
    const std::lock_guard lock(shared_lock());
    if (state.streams.size() == max_threads) return;
    state.streams.push_back(
        std::make_unique<recording::Stream>(fmt::format("{}.{}", state.path, state.streams.size()),
                                            state.streams.empty() ? state.began : nanoseconds()));
    own.stream = state.streams.back().get();
}

// Without what the clocks themselves take.
std::uint64_t since(std::uint64_t now, std::uint64_t before, std::uint64_t bias) {
    return now - before > bias ? now - before - bias : 0;
}

std::uint32_t take_slot() {
    if (state.free_slots.empty()) return state.next_slot++;
    return state.free_slots.extract(state.free_slots.begin()).value();
}

// The lowest slot of this handle that is active or, if `active` is false, any.
std::multimap<MPI_Request, Slot>::iterator find_slot(MPI_Request handle, bool active) {
    auto best = state.slots.end();
    const auto [begin, end] = state.slots.equal_range(handle);
    for (auto it = begin; it != end; ++it) {
        if (active && !it->second.active) continue;
        if (best == state.slots.end() || it->second.number < best->second.number) best = it;
    }
    return best;
}

void release(std::multimap<MPI_Request, Slot>::iterator slot) {
    state.free_slots.insert(slot->second.number);
    state.slots.erase(slot);
}

}  // namespace

void begin_recording(const std::string& directory, int rank) {
    state.path = fmt::format("{}/rank-{}", directory, rank);
    create_recorded_facts(state.path + ".facts");
    state.began = nanoseconds();
    make_stream();
    for (int i = 0; i < 64; ++i) {
        remember_times();
        state.processor_bias = std::min(state.processor_bias, processor_time() - own.processor);
        state.wall_bias = std::min(state.wall_bias, nanoseconds() - own.wall);
    }
    detail::is_recording.store(true, std::memory_order_release);
}

void resume_recording() {
    remember_times();
}

std::string end_recording() {
    detail::is_recording.store(false, std::memory_order_release);
    const std::lock_guard lock(shared_lock());
    std::string trouble = error_of_recorded_facts();
    for (const auto& stream : state.streams) {
        const std::string error = stream->close();
        if (trouble.empty()) trouble = error;
    }
    return trouble;
}

RecordedCall::RecordedCall(const char* function, const void* from)
    : on_(recording() && own.depth == 0), function_(function), from_(from) {
    ++own.depth;
    if (!on_) return;
    const std::uint64_t processor = processor_time();
    const std::uint64_t wall = nanoseconds();
    if (!own.tried) {
        own.processor = processor;  // a thread's first call has nothing before it
        own.wall = wall;
        try {
            make_stream();
        } catch (const std::exception&) {
            own.stream = nullptr;
        }
    }
    time_.processor = since(processor, own.processor, state.processor_bias);
    time_.wall = since(wall, own.wall, state.wall_bias);
    on_ = own.stream != nullptr;
}

void RecordedCall::enter() {
    if (on_) began_ = nanoseconds();
}

void RecordedCall::leave() {
    if (on_) ended_ = nanoseconds();
}

void RecordedCall::set_communicator(MPI_Comm communicator) {
    if (communicator == MPI_COMM_NULL) return;
    const std::lock_guard lock(shared_lock());
    call_.communicator = find(communicator)->number;
}

RecordedCall::~RecordedCall() {
    --own.depth;
    if (!on_) return;
    time_.inside = ended_ - began_;
    {
        const std::lock_guard lock(shared_lock());
        call_.site = site_of(function_, from_);
    }
    if (recording()) own.stream->add(call_, time_, fruitless_, ended_);
    remember_times();
}

void add_request(recording::Call& call, MPI_Request handle, bool persistent) {
    if (handle == MPI_REQUEST_NULL) return;
    const std::lock_guard lock(shared_lock());
    const std::uint32_t number = take_slot();
    state.slots.emplace(handle, Slot{number, persistent, !persistent});
    call.requests.push_back(number);
}

void start_requests(recording::Call& call, int count, const MPI_Request* handles) {
    const std::lock_guard lock(shared_lock());
    for (int i = 0; i < count; ++i) {
        const auto slot = find_slot(handles[i], false);
        if (slot == state.slots.end()) continue;
        slot->second.active = true;
        call.requests.push_back(slot->second.number);
    }
}

void free_request(recording::Call& call, MPI_Request handle) {
    const std::lock_guard lock(shared_lock());
    const auto slot = find_slot(handle, false);
    if (slot == state.slots.end()) return;
    call.requests.push_back(slot->second.number);
    release(slot);
}

CompletingRequests::CompletingRequests(int count, const MPI_Request* handles) {
    const std::lock_guard lock(shared_lock());
    std::multimap<MPI_Request, std::size_t> taken;  // of handles that occur more than once
    for (int i = 0; i < count && handles != nullptr; ++i) {
        if (handles[i] == MPI_REQUEST_NULL) continue;
        std::vector<Slot> active;
        const auto [begin, end] = state.slots.equal_range(handles[i]);
        for (auto it = begin; it != end; ++it) {
            if (it->second.active) active.push_back(it->second);
        }
        const std::size_t before = active.size() > 1 ? taken.count(handles[i]) : 0;
        if (before >= active.size()) continue;
        if (active.size() > 1) {
            std::ranges::sort(active, {}, &Slot::number);
            taken.emplace(handles[i], before);
        }
        requests_.push_back({i, handles[i], active[before].number, active[before].persistent, false});
    }
}

void CompletingRequests::set_all_complete() {
    for (Request& request : requests_) request.complete = true;
}

void CompletingRequests::set_complete(std::span<const int> indices) {
    for (const int index : indices) {
        for (Request& request : requests_) request.complete = request.complete || request.index == index;
    }
}

std::size_t CompletingRequests::finish(recording::Call& call, bool keep) {
    if (requests_.empty()) return 0;
    const std::lock_guard lock(shared_lock());
    const auto complete = static_cast<std::size_t>(std::ranges::count(requests_, true, &Request::complete));
    // Which of several is complete first differs from iteration to iteration. Their slots are exchanged, so
    // that the completed ones have the lowest numbers.
    std::ranges::sort(requests_, {},
                      [](const Request& request) { return std::tuple(!request.complete, request.slot); });
    std::vector<std::uint32_t> numbers;
    for (const Request& request : requests_) numbers.push_back(request.slot);
    const bool exchange = !keep && std::ranges::none_of(requests_, &Request::persistent);
    if (exchange) std::ranges::sort(numbers);
    call.requests.insert(call.requests.end(), numbers.begin(), numbers.end());
    if (keep) return complete;
    std::vector<std::multimap<MPI_Request, Slot>::iterator> slots;
    for (const Request& request : requests_) {
        const auto [begin, end] = state.slots.equal_range(request.handle);
        const auto found =
            std::find_if(begin, end, [&](const auto& slot) { return slot.second.number == request.slot; });
        slots.push_back(found == end ? state.slots.end() : found);
    }
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        if (slots[i] == state.slots.end()) continue;  // two threads complete the same request
        if (!requests_[i].complete)
            slots[i]->second.number = numbers[i];
        else if (requests_[i].persistent)
            slots[i]->second.active = false;
        else {
            slots[i]->second.number = numbers[i];
            release(slots[i]);
        }
    }
    return complete;
}

}  // namespace lapwing::profile
