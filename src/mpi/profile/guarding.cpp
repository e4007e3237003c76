#include "mpi/profile/guarding.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/trace.hpp"
#include "mpi/first_touch/functions.hpp"
#include "mpi/profile/definitions.hpp"

namespace lapwing::profile {
namespace detail {
std::atomic<bool> guards_buffers{false};
}

namespace {

using first_touch::LastWrite;
using first_touch::Refusal;
using Json = nlohmann::ordered_json;

// Nanoseconds, summed over the calls of one site.
struct Messages {
    std::uint64_t calls = 0;
    std::uint64_t min_bytes = UINT64_MAX;
    std::uint64_t max_bytes = 0;
    std::uint64_t start = 0;
    std::uint64_t wait = 0;
    std::uint32_t completed_at = 0;
    std::uint64_t guarded = 0;
    std::uint64_t until_touch = 0;
    std::uint64_t saved_by_later_wait = 0;
    std::uint64_t watched = 0;
    std::uint64_t unwritten_at_least = 0;
    std::uint64_t unwritten_at_most = 0;
    std::uint64_t saved_by_earlier_start = 0;
};

struct Guarded {
    Called called;
    std::uint64_t saveable = 0;  // of a message: nanoseconds that it took
};

// Under a lock of its own. Never destroyed.
struct State {
    std::mutex mutex;
    const first_touch::Functions* functions = nullptr;
    std::uint64_t next = 0;
    std::map<std::uint64_t, Guarded> guarded;  // by tag
    // Buffers of calls and requests that are not complete, by number of the transfer. A guard on them would
    // fail system calls of MPI and, on the same host, of peers.
    std::unordered_map<std::uint64_t, Buffers> in_use;
    std::map<std::uint32_t, Messages> messages;  // by site
    std::array<std::uint64_t, first_touch::refusals> refused{};
    std::array<std::uint64_t, first_touch::refusals> refused_watches{};
    bool has_windows = false;
};
State& state = *new State;

void record(const Called& called, std::uint64_t began, std::uint64_t ended, std::uint64_t bytes, int kind) {
    trace::record({.began = began,
                   .ended = ended,
                   .bytes = bytes,
                   .operation = called.number,
                   .index = called.site,
                   .peer = static_cast<std::int32_t>(called.communicator),
                   .what = trace::What::touch,
                   .kind = static_cast<std::uint8_t>(kind)});
}

void record(const first_touch::Touch& touch, const Guarded& guarded) {
    if (!guarded.called.is_message)
        return record(guarded.called, touch.began, touch.ended, touch.bytes, static_cast<int>(touch.access));
    Messages& messages = state.messages[guarded.called.site];
    const std::uint64_t unused = touch.ended - touch.began;
    ++messages.guarded;
    messages.until_touch += unused;
    messages.saved_by_later_wait += std::min(unused, guarded.saveable);
}

bool overlap(const Memory& one, const Memory& other) {
    const auto* const begin = static_cast<const char*>(one.begin);
    const auto* const other_begin = static_cast<const char*>(other.begin);
    return begin < other_begin + other.bytes && other_begin < begin + one.bytes;
}

Refusal guard(const Memory& memory, std::uint64_t tag) {
    if (state.has_windows) return Refusal::windows;
    const bool used = std::ranges::any_of(state.in_use, [&](const auto& transfer) {
        return overlap(transfer.second.sent, memory) || overlap(transfer.second.filled, memory);
    });
    if (used) return Refusal::in_use;
    return state.functions->guard(const_cast<void*>(memory.begin), memory.bytes, tag);
}

Json as_fact(const char* name, const std::array<std::uint64_t, first_touch::refusals>& refused) {
    Json fact = {{"fact", name}};
    for (std::size_t i = 1; i < refused.size(); ++i) fact[first_touch::names_of_refusals[i]] = refused[i];
    return fact;
}

Json as_fact(std::uint32_t site, const Messages& messages) {
    return {{"fact", "messages"},
            {"site", site},
            {"completed_at", messages.completed_at},
            {"calls", messages.calls},
            {"bytes", {messages.min_bytes, messages.max_bytes}},
            {"start", messages.start},
            {"wait", messages.wait},
            {"guarded", messages.guarded},
            {"until_touch", messages.until_touch},
            {"saved_by_later_wait", messages.saved_by_later_wait},
            {"watched", messages.watched},
            {"unwritten_at_least", messages.unwritten_at_least},
            {"unwritten_at_most", messages.unwritten_at_most},
            {"saved_by_earlier_start", messages.saved_by_earlier_start}};
}

}  // namespace

void begin_guarding() {
    const void* const found = ::dlsym(RTLD_DEFAULT, "lapwing_first_touch");
    if (found == nullptr || !trace::on()) return;
    state.functions = static_cast<const first_touch::Functions*>(found);
    detail::guards_buffers.store(true);
}

void end_guarding() {
    if (!guarding()) return;
    detail::lift();
    detail::guards_buffers.store(false);
    const std::lock_guard lock(shared_lock());
    write_fact(as_fact("refused_guards", state.refused));
    write_fact(as_fact("refused_watches", state.refused_watches));
    for (const auto& [site, messages] : state.messages) write_fact(as_fact(site, messages));
}

Memory memory_of(const void* buffer, std::int64_t count, MPI_Datatype type) {
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    MPI_Aint bytes = 0;
    if (!guarding() || buffer == MPI_IN_PLACE || count <= 0 || type == MPI_DATATYPE_NULL ||
        PMPI_Type_get_extent(type, &low, &extent) != MPI_SUCCESS || extent < 0 ||
        PMPI_Type_get_true_extent(type, &low, &bytes) != MPI_SUCCESS || bytes <= 0)
        return {};
    return {static_cast<const char*>(buffer) + low, static_cast<std::uint64_t>((count - 1) * extent + bytes)};
}

void detail::lift() {
    const std::lock_guard lock(state.mutex);
    if (state.guarded.empty()) return;
    std::array<first_touch::Touch, first_touch::max_guards> touches;
    const std::size_t count = state.functions->lift(touches.data(), touches.size());
    for (std::size_t i = 0; i < count; ++i) {
        const auto guarded = state.guarded.find(touches[i].tag);
        if (guarded != state.guarded.end()) record(touches[i], guarded->second);
    }
    state.guarded.clear();
}

void detail::begin_transfer(Called& called) {
    const Buffers& buffers = called.buffers;
    if (buffers.sent.bytes == 0 && buffers.filled.bytes == 0) return;
    const std::lock_guard lock(state.mutex);
    called.transfer = ++state.next;
    state.in_use.emplace(called.transfer, buffers);
    const std::uint64_t now = trace::now();
    LastWrite written;
    called.knows_last_write =
        state.functions->find_last_write(buffers.sent.begin, buffers.sent.bytes, &written);
    called.unwritten_at_least = now - std::min(now, written.latest);
    called.unwritten_at_most = now - std::min(now, written.earliest);
}

void detail::watch_sent(const Called& called) {
    if (called.buffers.sent.bytes == 0) return;
    const Refusal refusal = state.functions->watch(called.buffers.sent.begin, called.buffers.sent.bytes);
    const std::lock_guard lock(state.mutex);
    ++state.refused_watches[static_cast<std::size_t>(refusal)];
}

void detail::end_transfer(const Called& called, std::uint64_t started, std::uint64_t inside,
                          std::uint32_t completed_at) {
    if (called.transfer == 0) return;
    const std::lock_guard lock(state.mutex);
    state.in_use.erase(called.transfer);
    const std::uint64_t took = completed_at == 0 ? started - called.began : inside;
    if (called.is_message) {
        Messages& messages = state.messages[called.site];
        ++messages.calls;
        messages.min_bytes = std::min(messages.min_bytes, called.bytes);
        messages.max_bytes = std::max(messages.max_bytes, called.bytes);
        messages.start += started - called.began;
        messages.wait += inside;
        messages.completed_at = completed_at;
        if (called.knows_last_write) {
            ++messages.watched;
            messages.unwritten_at_least += called.unwritten_at_least;
            messages.unwritten_at_most += called.unwritten_at_most;
            messages.saved_by_earlier_start += std::min(took, called.unwritten_at_most);
        }
    } else if (called.knows_last_write) {
        record(called, called.began - called.unwritten_at_most, called.began - called.unwritten_at_least,
               called.buffers.sent.bytes, trace::last_write);
    }
    if (called.buffers.filled.bytes == 0) return;
    const std::uint64_t tag = ++state.next;
    const Refusal refusal = guard(called.buffers.filled, tag);
    ++state.refused[static_cast<std::size_t>(refusal)];
    if (refusal == Refusal::none) state.guarded.emplace(tag, Guarded{called, took});
}

void forget_transfer(const Called& called) {
    if (called.transfer == 0) return;
    const std::lock_guard lock(state.mutex);
    state.in_use.erase(called.transfer);
}

void never_guard_again() {
    const std::lock_guard lock(state.mutex);
    state.has_windows = true;
}

}  // namespace lapwing::profile
