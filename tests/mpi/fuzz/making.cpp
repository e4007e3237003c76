#include "fuzz/making.hpp"

namespace fuzz {

void Operation::Making::barrier() {
    START(Ibarrier, Barrier, comm);
}

void Operation::Making::broadcast() {
    const int root = random.below(place.ranks);
    const Layout* const type = &received_layout();
    const int count = type->count(random.between(0, longest));
    received_blocks.push_back({0, type, count});
    START(Ibcast, Bcast, received, count, type->type(), root, comm);
}

void Operation::Making::gather(bool scatters) {
    const int root = random.below(place.ranks);
    const bool is_root = place.rank == root;
    const int length = random.between(0, longest);
    const bool root_in_place = random.one_in(3);
    in_place = root_in_place && is_root;
    const Layout* const one = &sent_layout();
    const Layout* const all = &received_layout();
    const Memory::Block own{0, one, one->count(length)};
    const Memory::Block everything{0, all, all->count(length) * place.ranks};
    std::vector<Memory::Block>& small = scatters ? received_blocks : sent_blocks;
    std::vector<Memory::Block>& large = scatters ? sent_blocks : received_blocks;
    if (!in_place) small.push_back(own);
    if (is_root) large.push_back(everything);
    const int one_count = one->count(length);
    const int all_count = all->count(length);
    if (scatters)
        START(Iscatter, Scatter, sent, all_count, all->type(), received, one_count, one->type(), root, comm);
    else
        START(Igather, Gather, sent, one_count, one->type(), received, all_count, all->type(), root, comm);
}

void Operation::Making::gatherv(bool scatters) {
    const int root = random.below(place.ranks);
    const bool is_root = place.rank == root;
    const Numbers all_lengths = lengths(ranks());
    in_place = random.one_in(3) && is_root;
    const std::uint64_t how = static_cast<std::uint64_t>(random.below(1 << 20));
    Random own_random(how);
    const Layout* const one = &sent_layout();
    const Layout* const all = &received_layout();
    std::vector<Memory::Block>& small = scatters ? received_blocks : sent_blocks;
    std::vector<Memory::Block>& large = scatters ? sent_blocks : received_blocks;
    const int one_count = one->count(all_lengths[own()]);
    if (!in_place) small.push_back({0, one, one_count});
    Numbers displacements(ranks());
    if (is_root) displacements = spread(*all, all_lengths, own_random, large);
    const Numbers all_counts = counts(*all, all_lengths);
    if (scatters)
        START(Iscatterv, Scatterv, sent, all_counts.data(), displacements.data(), all->type(), received,
              one_count, one->type(), root, comm);
    else
        START(Igatherv, Gatherv, sent, one_count, one->type(), received, all_counts.data(),
              displacements.data(), all->type(), root, comm);
}

void Operation::Making::allgather() {
    const int length = random.between(0, longest);
    in_place = random.one_in(3);
    const Layout* const one = &sent_layout();
    const Layout* const all = &received_layout();
    const int one_count = one->count(length);
    const int all_count = all->count(length);
    if (!in_place) sent_blocks.push_back({0, one, one_count});
    received_blocks.push_back({0, all, all_count * place.ranks});
    START(Iallgather, Allgather, sent, one_count, one->type(), received, all_count, all->type(), comm);
}

void Operation::Making::allgatherv() {
    const Numbers all_lengths = lengths(ranks());
    in_place = random.one_in(3);
    Random own_random(static_cast<std::uint64_t>(random.below(1 << 20) + place.rank));
    const Layout* const one = &sent_layout();
    const Layout* const all = &received_layout();
    const int one_count = one->count(all_lengths[own()]);
    if (!in_place) sent_blocks.push_back({0, one, one_count});
    const Numbers displacements = spread(*all, all_lengths, own_random, received_blocks);
    const Numbers all_counts = counts(*all, all_lengths);
    START(Iallgatherv, Allgatherv, sent, one_count, one->type(), received, all_counts.data(),
          displacements.data(), all->type(), comm);
}

void Operation::Making::alltoall() {
    const int length = random.between(0, longest);
    in_place = random.one_in(4);
    if (in_place) grow_upwards();
    const Layout* const from = &sent_layout();
    const Layout* const to = &received_layout();
    if (!in_place) sent_blocks.push_back({0, from, from->count(length) * place.ranks});
    received_blocks.push_back({0, to, to->count(length) * place.ranks});
    START(Ialltoall, Alltoall, sent, from->count(length), from->type(), received, to->count(length),
          to->type(), comm);
}

void Operation::Making::alltoallv() {
    in_place = random.one_in(4);
    if (in_place) grow_upwards();
    std::vector<Numbers> matrix;  // [from][to]
    for (std::size_t from = 0; from < ranks(); ++from) matrix.push_back(lengths(ranks()));
    Numbers going(ranks());
    Numbers coming(ranks());
    for (std::size_t other = 0; other < ranks(); ++other) {
        // In place both ways are one block.
        coming[other] =
            in_place ? matrix[std::max(own(), other)][std::min(own(), other)] : matrix[other][own()];
        going[other] = matrix[own()][other];
    }
    Random own_random(static_cast<std::uint64_t>(random.below(1 << 20) + place.rank));
    const Layout* const from = &sent_layout();
    const Layout* const to = &received_layout();
    Numbers sent_at(ranks());
    if (!in_place) sent_at = spread(*from, going, own_random, sent_blocks);
    const Numbers received_at = spread(*to, coming, own_random, received_blocks);
    const Numbers sent_counts = counts(*from, going);
    const Numbers received_counts = counts(*to, coming);
    START(Ialltoallv, Alltoallv, sent, sent_counts.data(), sent_at.data(), from->type(), received,
          received_counts.data(), received_at.data(), to->type(), comm);
}

void Operation::Making::alltoallw() {
    std::vector<Numbers> matrix;
    for (std::size_t from = 0; from < ranks(); ++from) matrix.push_back(lengths(ranks()));
    Random own_random(static_cast<std::uint64_t>(random.below(1 << 20) + place.rank));
    struct Side {
        Numbers counts, places;
        std::vector<MPI_Datatype> types;
    };
    const auto side = [&](bool sends, std::vector<Memory::Block>& blocks) {
        Side result;
        MPI_Aint end = 0;
        for (std::size_t other = 0; other < ranks(); ++other) {
            const Layout& type = layout(own_random.below(Layout::kinds));
            const int count = type.count(sends ? matrix[own()][other] : matrix[other][own()]);
            const MPI_Aint last = std::max(0, count - 1) * type.extent();
            const MPI_Aint at = end - std::min<MPI_Aint>(0, last) - std::min<MPI_Aint>(0, type.lower());
            end = at + std::max<MPI_Aint>(0, last) + std::max<MPI_Aint>(0, type.upper());
            result.counts.push_back(count);
            result.places.push_back(static_cast<int>(at));
            result.types.push_back(type.type());
            blocks.push_back({at, &type, count});
        }
        return result;
    };
    const Side from = side(true, sent_blocks);
    const Side to = side(false, received_blocks);
    START(Ialltoallw, Alltoallw, sent, from.counts.data(), from.places.data(), from.types.data(), received,
          to.counts.data(), to.places.data(), to.types.data(), comm);
}

void Operation::Making::reduction(int which) {
    const int root = which == 0 ? random.below(place.ranks) : 0;
    const int length = random.between(0, longest + 2);
    const bool all_in_place = random.one_in(3);
    in_place = all_in_place && (which != 0 || place.rank == root);
    const Layout* const type = &layout(kinds[0]);
    const int count = type->count(length);
    if (!in_place) sent_blocks.push_back({0, type, count});
    received_blocks.push_back({0, type, count});
    const MPI_Op op = made.op_;
    if (which == 0)
        START(Ireduce, Reduce, sent, received, count, type->type(), op, root, comm);
    else if (which == 1)
        START(Iallreduce, Allreduce, sent, received, count, type->type(), op, comm);
    else if (which == 2)
        START(Iscan, Scan, sent, received, count, type->type(), op, comm);
    else if (which == 3)
        START(Iexscan, Exscan, sent, received, count, type->type(), op, comm);
    else
        START(Ireduce_scatter_block, Reduce_scatter_block, sent, received, count, type->type(), op, comm);
    if (which == 4) {
        std::vector<Memory::Block>& large = in_place ? received_blocks : sent_blocks;
        large.front().count = count * place.ranks;
        if (in_place) made.compared_ = count * type->extent();
    }
}

void Operation::Making::reduce_scatter() {
    const Numbers all_lengths = lengths(ranks());
    in_place = random.one_in(3);
    const Layout* const type = &layout(kinds[0]);
    const Numbers all_counts = counts(*type, all_lengths);
    const int all = std::accumulate(all_counts.begin(), all_counts.end(), 0);
    if (!in_place) sent_blocks.push_back({0, type, all});
    received_blocks.push_back({0, type, in_place ? all : all_counts[own()]});
    if (in_place) made.compared_ = all_counts[own()] * type->extent();
    const MPI_Op op = made.op_;
    START(Ireduce_scatter, Reduce_scatter, sent, received, all_counts.data(), type->type(), op, comm);
}

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
    const Layout* const from = &sent_layout();
    const Layout* const to = &received_layout();
    Numbers going;
    Numbers coming;
    for (const int rank : destinations) going.push_back(rank == MPI_PROC_NULL ? 1 : length(place.rank, rank));
    for (const int rank : sources) coming.push_back(rank == MPI_PROC_NULL ? 1 : length(rank, place.rank));
    if (which <= 1) {
        const int count = from->count(vary ? length(place.rank, 0) : equal);
        sent_blocks.push_back({0, from, count});
        if (which == 0) {
            received_blocks.push_back({0, to, to->count(equal) * static_cast<int>(sources.size())});
            START(Ineighbor_allgather, Neighbor_allgather, sent, count, from->type(), received,
                  to->count(equal), to->type(), comm);
            return;
        }
        const Numbers at = spread(*to, coming, own_random, received_blocks);
        const Numbers received_counts = counts(*to, coming);
        START(Ineighbor_allgatherv, Neighbor_allgatherv, sent, count, from->type(), received,
              received_counts.data(), at.data(), to->type(), comm);
        return;
    }
    if (which == 2) {
        sent_blocks.push_back({0, from, from->count(equal) * static_cast<int>(destinations.size())});
        received_blocks.push_back({0, to, to->count(equal) * static_cast<int>(sources.size())});
        START(Ineighbor_alltoall, Neighbor_alltoall, sent, from->count(equal), from->type(), received,
              to->count(equal), to->type(), comm);
        return;
    }
    const Numbers sent_at = spread(*from, going, own_random, sent_blocks);
    const Numbers received_at = spread(*to, coming, own_random, received_blocks);
    const Numbers sent_counts = counts(*from, going);
    const Numbers received_counts = counts(*to, coming);
    if (which == 3) {
        START(Ineighbor_alltoallv, Neighbor_alltoallv, sent, sent_counts.data(), sent_at.data(), from->type(),
              received, received_counts.data(), received_at.data(), to->type(), comm);
        return;
    }
    const auto in_bytes = [](const Layout& type, const Numbers& places) {
        std::vector<MPI_Aint> result;
        for (const int at : places) result.push_back(at * type.extent());
        return result;
    };
    const std::vector<MPI_Aint> sent_bytes = in_bytes(*from, sent_at);
    const std::vector<MPI_Aint> received_bytes = in_bytes(*to, received_at);
    const std::vector<MPI_Datatype> sent_types(destinations.size(), from->type());
    const std::vector<MPI_Datatype> received_types(sources.size(), to->type());
    START(Ineighbor_alltoallw, Neighbor_alltoallw, sent, sent_counts.data(), sent_bytes.data(),
          sent_types.data(), received, received_counts.data(), received_bytes.data(), received_types.data(),
          comm);
}

}  // namespace fuzz
