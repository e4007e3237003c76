// Ranks as threads of one process that share memory with the ranks of their host, with or without progress
// threads.
#pragma once

#include "engines/progress_thread.hpp"
#include "links/shm/node.hpp"
#include "support/unit.hpp"

namespace lapwing::testing_engines {

// How ranks of one host exchange long messages, and which thread advances them (Kaiser et al. 2009,
// section 2.2).
struct Manner {
    shm::TransferMethod transfer = shm::TransferMethod::automatic;
    bool progress_thread = false;
};
inline constexpr Manner manners[] = {{shm::TransferMethod::processor, false},
                                     {shm::TransferMethod::kernel, false},
                                     {shm::TransferMethod::processor, true},
                                     {shm::TransferMethod::kernel, true}};
inline std::string name_of(const Manner& manner) {
    return std::string(manner.transfer == shm::TransferMethod::processor ? "processor" : "kernel") +
           (manner.progress_thread ? "_progress_thread" : "_caller");
}

// host_of[r]: the host of rank r. `fabric_of`: the fabric between hosts, by rank; null if progress threads
// have none. Must outlive the ranks' links.
class ShmHosts {
  public:
    ShmHosts(const std::vector<int>& host_of, const std::vector<Manner>& manner_of,
             const std::function<Fabric&(int rank)>& fabric_of = nullptr)
        : host_of_(host_of) {
        const int ranks = static_cast<int>(host_of.size());
        for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
            nodes_.push_back(std::make_unique<shm::ShmNode>(ranks, manner_of[rank].transfer));
            addresses_.push_back(nodes_.back()->address());
            addresses_.back().host = static_cast<std::uint64_t>(host_of[rank]) + 1;
        }
        for (int rank = 0; rank < ranks; ++rank) {
            EXPECT_EQ(node(rank).join(addresses_, rank), "");
            const bool in_poll = fabric_of && manner_of[static_cast<std::size_t>(rank)].progress_thread;
            pipes_.push_back(in_poll ? std::make_unique<WakePipe>() : nullptr);
            if (in_poll) node(rank).sleep_at(*pipes_.back());
        }
        for (int rank = 0; rank < ranks; ++rank) {
            const auto at = static_cast<std::size_t>(rank);
            EXPECT_EQ(node(rank).reach_sleepers(), "");
            node(rank).admit_no_more();
            progress_threads_.push_back(
                manner_of[at].progress_thread
                    ? std::make_unique<ProgressThread>(&node(rank), fabric_of ? &fabric_of(rank) : nullptr,
                                                       pipes_[at].get(), std::vector<int>())
                    : nullptr);
        }
    }

    shm::ShmNode& node(int rank) { return *nodes_[static_cast<std::size_t>(rank)]; }
    ProgressThread* progress_thread(int rank) {
        return progress_threads_[static_cast<std::size_t>(rank)].get();
    }
    std::vector<int> ranks_with(int rank) const {  // on its host
        std::vector<int> all;
        for (std::size_t other = 0; other < host_of_.size(); ++other)
            if (host_of_[other] == host_of_[static_cast<std::size_t>(rank)])
                all.push_back(static_cast<int>(other));
        return all;
    }

  private:
    std::vector<int> host_of_;
    std::vector<shm::ShmAddress> addresses_;
    std::vector<std::unique_ptr<WakePipe>> pipes_;
    std::vector<std::unique_ptr<shm::ShmNode>> nodes_;
    std::vector<std::unique_ptr<ProgressThread>> progress_threads_;
};

}  // namespace lapwing::testing_engines
