// Random reductions of floating-point numbers, whose bits are written to a file: a program that knows nothing
// of Lapwing. Jobs that compute the same bits write equal files.
//
//   reproducible SUMS SEED FILE ORDER [CONTRIBUTORS]
//     ORDER: "0,2,1": which rank of MPI_COMM_WORLD has each rank in the sums
//     CONTRIBUTORS: the contributions do not follow ORDER: the first ranks of MPI_COMM_WORLD make the same
//     ones in every job, and all other ranks contribute zeros. Allreduce and reduce alone, by sum and
//     maximum; the lines have the result of one rank.
//
// Rank 0 writes a line for each reduction: the function, the type, the operator, a hash of all ranks'
// results, and of the first element the contributions and the results, as bits. The result of a rank that has
// none is "-".
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "persistent_forms.hpp"
#include "random.hpp"

namespace {

enum Function { ALLREDUCE, REDUCE, SCAN, EXSCAN, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, FUNCTIONS };
constexpr const char* function_names[] = {"allreduce",     "reduce", "scan", "exscan", "reduce_scatter_block",
                                          "reduce_scatter"};
enum Op { SUM, PRODUCT, MAXIMUM, USER, OPS };
constexpr const char* op_names[] = {"sum", "product", "maximum", "user"};

int rank = 0;
int ranks = 0;
int contributors = 0;  // 0: the contributions follow the order of the ranks
int contributor = 0;   // this rank's number among them
MPI_Comm all = MPI_COMM_NULL;
MPI_Op user_op = MPI_OP_NULL;

// Commutes and is associative but for rounding.
void add_and_multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
    const auto combine = [&](auto one) {
        using Real = decltype(one);
        const auto* const a = static_cast<const Real*>(in);
        auto* const b = static_cast<Real*>(inout);
        for (int i = 0; i < *count; ++i) b[i] = a[i] + b[i] + a[i] * b[i] / Real{64};
    };
    if (*type == MPI_DOUBLE)
        combine(1.0);
    else
        combine(1.0F);
}

// One reduction, equal on all ranks but for the data.
struct Reduction {
    Function function = ALLREDUCE;
    Op op = SUM;
    bool is_double = false;
    bool in_place = false;
    bool blocking = false;
    bool persistent = false;
    int root = 0;
    int count = 0;            // elements of a rank's contribution
    std::vector<int> counts;  // of each rank's block, in a reduce-scatter
    std::vector<std::byte> sent;
    std::vector<std::byte> received;

    std::size_t size() const { return is_double ? sizeof(double) : sizeof(float); }
    int results() const {
        if (function == REDUCE) return rank == root ? count : 0;
        if (function == EXSCAN) return rank == 0 ? 0 : count;
        if (function >= REDUCE_SCATTER_BLOCK) return counts[static_cast<std::size_t>(rank)];
        return count;
    }
};

// Most vectors are short; some are long enough for every algorithm.
int random_count(Random& random) {
    const int size = random.below(100);
    const int most = size < 40 ? 1 : size < 70 ? 16 : size < 90 ? 512 : size < 98 ? 8192 : 65536;
    return 1 + random.below(most);
}

// Of exponents far apart, so that rounding depends on the order; of a product, near one.
template <typename Real>
void fill(Reduction& reduction, Random& random) {
    std::vector<Real> values(static_cast<std::size_t>(reduction.count));
    for (Real& value : values) {
        const auto mantissa = static_cast<double>(random.seed() >> 11) * 0x1p-53;
        const double sign = random.below(2) == 0 ? 1 : -1;
        if (reduction.op == MAXIMUM && random.below(3) == 0) {
            value = static_cast<Real>(random.below(3) == 0 ? std::nan("") : sign * 0.0);
            continue;
        }
        value = static_cast<Real>(reduction.op == SUM || reduction.op == MAXIMUM
                                      ? sign * std::ldexp(1 + mantissa, random.below(24) - 12)
                                      : sign * (0.75 + mantissa / 2));
    }
    reduction.sent.resize(values.size() * sizeof(Real));
    std::memcpy(reduction.sent.data(), values.data(), reduction.sent.size());
}

