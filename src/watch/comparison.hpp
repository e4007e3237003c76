// Compares each call of a collective on all ranks, as the ranks report their calls: LAPWING_CHECK=calls. Pure
// data, without input, output or clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "watch/snapshot.hpp"

namespace lapwing::watch {

// One call of one rank.
struct ReportedCall {
    int rank = 0;  // in MPI_COMM_WORLD
    // The communicator, as in CommunicatorSnapshot.
    std::uint64_t members_hash = 0;
    std::uint64_t ordinal = 0;
    std::string name;
    int member = 0;   // the rank in the communicator
    int members = 1;  // ranks of the communicator
    CollectiveCall call;
};

// The form in which ranks send their calls.
std::vector<std::byte> encode(std::span<const ReportedCall> calls);
// Throws Error (link) if the bytes are not such calls.
std::vector<ReportedCall> decode_calls(std::span<const std::byte> bytes);

// One rank's side of a transfer between two ranks.
struct TransferSide {
    int rank = 0;
    const std::string& where;  // the call
    std::uint64_t bytes = 0;
};
// "rank 2 sends 16 bytes to rank 0 in MPI_Ialltoallv at a.c:10 (call 17 on rows), but ...: the counts differ"
std::string counts_differ(const CollectiveCall& call, const std::string& communicator,
                          const TransferSide& sender, const TransferSide& receiver);

class CallComparison {
  public:
    // Calls that some rank of their communicator has not made yet. One rank may be ahead by so many calls.
    static constexpr std::size_t max_pending = std::size_t{1} << 16U;
    // Bytes of the counts of such calls. Beyond this, counts are not compared.
    static constexpr std::size_t max_counts = std::size_t{64} << 20U;

    // Adds a call. The calls of different ranks may come in any order. Returns a sentence about the first
    // difference between this call and the calls so far: "rank 0 called MPI_Ibcast (root 0, 8 bytes) at
    // a.c:10 as call 17 on MPI_COMM_WORLD, but rank 3 called MPI_Ibarrier at b.c:20: the collectives differ".
    std::optional<std::string> add(const ReportedCall& call);

    // Calls that all ranks of their communicator have made.
    std::uint64_t compared() const { return compared_; }
    std::size_t pending() const { return pending_; }
    // Communicators whose calls are not compared any more, because a rank was too far ahead.
    std::uint64_t abandoned() const { return abandoned_; }

  private:
    struct Counts {
        int rank = 0;
        std::string where;
        std::vector<std::uint64_t> sent;
        std::vector<std::uint64_t> received;
    };
    struct Pending {
        int rank = 0;                                // of the first report
        std::shared_ptr<const CollectiveCall> call;  // without counts
        int reports = 0;
        std::map<int, Counts> counts;  // by member; only of collectives with parts
    };
    struct Communicator {
        std::map<std::uint64_t, Pending> pending;  // by number
        // Programs repeat few calls: records of equal calls at one place of the program are shared.
        std::shared_ptr<const CollectiveCall> last;
        bool abandoned = false;
    };
    std::optional<std::string> compare_counts(const ReportedCall& call, Pending& pending);
    void remove_counts(const Pending& pending);

    std::map<std::pair<std::uint64_t, std::uint64_t>, Communicator> communicators_;
    std::uint64_t compared_ = 0;
    std::size_t pending_ = 0;
    std::size_t counts_ = 0;  // bytes
    std::uint64_t abandoned_ = 0;
};

}  // namespace lapwing::watch
