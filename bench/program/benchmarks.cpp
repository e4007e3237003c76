#include "program/benchmarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "program/exchange.hpp"
#include "program/lines.hpp"
#include "program/noise_processes.hpp"

namespace lapwing::bench {
namespace {

template <std::vector<Row> (*rows)(Bench&, Collective, std::uint64_t)>
std::vector<RowGroup> each_case(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        return rows(bench, collective, bytes);
    });
}

// overlap: what part of a collective hides behind computation, by waiting and by polling (Graham et al. 2010,
// Figures 6 and 7), and for a fixed time (Kandalla et al. 2011, Figures 5 and 8).

Row overlap_row(nlohmann::json head, Method method, const std::shared_ptr<Subject>& subject,
                double base_times) {
    switch (method) {
        case Method::poll:
            return row_of<PolledLine>(std::move(head), subject);
        case Method::fixed:
            return row_of<FixedTimeLine>(std::move(head), subject, 0, true);
        case Method::wait:
            break;
    }
    return row_of<WorkLine>(std::move(head), subject, Amount{base_times});
}

// By steps the wait method has a row for each share of the base time that is filled with work.
std::vector<Row> overlap_rows(Bench& bench, Collective collective, std::uint64_t bytes, Method method) {
    const bool by_steps = method == Method::wait && !bench.settings.work_shares.empty();
    const auto subject = std::make_shared<Subject>(bench, make_exchanges(bench, collective, bytes));
    std::vector<Row> rows;
    for (const double share :
         by_steps ? bench.settings.work_shares : std::vector<double>{bench.settings.work_factor}) {
        nlohmann::json one = head(collective, bytes, name(method));
        if (by_steps) one["parameter"] = parameter("work_share", share);
        rows.push_back(overlap_row(std::move(one), method, subject, share));
    }
    return rows;
}

// For each collective, its methods one after the other.
std::vector<RowGroup> overlap_groups(Bench& bench) {
    std::vector<RowGroup> groups;
    for (const Collective collective : bench.settings.collectives) {
        for (const Method method : bench.settings.methods)
            for (const std::uint64_t bytes : sizes_of(bench.settings, collective))
                groups.emplace_back([=, &bench] { return overlap_rows(bench, collective, bytes, method); });
    }
    return groups;
}

// The communicators on which collectives follow each other at once, and what comes before the first one.
struct Series {
    bool blocking = false;
    std::string algorithm;
    std::string purpose;
    BackToBack::Prepare prepare;
};

Row back_to_back(Bench& bench, const std::shared_ptr<Exchanges>& exchanges, const Series& series) {
    const Exchange& exchange = *exchanges->front();
    return {head(exchange.collective(), exchange.bytes(), "latency"),
            std::make_unique<BackToBack>(bench, bench.communicator(series.algorithm, series.purpose),
                                         exchanges, series.blocking, series.prepare)};
}

// latency: a tight loop of the blocking collective, and one of start and wait (Graham et al. 2010, Figures 4
// and 5; Kandalla et al. 2011, Figure 7).
std::vector<Row> latency_rows(Bench& bench, Collective collective, std::uint64_t bytes) {
    std::vector<Row> rows;
    const auto exchanges = make_exchanges(bench, collective, bytes);
    for (const std::string& form : bench.settings.forms) {
        rows.push_back(back_to_back(bench, exchanges, {form == "blocking", "", "", {}}));
        rows.back().head["variant"] = form;
    }
    return rows;
}

// window: the latency of the pairwise all-to-all by the number of exchanges that are in flight (Kandalla et
// al. 2011, Figure 6). The native MPI has no such setting; it is measured beside each.
std::vector<Row> window_rows(Bench& bench, Collective collective, std::uint64_t bytes) {
    // A rank exchanges with the others only: a longer window equals one for all of them.
    std::set<int> windows;
    for (const int window : bench.settings.windows) windows.insert(std::min(window, bench.ranks - 1));
    std::vector<Row> rows;
    const auto exchanges = make_exchanges(bench, collective, bytes);
    for (const int window : windows) {
        const std::string algorithm = fmt::format("ialltoall=pairwise:window={}", window);
        rows.push_back(back_to_back(bench, exchanges, {false, algorithm, "", {}}));
        rows.back().head["parameter"] = parameter("window", window);
    }
    return rows;
}

