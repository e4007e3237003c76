// Base times: start, wait at once, and again. Ranks do not meet between two collectives, as a program that
// does not compute would not let them. So what is found is the time that one takes in a row of many; the root
// of a broadcast may be several ahead of the others.
#include <algorithm>
#include <memory>

#include "clock.hpp"
#include "measure.hpp"

namespace lapwing::overlap {
namespace {

constexpr double phase_seconds = 0.01;
// More would fill an MPI with messages that nobody has asked for yet.
constexpr int most_iterations = 5000;
constexpr int lead_in = 3;

class EngineBase {
  public:
    EngineBase(Bench& bench, const Caller& caller, Exchange& exchange)
        : bench_(bench), caller_(caller), exchange_(exchange) {}

    void warm_up() {
        for (int i = 0; i < lead_in; ++i) run(1);
        iterations_ = bench_.settings.iterations;
        if (iterations_ == 0) fit_iterations();
        used_ = engine_used(caller_);
    }

    void begin_round() { sample_ = nlohmann::json::object(); }
    void end_round() { rounds_.push_back(sample_); }
    void measure() { sample_["base"] = run(iterations_) / iterations_; }

    nlohmann::json json() const {
        return {
            {"engine", caller_.engine}, {"used", used_}, {"iterations", iterations_}, {"rounds", rounds_}};
    }

  private:
    // What `count` of them take, the slowest rank's seconds.
    double run(int count) {
        exchange_.fill(++bench_.exchanges);
        bench_.gather_ranks();
        const double begin = now();
        for (int i = 0; i < count; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            exchange_.start(caller_, request);
            caller_.wait(request);
        }
        const double spent = now() - begin;
        if (bench_.settings.corrupt == caller_.engine) exchange_.corrupt();
        exchange_.check(caller_);
        return bench_.slowest(spent);
    }

    // The same on all ranks, as the slowest rank's time is.
    void fit_iterations() {
        iterations_ = 1;
        while (iterations_ < most_iterations) {
            const double spent = run(iterations_);
            if (spent >= phase_seconds / 2) break;
            const double factor = std::clamp(phase_seconds / spent, 2.0, 16.0);
            iterations_ = std::min(most_iterations, static_cast<int>(iterations_ * factor));
        }
    }

    Bench& bench_;
    const Caller& caller_;
    Exchange& exchange_;
    int iterations_ = 1;
    std::string used_;
    nlohmann::json sample_;
    nlohmann::json rounds_ = nlohmann::json::array();
};

}  // namespace

nlohmann::json measure_base_row(Bench& bench, Collective collective, std::uint64_t bytes) {
    Exchange exchange(collective, bytes, bench.rank, bench.ranks);
    std::vector<std::unique_ptr<EngineBase>> engines;
    std::vector<std::function<void()>> phases;
    for (const Caller& caller : bench.callers) {
        engines.push_back(std::make_unique<EngineBase>(bench, caller, exchange));
        EngineBase& engine = *engines.back();
        engine.warm_up();
        phases.emplace_back([&engine] { engine.measure(); });
    }
    run_rounds(
        bench, phases,
        [&] {
            for (const auto& engine : engines) engine->begin_round();
        },
        [&] {
            for (const auto& engine : engines) engine->end_round();
        });
    const Traffic traffic = traffic_of(collective, bytes, bench.rank, bench.ranks, 0);
    nlohmann::json result = {{"collective", name(collective)},
                             {"bytes", bytes},
                             {"method", name(Method::base)},
                             {"busiest_bytes", bench.slowest(static_cast<double>(traffic.bytes()))},
                             {"engines", nlohmann::json::array()}};
    for (const auto& engine : engines) result["engines"].push_back(engine->json());
    return result;
}

}  // namespace lapwing::overlap
