// Every collective through the C API, in every form, on every engine and network, with 1 to 5 ranks: results
// are computed from the problem alone.

#include <cctype>
#include <initializer_list>

#include "c/ranks.hpp"
#include "engines/catalogue.hpp"
#include "engines/expected.hpp"
#include "engines/host/engine.hpp"
#include "links/fabric_job.hpp"
#include "support/engines.hpp"
#include "support/unit.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using namespace testing_c;
using namespace testing_engines;

void compose(void* context, const void* left, void* right, std::uint64_t count) {
    ASSERT_STREQ(static_cast<const char*>(context), "the caller's");
    Composition().reduce(static_cast<std::byte*>(right), static_cast<const std::byte*>(left), count * 8);
}
char context_of_caller[] = "the caller's";

lapwing_reduction reduction_of(const Problem& problem) {
    lapwing_reduction reduction{};
    if (problem.op == Operator::user) {
        reduction.op = LAPWING_USER;
        reduction.element_bytes = problem.element;
        reduction.function = compose;
        reduction.context = context_of_caller;
        reduction.commutes = problem.ordered ? 0 : 1;
        return reduction;
    }
    // The rows of the tables have the order of the header.
    reduction.op = static_cast<lapwing_operator>(problem.op);
    reduction.type = static_cast<lapwing_type>(problem.type);
    return reduction;
}

// The arrays of a problem of one rank.
struct Arguments {
    Arguments(const Problem& whole, int own) : problem(whole), rank(own), reduction(reduction_of(whole)) {
        if (!has_parts(problem.collective)) return;
        const Parts& parts = problem.parts_of(rank);
        for (const Part& part : parts.sends) {
            sends.push_back({part.offset, part.bytes});
            destinations.push_back(part.peer);
            counts.push_back(part.bytes / (is_reduction(problem.collective) ? problem.element_bytes() : 1));
        }
        for (const Part& part : parts.receives) {
            receives.push_back({part.offset, part.bytes});
            sources.push_back(part.peer);
        }
        neighbors = {static_cast<int>(sources.size()), static_cast<int>(destinations.size()), sources.data(),
                     destinations.data()};
    }
    bool here() const { return problem.in_place && (!has_root(problem.collective) || rank == problem.root); }
    std::uint64_t first_send() const { return sends.empty() ? 0 : sends.front().bytes; }
    std::uint64_t first_receive() const { return receives.empty() ? 0 : receives.front().bytes; }

    lapwing_problem as_problem() const {
        lapwing_problem made = lapwing_problem_of(static_cast<lapwing_collective>(problem.collective));
        made.root = problem.root;
        made.bytes = !has_parts(problem.collective)               ? problem.bytes
                     : problem.collective == Collective::scatterv ? first_receive()
                                                                  : first_send();
        if (is_reduction(problem.collective)) {
            made.count = problem.bytes / problem.element_bytes();
            made.reduction = reduction;
        }
        made.in_place = here();
        made.sends = sends.data();
        made.receives = receives.data();
        made.counts = counts.data();
        made.neighbors = neighbors;
        return made;
    }

