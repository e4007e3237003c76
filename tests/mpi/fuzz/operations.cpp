#include "fuzz/operations.hpp"

#include <algorithm>
#include <numeric>

#include "persistent_forms.hpp"

// The program's function: nonblocking, or persistent. And, without a request, the MPI's own: the blocking
// functions are the better tested ones of most MPIs.
#define EITHER(nonblocking, blocking, ...)                                                    \
    (request == nullptr           ? PMPI_##blocking(__VA_ARGS__)                              \
     : Operation::is_persistent() ? PERSISTENT(blocking)(__VA_ARGS__, MPI_INFO_NULL, request) \
                                  : MPI_##nonblocking(__VA_ARGS__, request))

namespace fuzz {

using Numbers = std::vector<int>;

// Draws the call. What all ranks must agree on is drawn by all of them in the same order.
struct Operation::Making {
    Operation& made;
    const Place& place;
    Random& random;
    const Basic& basic;
    int units;  // basic elements of the shortest block
    std::uint64_t seed;
    Numbers kinds;  // of layouts, by rank: of what it sends and of what it receives
    std::vector<Memory::Block> sent_blocks;
    std::vector<Memory::Block> received_blocks;
    bool in_place = false;
    int longest = 3;  // block, in units

    std::size_t own() const { return static_cast<std::size_t>(place.rank); }
    std::size_t ranks() const { return static_cast<std::size_t>(place.ranks); }

    const Layout& layout(int number) {
        made.layouts_.push_back(std::make_unique<Layout>(basic, units, static_cast<Layout::Kind>(number)));
        return *made.layouts_.back();
    }
    const Layout& sent_layout() { return layout(kinds[2 * own()]); }
    const Layout& received_layout() { return layout(kinds[2 * own() + 1]); }

    // Blocks of these lengths in an order of their own, with gaps; gives their displacements in elements.
    Numbers spread(const Layout& type, const Numbers& lengths, Random& by,
                   std::vector<Memory::Block>& blocks) {
        Numbers order(lengths.size());
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[static_cast<std::size_t>(by.below(static_cast<int>(i)))]);
        Numbers displacements(lengths.size());
        int at = by.one_in(3) ? -3 : 0;
        for (const int which : order) {
            const auto block = static_cast<std::size_t>(which);
            displacements[block] = at;
            const int count = type.count(lengths[block]);
            blocks.push_back({at * type.extent(), &type, count});
            at += count + by.below(3);
        }
        return displacements;
    }
    Numbers counts(const Layout& type, Numbers lengths) const {
        for (int& length : lengths) length = type.count(length);
        return lengths;
    }
    // Open MPI 4.1 refuses types that grow downwards in its alltoalls in place.
    void grow_upwards() {
        std::replace(kinds.begin(), kinds.end(), static_cast<int>(Layout::Kind::backwards),
                     static_cast<int>(Layout::Kind::spread));
    }
    // Lengths of blocks, zeros among them.
    Numbers lengths(std::size_t number) {
        Numbers drawn(number);
        for (int& one : drawn) one = random.one_in(4) ? 0 : random.between(1, longest);
        return drawn;
    }

    void buffers() {
        for (Buffers& one : made.buffers_) {
            if (!sent_blocks.empty()) one.sent = std::make_unique<Memory>(basic, sent_blocks, seed);
            one.received = std::make_unique<Memory>(basic, received_blocks, seed + 1);
        }
    }

    void barrier();
    void broadcast();
    void gather(bool scatters);
    void gatherv(bool scatters);
    void allgather();
    void allgatherv();
    void alltoall();
    void alltoallv();
    void alltoallw();
    void reduction(int which);
    void reduce_scatter();
    void neighbors(int which);
};

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

namespace {

// a o b of maps x -> first * x + second: associative, does not commute.
void compose(void* left, void* right, int* count, MPI_Datatype* type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; ++i) {
        auto* a = reinterpret_cast<unsigned*>(static_cast<char*>(left) + i * extent);
        auto* b = reinterpret_cast<unsigned*>(static_cast<char*>(right) + i * extent);
        b[1] = a[0] * b[1] + a[1];
        b[0] = a[0] * b[0];
    }
}

// The calls that are drawn, in groups: collectives that move data, reductions, neighbour collectives.
// clang-format off
#define FUZZ_CALLS(each)                                                                            \
    each(Ibarrier) each(Ibcast) each(Igather) each(Iscatter) each(Igatherv) each(Iscatterv)         \
    each(Iallgather) each(Iallgatherv) each(Ialltoall) each(Ialltoallv) each(Ialltoallw)            \
    each(Ireduce) each(Iallreduce) each(Iscan) each(Iexscan) each(Ireduce_scatter_block)            \
    each(Ireduce_scatter)                                                                           \
    each(Ineighbor_allgather) each(Ineighbor_allgatherv) each(Ineighbor_alltoall)                   \
    each(Ineighbor_alltoallv) each(Ineighbor_alltoallw)
// clang-format on
#define FUZZ_ENUMERATOR(name) name,
enum Call : int { FUZZ_CALLS(FUZZ_ENUMERATOR) };
#define FUZZ_NAME(name) #name,
constexpr const char* names[] = {FUZZ_CALLS(FUZZ_NAME)};
constexpr int first_reduction = Ireduce;
constexpr int first_neighbor = Ineighbor_allgather;
#ifdef OPEN_MPI
constexpr int calls = Ineighbor_alltoallw + 1;
#else
constexpr int calls = Ineighbor_alltoallw;  // without it: MPICH 4.0's Neighbor_alltoallw mixes up the lengths
#endif

constexpr int long_block = 5000;          // units of the longest block of an operation with long blocks
constexpr int operations_with_long = 16;  // one in so many operations
constexpr int seeds = 1 << 20;
constexpr int seeds_of_rank = 2;                        // one for the sent bytes, one for the received bytes
constexpr int seeds_of_operation = 64 * seeds_of_rank;  // up to 64 ranks

// The type that compose() works on.
const Basic& two_ints() {
    return *std::find_if(basics().begin(), basics().end(),
                         [](const Basic& basic) { return basic.row.type == MPI_2INT; });
}

}  // namespace

