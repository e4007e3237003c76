#include "fuzz/making.hpp"

namespace fuzz {

void Operation::Making::reduction(int which) {
    const int root = which == 0 ? random.below(place.ranks) : 0;
    const int length = random.between(0, longest + 2);
    const bool all_in_place = random.one_in(3);
    in_place = all_in_place && (which != 0 || place.rank == root);
    const Layout& type = layout(kinds[0]);
    const int count = type.count(length);
    if (!in_place) sent_blocks.push_back({0, &type, count});
    received_blocks.push_back({0, &type, count});
    made.start_ = [=, this_in_place = in_place, &type, op = made.op_, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        void* const from = this_in_place ? MPI_IN_PLACE : sent;
        switch (which) {
            case 0:
                return EITHER(Ireduce, Reduce, from, received, count, type.type(), op, root, comm);
            case 1:
                return EITHER(Iallreduce, Allreduce, from, received, count, type.type(), op, comm);
            case 2:
                return EITHER(Iscan, Scan, from, received, count, type.type(), op, comm);
            case 3:
                return EITHER(Iexscan, Exscan, from, received, count, type.type(), op, comm);
            default:
                return EITHER(Ireduce_scatter_block, Reduce_scatter_block, from, received, count, type.type(),
                              op, comm);
        }
    };
    if (which == 4) {
        std::vector<Memory::Block>& large = in_place ? received_blocks : sent_blocks;
        large.front().count = count * place.ranks;
        if (in_place) made.compared_ = count * type.extent();
    }
}

void Operation::Making::reduce_scatter() {
    const Numbers all_lengths = lengths(ranks());
    in_place = random.one_in(3);
    const Layout& type = layout(kinds[0]);
    const Numbers all_counts = counts(type, all_lengths);
    const int all = std::accumulate(all_counts.begin(), all_counts.end(), 0);
    if (!in_place) sent_blocks.push_back({0, &type, all});
    received_blocks.push_back({0, &type, in_place ? all : all_counts[own()]});
    if (in_place) made.compared_ = all_counts[own()] * type.extent();
    made.start_ = [=, this_in_place = in_place, &type, op = made.op_, comm = place.communicator](
                      void* sent, void* received, MPI_Request* request) {
        return EITHER(Ireduce_scatter, Reduce_scatter, this_in_place ? MPI_IN_PLACE : sent, received,
                      all_counts.data(), type.type(), op, comm);
    };
}

}  // namespace fuzz
