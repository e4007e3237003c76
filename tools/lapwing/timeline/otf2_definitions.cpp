#include "lapwing/timeline/otf2_definitions.hpp"

#ifdef LAPWING_OTF2

#include <fmt/format.h>

#include <algorithm>

#include "lapwing/timeline/timeline_writer.hpp"

namespace lapwing::tool {
namespace {

// OTF2's name and role of a collective.
struct Traits {
    OTF2_CollectiveOp operation;
    OTF2_RegionRole role;
};
Traits traits_of(Collective collective) {
    switch (collective) {
        case Collective::barrier:
            return {OTF2_COLLECTIVE_OP_BARRIER, OTF2_REGION_ROLE_BARRIER};
        case Collective::broadcast:
            return {OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL};
        case Collective::gather:
            return {OTF2_COLLECTIVE_OP_GATHER, OTF2_REGION_ROLE_COLL_ALL2ONE};
        case Collective::gatherv:
            return {OTF2_COLLECTIVE_OP_GATHERV, OTF2_REGION_ROLE_COLL_ALL2ONE};
        case Collective::scatter:
            return {OTF2_COLLECTIVE_OP_SCATTER, OTF2_REGION_ROLE_COLL_ONE2ALL};
        case Collective::scatterv:
            return {OTF2_COLLECTIVE_OP_SCATTERV, OTF2_REGION_ROLE_COLL_ONE2ALL};
        case Collective::neighbor_allgather:
        case Collective::allgather:
            return {OTF2_COLLECTIVE_OP_ALLGATHER, OTF2_REGION_ROLE_COLL_ALL2ALL};
        case Collective::allgatherv:
            return {OTF2_COLLECTIVE_OP_ALLGATHERV, OTF2_REGION_ROLE_COLL_ALL2ALL};
        case Collective::neighbor_alltoall:
        case Collective::alltoall:
            return {OTF2_COLLECTIVE_OP_ALLTOALL, OTF2_REGION_ROLE_COLL_ALL2ALL};
        case Collective::alltoallv:
            return {OTF2_COLLECTIVE_OP_ALLTOALLV, OTF2_REGION_ROLE_COLL_ALL2ALL};
        case Collective::reduce:
            return {OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE};
        case Collective::allreduce:
            return {OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL};
        case Collective::reduce_scatter_block:
            return {OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, OTF2_REGION_ROLE_COLL_ALL2ALL};
        case Collective::reduce_scatter:
            return {OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OTF2_REGION_ROLE_COLL_ALL2ALL};
        case Collective::scan:
            return {OTF2_COLLECTIVE_OP_SCAN, OTF2_REGION_ROLE_COLL_OTHER};
        case Collective::exscan:
            return {OTF2_COLLECTIVE_OP_EXSCAN, OTF2_REGION_ROLE_COLL_OTHER};
    }
    return {OTF2_COLLECTIVE_OP_BARRIER, OTF2_REGION_ROLE_UNKNOWN};
}
OTF2_RegionRole role_of(const std::string& function) {
    for (const Collective collective : all_collectives()) {
        if (function == mpi_name(collective) || function == blocking_name(mpi_name(collective)))
            return traits_of(collective).role;
    }
    // As Score-P classifies the calls that complete requests.
    return OTF2_REGION_ROLE_POINT2POINT;
}

// Writes definitions; after an error it writes no more.
class DefinitionWriter {
  public:
    DefinitionWriter(Otf2Definitions& definitions, const Otf2Library& library, OTF2_GlobalDefWriter* writer)
        : all_(definitions), lib_(library), writer_(writer) {}

    template <typename Function, typename... Arguments>
    void write(Function function, Arguments... arguments) {
        if (error_ == OTF2_SUCCESS) error_ = function(writer_, arguments...);
    }
    // The number of a string, which is written before it is used.
    std::uint32_t string(const std::string& text) {
        const std::uint32_t number = all_.strings[text];
        for (; written_ < all_.strings.keys().size(); ++written_)
            write(lib_.GlobalDefWriter_WriteString, written_, all_.strings.keys()[written_]->c_str());
        return number;
    }
    OTF2_ErrorCode error() const { return error_; }

