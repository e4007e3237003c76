#include "mpi/profile/guarding.hpp"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/trace.hpp"
#include "mpi/first_touch/guards.hpp"
#include "mpi/profile/profile.hpp"

namespace lapwing::profile {
namespace detail {
std::atomic<bool> guards_buffers{false};
}

namespace {

using first_touch::Refusal;

// Under a lock of its own. Never destroyed.
struct State {
    std::mutex mutex;
    const first_touch::Functions* functions = nullptr;
    std::uint64_t next = 0;
    std::map<std::uint64_t, Called> guarded;  // by tag
    std::array<std::uint64_t, first_touch::refusals> refused{};
    bool has_windows = false;
};
State& state = *new State;

void record(const first_touch::Touch& touch, const Called& called) {
    trace::record({.began = touch.began,
                   .ended = touch.ended,
                   .bytes = touch.bytes,
                   .operation = called.number,
                   .index = called.site,
                   .peer = static_cast<std::int32_t>(called.communicator),
                   .what = trace::What::touch,
                   .kind = static_cast<std::uint8_t>(touch.access)});
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
    nlohmann::ordered_json fact = {{"fact", "refused_guards"}};
    for (std::size_t i = 1; i < state.refused.size(); ++i)
        fact[first_touch::names_of_refusals[i]] = state.refused[i];
    const std::lock_guard lock(shared_lock());
    write_fact(fact);
}

void detail::lift() {
    const std::lock_guard lock(state.mutex);
    if (state.guarded.empty()) return;
    std::array<first_touch::Touch, first_touch::max_guards> touches;
    const std::size_t count = state.functions->lift(touches.data(), touches.size());
    for (std::size_t i = 0; i < count; ++i) {
        const auto called = state.guarded.find(touches[i].tag);
        if (called != state.guarded.end()) record(touches[i], called->second);
    }
    state.guarded.clear();
}

void guard_buffer(const Called& called) {
    if (!guarding() || called.into == nullptr || called.into_bytes == 0) return;
    const std::lock_guard lock(state.mutex);
    const std::uint64_t tag = ++state.next;
    const Refusal refusal =
        state.has_windows ? Refusal::windows : state.functions->guard(called.into, called.into_bytes, tag);
    ++state.refused[static_cast<std::size_t>(refusal)];
    if (refusal == Refusal::none) state.guarded.emplace(tag, called);
}

void never_guard_again() {
    const std::lock_guard lock(state.mutex);
    state.has_windows = true;
}

}  // namespace lapwing::profile
