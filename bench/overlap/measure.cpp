#include "measure.hpp"

#include <algorithm>
#include <cmath>

#include "clock.hpp"

namespace lapwing::overlap {
namespace {

constexpr double usual_phase_seconds = 0.01;
constexpr int most_iterations = 100;
constexpr double lead_in_seconds = 0.02;
constexpr int most_lead_in = 20;

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// One engine on one exchange.
class EngineRow {
  public:
    EngineRow(Bench& bench, const Caller& caller, Exchange& exchange, Method method)
        : bench_(bench), caller_(caller), exchange_(exchange), method_(method) {}

    // Connections, plans and caches are made before anything is timed; the base time says how much to
    // compute.
    void warm_up() {
        constexpr int most = 20;
        constexpr int fewest = 5;
        constexpr double enough_seconds = 0.2;
        iterations_ = 1;
        std::vector<double> seconds;
        double spent = 0;
        for (int i = 0; i < most && (i < fewest || spent < enough_seconds); ++i) {
            seconds.push_back(base());
            spent += seconds.back();  // equal on all ranks, as the slowest rank's time is
        }
        seconds.erase(seconds.begin(), seconds.begin() + 2);
        const double base_seconds = median(seconds);
        iterations_ = bench_.settings.iterations;
        if (iterations_ == 0) {
            iterations_ =
                std::clamp(static_cast<int>(usual_phase_seconds / base_seconds), 1, most_iterations);
        }
        lead_in_ = std::clamp(static_cast<int>(lead_in_seconds / base_seconds), 1, most_lead_in);
        double block_seconds = base_seconds * bench_.settings.work_factor;
        if (method_ == Method::poll) {
            const double wanted = bench_.settings.quantum_seconds;
            block_seconds = wanted > 0 ? wanted : std::clamp(base_seconds / 100, 1e-6, 1e-4);
        }
        block_.kind = bench_.settings.compute;
        block_.seconds = block_seconds;
        block_.operations = static_cast<std::uint64_t>(block_seconds * bench_.operations_per_second) + 1;
        if (method_ == Method::wait && block_.kind == Compute::work) calibrate(block_seconds);
        used_ = engine_used(caller_);
        rounds_ = nlohmann::json::array();
    }

    // The processor may be faster or slower now than when the benchmark began.
    void calibrate(double wanted_seconds) {
        for (int tries = 0; tries < 3; ++tries) {
            std::vector<double> taken;
            for (int i = 0; i < 3; ++i) {
                bench_.gather_ranks();
                const double begin = now();
                block_.run();
                taken.push_back(now() - begin);
            }
            bench_.slowest(taken);
            const double factor = std::clamp(wanted_seconds / median(taken), 0.25, 4.0);
            block_.operations =
                static_cast<std::uint64_t>(static_cast<double>(block_.operations) * factor) + 1;
        }
    }

    void begin_round() { sample_ = nlohmann::json::object(); }
    void end_round() { rounds_.push_back(sample_); }

    void measure_base() {
        lead_in();
        sample_["base"] = base();
    }

    void measure_alone() {
        std::vector<double> seconds;
        for (int i = 0; i < iterations_; ++i) {
            bench_.gather_ranks();
            const double begin = now();
            block_.run();
            seconds.push_back(now() - begin);
        }
        bench_.slowest(seconds);
        sample_["alone"] = mean(seconds);
    }

    void measure_overlapped() {
        std::vector<double> start;
        std::vector<double> wait;
        std::vector<double> total;
        lead_in();
        for (int i = 0; i < iterations_; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            const auto [begin, started] = start_one(request);
            block_.run();
            const double computed = now();
            caller_.wait(request);
            const double end = now();
            start.push_back(started - begin);
            wait.push_back(end - computed);
            total.push_back(end - begin);
            exchange_.check(caller_);
        }
        keep("start", start);
        keep("wait", wait);
        keep("total", total);
    }

    // Quanta of work with a test after each until the collective is complete; then the same quanta alone.
    // What part of the time was left for work is summed over ranks and iterations: a rank whose part is done
    // at once (the root of a broadcast of few bytes) counts with its short time.
    void measure_polled() {
        std::vector<double> start;
        std::vector<double> total;
        std::vector<std::uint64_t> quanta;
        lead_in();
        for (int i = 0; i < iterations_; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            const auto [begin, started] = start_one(request);
            std::uint64_t done = 0;
            do {
                block_.run();
                ++done;
            } while (!caller_.test(request));
            total.push_back(now() - begin);
            start.push_back(started - begin);
            quanta.push_back(done);
            exchange_.check(caller_);
        }
        double alone = 0;
        for (const std::uint64_t count : quanta) {
            bench_.gather_ranks();
            const double begin = now();
            for (std::uint64_t i = 0; i < count; ++i) block_.run();
            alone += now() - begin;
        }
        std::vector<double> sums{alone, mean(total) * iterations_};
        bench_.sum(sums);
        sample_["work_of_all"] = sums[0] / iterations_;
        sample_["total_of_all"] = sums[1] / iterations_;
        keep("start", start);
        keep("total", total);
    }

