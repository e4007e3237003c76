#include "program/benchmarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "program/exchange.hpp"
#include "program/lines.hpp"
#include "program/noise_processes.hpp"

namespace lapwing::bench {
namespace {

// overlap: what part of a collective hides behind computation, by waiting and by polling (Graham et al. 2010,
// Figures 6 and 7), and for a fixed time (Kandalla et al. 2011, Figures 5 and 8).

std::unique_ptr<Line> line_of(Method method, std::shared_ptr<Subject> subject, double base_times) {
    switch (method) {
        case Method::poll:
            return std::make_unique<PolledLine>(std::move(subject));
        case Method::fixed:
            return std::make_unique<FixedTimeLine>(std::move(subject), 0, true);
        case Method::wait:
            break;
    }
    return std::make_unique<WorkLine>(std::move(subject), Amount{base_times});
}

// By steps the wait method has a row for each share of the base time that is filled with work.
std::vector<Row> rows_of(Bench& bench, Collective collective, std::uint64_t bytes, Method method) {
    const bool by_steps = method == Method::wait && !bench.settings.work_shares.empty();
    const auto subjects = make_subjects(bench, make_exchanges(bench, collective, bytes));
    std::vector<Row> rows;
    for (const double share :
         by_steps ? bench.settings.work_shares : std::vector<double>{bench.settings.work_factor}) {
        Row& row = rows.emplace_back();
        row.head = head(bench, collective, bytes, name(method));
        if (by_steps) row.head["parameter"] = parameter("work_share", share);
        for (const auto& subject : subjects) row.lines.push_back(line_of(method, subject, share));
    }
    return rows;
}

// For each collective, its methods one after the other.
std::vector<RowGroup> overlap_groups(Bench& bench) {
    std::vector<RowGroup> groups;
    for (const Collective collective : bench.settings.collectives) {
        for (const Method method : bench.settings.methods) {
            for (const std::uint64_t bytes : sizes_of(bench.settings, collective)) {
                groups.emplace_back([=, &bench] { return rows_of(bench, collective, bytes, method); });
            }
        }
    }
    return groups;
}

// base: the time of a collective when one follows the other at once, and nothing is computed.
std::vector<RowGroup> base_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows(1);
        rows.front().head = head(bench, collective, bytes, "base");
        const auto exchanges = make_exchanges(bench, collective, bytes);
        for (const std::string& engine : bench.settings.engines) {
            rows.front().lines.push_back(
                std::make_unique<BackToBack>(bench, bench.caller(engine), exchanges, false, "base"));
        }
        return rows;
    });
}

// latency: a tight loop of the blocking collective, and one of start and wait (Graham et al. 2010, Figures 4
// and 5; Kandalla et al. 2011, Figure 7). Each form has a communicator of its own, so that what Lapwing says
// of it is about this form.
std::vector<RowGroup> latency_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows;
        const auto exchanges = make_exchanges(bench, collective, bytes);
        for (const std::string& form : bench.settings.forms) {
            const bool blocking = form == "blocking";
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, "latency");
            row.head["variant"] = form;
            for (const std::string& engine : bench.settings.engines) {
                row.lines.push_back(std::make_unique<BackToBack>(bench, bench.caller(engine, "", form),
                                                                 exchanges, blocking, "latency"));
            }
        }
        return rows;
    });
}

// total: the time of a collective together with computation of its base time, beside that time (Kandalla et
// al. 2011, Figure 9).
std::vector<RowGroup> total_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        return fixed_time_rows(bench, collective, bytes, 1);
    });
}

// window: the latency of the pairwise all-to-all by the number of exchanges that are in flight (Kandalla et
// al. 2011, Figure 6). The native MPI has no such setting; it is measured beside each.

// A rank exchanges with the others only: a longer window equals one for all of them.
std::vector<int> different_windows(const Bench& bench) {
    std::vector<int> windows;
    for (const int window : bench.settings.windows) windows.push_back(std::min(window, bench.ranks - 1));
    std::sort(windows.begin(), windows.end());
    windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
    return windows;
}

std::vector<RowGroup> window_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows;
        const auto exchanges = make_exchanges(bench, collective, bytes);
        for (const int window : different_windows(bench)) {
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, "latency");
            row.head["parameter"] = parameter("window", window);
            const std::string algorithm = fmt::format("ialltoall=pairwise:window={}", window);
            for (const std::string& engine : bench.settings.engines) {
                row.lines.push_back(std::make_unique<BackToBack>(bench, bench.caller(engine, algorithm),
                                                                 exchanges, false, "latency"));
            }
        }
        return rows;
    });
}

// concurrent: several collectives in flight at once, and computation beside them for as long as they take
// alone (Kandalla et al. 2011, Figure 10).
std::vector<RowGroup> concurrent_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        std::vector<Row> rows;
        for (const int count : bench.settings.collectives_at_once) {
            for (Row& row : fixed_time_rows(bench, collective, bytes, count)) {
                row.head["parameter"] = parameter("collectives", count);
                rows.push_back(std::move(row));
            }
        }
        return rows;
    });
}

