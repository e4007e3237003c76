// connections: the latency of a barrier on a communicator that has connections to the peers that the barrier
// needs only (sparse), and on one that has them to all (dense; Graham et al. 2010, Figure 3). Lapwing
// connects two ranks when a list needs it; an all-to-all before connects all.
#include "program/benchmarks.hpp"
#include "program/measure/back_to_back.hpp"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t bytes_to_connect = 8;
// A rank has log2(ranks) peers in it, rounded up or one more.
constexpr const char* algorithms = "ibarrier=recursive_doubling,ialltoall=flat";

void connect_every_pair(Bench& bench, const Caller& caller) {
    Exchange exchange(Collective::alltoall, bytes_to_connect, bench.rank, bench.ranks);
    exchange.fill(++bench.exchanges);
    bench.gather_ranks();
    MPI_Request request = MPI_REQUEST_NULL;
    exchange.start(caller, request);
    caller.wait(request);
    exchange.check(caller);
}

std::vector<RowGroup> connections_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows;
        const auto exchanges = make_exchanges(bench, collective, bytes);
        for (const std::string variant : {"sparse", "dense"}) {
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, "latency");
            row.head["variant"] = variant;
            for (const std::string& engine : bench.settings.engines) {
                const Caller& caller = bench.caller(engine, algorithms, variant);
                std::function<void()> prepare;
                if (variant == "dense") prepare = [&bench, &caller] { connect_every_pair(bench, caller); };
                row.lines.push_back(std::make_unique<BackToBack>(bench, caller, exchanges, false, "latency",
                                                                 std::move(prepare)));
            }
        }
        return rows;
    });
}

}  // namespace

const Benchmark benchmarks::connections = {connections_groups};

}  // namespace lapwing::bench
