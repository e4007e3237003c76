// The snapshots of all ranks, joined: each communicator once, and the waits of all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "watch/snapshot.hpp"

namespace lapwing::watch {

// One communicator, as all its ranks together describe it.
struct CommunicatorView {
    std::string name;
    std::vector<int> members;  // ranks in MPI_COMM_WORLD, by rank in the communicator
    // Of each member; null if the member does not answer or has no such communicator (yet).
    std::vector<const CommunicatorSnapshot*> snapshots;
    // The members that answer, with the number of their calls, the fewest calls first.
    std::vector<std::pair<std::uint64_t, int>> calls;
    bool has_silent_member = false;

    // Returns how many members, the first ones of `calls`, have made fewer than `number` calls.
    std::size_t count_before(std::uint64_t number) const;
};

// One reason for which a thread of a rank does not return from MPI.
struct Wait {
    enum class Kind : std::uint8_t {
        collective,         // of a recorded collective
        message,            // from or to one peer
        message_of_anyone,  // MPI_ANY_SOURCE
        native              // of another collective function, such as MPI_Comm_dup or MPI_Finalize
    };
    Kind kind = Kind::collective;
    int rank = 0;
    int communicator = -1;     // index in JobView::communicators; -1: unknown, or all ranks of the job
    std::uint64_t number = 0;  // collective: of the call
    int peer = -1;             // message: in MPI_COMM_WORLD
    const CollectiveCall* call = nullptr;  // collective: the rank's own record, if it still has one
    const CurrentCall* current = nullptr;
    std::uint64_t age = 0;  // nanoseconds

    // "MPI_Wait at a.c:12 for MPI_Ibcast on MPI_COMM_WORLD (call 17, a.c:10)"
    std::string in_words(const class JobView& job) const;
};

// Refers to the answers, which must outlive it.
class JobView {
  public:
    explicit JobView(std::span<const RankSnapshot> answers);

    std::span<const RankSnapshot> answers;
    std::vector<CommunicatorView> communicators;
    std::vector<std::vector<std::pair<int, int>>> member_of;  // by rank: communicators, rank therein
    std::vector<Wait> waits;                                  // in order of ranks

    const RankSnapshot* snapshot(int rank) const {
        const RankSnapshot& answer = answers[static_cast<std::size_t>(rank)];
        return answer.silence.empty() ? &answer : nullptr;
    }
    int ranks() const { return static_cast<int>(answers.size()); }
    std::span<const Wait> waits_of(int rank) const {
        return {waits.data() + first_wait_[rank], waits.data() + first_wait_[rank + 1]};
    }
    // Returns the rank's record of the call; null if it has none (any more).
    const CollectiveCall* find(int communicator, int member, std::uint64_t number) const;
    // "MPI_COMM_WORLD"
    const std::string& name(int communicator) const;
    // The communicator of the call, an index in `communicators`; -1: none or unknown.
    int communicator_of(int rank, const CurrentCall& call) const;
    // "rank 3 (node1)", "ranks 0-2"
    std::string with_host(std::span<const int> ranks) const;
    // Of a rank that answers: "MPI_Recv from rank 2, tag 5, at io.c:7, for 42 s", "MPI_Bcast at a.c:7, 42 s
    // ago"; empty if it has called no function. The ages are left out if `with_age` is false.
    std::string activity(int rank, bool with_age = true) const;

  private:
    void join_communicators();
    void find_waits(int rank);
    void add_waits(int rank, const CurrentCall& call);
    bool add_collectives(Wait wait, const CommunicatorSnapshot* snapshot);

    std::vector<std::vector<int>> index_of_;  // by rank, by index in its snapshot: in communicators
    std::vector<std::size_t> first_wait_;     // by rank
};

}  // namespace lapwing::watch
