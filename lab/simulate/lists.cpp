#include "simulate/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "simulate/random.hpp"

namespace lapwing::simulate {
namespace {

constexpr int sampled_ranks = 48;
// Long lists are similar, and building them takes long.
constexpr int sampled_ranks_of_long_lists = 3;
constexpr std::size_t long_list = 100000;
// Memory of a rank besides its steps and slots, and of an arrival with its queue entry.
constexpr std::uint64_t bytes_of_rank = 192;
constexpr std::uint64_t bytes_of_message = 16;

// Counts the messages of each peer in one list: the third message from a peer is its third receive.
class Counts {
  public:
    explicit Counts(int ranks) : counts_(static_cast<std::size_t>(ranks)) {}
    std::uint32_t next(int peer) {
        touched_.push_back(peer);
        return counts_[static_cast<std::size_t>(peer)]++;
    }
    void clear() {
        for (const int peer : touched_) counts_[static_cast<std::size_t>(peer)] = 0;
        touched_.clear();
    }

  private:
    std::vector<std::uint32_t> counts_;
    std::vector<int> touched_;
};

class Maker {
  public:
    Maker(int ranks, std::uint64_t max_memory)
        : max_memory_(max_memory), sends_to_(ranks), waits_for_(ranks) {
        lists_.ranks = ranks;
        lists_.first_step.reserve(static_cast<std::size_t>(ranks) + 1);
        lists_.first_slot.reserve(static_cast<std::size_t>(ranks) + 1);
        lists_.first_step.push_back(0);
        lists_.first_slot.push_back(0);
    }

    void add(const List& list) {
        const std::size_t first_slot = senders_.size();
        std::uint64_t bytes = 0;
        bool top = true;
        for (const Task& task : list.tasks) {
            if (task.kind == Kind::recv) {
                if (!top) refuse(list, "has a receive that is not at its top");
                senders_.push_back(task.peer);
                bytes += task.target.length;
            } else if (top) {
                top = false;
                std::sort(senders_.begin() + static_cast<std::ptrdiff_t>(first_slot), senders_.end());
            }
            if (task.kind == Kind::send) bytes += task.source.length;
            if (task.kind != Kind::recv) add(list, task, first_slot);
        }
        if (top) std::sort(senders_.begin() + static_cast<std::ptrdiff_t>(first_slot), senders_.end());
        lists_.max_bytes_of_a_rank = std::max(lists_.max_bytes_of_a_rank, bytes);
        sends_to_.clear();
        waits_for_.clear();
        const Needs needs{senders_.size(), lists_.steps.size(), lists_.ranks};
        if (needs.memory() > max_memory_ || needs.steps > max_steps || needs.messages > max_steps) {
            throw Error(
                ErrorCode::unsupported,
                fmt::format("the lists of {} of {} ranks have {} messages: they exceed the memory limit",
                            list.rank + 1, lists_.ranks, needs.messages));
        }
        lists_.first_step.push_back(static_cast<std::uint32_t>(lists_.steps.size()));
        lists_.first_slot.push_back(static_cast<std::uint32_t>(senders_.size()));
    }

    void reserve(const Needs& needs) {
        if (needs.memory() > max_memory_) return;
        lists_.steps.reserve(needs.steps + needs.steps / 16);
        senders_.reserve(needs.messages + needs.messages / 16);
    }

    Lists finish() {
        std::vector<std::uint32_t> lengths(senders_.size());
        for (int rank = 0; rank < lists_.ranks; ++rank) {
            const std::uint32_t end = lists_.first_step[static_cast<std::size_t>(rank) + 1];
            for (std::uint32_t i = lists_.first_step[static_cast<std::size_t>(rank)]; i < end; ++i) {
                Step& step = lists_.steps[i];
                if (step.what() != Step::Kind::send) continue;
                // The number among the messages to this peer becomes the slot.
                step.slot = slot(step.peer, rank, step.slot);
                lengths[step.slot] = step.length;
            }
        }
        for (Step& step : lists_.steps)
            if (step.what() == Step::Kind::wait) step.length = lengths[step.slot] & 0x3fffffffU;
        return std::move(lists_);
    }

  private:
    static constexpr std::uint64_t max_steps = UINT32_MAX - 1;

    [[noreturn]] static void refuse(const List& list, const char* why) {
        throw Error(ErrorCode::unsupported, fmt::format("the list of rank {} {}", list.rank, why));
    }

