// Reductions by all kinds of operators, through an unmodified program's calls.
#include <mpi.h>
#include <sys/mman.h>

#include "numbers.hpp"
#include "operator_table.hpp"
#include "persistent_forms.hpp"
#include "reference.hpp"
#include "support/unit.hpp"

namespace {

using operator_table::TypeRow;

// Elements of a type, with everything between them.
struct Elements {
    const TypeRow& row;
    MPI_Aint extent = 0;
    std::vector<std::byte> memory;

    // `numbers`: of each part of each element. Padding is unlike on each rank.
    Elements(const TypeRow& type, const std::vector<std::vector<double>>& numbers, int rank) : row(type) {
        MPI_Aint lower = 0;
        PMPI_Type_get_extent(type.type, &lower, &extent);
        memory.assign((numbers.size() + 1) * static_cast<std::size_t>(extent),
                      static_cast<std::byte>(0xa0 + rank));
        for (std::size_t i = 0; i < numbers.size(); ++i)
            for (std::size_t part = 0; part < type.parts.size(); ++part)
                write_number(type.parts[part].type, at(i) + type.parts[part].offset, numbers[i][part]);
    }
    std::byte* at(std::size_t element) { return memory.data() + element * static_cast<std::size_t>(extent); }
    // A NaN equals any NaN.
    bool same(Elements& other, std::size_t element) {
        if (std::memcmp(at(element), other.at(element), static_cast<std::size_t>(extent)) == 0) return true;
        for (const auto& part : row.parts) {
            const long double one = read_number(part.type, at(element) + part.offset);
            const long double two = read_number(part.type, other.at(element) + part.offset);
            if (std::isnan(one) ? !std::isnan(two) : one != two || std::signbit(one) != std::signbit(two))
                return false;
        }
        return true;
    }
};

// All elements whose parts are among these. Bits of truth values are 0 and 1.
std::vector<std::vector<double>> samples_of(const TypeRow& type, bool special) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> numbers = {0, 1, 2, 3};
    if (type.group == operator_table::LOGICAL)
        numbers = {0, 1};
    else if (special)
        numbers = {-0.0, 1.0 / 3, -7.3, infinity, std::nan("")};
    std::vector<std::vector<double>> samples;
    if (type.parts.size() == 1) {
        if (special && type.group == operator_table::FLOATING_POINT)
            numbers.insert(numbers.end(), {0, 1, 3, 6e-8, 1e-39, 5e-324, 65504, -infinity, 1e308});
        for (const double number : numbers) samples.push_back({number});
        return samples;
    }
    const bool pair = type.group == operator_table::PAIR;
    for (const double number : numbers)
        for (const double other : pair ? std::vector<double>{2, 1} : numbers)
            samples.push_back({number, other});
    return samples;
}

// Bit by bit, but where the MPI's own result depends on the order of the ranks.
TEST(Reduction, EveryOperatorOfEveryTypeGivesTheMpisResult) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    for (const TypeRow& type : operator_table::types()) {
        const auto samples = samples_of(type, ranks == 2);
        const std::size_t count = samples.size() * samples.size();
        const auto of_rank = [&](int one) {
            std::vector<std::vector<double>> numbers;
            for (std::size_t i = 0; i < count; ++i)
                numbers.push_back(samples[(one % 2 == 0 ? i / samples.size() : i) % samples.size()]);
            return Elements(type, numbers, one);
        };
        for (const auto& op : operator_table::operators()) {
            if ((op.groups & type.group) == 0) continue;
            // The signs of zeros among the products of three complex numbers depend on the order.
            if (ranks != 2 && type.group == operator_table::COMPLEX && op.op == MPI_PROD) continue;
            Elements sent = of_rank(rank);
            Elements received = sent;
            Elements wanted = sent;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Iallreduce(sent.memory.data(), received.memory.data(), static_cast<int>(count), type.type,
                           op.op, world, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            PMPI_Allreduce(sent.memory.data(), wanted.memory.data(), static_cast<int>(count), type.type,
                           op.op, world);
            Elements first = of_rank(0);
            Elements second = of_rank(1);
            Elements reversed = first;
            PMPI_Reduce_local(second.memory.data(), reversed.memory.data(), static_cast<int>(count),
                              type.type, op.op);
            PMPI_Reduce_local(first.memory.data(), second.memory.data(), static_cast<int>(count), type.type,
                              op.op);
            std::size_t compared = 0;
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i) {
                if (ranks == 2 && !second.same(reversed, i)) continue;
                ++compared;
                if (!received.same(wanted, i)) ++wrong;
            }
            EXPECT_EQ(wrong, 0U) << op.name << " of " << type.name << ", " << count << " elements";
            EXPECT_GE(2 * compared, count) << op.name << " of " << type.name;
        }
    }
}

// Memory of the program in which two elements are far apart, and nothing else is touched.
class FarApart {
  public:
    FarApart() {
        void* const got =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got != MAP_FAILED) elements_ = static_cast<int*>(got);
    }
    ~FarApart() {
        if (elements_ != nullptr) munmap(elements_, bytes);
    }
    FarApart(const FarApart&) = delete;
    FarApart& operator=(const FarApart&) = delete;
    int* elements() const { return elements_; }

    static constexpr std::size_t distance = std::size_t{1} << 42;
    static constexpr std::size_t bytes = distance + 4096;

  private:
    int* elements_ = nullptr;
};