// The contribution of a rank that has none.
void add_nothing(Reduction& reduction) {
    const double zero = reduction.op == MAXIMUM ? -std::numeric_limits<double>::infinity() : 0;
    const auto small = static_cast<float>(zero);
    for (std::size_t at = 0; at < reduction.sent.size(); at += reduction.size())
        std::memcpy(&reduction.sent[at], reduction.is_double ? static_cast<const void*>(&zero) : &small,
                    reduction.size());
}

Reduction made(std::uint64_t seed) {
    Random random(seed);
    Reduction reduction;
    reduction.function = static_cast<Function>(random.below(contributors > 0 ? SCAN : FUNCTIONS));
    const int op = random.below(10);
    reduction.op = op < 7 ? SUM : contributors > 0 ? MAXIMUM : static_cast<Op>(op - 6);
    reduction.is_double = random.below(3) > 0;
    reduction.in_place = random.below(4) == 0 && reduction.function != REDUCE;
    reduction.blocking = random.below(8) == 0;
    reduction.persistent = reduction.function == ALLREDUCE && random.below(8) == 0;
    reduction.root = random.below(contributors > 0 ? contributors : ranks);
    reduction.count = random_count(random);
    if (reduction.function >= REDUCE_SCATTER_BLOCK) {
        const int block = reduction.count / ranks + 1;
        reduction.counts.assign(static_cast<std::size_t>(ranks), block);
        if (reduction.function == REDUCE_SCATTER)
            for (int& count : reduction.counts) count = random.below(2 * block + 1);
        reduction.count = 0;
        for (const int count : reduction.counts) reduction.count += count;
    }
    Random own(seed * 64 + static_cast<std::uint64_t>(contributors > 0 ? contributor : rank));
    if (reduction.is_double)
        fill<double>(reduction, own);
    else
        fill<float>(reduction, own);
    if (contributors > 0 && contributor >= contributors) add_nothing(reduction);
    reduction.received.resize(reduction.sent.size());
    return reduction;
}

void start(Reduction& reduction, MPI_Request& request) {
    const std::array<MPI_Op, 3> ops = {MPI_SUM, MPI_PROD, MPI_MAX};
    const MPI_Op op = reduction.op == USER ? user_op : ops[reduction.op];
    const MPI_Datatype type = reduction.is_double ? MPI_DOUBLE : MPI_FLOAT;
    const void* in = reduction.sent.data();
    void* const out = reduction.received.data();
    if (reduction.in_place) {
        reduction.received = reduction.sent;
        in = MPI_IN_PLACE;
    }
    const int count = reduction.count;
    const int* const counts = reduction.counts.data();
    const bool blocking = reduction.blocking;
    request = MPI_REQUEST_NULL;
    switch (reduction.function) {
        case ALLREDUCE:
            if (reduction.persistent) {
                PERSISTENT(Allreduce)(in, out, count, type, op, all, MPI_INFO_NULL, &request);
                MPI_Start(&request);
                break;
            }
            blocking ? MPI_Allreduce(in, out, count, type, op, all)
                     : MPI_Iallreduce(in, out, count, type, op, all, &request);
            break;
        case REDUCE:
            blocking ? MPI_Reduce(in, out, count, type, op, reduction.root, all)
                     : MPI_Ireduce(in, out, count, type, op, reduction.root, all, &request);
            break;
        case SCAN:
            blocking ? MPI_Scan(in, out, count, type, op, all)
                     : MPI_Iscan(in, out, count, type, op, all, &request);
            break;
        case EXSCAN:
            blocking ? MPI_Exscan(in, out, count, type, op, all)
                     : MPI_Iexscan(in, out, count, type, op, all, &request);
            break;
        case REDUCE_SCATTER_BLOCK:
            blocking ? MPI_Reduce_scatter_block(in, out, counts[0], type, op, all)
                     : MPI_Ireduce_scatter_block(in, out, counts[0], type, op, all, &request);
            break;
        default:
            blocking ? MPI_Reduce_scatter(in, out, counts, type, op, all)
                     : MPI_Ireduce_scatter(in, out, counts, type, op, all, &request);
            break;
    }
}