  private:
    Otf2Definitions& all_;
    const Otf2Library& lib_;
    OTF2_GlobalDefWriter* writer_;
    std::uint32_t written_ = 0;
    OTF2_ErrorCode error_ = OTF2_SUCCESS;
};

void write_regions(Otf2Definitions& all, const Otf2Library& lib, DefinitionWriter& to) {
    for (std::uint32_t n = 0; n < all.regions.keys().size(); ++n) {
        const Otf2Definitions::Region& region = *all.regions.keys()[n];
        const std::uint32_t name = to.string(region.name);
        const OTF2_RegionRole role =
            region.mpi ? role_of(region.name) : OTF2_RegionRole{OTF2_REGION_ROLE_FUNCTION};
        const OTF2_Paradigm paradigm = region.mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER;
        // The "source file" is what Score-P writes for functions of MPI.
        to.write(lib.GlobalDefWriter_WriteRegion, n, name, name, to.string(""), role, paradigm,
                 OTF2_REGION_FLAG_NONE, to.string(region.mpi ? "MPI" : "Lapwing"), 0, 0);
    }
}

void write_communicators(Otf2Definitions& all, const Otf2Library& lib, DefinitionWriter& to,
                         const Otf2Definitions::Members& mains) {
    const auto group = [&](std::uint32_t number, OTF2_GroupType type,
                           const Otf2Definitions::Members& members) {
        to.write(lib.GlobalDefWriter_WriteGroup, number, to.string(""), type, OTF2_PARADIGM_MPI,
                 OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()), members.data());
    };
    group(0, OTF2_GROUP_TYPE_COMM_LOCATIONS, mains);
    // Communicators of the same ranks share a group.
    Numbers<Otf2Definitions::Members> groups;
    for (std::uint32_t n = 0; n < all.communicators.keys().size(); ++n) {
        const auto& [agreed, members] = *all.communicators.keys()[n];
        const std::size_t known = groups.keys().size();
        const std::uint32_t number = groups[members] + 1;
        if (groups.keys().size() > known) group(number, OTF2_GROUP_TYPE_COMM_GROUP, members);
        const std::string name = fmt::format("communicator {} ({} ranks)", agreed, members.size());
        to.write(lib.GlobalDefWriter_WriteComm, n, to.string(name), number, OTF2_UNDEFINED_COMM,
                 OTF2_COMM_FLAG_NONE);
    }
}

}  // namespace

int main_track(const RankPart& part) {
    for (const auto& [thread, ours] : part.threads) {
        if (!ours) return track_of_thread(static_cast<std::uint16_t>(thread));
    }
    return track_of_thread(0);
}

OTF2_CollectiveOp otf2_operation(Collective collective) {
    return traits_of(collective).operation;
}

void Otf2Definitions::add_ranks(const std::vector<RankPart>& parts) {
    std::size_t ranks = 0;
    for (const RankPart& part : parts)
        ranks = std::max(
            {ranks, static_cast<std::size_t>(part.rank) + 1, part.about.value("ranks", std::size_t{0})});
    ranks_.assign(ranks, {track_of_thread(0)});
    for (const RankPart& part : parts)
        ranks_[static_cast<std::size_t>(part.rank)] = {main_track(part), part.about.value("host", "?")};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        Location& main = location(static_cast<int>(rank), ranks_[rank].track);
        if (main.name.empty()) main.name = "main";
    }
}

OTF2_ErrorCode Otf2Definitions::write(const Otf2Library& lib, OTF2_Archive* archive, std::uint64_t zero,
                                      std::uint64_t last) {
    OTF2_GlobalDefWriter* writer = lib.Archive_GetGlobalDefWriter(archive);
    if (writer == nullptr) return OTF2_ERROR_INVALID_CALL;
    DefinitionWriter to(*this, lib, writer);
    constexpr std::uint64_t per_second = 1'000'000'000;
    to.write(lib.GlobalDefWriter_WriteClockProperties, per_second, zero, last - zero + 1,
             OTF2_UNDEFINED_TIMESTAMP);
    to.write(lib.GlobalDefWriter_WriteParadigm, OTF2_PARADIGM_MPI, to.string("MPI"),
             OTF2_PARADIGM_CLASS_PROCESS);
    for (std::uint32_t n = 0; n < attributes.keys().size(); ++n) {
        const auto& [name, type] = *attributes.keys()[n];
        to.write(lib.GlobalDefWriter_WriteAttribute, n, to.string(name), to.string(""), type);
    }
    to.write(lib.GlobalDefWriter_WriteSystemTreeNode, 0, to.string("job"), to.string("machine"),
             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    Numbers<std::string> hosts;
    Members mains;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        const std::string& host = ranks_[rank].host;
        const std::size_t known = hosts.keys().size();
        const std::uint32_t node = hosts[host] + 1;
        if (hosts.keys().size() > known) {
            to.write(lib.GlobalDefWriter_WriteSystemTreeNode, node, to.string(host), to.string("node"), 0);
            to.write(lib.GlobalDefWriter_WriteSystemTreeNodeDomain, node,
                     OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
        }
        to.write(lib.GlobalDefWriter_WriteLocationGroup, rank, to.string(fmt::format("MPI Rank {}", rank)),
                 OTF2_LOCATION_GROUP_TYPE_PROCESS, node, OTF2_UNDEFINED_LOCATION_GROUP);
        mains.push_back(otf2_location(static_cast<int>(rank), ranks_[rank].track));
    }
    for (const auto& [id, location] : locations) {
        to.write(lib.GlobalDefWriter_WriteLocation, id, to.string(location.name),
                 OTF2_LOCATION_TYPE_CPU_THREAD, location.events, static_cast<std::uint32_t>(id));
    }
    write_regions(*this, lib, to);
    write_communicators(*this, lib, to, mains);
    const OTF2_ErrorCode closed = lib.Archive_CloseGlobalDefWriter(archive, writer);
    return to.error() != OTF2_SUCCESS ? to.error() : closed;
}

}  // namespace lapwing::tool

#endif