    nlohmann::json json() const {
        return {{"engine", caller_.engine},
                {"used", used_},
                {"iterations", iterations_},
                {"block_seconds", block_.seconds},
                {"block_operations", block_.kind == Compute::work ? block_.operations : 0},
                {"rounds", rounds_}};
    }

  private:
    struct Moments {
        double begin;
        double started;
    };
    // Fresh data; all ranks together.
    Moments start_one(MPI_Request& request) {
        exchange_.fill(++bench_.exchanges);
        bench_.gather_ranks();
        const double begin = now();
        exchange_.start(caller_, request);
        return {begin, now()};
    }

    // Not timed: a link that was idle lets the first bytes pass faster than its rate, and caches are cold.
    void lead_in() {
        for (int i = 0; i < lead_in_; ++i) run_once();
    }

    double run_once() {
        MPI_Request request = MPI_REQUEST_NULL;
        const Moments moments = start_one(request);
        caller_.wait(request);
        const double spent = now() - moments.begin;
        if (bench_.settings.corrupt == caller_.engine) exchange_.corrupt();
        exchange_.check(caller_);
        return spent;
    }

    double base() {
        std::vector<double> seconds;
        for (int i = 0; i < iterations_; ++i) seconds.push_back(run_once());
        bench_.slowest(seconds);
        return mean(seconds);
    }

    void keep(const char* what, std::vector<double>& seconds) {
        bench_.slowest(seconds);
        sample_[what] = mean(seconds);
    }

    Bench& bench_;
    const Caller& caller_;
    Exchange& exchange_;
    Method method_;
    int iterations_ = 1;
    int lead_in_ = 1;
    Block block_;
    std::string used_;
    nlohmann::json sample_;
    nlohmann::json rounds_;
};

// Plain sockets beside fixed work that takes longer than they do.
class PlainRow {
  public:
    PlainRow(Bench& bench, Traffic traffic) : bench_(bench), traffic_(std::move(traffic)) {}

    void warm_up() {
        constexpr int most = 6;
        constexpr double phase_seconds = 0.03;
        iterations_ = 5;
        std::vector<double> seconds;
        for (int i = 0; i < iterations_; ++i) {
            bench_.gather_ranks();
            const double begin = now();
            bench_.plain->start(traffic_);
            seconds.push_back(bench_.slowest(bench_.plain->join() - begin));
        }
        // Work slows the exchange down; it is lengthened until the exchange fits into it.
        double work_seconds = 1.5 * median(seconds);
        for (int i = 0; i < most; ++i) {
            operations_ = static_cast<std::uint64_t>(work_seconds * bench_.operations_per_second) + 1;
            if (exchange().late == 0) break;
            work_seconds *= 1.4;
        }
        work_seconds *= 1.2;
        operations_ = static_cast<std::uint64_t>(work_seconds * bench_.operations_per_second) + 1;
        iterations_ = bench_.settings.iterations;
        if (iterations_ == 0) {
            iterations_ = std::clamp(static_cast<int>(phase_seconds / work_seconds), 1, most_iterations);
        }
        rounds_ = nlohmann::json::array();
    }

    void begin_round() { sample_ = nlohmann::json::object(); }
    void end_round() { rounds_.push_back(sample_); }

    void measure_alone() {
        std::vector<double> seconds;
        for (int i = 0; i < iterations_; ++i) {
            bench_.gather_ranks();
            const double begin = now();
            work(operations_);
            seconds.push_back(now() - begin);
        }
        bench_.slowest(seconds);
        sample_["alone"] = mean(seconds);
    }

    void measure_exchange() {
        const Sample sample = exchange();
        sample_["total"] = sample.total;
        sample_["exchange"] = sample.exchange;
        sample_["late"] = sample.late;
    }

    nlohmann::json json() const {
        return {{"iterations", iterations_}, {"block_operations", operations_}, {"rounds", rounds_}};
    }

  private:
    struct Sample {
        double total = 0;     // the work's time beside the exchange
        double exchange = 0;  // from its start to its end
        int late = 0;         // iterations in which the exchange ended after the work
    };