// concurrent: one or several collectives in flight at once, and computation beside them for as long as they
// take alone (Kandalla et al. 2011, Figures 9 and 10).
std::vector<Row> concurrent_rows(Bench& bench, Collective collective, std::uint64_t bytes) {
    std::vector<Row> rows;
    for (const int count : bench.settings.collectives_at_once) {
        const auto subject =
            std::make_shared<Subject>(bench, make_exchanges(bench, collective, bytes, count));
        for (const int tests : bench.settings.tests) {
            rows.push_back(
                row_of<FixedTimeLine>(head(collective, bytes, name(Method::fixed)), subject, tests, true));
            rows.back().head["variant"] = variant_of_tests(tests);
            rows.back().head["parameter"] = parameter("collectives", count);
        }
    }
    return rows;
}

// tests: the overlap by how often the program calls MPI_Test while it computes for the base time (Kandalla et
// al. 2011, Table I).
std::vector<Row> tests_rows(Bench& bench, Collective collective, std::uint64_t bytes) {
    const auto subject = std::make_shared<Subject>(bench, make_exchanges(bench, collective, bytes));
    std::vector<Row> rows;
    for (const int tests : bench.settings.tests) {
        rows.push_back(
            row_of<FixedTimeLine>(head(collective, bytes, name(Method::fixed)), subject, tests, false));
        rows.back().head["parameter"] = parameter("tests", tests);
    }
    return rows;
}

// overhead: what of a collective cannot be hidden, the time that the program spends in start, tests and wait
// while it does work that takes longer than the collective (NBCBench; Kaiser et al. 2009, Figure 3).

int tests_for(const Settings& settings, std::uint64_t bytes) {
    if (settings.bytes_per_test == 0) return 0;
    constexpr std::uint64_t most = std::numeric_limits<int>::max() - 1;
    return static_cast<int>(std::min(bytes / settings.bytes_per_test, most));
}

std::vector<Row> overhead_rows(Bench& bench, Collective collective, std::uint64_t bytes) {
    const Amount amount{bench.settings.work_factor, tests_for(bench.settings, bytes)};
    std::vector<Row> rows;
    rows.push_back(
        row_of<WorkLine>(head(collective, bytes, "overhead"),
                         std::make_shared<Subject>(bench, make_exchanges(bench, collective, bytes)), amount));
    rows.back().head["tests"] = amount.tests;
    return rows;
}

// throughput: matrix products alone, and beside a collective that is started before and waited for after them
// (Kandalla et al. 2011, "Designing Non-blocking Broadcast").
std::vector<Row> throughput_rows(Bench& bench, Collective collective, std::uint64_t bytes) {
    const auto subject = std::make_shared<Subject>(bench, make_exchanges(bench, collective, bytes));
    std::vector<Row> rows;
    for (const int tests : bench.settings.tests) {
        rows.push_back(row_of<WorkLine>(head(collective, bytes, "throughput"), subject,
                                        Amount{bench.settings.work_factor, tests, true}));
        rows.back().head["variant"] = variant_of_tests(tests);
    }
    return rows;
}

// noise: matrix products beside a collective, without and with processes that take each processor in short
// bursts (Kandalla et al. 2011, "Designing Non-blocking Broadcast", impact of noise). The same noise beside
// the products alone shows what of the loss is the processor's, which no collective can help.

class NoiseLine : public WorkLine {
  public:
    NoiseLine(std::shared_ptr<Subject> subject, Amount amount, std::shared_ptr<NoiseProcesses> noise)
        : WorkLine(std::move(subject), std::move(amount)), noise_(std::move(noise)) {}