    lapwing_status start(lapwing_group* group, const void* in, void* out,
                         lapwing_operation** operation) const {
        const bool scatters =
            problem.collective == Collective::scatter || problem.collective == Collective::scatterv;
        if (here()) (scatters ? out : const_cast<void*&>(in)) = LAPWING_IN_PLACE;
        const std::uint64_t bytes = problem.bytes;
        const std::uint64_t count = bytes / problem.element_bytes();
        const int root = problem.root;
// The function of a collective's name.
#define START(collective, ...)   \
    case Collective::collective: \
        return lapwing_##collective(group, __VA_ARGS__)
        switch (problem.collective) {
            START(barrier, operation);
            START(broadcast, rank == root ? const_cast<void*>(in) : out, bytes, root, operation);
            START(gather, in, bytes, out, root, operation);
            START(gatherv, in, first_send(), out, receives.data(), root, operation);
            START(scatter, in, out, bytes, root, operation);
            START(scatterv, in, sends.data(), out, first_receive(), root, operation);
            START(allgather, in, bytes, out, operation);
            START(allgatherv, in, first_send(), out, receives.data(), operation);
            START(alltoall, in, out, bytes, operation);
            START(alltoallv, in, sends.data(), out, receives.data(), operation);
            START(reduce, in, out, count, &reduction, root, operation);
            START(allreduce, in, out, count, &reduction, operation);
            START(reduce_scatter_block, in, out, count, &reduction, operation);
            START(reduce_scatter, in, out, counts.data(), &reduction, operation);
            START(scan, in, out, count, &reduction, operation);
            START(exscan, in, out, count, &reduction, operation);
            START(neighbor_allgather, &neighbors, in, first_send(), out, receives.data(), operation);
            START(neighbor_alltoall, &neighbors, in, sends.data(), out, receives.data(), operation);
        }
        return LAPWING_INTERNAL;
    }

    const Problem& problem;
    int rank;
    lapwing_reduction reduction;
    std::vector<lapwing_part> sends;
    std::vector<lapwing_part> receives;
    std::vector<std::uint64_t> counts;
    std::vector<int> sources;
    std::vector<int> destinations;
    lapwing_neighbors neighbors{};
};

std::vector<Problem> problems_of(int ranks) {
    std::vector<Problem> problems;
    for (const Collective collective : all_collectives()) {
        for (const std::uint64_t bytes : {8U, 40000U}) {
            const auto samples = sample_problems(collective, ranks, bytes);
            problems.insert(problems.end(), samples.begin(), samples.end());
        }
    }
    return problems;
}

void expect_result(const Problem& problem, int rank, int run, const Bytes& out) {
    EXPECT_TRUE(out == out_after(problem, rank, run, out)) << print(problem) << ": rank " << rank;
}

void run_all(lapwing_group* group, int rank, const std::vector<Problem>& problems) {
    for (const Problem& problem : problems) {
        const Arguments arguments(problem, rank);
        // The function of its name, and a plan that is started twice, all in flight together.
        constexpr int runs = 3;
        Bytes in[runs];
        Bytes out[runs];
        lapwing_operation* operations[runs] = {};
        for (int run = 0; run < runs; ++run) {
            in[run] = in_of(problem, rank, run);
            out[run] = out_before(problem, rank, run);
        }
        EXPECT_WORKS(arguments.start(group, in[0].data(), out[0].data(), &operations[0]));
        lapwing_plan* plan = nullptr;
        const lapwing_problem as_problem = arguments.as_problem();
        EXPECT_WORKS(lapwing_plan_create(group, &as_problem, &plan));
        if (plan == nullptr) return;
        for (const int run : {1, 2})
            EXPECT_WORKS(lapwing_start(plan, in[run].data(), out[run].data(), &operations[run]));
        EXPECT_WORKS(lapwing_plan_destroy(plan));
        EXPECT_WORKS(lapwing_wait_all(runs, operations));
        for (int run = 0; run < runs; ++run) {
            EXPECT_EQ(operations[run], nullptr);
            expect_result(problem, rank, run, out[run]);
        }
        if (testing::Test::HasFailure()) {
            lapwing_group_abort(group, "a result is wrong");
            return;
        }
    }
}

struct Way {
    std::string name;
    const Engine* engine;
    std::string network = "auto";
    const char* shared_memory = "1";
    std::vector<int> ranks = {3};
};

std::vector<Way> ways() {
    std::vector<Way> all = {{"host_by_connections", &host_engine(), "auto", "0", {2, 3}}};
    for (const Engine* engine : engines()) {
        Way& way = all.emplace_back(Way{engine->name(), engine});
        if (!engine->only_by_name()) way.ranks = {1, 2, 3, 4, 5};
    }
    for (const FabricKind& network : fabrics())
        all.push_back({std::string("host_by_") + network.name, &host_engine(), network.name, "0"});
    return all;
}