// The bits of the first element; all ones if there is none.
std::uint64_t first_of(const Reduction& reduction, const std::vector<std::byte>& elements, int count) {
    std::uint64_t bits = count == 0 ? ~std::uint64_t{0} : 0;
    if (count > 0) std::memcpy(&bits, elements.data(), reduction.size());
    return bits;
}

// What rank 0 writes, of this rank.
struct Row {
    std::uint64_t hash;
    std::uint64_t contribution;
    std::uint64_t result;
};

Row row_of(const Reduction& reduction) {
    const std::string_view bytes(reinterpret_cast<const char*>(reduction.received.data()),
                                 static_cast<std::size_t>(reduction.results()) * reduction.size());
    return {std::hash<std::string_view>()(bytes), first_of(reduction, reduction.sent, reduction.count),
            first_of(reduction, reduction.received, reduction.results())};
}

void write(const std::string& name, const std::vector<Reduction>& reductions, const std::vector<Row>& rows) {
    std::FILE* const file = std::fopen(name.c_str(), "w");
    if (file == nullptr) {
        std::perror(name.c_str());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const std::size_t sums = reductions.size();
    for (std::size_t i = 0; i < sums; ++i) {
        const auto of_rank = [&](int r) { return rows[static_cast<std::size_t>(r) * sums + i]; };
        const bool of_one = contributors > 0;
        std::uint64_t hash = of_one ? of_rank(reductions[i].root).hash : 0;
        for (int r = 0; r < ranks && !of_one; ++r) hash = 31 * hash + of_rank(r).hash;
        std::fprintf(file, "%s %s %s %016llx", function_names[reductions[i].function],
                     reductions[i].is_double ? "double" : "float", op_names[reductions[i].op],
                     static_cast<unsigned long long>(hash));
        for (const auto member : {&Row::contribution, &Row::result}) {
            std::fputs(" |", file);
            for (int r = 0; r < ranks && !of_one; ++r) {
                const std::uint64_t bits = of_rank(r).*member;
                if (bits == ~std::uint64_t{0})
                    std::fputs(" -", file);
                else
                    std::fprintf(file, " %llx", static_cast<unsigned long long>(bits));
            }
        }
        std::fputc('\n', file);
    }
    std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<int> order;
    std::istringstream list(argc == 5 || argc == 6 ? argv[4] : "");
    for (std::string word; std::getline(list, word, ',');) order.push_back(std::atoi(word.c_str()));
    const auto place = std::find(order.begin(), order.end(), rank);
    if (static_cast<int>(order.size()) != ranks || place == order.end()) {
        std::fprintf(stderr,
                     "usage: reproducible SUMS SEED FILE ORDER [CONTRIBUTORS], with %d ranks in ORDER\n",
                     ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const auto sums = static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10));
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    contributor = rank;
    if (argc == 6) contributors = static_cast<int>(std::strtol(argv[5], nullptr, 10));
    MPI_Comm_split(MPI_COMM_WORLD, 0, static_cast<int>(place - order.begin()), &all);
    MPI_Comm_rank(all, &rank);
    MPI_Op_create(add_and_multiply, 1, &user_op);

    constexpr std::size_t window = 8;
    std::vector<Reduction> reductions(sums);
    std::vector<Row> rows(sums);
    for (std::size_t first = 0; first < sums; first += window) {
        const std::size_t count = std::min(window, sums - first);
        std::array<MPI_Request, window> requests;
        for (std::size_t i = 0; i < count; ++i) {
            reductions[first + i] = made(seed * 1000003 + first + i);
            start(reductions[first + i], requests[i]);
        }
        MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
        for (std::size_t i = 0; i < count; ++i) {
            if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
            rows[first + i] = row_of(reductions[first + i]);
            reductions[first + i].sent = {};
            reductions[first + i].received = {};
        }
    }
    constexpr int words = sizeof(Row) / sizeof(std::uint64_t);
    std::vector<Row> gathered(rank == 0 ? sums * static_cast<std::size_t>(ranks) : 0);
    MPI_Gather(rows.data(), words * static_cast<int>(sums), MPI_UINT64_T, gathered.data(),
               words * static_cast<int>(sums), MPI_UINT64_T, 0, all);
    if (rank == 0) write(argv[3], reductions, gathered);
    MPI_Op_free(&user_op);
    MPI_Comm_free(&all);
    MPI_Finalize();
}
