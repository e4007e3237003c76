#include "mpi/profile/recorder.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "mpi/profile/definitions.hpp"
#include "recording/stream.hpp"

namespace lapwing::profile {
namespace detail {
std::atomic<bool> is_recording{false};
}

namespace {

constexpr std::size_t max_threads = 256;
// The processor's clock is a system call, 0.7 us here. A shorter time than this is taken for time on the
// processor: the scheduler's interruptions last longer. The clock is read at least this often all the same,
// so that what the hypervisor and interrupts take does not add up.
constexpr std::uint64_t undivided = 20'000;
constexpr std::uint64_t max_unread = 1'000'000;

struct Slot {
    std::uint32_t number = 0;
    bool persistent = false;
    bool active = false;
};

// Of one thread.
struct Track {
    recording::Stream stream;
    recording::Call call;  // that is being made: keeps its memory
};

// What all threads share, under the lock of the profile. Never destroyed.
struct State {
    std::string path;  // of the rank's files, without what differs
    std::uint64_t began = 0;
    std::vector<std::unique_ptr<Track>> tracks;
    // MPIs have one handle for all requests that are complete from the beginning.
    std::multimap<MPI_Request, Slot> slots;
    std::vector<std::uint32_t> free_slots;  // a heap, the lowest first
    std::uint32_t next_slot = 0;
    // What a recorder's clocks measure where there is no computation.
    std::uint64_t processor_bias = UINT64_MAX;
    std::uint64_t wall_bias = UINT64_MAX;
};
State& state = *new State;

// Of one thread.
struct Own {
    Track* track = nullptr;
    bool tried = false;
    int depth = 0;  // calls of MPI, one inside the other
    // When the thread left its last call.
    std::uint64_t processor = 0;
    std::uint64_t wall = 0;
    std::uint64_t read = 0;  // when the processor's clock was last read, by the other clock
};
thread_local Own own;

std::uint64_t processor_time() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void read_processor(std::uint64_t now) {
    own.processor = processor_time();
    own.read = now;
}

void remember_times() {
    read_processor(nanoseconds());
    own.wall = nanoseconds();
}

void make_stream() {
    own.tried = true;
    const std::lock_guard lock(shared_lock());
    if (state.tracks.size() == max_threads) return;
    state.tracks.push_back(
        std::unique_ptr<Track>(new Track{{fmt::format("{}.{}", state.path, state.tracks.size()),
                                          state.tracks.empty() ? state.began : nanoseconds()},
                                         {}}));
    own.track = state.tracks.back().get();
}

// Without what the clocks themselves take. The processor's clock may be behind the time that short
// computations were taken for: the scheduler interrupts some of them.
std::uint64_t since(std::uint64_t now, std::uint64_t before, std::uint64_t bias) {
    return now > before + bias ? now - before - bias : 0;
}

void clear(recording::Call& call) {
    std::vector<std::uint32_t> requests = std::move(call.requests);
    requests.clear();
    call = {};
    call.requests = std::move(requests);
}

std::uint32_t take_slot() {
    if (state.free_slots.empty()) return state.next_slot++;
    std::ranges::pop_heap(state.free_slots, std::greater());
    const std::uint32_t slot = state.free_slots.back();
    state.free_slots.pop_back();
    return slot;
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

std::multimap<MPI_Request, Slot>::iterator slot_with(MPI_Request handle, std::uint32_t number) {
    const auto [begin, end] = state.slots.equal_range(handle);
    const auto found =
        std::find_if(begin, end, [&](const auto& slot) { return slot.second.number == number; });
    return found == end ? state.slots.end() : found;
}

void release(std::multimap<MPI_Request, Slot>::iterator slot) {
    state.free_slots.push_back(slot->second.number);
    std::ranges::push_heap(state.free_slots, std::greater());
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
        state.wall_bias = std::min(state.wall_bias, nanoseconds() - own.wall);
        state.processor_bias = std::min(state.processor_bias, processor_time() - own.processor);
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
    for (const auto& track : state.tracks) {
        const std::string error = track->stream.close();
        if (trouble.empty()) trouble = error;
    }
    return trouble;
}

RecordedCall::RecordedCall(const CallSite& site) : on_(recording() && own.depth == 0), site_(site) {
    ++own.depth;
    if (!on_) return;
    wall_ = nanoseconds();
    if (!own.tried) {
        own.wall = wall_;  // a thread's first call has nothing before it
        read_processor(wall_);
        try {
            make_stream();
        } catch (const std::exception&) {
            own.track = nullptr;
        }
    }
    time_.wall = since(wall_, own.wall, state.wall_bias);
    if (wall_ - own.wall < undivided) {
        time_.processor = time_.wall;
        own.processor += wall_ - own.wall;
    } else {
        const std::uint64_t before = own.processor;
        read_processor(wall_);
        time_.processor = since(own.processor, before, state.processor_bias);
    }
    on_ = own.track != nullptr;
    if (!on_) return;
    call_ = &own.track->call;
    clear(*call_);
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
    call_->communicator = find(communicator)->number;
}

RecordedCall::~RecordedCall() {
    --own.depth;
    if (!on_) return;
    time_.inside = ended_ - began_;
    {
        const std::lock_guard lock(shared_lock());
        call_->site = site_of(site_);
    }
    if (recording()) own.track->stream.add(*call_, time_, fruitless_, ended_);
    const std::uint64_t now = nanoseconds();
    if (time_.inside < undivided && now - own.read < max_unread) {
        own.processor += now - wall_;
        own.wall = now;
    } else {
        remember_times();
    }
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
    if (count == 1 && handles != nullptr && handles[0] != MPI_REQUEST_NULL) {
        const auto slot = find_slot(handles[0], true);
        if (slot != state.slots.end())
            requests_.push_back({0, handles[0], slot->second.number, slot->second.persistent, false});
        return;
    }
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
    if (requests_.size() == 1) {
        const Request& one = requests_.front();
        call.requests.push_back(one.slot);
        const auto slot = keep || !one.complete ? state.slots.end() : slot_with(one.handle, one.slot);
        if (slot == state.slots.end()) return complete;
        if (one.persistent)
            slot->second.active = false;
        else
            release(slot);
        return complete;
    }
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
    for (const Request& request : requests_) slots.push_back(slot_with(request.handle, request.slot));
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
