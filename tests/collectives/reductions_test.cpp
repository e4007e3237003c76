// The reductions, by operators that commute and that do not, run on real bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "engines/host/engine.hpp"
#include "links/process/process_link.hpp"
#include "problems.hpp"
#include "task/result.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

// Upper triangular matrices of integers modulo 2^64, by rows.
using Matrix = std::array<std::uint64_t, 3>;

std::set<int> roots_of(Collective collective, int ranks) {
    if (!has_root(collective)) return {0};
    std::set<int> roots = {0, std::min(1, ranks - 1), ranks / 2, ranks - 1};
    for (int root = 0; root < ranks && ranks <= 9; ++root) roots.insert(root);
    return roots;
}

// Also with blocks that are longer than all before them: where the result overlaps the block that it is of.
std::vector<Problem> with_more_parts(const Problem& plain) {
    std::vector<Problem> problems = with_parts(plain);
    if (!has_parts(plain.collective)) return problems;
    problems.push_back(plain);
    problems.back().parts = all_parts(
        plain, [&](int, int to) { return (std::uint64_t{1} << std::min(to, 5)) * plain.element_bytes(); });
    return problems;
}

// Calls visit(problem, choice) for what the algorithms of the reductions do not decline.
template <typename Visit>
void for_each_reduction(int ranks, const std::set<std::uint64_t>& sizes, Visit visit) {
    for (const Algorithm* algorithm : catalogue()) {
        const Collective collective = algorithm->collective;
        if (!is_reduction(collective)) continue;
        const Choice choice{algorithm, default_parameters(*algorithm)};
        for (const int root : roots_of(collective, ranks)) {
            for (const std::uint64_t size : has_parts(collective) ? std::set<std::uint64_t>{1} : sizes) {
                for (const int how : {0, 1, 2, 3}) {
                    Problem plain = problem_of(collective, ranks, root, 0, how % 2 != 0, how / 2 != 0);
                    plain.op = Operator::user;
                    plain.type = Type::opaque;
                    plain.element = sizeof(Matrix);
                    plain.bytes = size * plain.element_bytes();
                    for (const Problem& problem : with_more_parts(plain)) {
                        if (algorithm->applies(problem, choice.parameters)) visit(problem, choice);
                        if (testing::Test::HasFatalFailure()) return;
                    }
                }
            }
        }
    }
}

std::string describe(const Problem& problem, const Choice& choice) {
    return print(problem) + " " + print(choice);
}

Matrix operator*(const Matrix& a, const Matrix& b) {
    return {a[0] * b[0], a[0] * b[1] + a[1] * b[2], a[2] * b[2]};
}

Matrix matrix_at(const std::byte* bytes) {
    Matrix matrix{};
    std::memcpy(matrix.data(), bytes, sizeof matrix);
    return matrix;
}

class Product : public Reducer {
  public:
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        for (std::uint64_t at = 0; at < bytes; at += sizeof(Matrix)) {
            const Matrix product = matrix_at(source + at) * matrix_at(target + at);
            std::memcpy(target + at, product.data(), sizeof product);
        }
    }
};

// Diagonal matrices commute.
Matrix input_matrix(const Problem& problem, int rank, std::uint64_t index) {
    const auto r = static_cast<std::uint64_t>(rank);
    return {2 * r + 3, problem.ordered ? 100 * r + index + 1 : 0, 2 * (r ^ index) + 5};
}

using Memory = std::vector<std::byte>;
constexpr std::byte untouched{0xa5};

// What the rank's out must hold: the product of the matrices in rank order.
Memory expected_out(const Problem& problem, int rank, Memory out) {
    for (const Result& result : results(problem, rank)) {
        for (std::uint64_t at = 0; at < result.out.length; at += sizeof(Matrix)) {
            const std::uint64_t index = (result.offset + at) / sizeof(Matrix);
            Matrix product = input_matrix(problem, result.first, index);
            for (int from = result.first + 1; from <= result.last; ++from)
                product = product * input_matrix(problem, from, index);
            std::memcpy(out.data() + result.out.offset + at, product.data(), sizeof product);
        }
    }
    return out;
}

// All ranks by turns, on the host engine.
void expect_product(const Problem& problem, const Choice& choice, bool buffered) {
    const ListSet set = build_all(problem, choice);
    const auto links = process_links(problem.ranks, buffered);
    Product product;
    std::vector<Memory> ins;
    std::vector<Memory> outs;
    std::vector<std::unique_ptr<Prepared>> prepared;
    std::vector<Operation*> operations;
    for (const List& list : set.lists) {
        Memory& in = ins.emplace_back(list.in_bytes, untouched);
        Memory& out = outs.emplace_back(list.out_bytes, untouched);
        const Span own = whole_input(problem, list.rank);
        std::byte* const start = (own.space == Space::in ? in : out).data() + own.offset;
        for (std::uint64_t at = 0; at < own.length; at += sizeof(Matrix)) {
            const Matrix matrix = input_matrix(problem, list.rank, at / sizeof(Matrix));
            std::memcpy(start + at, matrix.data(), sizeof matrix);
        }
        const auto place = static_cast<std::size_t>(list.rank);
        prepared.push_back(open_host_group(*links[place])->prepare({}, list, {}));
        operations.push_back(prepared.back()->start({in.data(), out.data(), &product}, 0));
    }
    const std::vector<Memory> before = outs;
    for (std::size_t left = set.lists.size(); left > 0;) {
        for (std::size_t rank = 0; rank < set.lists.size(); ++rank) {
            if (operations[rank] == nullptr || !prepared[rank]->test(operations[rank])) continue;
            operations[rank] = nullptr;
            --left;
        }
    }
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const auto place = static_cast<std::size_t>(rank);
        Memory wanted = expected_out(problem, rank, before[place]);
        // In place a reduce_scatter may leave anything behind its result.
        wanted.resize(results(problem, rank).empty() ? wanted.size() : results(problem, rank)[0].out.length);
        Memory found = outs[place];
        found.resize(wanted.size());
        ASSERT_EQ(found, wanted) << describe(problem, choice) << ": rank " << rank;
    }
}

TEST(Reductions, MultiplyMatricesInRankOrder) {
    for (int ranks = 1; ranks <= 13; ++ranks) {
        for (const bool buffered : {false, true}) {
            for_each_reduction(ranks, {1, 5}, [&](const Problem& problem, const Choice& choice) {
                expect_product(problem, choice, buffered);
            });
            if (HasFatalFailure()) return;
        }
    }
}

}  // namespace
}  // namespace lapwing