    std::vector<std::function<void()>> phases() override {
        return {[this] { sample_["alone"] = alone(); }, [this] { sample_["total"] = beside().at("total"); },
                [this] {
                    noise_->go_on();
                    sample_["alone_noise"] = alone();
                    noise_->pause();
                },
                [this] {
                    noise_->go_on();
                    sample_["total_noise"] = beside().at("total");
                    noise_->pause();
                }};
    }

  private:
    std::shared_ptr<NoiseProcesses> noise_;
};

std::vector<RowGroup> noise_groups(Bench& bench) {
    std::vector<RowGroup> groups;
    for (const double frequency : bench.settings.frequencies_hz) {
        const auto rows = [&bench, frequency](Collective collective, std::uint64_t bytes) {
            // Several bursts must fall into a phase.
            const auto subject = std::make_shared<Subject>(bench, make_exchanges(bench, collective, bytes),
                                                           std::max(0.05, 5 / frequency));
            std::vector<Row> made;
            for (const double burst : bench.settings.burst_seconds) {
                const auto noise = std::make_shared<NoiseProcesses>(bench.world, frequency, burst);
                for (const int tests : bench.settings.tests) {
                    const Amount amount{bench.settings.work_factor, tests, true};
                    Row row = row_of<NoiseLine>(head(collective, bytes, "noise"), subject, amount, noise);
                    row.head["frequency_hz"] = frequency;
                    row.head["burst_seconds"] = burst;
                    row.head["variant"] = variant_of_tests(tests);
                    made.push_back(std::move(row));
                }
            }
            return made;
        };
        for (RowGroup& group : for_each_case(bench, rows)) groups.push_back(std::move(group));
    }
    return groups;
}

// connections: the latency of a barrier on a communicator that has connections to the peers that the barrier
// needs only (sparse), and on one that has them to all (dense; Graham et al. 2010, Figure 3). Lapwing
// connects two ranks when a list needs it; an all-to-all before connects all.

constexpr std::uint64_t bytes_to_connect = 8;
// A rank has log2(ranks) peers in it, rounded up or one more.
constexpr const char* algorithms = "ibarrier=recursive_doubling,ialltoall=flat";

void connect_every_pair(Bench& bench, MPI_Comm communicator) {
    Exchange exchange(Collective::alltoall, bytes_to_connect, bench.rank, bench.ranks,
                      bench.calls[mpi_name(Collective::alltoall)]);
    exchange.fill(++bench.exchanges);
    bench.gather_ranks();
    MPI_Request request = MPI_REQUEST_NULL;
    exchange.start(communicator, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    exchange.check(bench.settings.engine);
}

std::vector<Row> connections_rows(Bench& bench, Collective collective, std::uint64_t bytes) {
    std::vector<Row> rows;
    const auto exchanges = make_exchanges(bench, collective, bytes);
    for (const std::string variant : {"sparse", "dense"}) {
        BackToBack::Prepare prepare;
        if (variant == "dense") prepare = connect_every_pair;
        rows.push_back(back_to_back(bench, exchanges, {false, algorithms, variant, prepare}));
        rows.back().head["variant"] = variant;
    }
    return rows;
}

namespace benchmarks {

const Benchmark overlap = {overlap_groups, true};
const Benchmark latency = {each_case<latency_rows>};
const Benchmark window = {each_case<window_rows>};
const Benchmark concurrent = {each_case<concurrent_rows>, true};
const Benchmark tests = {each_case<tests_rows>, true};
const Benchmark overhead = {each_case<overhead_rows>, true};
const Benchmark throughput = {each_case<throughput_rows>, true};
const Benchmark noise = {noise_groups, true};
const Benchmark connections = {each_case<connections_rows>};

}  // namespace benchmarks
}  // namespace

const Benchmark& find_benchmark(const std::string& name) {
#define LAPWING_BENCHMARK(row, ...) \
    if (name == #row) return benchmarks::row;
#define LAPWING_BENCHMARK_BY(row, program, ...)
#include "program/benchmarks.def"
    throw Error(ErrorCode::invalid_argument, "'" + name + "' is not a benchmark of this program");
}

}  // namespace lapwing::bench