Operation::Operation(const Place& place, Random& random) {
    int number = random.below(place.has_neighbors ? calls : first_neighbor);
    // In a group of one, MPICH 4.0's Iallgatherv ignores its displacements, and Open MPI 4.1 refuses
    // reductions.
    if (place.ranks == 1 && (number == Iallgatherv || number >= first_reduction)) number = Ibcast;
    const bool reduces = number >= first_reduction && number < first_neighbor;
    const std::vector<Basic>& drawn = reduces ? basics() : basics_to_move();
    const Basic* basic = &random.pick(drawn);
    bool composes = false;
    std::string op_name;
    if (reduces) {
        composes = random.one_in(4);
        if (composes) {
            basic = &two_ints();
            MPI_Op_create(compose, 0, &op_);
            owns_op_ = true;
            op_name = " compose";
        } else {
            const operator_table::OperatorRow& op = random.pick(basic->operators);
            op_ = op.op;
            op_name = " " + std::string(op.name);
        }
    }
    const int units = reduces ? 1 : random.between(1, 3);
    Making making{*this, place, random, *basic, units, 0, {}, {}, {}};
    for (int i = 0; i < 2 * place.ranks; ++i) making.kinds.push_back(random.below(Layout::kinds));
#ifdef OPEN_MPI
    const bool may_be_long = true;
#else
    const bool may_be_long = !reduces;      // MPICH 4.0 writes past the buffers of its blocking reductions
#endif
    if (may_be_long && random.one_in(operations_with_long)) {
        making.longest = long_block;
        // Open MPI 4.1 chooses algorithms by the number of elements: with types that differ between the ranks
        // it chooses different ones.
        making.kinds.assign(making.kinds.size(), making.kinds.front());
    }
    // The MPI's own operators are for its own types. In others MPICH 4.0's reductions mix up elements
    // with holes, or write past them.
#ifdef OPEN_MPI
    const int max_kind = static_cast<int>(composes ? Layout::Kind::spread : Layout::Kind::plain);
#else
    const int max_kind = static_cast<int>(composes ? Layout::Kind::contiguous : Layout::Kind::plain);
#endif
    if (reduces) making.kinds[0] = std::min(making.kinds[0], max_kind);
    making.seed = static_cast<std::uint64_t>(random.below(seeds)) * seeds_of_operation +
                  static_cast<std::uint64_t>(place.rank) * seeds_of_rank;
    switch (number) {
        case Ibarrier:
            making.barrier();
            break;
        case Ibcast:
            making.broadcast();
            break;
        case Igather:
            making.gather(false);
            break;
        case Iscatter:
            making.gather(true);
            break;
        case Igatherv:
            making.gatherv(false);
            break;
        case Iscatterv:
            making.gatherv(true);
            break;
        case Iallgather:
            making.allgather();
            break;
        case Iallgatherv:
            making.allgatherv();
            break;
        case Ialltoall:
            making.alltoall();
            break;
        case Ialltoallv:
            making.alltoallv();
            break;
        case Ialltoallw:
            making.alltoallw();
            break;
        case Ireduce_scatter:
            making.reduce_scatter();
            break;
        default:
            if (number < first_neighbor)
                making.reduction(number - first_reduction);
            else
                making.neighbors(number - first_neighbor);
    }
    making.buffers();
    what_ = std::string(names[number]) + op_name + " of " + basic->row.name + " on " + place.name +
            (making.in_place ? " in place" : "") + ", layouts";
    for (const int kind : making.kinds) what_ += " " + std::to_string(kind);
}

Operation::~Operation() {
    forget_handles();
}

void Operation::forget_handles() {
    layouts_.clear();
    if (owns_op_ && op_ != MPI_OP_NULL) MPI_Op_free(&op_);
}

int Operation::start(MPI_Request* request) {
    return run(buffers_[0], request);
}

bool Operation::persistent_ = false;

int Operation::make_persistent(MPI_Request* request) {
    first_received_ = std::make_unique<Memory>(*buffers_[0].received);
    persistent_ = true;
    const int error = run(buffers_[0], request);
    persistent_ = false;
    return error;
}

void Operation::rewind() {
    buffers_[0].received->take_bytes(*first_received_);
}

int Operation::run_by_mpi() {
    return run(buffers_[1], nullptr);
}

int Operation::run(Buffers& own, MPI_Request* request) {
    return start_(own.sent ? own.sent->address() : nullptr, own.received->address(), request);
}

std::string Operation::difference() const {
    const std::ptrdiff_t at = buffers_[0].received->first_difference(*buffers_[1].received, compared_);
    if (at >= 0) return "the received bytes differ, first at " + std::to_string(at);
    if (buffers_[0].sent && buffers_[0].sent->first_difference(*buffers_[1].sent, compared_) >= 0)
        return "the bytes that were sent have changed";
    return {};
}

}  // namespace fuzz
