#include "fuzz/operations.hpp"

#include <algorithm>

#include "fuzz/making.hpp"

namespace fuzz {
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

// The calls that are drawn, and what makes them, in groups: collectives that move data, reductions, neighbour
// collectives.
// clang-format off
#define FUZZ_CALLS(each)                                                                                \
    each(Ibarrier, barrier()) each(Ibcast, broadcast())                                                 \
    each(Igather, gather(false)) each(Iscatter, gather(true))                                           \
    each(Igatherv, gatherv(false)) each(Iscatterv, gatherv(true))                                       \
    each(Iallgather, allgather()) each(Iallgatherv, allgatherv())                                       \
    each(Ialltoall, alltoall()) each(Ialltoallv, alltoallv()) each(Ialltoallw, alltoallw())             \
    each(Ireduce, reduction(0)) each(Iallreduce, reduction(1)) each(Iscan, reduction(2))                \
    each(Iexscan, reduction(3)) each(Ireduce_scatter_block, reduction(4))                               \
    each(Ireduce_scatter, reduce_scatter())                                                             \
    each(Ineighbor_allgather, neighbors(0)) each(Ineighbor_allgatherv, neighbors(1))                    \
    each(Ineighbor_alltoall, neighbors(2)) each(Ineighbor_alltoallv, neighbors(3))                      \
    each(Ineighbor_alltoallw, neighbors(4))
// clang-format on
#define FUZZ_ENUMERATOR(name, make) name,
enum Call : int { FUZZ_CALLS(FUZZ_ENUMERATOR) };
#define FUZZ_NAME(name, make) #name,
constexpr const char* names[] = {FUZZ_CALLS(FUZZ_NAME)};
#define FUZZ_MAKE(name, make) \
    if (number == name) making.make;
constexpr int first_reduction = Ireduce;
constexpr int first_neighbor = Ineighbor_allgather;
#ifdef OPEN_MPI
constexpr int calls = Ineighbor_alltoallw + 1;
#else
constexpr int calls = Ineighbor_alltoallw;  // without it: MPICH 4.0's Neighbor_alltoallw mixes up the lengths
#endif

constexpr int long_block = 5000;          // units of the longest block of an operation with long blocks
constexpr int operations_with_long = 16;  // one in so many operations
constexpr int seeds = 1 << 20;            // of operations
constexpr int seeds_of_rank = 2;          // one for the sent bytes, one for the received bytes
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
    Making making{*this, place, random, *basic, units, {}, {}, {}};
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
    seed_ = static_cast<std::uint64_t>(random.below(seeds)) * seeds_of_operation +
            static_cast<std::uint64_t>(place.rank) * seeds_of_rank;
    FUZZ_CALLS(FUZZ_MAKE)
    making.buffers();
    what_ = std::string(names[number]) + op_name + " of " + basic->row.name + " on " + place.name +
            (in_place_ ? " in place" : "") + ", layouts";
    for (const int kind : making.kinds) what_ += " " + std::to_string(kind);
}

Operation::~Operation() {
    forget_arguments();
}

void Operation::forget_arguments() {
    start_ = nullptr;
    layouts_.clear();
    if (owns_op_ && op_ != MPI_OP_NULL) MPI_Op_free(&op_);
}

int Operation::start(MPI_Request* request) {
    return run(buffers_[0], request);
}

bool Operation::persistent_ = false;
bool Operation::device_ = false;

int Operation::make_persistent(MPI_Request* request) {
    persistent_ = true;
    const int error = run(buffers_[0], request);
    persistent_ = false;
    return error;
}

void Operation::Buffers::fill(std::uint64_t seed) {
    if (sent) sent->fill(seed);
    received->fill(seed + 1);
}

void Operation::rewind() {
    buffers_[0].fill(seed_);
}

void Operation::refill(int start) {
    for (Buffers& one : buffers_)
        one.fill(seed_ + static_cast<std::uint64_t>(start) * seeds * seeds_of_operation);
}

int Operation::run_by_mpi() {
    return run(buffers_[1], nullptr);
}

int Operation::run(Buffers& own, MPI_Request* request) {
    void* sent = own.sent ? own.sent->address() : nullptr;
    void* received = own.received->address();
    if (in_place_) (own.sent ? received : sent) = MPI_IN_PLACE;
    return start_(sent, received, request);
}

std::string Operation::difference() const {
    const std::ptrdiff_t at = buffers_[0].received->first_difference(*buffers_[1].received, compared_);
    if (at >= 0) return "the received bytes differ, first at " + std::to_string(at);
    if (buffers_[0].sent && buffers_[0].sent->first_difference(*buffers_[1].sent, compared_) >= 0)
        return "the bytes that were sent have changed";
    return {};
}

}  // namespace fuzz
