#include <thread>
#include <utility>

#include "watch/journal.hpp"

namespace lapwing::watch {
namespace {

void write(CallRecord& record, const CallWords& words) {
    record.function.store(words.function, std::memory_order_relaxed);
    record.site.store(words.site, std::memory_order_relaxed);
    record.began.store(words.began, std::memory_order_relaxed);
    record.bytes.store(words.bytes, std::memory_order_relaxed);
    record.what.store(words.what, std::memory_order_relaxed);
    record.starts.store(words.starts, std::memory_order_relaxed);
    record.state.store(words.state, std::memory_order_release);
}

}  // namespace

CallWords CallRecord::read() const {
    constexpr auto order = std::memory_order_acquire;
    for (;;) {
        CallWords words{state.load(order), function.load(order), site.load(order),  began.load(order),
                        bytes.load(order), what.load(order),     starts.load(order)};
        const std::uint64_t after = state.load(std::memory_order_relaxed);
        if (words.serial() == 0 || after >> 2 == words.serial()) return words;
        std::this_thread::yield();
    }
}

// The record's own kept_mutex_ guards kept_; program threads take it only in rare cases.
void CommunicatorRecord::keep(CallRecord& slot) {
    const std::lock_guard lock(kept_mutex_);
    CallWords words = slot.read();
    // From now on another thread that completes the call finds it in kept_.
    words.state = slot.state.exchange(0, std::memory_order_acq_rel);
    if ((words.state & CallRecord::complete) != 0) return;
    keep_locked(words);
}

CallRecord* CommunicatorRecord::keep_locked(const CallWords& words) {
    auto& kept = kept_[words.serial()];
    kept = std::make_unique<CallRecord>();
    write(*kept, words);
    return kept.get();
}

CallRecord* CommunicatorRecord::persistent(std::uint64_t init, bool by_lapwing) {
    if (by_lapwing) taken(init);
    const std::lock_guard lock(kept_mutex_);
    return keep_locked(calls_[init % remembered].read());
}

void CommunicatorRecord::blocks(std::uint64_t serial, const Problem& problem) {
    if (blocks_ == nullptr) {
        const std::lock_guard lock(kept_mutex_);
        blocks_ = std::make_unique<BlocksRecord>(ranks_);
    }
    const Parts& parts = problem.parts_of(rank_);
    blocks_->call.store(0, std::memory_order_relaxed);
    Word* const sent = blocks_->bytes.data();
    Word* const received = sent + ranks_;
    for (Word& bytes : blocks_->bytes) bytes.store(0, std::memory_order_release);
    const auto add = [](Word* to, const std::vector<Part>& all) {
        for (const Part& part : all) {
            Word& bytes = to[part.peer];
            bytes.store(bytes.load(std::memory_order_relaxed) + part.bytes, std::memory_order_release);
        }
    };
    add(sent, parts.sends);
    add(received, parts.receives);
    blocks_->call.store(serial << 2 | (parts.sends.empty() ? 2U : 0U) | (problem.in_place ? 1U : 0U),
                        std::memory_order_release);
}

// A rank that contributes from its result's place, or that has no part in the transfer, leaves out that
// direction.
void CommunicatorRecord::read_blocks(std::uint64_t serial, Arguments& arguments) const {
    if (blocks_ == nullptr) return;
    const std::uint64_t call = blocks_->call.load(std::memory_order_acquire);
    if (call >> 2 != serial) return;
    std::vector<std::uint64_t> sent(ranks_);
    std::vector<std::uint64_t> received(ranks_);
    for (std::size_t i = 0; i < ranks_; ++i) {
        sent[i] = blocks_->bytes[i].load(std::memory_order_acquire);
        received[i] = blocks_->bytes[ranks_ + i].load(std::memory_order_acquire);
    }
    if (blocks_->call.load(std::memory_order_relaxed) != call) return;
    const bool in_place = (call & 1) != 0;
    const bool no_sends = (call & 2) != 0;
    const auto own = static_cast<std::size_t>(rank_);
    // Each rank gets the same block.
    if (arguments.collective == Collective::allgatherv)
        sent.assign(ranks_, in_place ? received[own] : sent[own]);
    // All ranks pass the same counts.
    if (arguments.collective == Collective::reduce_scatter)
        received.assign(ranks_, no_sends ? received[own] : sent[own]);
    // In place, a rank sends nothing to itself.
    sent[own] = received[own] = 0;
    arguments.sent = std::move(sent);
    arguments.received = std::move(received);
}

}  // namespace lapwing::watch
