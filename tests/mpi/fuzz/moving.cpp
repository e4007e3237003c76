#include "fuzz/making.hpp"

namespace fuzz {

void Operation::Making::barrier() {
    made.start_ = [comm = place.communicator](void*, void*, MPI_Request* request) {
        return EITHER(Ibarrier, Barrier, comm);
    };
}

void Operation::Making::broadcast() {
    const int root = random.below(place.ranks);
    const Layout& type = received_layout();
    const int count = type.count(random.between(0, longest));
    received_blocks.push_back({0, &type, count});
    made.start_ = [=, &type, comm = place.communicator](void*, void* buffer, MPI_Request* request) {
        return EITHER(Ibcast, Bcast, buffer, count, type.type(), root, comm);
    };
}

void Operation::Making::gather(bool scatters) {
    const int root = random.below(place.ranks);
    const bool is_root = place.rank == root;
    const int length = random.between(0, longest);
    const bool root_in_place = random.one_in(3);
    in_place = root_in_place && is_root;
    const Layout& one = sent_layout();
    const Layout& all = received_layout();
    const Memory::Block own{0, &one, one.count(length)};
    const Memory::Block everything{0, &all, all.count(length) * place.ranks};
    std::vector<Memory::Block>& small = scatters ? received_blocks : sent_blocks;
    std::vector<Memory::Block>& large = scatters ? sent_blocks : received_blocks;
    if (!in_place) small.push_back(own);
    if (is_root) large.push_back(everything);
    const int one_count = one.count(length);
    const int all_count = all.count(length);
    made.start_ = [=, this_in_place = in_place, &one, &all, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        if (scatters) {
            return EITHER(Iscatter, Scatter, sent, all_count, all.type(),
                          this_in_place ? MPI_IN_PLACE : received, one_count, one.type(), root, comm);
        }
        return EITHER(Igather, Gather, this_in_place ? MPI_IN_PLACE : sent, one_count, one.type(), received,
                      all_count, all.type(), root, comm);
    };
}

void Operation::Making::gatherv(bool scatters) {
    const int root = random.below(place.ranks);
    const bool is_root = place.rank == root;
    const Numbers all_lengths = lengths(ranks());
    in_place = random.one_in(3) && is_root;
    const std::uint64_t how = static_cast<std::uint64_t>(random.below(1 << 20));
    Random own_random(how);
    const Layout& one = sent_layout();
    const Layout& all = received_layout();
    std::vector<Memory::Block>& small = scatters ? received_blocks : sent_blocks;
    std::vector<Memory::Block>& large = scatters ? sent_blocks : received_blocks;
    const int one_count = one.count(all_lengths[own()]);
    if (!in_place) small.push_back({0, &one, one_count});
    Numbers displacements(ranks());
    if (is_root) displacements = spread(all, all_lengths, own_random, large);
    const Numbers all_counts = counts(all, all_lengths);
    made.start_ = [=, this_in_place = in_place, &one, &all, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        if (scatters) {
            return EITHER(Iscatterv, Scatterv, sent, all_counts.data(), displacements.data(), all.type(),
                          this_in_place ? MPI_IN_PLACE : received, one_count, one.type(), root, comm);
        }
        return EITHER(Igatherv, Gatherv, this_in_place ? MPI_IN_PLACE : sent, one_count, one.type(), received,
                      all_counts.data(), displacements.data(), all.type(), root, comm);
    };
}

void Operation::Making::allgather() {
    const int length = random.between(0, longest);
    in_place = random.one_in(3);
    const Layout& one = sent_layout();
    const Layout& all = received_layout();
    const int one_count = one.count(length);
    const int all_count = all.count(length);
    if (!in_place) sent_blocks.push_back({0, &one, one_count});
    received_blocks.push_back({0, &all, all_count * place.ranks});
    made.start_ = [=, this_in_place = in_place, &one, &all, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        return EITHER(Iallgather, Allgather, this_in_place ? MPI_IN_PLACE : sent, one_count, one.type(),
                      received, all_count, all.type(), comm);
    };
}

void Operation::Making::allgatherv() {
    const Numbers all_lengths = lengths(ranks());
    in_place = random.one_in(3);
    Random own_random(static_cast<std::uint64_t>(random.below(1 << 20) + place.rank));
    const Layout& one = sent_layout();
    const Layout& all = received_layout();
    const int one_count = one.count(all_lengths[own()]);
    if (!in_place) sent_blocks.push_back({0, &one, one_count});
    const Numbers displacements = spread(all, all_lengths, own_random, received_blocks);
    const Numbers all_counts = counts(all, all_lengths);
    made.start_ = [=, this_in_place = in_place, &one, &all, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        return EITHER(Iallgatherv, Allgatherv, this_in_place ? MPI_IN_PLACE : sent, one_count, one.type(),
                      received, all_counts.data(), displacements.data(), all.type(), comm);
    };
}

void Operation::Making::alltoall() {
    const int length = random.between(0, longest);
    in_place = random.one_in(4);
    if (in_place) grow_upwards();
    const Layout& from = sent_layout();
    const Layout& to = received_layout();
    if (!in_place) sent_blocks.push_back({0, &from, from.count(length) * place.ranks});
    received_blocks.push_back({0, &to, to.count(length) * place.ranks});
    made.start_ = [=, this_in_place = in_place, &from, &to, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        return EITHER(Ialltoall, Alltoall, this_in_place ? MPI_IN_PLACE : sent, from.count(length),
                      from.type(), received, to.count(length), to.type(), comm);
    };
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
    const Layout& from = sent_layout();
    const Layout& to = received_layout();
    Numbers sent_at(ranks());
    if (!in_place) sent_at = spread(from, going, own_random, sent_blocks);
    const Numbers received_at = spread(to, coming, own_random, received_blocks);
    const Numbers sent_counts = counts(from, going);
    const Numbers received_counts = counts(to, coming);
    made.start_ = [=, this_in_place = in_place, &from, &to, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        return EITHER(Ialltoallv, Alltoallv, this_in_place ? MPI_IN_PLACE : sent, sent_counts.data(),
                      sent_at.data(), from.type(), received, received_counts.data(), received_at.data(),
                      to.type(), comm);
    };
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
    made.start_ = [=, comm = place.communicator](void* sent, void* received, MPI_Request* request) {
        return EITHER(Ialltoallw, Alltoallw, sent, from.counts.data(), from.places.data(), from.types.data(),
                      received, to.counts.data(), to.places.data(), to.types.data(), comm);
    };
}

}  // namespace fuzz
