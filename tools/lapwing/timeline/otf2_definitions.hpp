// The definitions of an OTF2 archive: strings, places, regions, communicators.
#pragma once

#include "lapwing/timeline/otf2_library.hpp"

#ifdef LAPWING_OTF2

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "lapwing/timeline/trace_parts.hpp"
#include "task/problem.hpp"

namespace lapwing::tool {

// Numbers of definitions, given in the order in which they are first needed.
template <typename Key>
class Numbers {
  public:
    std::uint32_t operator[](const Key& key) {
        const auto [found, added] = numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size()));
        if (added) keys_.push_back(&found->first);
        return found->second;
    }
    // By number.
    const std::vector<const Key*>& keys() const { return keys_; }

  private:
    std::map<Key, std::uint32_t> numbers_;
    std::vector<const Key*> keys_;
};

// The track of the thread that represents the rank in communicators: the program's first that has recorded
// something.
int main_track(const RankPart& part);

inline OTF2_LocationRef otf2_location(int rank, int track) {
    return static_cast<OTF2_LocationRef>(track) << 32 | static_cast<std::uint32_t>(rank);
}

OTF2_CollectiveOp otf2_operation(Collective collective);

class Otf2Definitions {
  public:
    struct Location {
        std::string name;
        std::uint64_t events = 0;
    };
    struct Region {
        std::string name;
        bool mpi = false;  // a function of MPI; otherwise something of Lapwing's
        auto operator<=>(const Region&) const = default;
    };
    using Members = std::vector<std::uint64_t>;  // ranks of MPI_COMM_WORLD

    Location& location(int rank, int track) { return locations[otf2_location(rank, track)]; }
    // Adds a location for each rank that has recorded nothing: these ranks are also members of communicators.
    void add_ranks(const std::vector<RankPart>& parts);
    // Called last. Times are nanoseconds: `zero` of the first event, `last` of the last one.
    OTF2_ErrorCode write(const Otf2Library& library, OTF2_Archive* archive, std::uint64_t zero,
                         std::uint64_t last);

    Numbers<std::string> strings;
    Numbers<Region> regions;
    Numbers<std::pair<std::string, OTF2_Type>> attributes;
    Numbers<std::pair<std::uint64_t, Members>>
        communicators;  // by the number that their ranks have agreed on
    std::map<OTF2_LocationRef, Location> locations;

  private:
    struct Rank {
        int track = 0;
        std::string host = "?";
    };
    std::vector<Rank> ranks_;
};

}  // namespace lapwing::tool

#endif