MPI_Datatype type_seen = MPI_DATATYPE_NULL;
void add(void* left, void* right, int* count, MPI_Datatype* type) {
    type_seen = *type;
    for (int i = 0; i < *count; ++i) static_cast<int*>(right)[i] += static_cast<int*>(left)[i];
}

// Of the program: one int, and add().
std::pair<MPI_Datatype, MPI_Op> type_and_sum() {
    std::pair<MPI_Datatype, MPI_Op> made{MPI_DATATYPE_NULL, MPI_OP_NULL};
    MPI_Type_contiguous(1, MPI_INT, &made.first);
    MPI_Type_commit(&made.first);
    MPI_Op_create(add, 1, &made.second);
    return made;
}

// fuzz.cpp has operators that do not commute, and elements with holes.
TEST(Reduction, ByTheProgramsFunctionOnATypeThatTheProgramHasFreed) {
    const int ranks = size_of(world);
    const int rank = rank_in(world);
    auto [type, op] = type_and_sum();
    const MPI_Datatype handle = type;
    const std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
    enum { reduce, allreduce, scan, exscan, block, reduce_scatter, kinds };
    int sums[kinds] = {};
    MPI_Request requests[kinds];
    MPI_Ireduce(ones.data(), &sums[reduce], 1, type, op, ranks - 1, world, &requests[reduce]);
    MPI_Iallreduce(ones.data(), &sums[allreduce], 1, type, op, world, &requests[allreduce]);
    MPI_Iscan(ones.data(), &sums[scan], 1, type, op, world, &requests[scan]);
    MPI_Iexscan(ones.data(), &sums[exscan], 1, type, op, world, &requests[exscan]);
    MPI_Ireduce_scatter_block(ones.data(), &sums[block], 1, type, op, world, &requests[block]);
    MPI_Ireduce_scatter(ones.data(), &sums[reduce_scatter], ones.data(), type, op, world,
                        &requests[reduce_scatter]);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Waitall(kinds, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(sums[reduce], rank == ranks - 1 ? ranks : 0);
    EXPECT_EQ(sums[scan], rank + 1);
    if (rank > 0) {
        EXPECT_EQ(sums[exscan], rank);
        EXPECT_EQ(type_seen, handle);
    }
    for (const int kind : {allreduce, block, reduce_scatter}) EXPECT_EQ(sums[kind], ranks) << kind;
}

TEST(Reduction, APersistentOneByTheProgramsFunctionOnATypeThatTheProgramHasFreed) {
    auto [type, op] = type_and_sum();
    const MPI_Datatype handle = type;
    const int one = 1;
    int sum = 0;
    type_seen = MPI_DATATYPE_NULL;
    MPI_Request request;
    PERSISTENT(Scan)(&one, &sum, 1, type, op, world, MPI_INFO_NULL, &request);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    for (int round = 0; round < 2; ++round) {
        sum = 0;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(sum, rank_in(world) + 1);
        EXPECT_TRUE(rank_in(world) == 0 || type_seen == handle);
    }
    MPI_Request_free(&request);
}

// What goes wrong between the messages of a collective is its own error. The others do not wait for this
// rank, and what comes next is right.
TEST(Reduction, OneThatFailsOnTheWayFailsAlone) {
    const FarApart sent;
    const FarApart received;
    void* const all = std::malloc(FarApart::bytes);
    std::free(all);
    int can_fail = sent.elements() != nullptr && received.elements() != nullptr && all == nullptr ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &can_fail, 1, MPI_INT, MPI_MIN, world);
    if (can_fail == 0) GTEST_SKIP() << "memory is given to all who ask";
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_dup(world, &communicator);
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, FarApart::distance, &type);
    MPI_Type_commit(&type);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(add, 1, &op);
    const int ranks = size_of(world);
    for (int round = 0; round < 5; ++round) {
        const int one = round;
        int before = -1;
        int after = -1;
        MPI_Request requests[3];
        MPI_Iallreduce(&one, &before, 1, MPI_INT, MPI_SUM, communicator, &requests[0]);
        int error =
            MPI_Iallreduce(sent.elements(), received.elements(), 2, type, op, communicator, &requests[1]);
        ASSERT_EQ(error, MPI_SUCCESS);
        MPI_Iallreduce(&one, &after, 1, MPI_INT, op, communicator, &requests[2]);
        if (round % 2 == 0) {
            error = MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            EXPECT_EQ(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&requests[2], MPI_STATUS_IGNORE), MPI_SUCCESS);
        } else {
            MPI_Status statuses[3];
            const int of_all = MPI_Waitall(3, requests, statuses);
            error = of_all == MPI_SUCCESS ? MPI_SUCCESS : statuses[1].MPI_ERROR;
            if (of_all != MPI_SUCCESS) {
                EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
                EXPECT_EQ(statuses[2].MPI_ERROR, MPI_SUCCESS);
            }
        }
        int found = MPI_SUCCESS;
        if (error != MPI_SUCCESS) MPI_Error_class(error, &found);
        EXPECT_TRUE(error == MPI_SUCCESS || found == MPI_ERR_NO_MEM) << found;
        int somebody = error != MPI_SUCCESS ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &somebody, 1, MPI_INT, MPI_MAX, world);
        EXPECT_EQ(somebody, ranks > 1 ? 1 : 0);
        EXPECT_EQ(before, one * ranks);
        EXPECT_EQ(after, one * ranks);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Comm_free(&communicator);
}

}  // namespace