    Sample exchange() {
        std::vector<double> total;
        std::vector<double> spent;
        std::vector<double> late;
        for (int i = 0; i < iterations_; ++i) {
            bench_.gather_ranks();
            const double begin = now();
            bench_.plain->start(traffic_);
            work(operations_);
            const double worked = now();
            const double end = bench_.plain->join();
            total.push_back(worked - begin);
            spent.push_back(end - begin);
            late.push_back(end > worked ? 1 : 0);
        }
        bench_.slowest(total);
        bench_.slowest(spent);
        bench_.slowest(late);
        return {mean(total), mean(spent), static_cast<int>(std::lround(mean(late) * iterations_))};
    }

    Bench& bench_;
    Traffic traffic_;
    int iterations_ = 1;
    std::uint64_t operations_ = 1;
    nlohmann::json sample_;
    nlohmann::json rounds_;
};

}  // namespace

nlohmann::json measure_row(Bench& bench, Collective collective, std::uint64_t bytes, Method method) {
    Exchange exchange(collective, bytes, bench.rank, bench.ranks);
    std::vector<std::unique_ptr<EngineRow>> rows;
    std::vector<std::function<void()>> phases;
    for (const Caller& caller : bench.callers) {
        rows.push_back(std::make_unique<EngineRow>(bench, caller, exchange, method));
        EngineRow& row = *rows.back();
        row.warm_up();
        phases.emplace_back([&row] { row.measure_base(); });
        if (method == Method::wait) {
            phases.emplace_back([&row] { row.measure_alone(); });
            phases.emplace_back([&row] { row.measure_overlapped(); });
        } else {
            phases.emplace_back([&row] { row.measure_polled(); });
        }
    }
    const Traffic traffic = traffic_of(collective, bytes, bench.rank, bench.ranks, 0);
    std::unique_ptr<PlainRow> plain;
    if (bench.plain) {
        plain = std::make_unique<PlainRow>(bench, traffic);
        plain->warm_up();
        phases.emplace_back([&plain] { plain->measure_alone(); });
        phases.emplace_back([&plain] { plain->measure_exchange(); });
    }
    run_rounds(
        bench, phases,
        [&] {
            for (const auto& row : rows) row->begin_round();
            if (plain) plain->begin_round();
        },
        [&] {
            for (const auto& row : rows) row->end_round();
            if (plain) plain->end_round();
        });
    nlohmann::json result = {{"collective", name(collective)},
                             {"bytes", bytes},
                             {"method", name(method)},
                             {"busiest_bytes", bench.slowest(static_cast<double>(traffic.bytes()))},
                             {"engines", nlohmann::json::array()}};
    for (const auto& row : rows) result["engines"].push_back(row->json());
    if (plain) result["plain"] = plain->json();
    return result;
}

// A broadcast whose root, the last rank, comes only when the others have computed: nothing can move
// meanwhile.
nlohmann::json measure_idle(Bench& bench) {
    constexpr std::uint64_t bytes = 65536;
    constexpr double seconds = 0.05;
    const int root = bench.ranks - 1;
    const auto operations = static_cast<std::uint64_t>(seconds * bench.operations_per_second);
    Exchange exchange(Collective::broadcast, bytes, bench.rank, bench.ranks, root);

    const auto compute = [&](const Caller* caller) {
        MPI_Request request = MPI_REQUEST_NULL;
        exchange.fill(++bench.exchanges);
        if (caller != nullptr && bench.rank != root) exchange.start(*caller, request);
        bench.gather_ranks();
        const double begin = now();
        work(operations);
        const double spent = now() - begin;
        bench.mesh->sleeping_barrier();
        if (caller != nullptr) {
            if (bench.rank == root) exchange.start(*caller, request);
            caller->wait(request);
            exchange.check(*caller);
        }
        return bench.slowest(bench.rank != root ? spent : 0);
    };

    std::vector<nlohmann::json> rounds(bench.callers.size(), nlohmann::json::array());
    std::vector<nlohmann::json> samples(bench.callers.size());
    std::vector<std::function<void()>> phases;
    for (std::size_t i = 0; i < bench.callers.size(); ++i) {
        compute(&bench.callers[i]);
        phases.emplace_back([&, i] { samples[i]["alone"] = compute(nullptr); });
        phases.emplace_back([&, i] { samples[i]["pending"] = compute(&bench.callers[i]); });
    }
    run_rounds(
        bench, phases, [&] { std::fill(samples.begin(), samples.end(), nlohmann::json::object()); },
        [&] {
            for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i].push_back(samples[i]);
        });
    nlohmann::json result = nlohmann::json::array();
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        result.push_back({{"engine", bench.callers[i].engine},
                          {"used", engine_used(bench.callers[i])},
                          {"collective", name(Collective::broadcast)},
                          {"bytes", bytes},
                          {"operations", operations},
                          {"rounds", rounds[i]}});
    }
    return result;
}

}  // namespace lapwing::overlap