    void add(const List& list, const Task& task, std::size_t first_slot) {
        switch (task.kind) {
            case Kind::send:
                push(Step::Kind::send, task.source.length, sends_to_.next(task.peer), task.peer);
                return;
            case Kind::wait: {
                const auto begin = senders_.begin() + static_cast<std::ptrdiff_t>(first_slot);
                const auto found = std::lower_bound(begin, senders_.end(), task.peer);
                for (std::uint64_t i = 0; i < task.count; ++i) {
                    const std::uint32_t number = waits_for_.next(task.peer);
                    if (senders_.end() - found <= static_cast<std::ptrdiff_t>(number) ||
                        found[number] != task.peer)
                        refuse(list, "waits for a receive that it has not posted");
                    push(Step::Kind::wait, 0, static_cast<std::uint32_t>(found - senders_.begin()) + number,
                         task.peer);
                }
                return;
            }
            case Kind::copy:
            case Kind::reduce:
                push(task.kind == Kind::copy ? Step::Kind::copy : Step::Kind::reduce, task.target.length, 0,
                     -1);
                return;
            case Kind::recv:
                return;
            case Kind::enable_send:
            case Kind::enable_recv:
                refuse(list, "has enable tasks, which lowering makes");
        }
    }

    void push(Step::Kind kind, std::uint64_t length, std::uint32_t slot, int peer) {
        Step step{};
        step.kind = static_cast<std::uint32_t>(kind) & 3U;
        step.length = index_of(length) & 0x3fffffffU;
        step.slot = slot;
        step.peer = peer;
        lists_.steps.push_back(step);
    }

    std::uint32_t index_of(std::uint64_t length) {
        if (!lists_.lengths.empty() && lists_.lengths[last_] == length) return last_;
        const auto [found, fresh] = indices_.try_emplace(length, static_cast<std::uint32_t>(indices_.size()));
        if (fresh) lists_.lengths.push_back(length);
        last_ = found->second;
        return last_;
    }

    std::uint32_t slot(int receiver, int sender, std::uint32_t number) const {
        const auto first = senders_.begin() + lists_.first_slot[static_cast<std::size_t>(receiver)];
        const auto last = senders_.begin() + lists_.first_slot[static_cast<std::size_t>(receiver) + 1];
        const auto found = std::lower_bound(first, last, sender);
        if (last - found <= static_cast<std::ptrdiff_t>(number) || found[number] != sender) {
            throw Error(ErrorCode::unsupported,
                        fmt::format("a send of rank {} to rank {} meets no receive", sender, receiver));
        }
        return static_cast<std::uint32_t>(found - senders_.begin()) + number;
    }

    const std::uint64_t max_memory_;
    Lists lists_;
    std::vector<std::int32_t> senders_;  // by slot; those of a rank in ascending order
    Counts sends_to_;
    Counts waits_for_;
    std::unordered_map<std::uint64_t, std::uint32_t> indices_;
    std::uint32_t last_ = 0;
};

}  // namespace

std::uint64_t Needs::memory() const {
    return steps * sizeof(Step) + messages * bytes_of_message +
           static_cast<std::uint64_t>(ranks) * bytes_of_rank;
}

Needs estimate(const Problem& problem, const Choice& choice) {
    double messages = 0;
    double steps = 0;
    // Rank 0, the root, represents itself; a random sample represents the other ranks.
    const auto count = [&](int rank, double weight) {
        for (const Task& task : build(problem, rank, choice).tasks)
            if (task.kind == Kind::recv)
                messages += weight;
            else
                steps += weight * static_cast<double>(task.kind == Kind::wait ? task.count : 1);
    };
    count(0, 1);
    const int others = problem.ranks - 1;
    const bool are_long = build(problem, others, choice).tasks.size() > long_list;
    const int sampled = std::min(others, are_long ? sampled_ranks_of_long_lists : sampled_ranks);
    for (int i = 0; i < sampled; ++i) {
        // One rank of each of `sampled` parts of equal size.
        const auto begin = static_cast<std::int64_t>(others) * i / sampled;
        const auto end = static_cast<std::int64_t>(others) * (i + 1) / sampled;
        const auto within =
            random_bits(0, 0, static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(end - begin);
        count(static_cast<int>(1 + begin + static_cast<std::int64_t>(within)),
              static_cast<double>(end - begin));
    }
    return {static_cast<std::uint64_t>(messages), static_cast<std::uint64_t>(steps), problem.ranks};
}

Lists make_lists(const Problem& problem, const Choice& choice, std::uint64_t max_memory) {
    Maker maker(problem.ranks, max_memory);
    maker.reserve(estimate(problem, choice));
    for (int rank = 0; rank < problem.ranks; ++rank) maker.add(build(problem, rank, choice));
    return maker.finish();
}

Lists make_lists(std::span<const List> lists) {
    Maker maker(static_cast<int>(lists.size()), UINT64_MAX);
    for (const List& list : lists) maker.add(list);
    return maker.finish();
}

}  // namespace lapwing::simulate