class CollectivesTest : public testing::TestWithParam<Way> {};

TEST_P(CollectivesTest, EveryForm) {
    const Way& way = GetParam();
    LAPWING_NEEDS_ENGINE(*way.engine);
    const bool is_fabric = way.network != "auto";
    if (is_fabric) {
        const std::string why = testing_links::why_not({way.network.c_str(), way.network.c_str()});
        if (!why.empty()) GTEST_SKIP() << why;
    }
    const std::vector<int> numbers = LAPWING_TEST_FEWER ? std::vector{3} : way.ranks;
    for (const int ranks : numbers) {
        const std::vector<Problem> problems = problems_of(ranks);
        const std::vector<std::string> options = {std::string("engine=") + way.engine->name(),
                                                  "network=" + way.network,
                                                  std::string("shared_memory=") + way.shared_memory};
        as_threads(ranks, options, [&](lapwing_group* group, int rank) {
            EXPECT_STREQ(lapwing_group_engine(group), ranks == 1 ? "host" : way.engine->name());
            if (is_fabric) {
                EXPECT_THAT(lapwing_group_network(group), testing::StartsWith(way.network + " ("));
            }
            EXPECT_EQ(lapwing_group_rank(group), rank);
            EXPECT_EQ(lapwing_group_size(group), ranks);
            run_all(group, rank, problems);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(OnAllEngines, CollectivesTest, testing::ValuesIn(ways()),
                         [](const auto& way) { return way.param.name; });

#define NAMED(name) std::pair(static_cast<int>(LAPWING_##name), std::string(#name))

template <typename Entry, typename... Constants>
void expect_names(const Constants&... constants) {
    for (auto [value, name] : {constants...}) {
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char letter) { return std::tolower(letter); });
        EXPECT_EQ(lapwing::name(static_cast<Entry>(value)), name);
    }
}

TEST(Collectives, TheTablesHaveTheOrderOfTheHeader) {
    expect_names<Collective>(NAMED(BARRIER), NAMED(BROADCAST), NAMED(GATHER), NAMED(GATHERV), NAMED(SCATTER),
                             NAMED(SCATTERV), NAMED(ALLGATHER), NAMED(ALLGATHERV), NAMED(ALLTOALL),
                             NAMED(ALLTOALLV), NAMED(REDUCE), NAMED(ALLREDUCE), NAMED(REDUCE_SCATTER_BLOCK),
                             NAMED(REDUCE_SCATTER), NAMED(SCAN), NAMED(EXSCAN), NAMED(NEIGHBOR_ALLGATHER),
                             NAMED(NEIGHBOR_ALLTOALL));
    expect_names<Type>(NAMED(INT8), NAMED(INT16), NAMED(INT32), NAMED(INT64), NAMED(UINT8), NAMED(UINT16),
                       NAMED(UINT32), NAMED(UINT64), NAMED(FLOAT32), NAMED(FLOAT64), NAMED(FLOAT16),
                       NAMED(BFLOAT16), NAMED(LONG_DOUBLE), NAMED(COMPLEX64), NAMED(COMPLEX128),
                       NAMED(COMPLEX_LONG_DOUBLE), NAMED(INT16_INT32), NAMED(INT32_INT32), NAMED(INT64_INT32),
                       NAMED(FLOAT32_INT32), NAMED(FLOAT64_INT32), NAMED(LONG_DOUBLE_INT32),
                       NAMED(FLOAT32_FLOAT32), NAMED(FLOAT64_FLOAT64));
    expect_names<Operator>(NAMED(SUM), NAMED(PRODUCT), NAMED(MINIMUM), NAMED(MAXIMUM), NAMED(BIT_AND),
                           NAMED(BIT_OR), NAMED(BIT_XOR), NAMED(LOGICAL_AND), NAMED(LOGICAL_OR),
                           NAMED(LOGICAL_XOR), NAMED(MINIMUM_LOCATION), NAMED(MAXIMUM_LOCATION));
}

}  // namespace
}  // namespace lapwing
