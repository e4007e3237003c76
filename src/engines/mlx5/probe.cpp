#include "engines/mlx5/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>

#include "engines/mlx5/devx.hpp"
#include "engines/mlx5/queues.hpp"

namespace lapwing::mlx5 {
namespace {

using Clock = std::chrono::steady_clock;

// The queues of the probe. The destructor destroys them.
class Queues {
  public:
    explicit Queues(Device& device) : device_(device) {}
    ~Queues() {
        for (const SendQueue& queue : pairs_) device_.destroy(queue.pair());
        for (const CompletionQueue& queue : completions_) device_.destroy(queue);
    }
    Queues(const Queues&) = delete;
    Queues& operator=(const Queues&) = delete;

    CompletionQueue completions() {
        completions_.push_back(device_.create_completion_queue({16, false, false}));
        return completions_.back();
    }
    SendQueue connected_to_itself(const CompletionQueue& completions, Role role) {
        pairs_.emplace_back(device_.create_queue_pair({16, 0, &completions, &completions, role}));
        device_.connect(pairs_.back().pair(), device_.address(pairs_.back().pair()));
        return pairs_.back();
    }

  private:
    Device& device_;
    std::vector<CompletionQueue> completions_;
    std::vector<SendQueue> pairs_;
};

Position position_of(const SendQueue& queue) {
    return {queue.next(), queue.pair().number};
}

// Waits until the queue has an entry. Returns false if it gets none in time.
bool wait_for_entry(CompletionReader& reader, std::chrono::milliseconds limit,
                    const std::function<void()>& meanwhile) {
    const auto end = Clock::now() + limit;
    for (;;) {
        reader.read();
        if (reader.count() > 0) return true;
        if (Clock::now() > end) return false;
        if (meanwhile) meanwhile();
    }
}

std::string try_out(Device& device, const WorkVariant& variant, std::chrono::milliseconds limit,
                    const std::function<void()>& meanwhile) {
    // Three words: the first is written to the second, and that to the third.
    std::array<std::uint64_t, 3> words = {0x1122334455667788, 0, 0};
    std::byte* const memory = reinterpret_cast<std::byte*>(words.data());
    const Registered registered(device, memory, sizeof words);
    const auto data = [&](std::size_t word) {
        return Data{reinterpret_cast<std::uint64_t>(&words[word]), 8, registered.key().local};
    };
    const auto target = [&](std::size_t word) {
        return RemoteData{reinterpret_cast<std::uint64_t>(&words[word]), registered.key().remote};
    };
    Queues queues(device);
    CompletionReader first_done(queues.completions());
    CompletionReader second_done(queues.completions());
    CompletionReader management_done(queues.completions());
    SendQueue first = queues.connected_to_itself(first_done.queue(), Role::plain);
    SendQueue second =
        queues.connected_to_itself(second_done.queue(), variant.management ? Role::managed : Role::plain);
    std::optional<SendQueue> management;
    if (variant.management) management = queues.connected_to_itself(management_done.queue(), Role::master);

    SendQueue& waiting = management ? *management : second;
    const auto wait = [&] {
        put_wait(waiting.block(), position_of(waiting), first_done.queue().number, first_done.index(0),
                 Report::no);
        waiting.post();
    };
    if (!management) wait();
    const std::uint16_t begin = second.next();
    put_write(second.block(), position_of(second), target(2), data(1), false, Report::yes);
    second.post();
    if (management) {
        wait();
        put_enable(management->block(), position_of(*management), second.pair().number,
                   static_cast<std::uint16_t>(begin + 1), Report::yes);
        management->post();
    }
    waiting.ring();
    // On a card that passes, the probe takes no more than this wait for an entry that must not come.
    if (wait_for_entry(second_done, std::min(limit / 10, std::chrono::milliseconds(10)), meanwhile))
        return "a WAIT does not wait, or a managed queue runs at once";
    put_write(first.block(), position_of(first), target(1), data(0), false, Report::yes);
    first.post();
    first.ring();
    if (!wait_for_entry(first_done, limit, meanwhile)) return "a write to itself does not end";
    if (!wait_for_entry(second_done, limit, meanwhile))
        return variant.management ? "WAIT and SEND_EN do not let a managed queue run" : "a WAIT does not end";
    if (management && !wait_for_entry(management_done, limit, meanwhile)) return "a SEND_EN does not report";
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const volatile std::uint64_t& last = words[2];
    return last == words[0] ? "" : "a queue ran before its WAIT had ended";
}

}  // namespace

std::string probe(Device& device, const WorkVariant& variant, std::chrono::milliseconds limit,
                  const std::function<void()>& meanwhile) {
    const Capabilities has = device.capabilities();
    const Verdict able = variant.management ? has.cross_channel : has.wait_in_plain;
    if (!able) return able.reason();
    try {
        return try_out(device, variant, limit, meanwhile);
    } catch (const Error& error) {
        return error.what();
    }
}

const WorkVariant* fit_variant(Device& device, const WorkVariant* wanted) {
    std::string why;
    for (const bool management : {false, true}) {
        for (const WorkVariant& variant : work_variants()) {
            if (variant.management != management) continue;
            if (wanted != nullptr ? &variant != wanted : variant.writes) continue;
            const std::string unfit = probe(device, variant);
            if (unfit.empty()) return &variant;
            why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", variant.name, unfit);
        }
    }
    throw Error(ErrorCode::unsupported, fmt::format("{} fails the probe: {}", device.name(), why));
}

OpenedCard open_card(const WorkVariant* wanted) {
    OpenedCard opened{open_devx(), nullptr};
    opened.variant = fit_variant(*opened.device, wanted);
    return opened;
}

}  // namespace lapwing::mlx5
