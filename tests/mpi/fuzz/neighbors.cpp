#include "fuzz/making.hpp"

namespace fuzz {

// Edges between the same two ranks carry blocks of one length, so that the order in which MPIs match them
// shows in the data only.
void Operation::Making::neighbors(int which) {
    int topology = MPI_UNDEFINED;
    PMPI_Topo_test(place.communicator, &topology);
    Numbers sources;
    Numbers destinations;
    if (topology == MPI_CART) {
        int dimensions = 0;
        PMPI_Cartdim_get(place.communicator, &dimensions);
        for (int i = 0; i < dimensions; ++i) {
            int below = 0;
            int above = 0;
            PMPI_Cart_shift(place.communicator, i, 1, &below, &above);
            for (const int rank : {below, above}) sources.push_back(rank);
        }
        destinations = sources;
    } else {
        int weighted = 0;
        int in = 0;
        int out = 0;
        PMPI_Dist_graph_neighbors_count(place.communicator, &in, &out, &weighted);
        sources.resize(static_cast<std::size_t>(in));
        destinations.resize(static_cast<std::size_t>(out));
        PMPI_Dist_graph_neighbors(place.communicator, in, sources.data(), MPI_UNWEIGHTED, out,
                                  destinations.data(), MPI_UNWEIGHTED);
    }
    const std::uint64_t how = static_cast<std::uint64_t>(random.below(1 << 20));
    const bool vary = which == 1 || which >= 3;
    const int equal = random.between(0, longest);
    // allgather: a rank's block has a length of its own.
    const auto length = [&](int from, int to) {
        if (!vary) return equal;
        const std::uint64_t pair = static_cast<std::uint64_t>(which == 1 ? from : from * 64 + to);
        return Random(how + pair).between(0, longest);
    };
    Random own_random(how + 1000 + static_cast<std::uint64_t>(place.rank));
    const Layout& from = sent_layout();
    const Layout& to = received_layout();
    Numbers going;
    Numbers coming;
    for (const int rank : destinations) going.push_back(rank == MPI_PROC_NULL ? 1 : length(place.rank, rank));
    for (const int rank : sources) coming.push_back(rank == MPI_PROC_NULL ? 1 : length(rank, place.rank));
    const MPI_Comm comm = place.communicator;
    if (which <= 1) {
        const int count = from.count(vary ? length(place.rank, 0) : equal);
        sent_blocks.push_back({0, &from, count});
        if (which == 0) {
            received_blocks.push_back({0, &to, to.count(equal) * static_cast<int>(sources.size())});
            made.start_ = [=, &from, &to](void* sent, void* received, MPI_Request* request) {
                return EITHER(Ineighbor_allgather, Neighbor_allgather, sent, count, from.type(), received,
                              to.count(equal), to.type(), comm);
            };
            return;
        }
        const Numbers at = spread(to, coming, own_random, received_blocks);
        const Numbers received_counts = counts(to, coming);
        made.start_ = [=, &from, &to](void* sent, void* received, MPI_Request* request) {
            return EITHER(Ineighbor_allgatherv, Neighbor_allgatherv, sent, count, from.type(), received,
                          received_counts.data(), at.data(), to.type(), comm);
        };
        return;
    }
    if (which == 2) {
        sent_blocks.push_back({0, &from, from.count(equal) * static_cast<int>(destinations.size())});
        received_blocks.push_back({0, &to, to.count(equal) * static_cast<int>(sources.size())});
        made.start_ = [=, &from, &to](void* sent, void* received, MPI_Request* request) {
            return EITHER(Ineighbor_alltoall, Neighbor_alltoall, sent, from.count(equal), from.type(),
                          received, to.count(equal), to.type(), comm);
        };
        return;
    }
    const Numbers sent_at = spread(from, going, own_random, sent_blocks);
    const Numbers received_at = spread(to, coming, own_random, received_blocks);
    const Numbers sent_counts = counts(from, going);
    const Numbers received_counts = counts(to, coming);
    if (which == 3) {
        made.start_ = [=, &from, &to](void* sent, void* received, MPI_Request* request) {
            return EITHER(Ineighbor_alltoallv, Neighbor_alltoallv, sent, sent_counts.data(), sent_at.data(),
                          from.type(), received, received_counts.data(), received_at.data(), to.type(), comm);
        };
        return;
    }
    const auto in_bytes = [](const Layout& type, const Numbers& places) {
        std::vector<MPI_Aint> result;
        for (const int at : places) result.push_back(at * type.extent());
        return result;
    };
    const std::vector<MPI_Aint> sent_bytes = in_bytes(from, sent_at);
    const std::vector<MPI_Aint> received_bytes = in_bytes(to, received_at);
    const std::vector<MPI_Datatype> sent_types(destinations.size(), from.type());
    const std::vector<MPI_Datatype> received_types(sources.size(), to.type());
    made.start_ = [=](void* sent, void* received, MPI_Request* request) {
        return EITHER(Ineighbor_alltoallw, Neighbor_alltoallw, sent, sent_counts.data(), sent_bytes.data(),
                      sent_types.data(), received, received_counts.data(), received_bytes.data(),
                      received_types.data(), comm);
    };
}

}  // namespace fuzz
