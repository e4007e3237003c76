#include "program/measure/subject.hpp"

#include <algorithm>
#include <utility>

#include "program/compute/clock.hpp"

namespace lapwing::bench {
namespace {

constexpr int max_iterations = 100;
constexpr double lead_in_seconds = 0.02;
constexpr int max_lead_in = 20;

}  // namespace

std::shared_ptr<Exchanges> make_exchanges(const Bench& bench, Collective collective, std::uint64_t bytes,
                                          int count) {
    auto exchanges = std::make_shared<Exchanges>();
    for (int i = 0; i < count; ++i) {
        exchanges->push_back(std::make_unique<Exchange>(collective, bytes, bench.rank, bench.ranks));
    }
    return exchanges;
}

Subject::Subject(Bench& bench, const Caller& caller, std::shared_ptr<Exchanges> exchanges,
                 double phase_seconds)
    : bench_(bench),
      caller_(caller),
      exchanges_(std::move(exchanges)),
      requests_(exchanges_->size(), MPI_REQUEST_NULL),
      phase_seconds_(phase_seconds) {}

void Subject::warm_up() {
    constexpr int most = 20;
    constexpr int fewest = 5;
    constexpr double enough_seconds = 0.2;
    constexpr double short_seconds = 0.02;
    if (base_seconds_ > 0) return;
    std::vector<double> seconds;
    double spent = 0;
    for (int i = 0; i < most && (i < fewest || spent < enough_seconds); ++i) {
        seconds.push_back(base());
        spent += seconds.back();  // equal on all ranks, as the slowest rank's time is
    }
    seconds.erase(seconds.begin(), seconds.begin() + 2);
    fit_iterations(median(seconds));
    // As it is measured later: on a link that was idle, or between ranks that are late, it may be far from
    // that.
    seconds.clear();
    const int times = base_seconds_ < short_seconds ? 3 : 1;
    for (int i = 0; i < times; ++i) {
        lead_in();
        seconds.push_back(base());
    }
    fit_iterations(median(seconds));
    used_ = engine_used(caller_);
}

void Subject::fit_iterations(double base_seconds) {
    base_seconds_ = base_seconds;
    iterations_ = bench_.settings.iterations;
    if (iterations_ == 0) {
        const double most = max_iterations * std::max(1.0, phase_seconds_ / 0.01);
        iterations_ = static_cast<int>(std::clamp(phase_seconds_ / base_seconds_, 1.0, most));
    }
    lead_in_ = std::clamp(static_cast<int>(lead_in_seconds / base_seconds_), 1, max_lead_in);
}

void Subject::lead_in() {
    for (int i = 0; i < lead_in_; ++i) run_once();
}

double Subject::base() {
    std::vector<double> seconds;
    for (int i = 0; i < iterations_; ++i) seconds.push_back(run_once());
    bench_.slowest(seconds);
    return mean(seconds);
}

double Subject::alone(const Block& block) {
    std::vector<double> seconds;
    for (int i = 0; i < iterations_; ++i) {
        bench_.gather_ranks();
        const double begin = now();
        block.run();
        seconds.push_back(now() - begin);
    }
    bench_.slowest(seconds);
    return mean(seconds);
}

Subject::Moments Subject::start() {
    for (const auto& exchange : *exchanges_) exchange->fill(++bench_.exchanges);
    bench_.gather_ranks();
    const double begin = now();
    for (std::size_t i = 0; i < requests_.size(); ++i) (*exchanges_)[i]->start(caller_, requests_[i]);
    return {begin, now()};
}

bool Subject::test() {
    bool complete = true;
    for (MPI_Request& request : requests_) complete = caller_.test(request) && complete;
    return complete;
}

void Subject::wait() {
    for (MPI_Request& request : requests_) caller_.wait(request);
}

void Subject::check() {
    for (const auto& exchange : *exchanges_) {
        if (bench_.settings.corrupt == caller_.engine) exchange->corrupt();
        exchange->check(caller_);
    }
}

double Subject::run_once() {
    const Moments moments = start();
    wait();
    const double spent = now() - moments.begin;
    check();
    return spent;
}

std::vector<std::shared_ptr<Subject>> make_subjects(Bench& bench, const std::shared_ptr<Exchanges>& exchanges,
                                                    double phase_seconds) {
    std::vector<std::shared_ptr<Subject>> subjects;
    for (const std::string& engine : bench.settings.engines) {
        subjects.push_back(std::make_shared<Subject>(bench, bench.caller(engine), exchanges, phase_seconds));
    }
    return subjects;
}

}  // namespace lapwing::bench
