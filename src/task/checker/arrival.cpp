// Rule provenance of the barrier: which arrivals each rank has learned of.
#include <fmt/format.h>

#include <bit>

#include "task/checker/rules.hpp"

namespace lapwing::checker {
namespace {

class Arrival {
  public:
    Arrival(std::span<const List> lists, const Traffic& traffic)
        : lists_(lists),
          traffic_(traffic),
          words_((lists.size() + 63) / 64),
          known_(lists.size() * words_, 0),
          latest_(lists.size(), 0),
          sent_(traffic.size(), 0),
          received_(traffic.size(), 0),
          carried_(traffic.messages()) {
        for (std::size_t rank = 0; rank < lists.size(); ++rank) {
            known_[rank * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
            latest_[rank] = store(static_cast<int>(rank));
        }
    }

    void run(std::span<const Burst> order) {
        for (const Burst& burst : order) {
            for (TaskIndex i = burst.begin; i < burst.end; ++i) {
                const Task& task = lists_[burst.rank].tasks[i];
                if (sends(task.kind)) {
                    const PairIndex pair = traffic_.pair_of(burst.rank, i);
                    carried_[traffic_[pair].first_send + sent_[pair]++] = snapshot(burst.rank);
                } else if (task.kind == Kind::wait) {
                    const PairIndex pair = traffic_.pair_of(burst.rank, i);
                    for (std::uint64_t n = 0; n < task.count; ++n) {
                        learn(burst.rank, carried_[traffic_[pair].first_send + received_[pair]++]);
                    }
                }
            }
        }
    }

    // Returns the first rank whose arrival `rank` has not learned of at the end of its list, if any.
    std::optional<int> missing(int rank) const {
        const std::uint64_t* known = known_.data() + static_cast<std::size_t>(rank) * words_;
        for (std::size_t word = 0; word < words_; ++word) {
            const std::size_t other = word * 64 + static_cast<std::size_t>(std::countr_one(known[word]));
            if (~known[word] != 0 && other < lists_.size()) return static_cast<int>(other);
        }
        return std::nullopt;
    }

  private:
    using Snapshot = std::uint32_t;
    static constexpr Snapshot stale = ~Snapshot{0};

    Snapshot store(int rank) {
        const auto begin =
            known_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * words_);
        const auto number = static_cast<Snapshot>(snapshots_.size() / words_);
        snapshots_.insert(snapshots_.end(), begin, begin + static_cast<std::ptrdiff_t>(words_));
        return number;
    }

    // Sends without a wait between them share a snapshot.
    Snapshot snapshot(int rank) {
        if (latest_[rank] == stale) latest_[rank] = store(rank);
        return latest_[rank];
    }

    void learn(int rank, Snapshot snapshot) {
        std::uint64_t* known = known_.data() + static_cast<std::size_t>(rank) * words_;
        const std::uint64_t* news = snapshots_.data() + snapshot * words_;
        std::uint64_t added = 0;
        for (std::size_t word = 0; word < words_; ++word) {
            added |= news[word] & ~known[word];
            known[word] |= news[word];
        }
        if (added != 0) latest_[rank] = stale;
    }

    std::span<const List> lists_;
    const Traffic& traffic_;
    std::size_t words_;                 // per set of ranks
    std::vector<std::uint64_t> known_;  // by rank: the set of ranks that it knows have arrived
    std::vector<std::uint64_t> snapshots_;
    std::vector<Snapshot> latest_;         // by rank
    std::vector<std::uint32_t> sent_;      // by pair
    std::vector<std::uint32_t> received_;  // by pair
    std::vector<Snapshot> carried_;        // by message
};

}  // namespace

void check_arrival(std::span<const List> lists, const Traffic& traffic, std::span<const Burst> order,
                   Findings& findings) {
    Arrival arrival(lists, traffic);
    arrival.run(order);
    for (int rank = 0; rank < static_cast<int>(lists.size()) && !findings.full(); ++rank) {
        if (const std::optional<int> other = arrival.missing(rank)) {
            findings.add(Rule::provenance, rank, std::nullopt,
                         fmt::format("rank {} can leave before rank {} has arrived", rank, *other));
        }
    }
}

}  // namespace lapwing::checker