// tests: the overlap by how often the program calls MPI_Test while it computes for the base time (Kandalla et
// al. 2011, Table I).
std::vector<RowGroup> tests_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        const auto subjects = make_subjects(bench, make_exchanges(bench, collective, bytes));
        std::vector<Row> rows;
        for (const int tests : bench.settings.tests) {
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, name(Method::fixed));
            row.head["parameter"] = parameter("tests", tests);
            for (const auto& subject : subjects) {
                row.lines.push_back(std::make_unique<FixedTimeLine>(subject, tests, false));
            }
        }
        return rows;
    });
}

// overhead: what of a collective cannot be hidden, the time that the program spends in start, tests and wait
// while it does work that takes longer than the collective (NBCBench; Kaiser et al. 2009, Figure 3).

int tests_for(const Settings& settings, std::uint64_t bytes) {
    if (settings.bytes_per_test == 0) return 0;
    constexpr std::uint64_t most = std::numeric_limits<int>::max() - 1;
    return static_cast<int>(std::min(bytes / settings.bytes_per_test, most));
}

std::vector<RowGroup> overhead_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        const Amount amount{bench.settings.work_factor, tests_for(bench.settings, bytes)};
        std::vector<Row> rows(1);
        rows.front().head = head(bench, collective, bytes, "overhead");
        rows.front().head["tests"] = amount.tests;
        for (const auto& subject : make_subjects(bench, make_exchanges(bench, collective, bytes))) {
            rows.front().lines.push_back(std::make_unique<WorkLine>(subject, amount));
        }
        return rows;
    });
}

// throughput: matrix products alone, and beside a collective that is started before and waited for after them
// (Kandalla et al. 2011, "Designing Non-blocking Broadcast").
std::vector<RowGroup> throughput_groups(Bench& bench) {
    return for_each_case(bench, [&bench](Collective collective, std::uint64_t bytes) {
        const auto subjects = make_subjects(bench, make_exchanges(bench, collective, bytes));
        std::vector<Row> rows;
        for (const int tests : bench.settings.tests) {
            Row& row = rows.emplace_back();
            row.head = head(bench, collective, bytes, "throughput");
            row.head["variant"] = variant_of_tests(tests);
            for (const auto& subject : subjects) {
                row.lines.push_back(std::make_unique<WorkLine>(
                    subject, Amount{bench.settings.work_factor, tests, true, subjects}));
            }
        }
        return rows;
    });
}

// noise: matrix products beside a collective, without and with processes that take each processor in short
// bursts (Kandalla et al. 2011, "Designing Non-blocking Broadcast", impact of noise). The same noise beside
// the products alone shows what of the loss is the processor's, which no collective can help.

class NoiseLine : public SubjectLine {
  public:
    NoiseLine(std::shared_ptr<Subject> subject, Amount amount, std::shared_ptr<NoiseProcesses> noise)
        : SubjectLine(subject), work_(std::move(subject), std::move(amount)), noise_(std::move(noise)) {}

    void warm_up() override { work_.fit(); }

    std::vector<std::function<void()>> phases() override {
        return {[this] { sample_["alone"] = work_.alone(); },
                [this] { sample_["total"] = work_.beside().total; },
                [this] { sample_["alone_noise"] = amid_noise([this] { return work_.alone(); }); },
                [this] { sample_["total_noise"] = amid_noise([this] { return work_.beside().total; }); }};
    }

  protected:
    nlohmann::json describe() const override {
        nlohmann::json result = SubjectLine::describe();
        work_.block().describe(result);
        return result;
    }

  private:
    double amid_noise(const std::function<double()>& measured) {
        noise_->go_on();
        const double seconds = measured();
        noise_->pause();
        return seconds;
    }

    WorkBeside work_;
    std::shared_ptr<NoiseProcesses> noise_;
};

// Several bursts must fall into a phase.
double phase_seconds(double frequency_hz) {
    return std::max(0.05, 5 / frequency_hz);
}

std::vector<RowGroup> noise_groups(Bench& bench) {
    std::vector<RowGroup> groups;
    for (const double frequency : bench.settings.frequencies_hz) {
        const auto rows = [&bench, frequency](Collective collective, std::uint64_t bytes) {
            const auto subjects =
                make_subjects(bench, make_exchanges(bench, collective, bytes), phase_seconds(frequency));
            std::vector<Row> made;
            for (const double burst : bench.settings.burst_seconds) {
                const auto noise = std::make_shared<NoiseProcesses>(bench.world, frequency, burst);
                for (const int tests : bench.settings.tests) {
                    Row& row = made.emplace_back();
                    row.head = head(bench, collective, bytes, "noise");
                    row.head["frequency_hz"] = frequency;
                    row.head["burst_seconds"] = burst;
                    row.head["variant"] = variant_of_tests(tests);
                    for (const auto& subject : subjects) {
                        row.lines.push_back(std::make_unique<NoiseLine>(
                            subject, Amount{bench.settings.work_factor, tests, true}, noise));
                    }
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

namespace benchmarks {

const Benchmark overlap = {overlap_groups, true};
const Benchmark base = {base_groups};
const Benchmark latency = {latency_groups};
const Benchmark total = {total_groups, true};
const Benchmark window = {window_groups};
const Benchmark concurrent = {concurrent_groups, true};
const Benchmark tests = {tests_groups, true};
const Benchmark overhead = {overhead_groups, true};
const Benchmark throughput = {throughput_groups, true};
const Benchmark noise = {noise_groups, true};
const Benchmark connections = {connections_groups};

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
