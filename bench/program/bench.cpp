#include "program/bench.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/samples.hpp"
#include "program/clock.hpp"
#include "program/ranks.hpp"

namespace lapwing::bench {

// First a barrier in which waiting ranks sleep: others may still compute on the same processors. Then a
// tighter one: the MPI's, which ranks with their own processors leave within a microsecond; where ranks share
// processors, some MPIs spin for whole time slices in it.
void Bench::gather_ranks() const {
    mesh->sleeping_barrier();
    if (oversubscribed)
        mesh->yielding_barrier();
    else
        MPI_Barrier(world);
}

// The sleeping barrier comes first because ranks may spin in the MPI while others are still timed.
void Bench::slowest(std::vector<double>& seconds) const {
    mesh->sleeping_barrier();
    MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, world);
}

void Bench::sum(std::vector<double>& values) const {
    mesh->sleeping_barrier();
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, world);
}

double Bench::slowest(double seconds) const {
    std::vector<double> one{seconds};
    slowest(one);
    return one.front();
}

MPI_Comm Bench::communicator(const std::string& algorithm, const std::string& purpose) {
    const auto [known, is_new] = communicators_.try_emplace(algorithm + "|" + purpose, MPI_COMM_NULL);
    // A duplicate has the hints of `world`, which leave its collectives to the MPI.
    if (is_new)
        known->second = duplicate_for(world, settings.engine == "native" ? "" : settings.engine, algorithm);
    return known->second;
}

void Bench::free_communicators() {
    for (auto& [key, communicator] : communicators_) MPI_Comm_free(&communicator);
    communicators_.clear();
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

void calibrate(Bench& bench) {
    constexpr double long_enough = 0.02;
    constexpr int repetitions = 5;
    std::uint64_t operations = 100000;
    std::vector<double> seconds;
    while (seconds.size() < repetitions) {
        bench.gather_ranks();
        const double begin = now();
        work(operations);
        const double spent = bench.slowest(now() - begin);
        if (spent < long_enough)
            operations *= 2;
        else
            seconds.push_back(spent);
    }
    bench.operations_per_second =
        static_cast<double>(operations) / *std::min_element(seconds.begin(), seconds.end());
}

void run_rounds(const Bench& bench, const std::vector<std::function<void()>>& phases,
                const std::function<void()>& begin, const std::function<void()>& end) {
    const double started = now();
    const auto late = [&] { return bench.slowest(now() - started) > bench.settings.seconds; };
    for (int round = 0; round < bench.settings.rounds; ++round) {
        if (round >= bench.settings.min_rounds && bench.settings.seconds > 0 && late()) break;
        begin();
        for (std::size_t i = 0; i < phases.size(); ++i)
            phases[(i + static_cast<std::size_t>(round)) % phases.size()]();
        end();
        bench.report((round + 1.0) / bench.settings.rounds);
    }
}

namespace {

constexpr int max_iterations = 100;
constexpr double lead_in_seconds = 0.02;
constexpr int max_lead_in = 20;

}  // namespace

std::shared_ptr<Exchanges> make_exchanges(Bench& bench, Collective collective, std::uint64_t bytes,
                                          int count) {
    auto exchanges = std::make_shared<Exchanges>();
    for (int i = 0; i < count; ++i) {
        exchanges->push_back(std::make_unique<Exchange>(collective, bytes, bench.rank, bench.ranks,
                                                        bench.calls[mpi_name(collective)]));
    }
    return exchanges;
}

Subject::Subject(Bench& bench, std::shared_ptr<Exchanges> exchanges, double phase_seconds)
    : bench_(bench),
      communicator_(bench.communicator()),
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
    fit_iterations(median(std::span(seconds)));
    // As it is measured later: on a link that was idle, or between ranks that are late, it may be far from
    // that.
    seconds.clear();
    const int times = base_seconds_ < short_seconds ? 3 : 1;
    for (int i = 0; i < times; ++i) {
        lead_in();
        seconds.push_back(base());
    }
    fit_iterations(median(std::span(seconds)));
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

Subject::Times Subject::beside(const std::function<double(double started)>& compute) {
    Times times;
    lead_in();
    for (int i = 0; i < iterations_; ++i) {
        const Moments moments = start();
        const double in_tests = compute(moments.started);
        const double computed = now();
        wait();
        const double end = now();
        times.start.push_back(moments.started - moments.begin);
        times.test.push_back(in_tests);
        times.wait.push_back(end - computed);
        times.total.push_back(end - moments.begin);
        check();
    }
    return times;
}

Subject::Moments Subject::start() {
    for (const auto& exchange : *exchanges_) exchange->fill(++bench_.exchanges);
    bench_.gather_ranks();
    const double begin = now();
    for (std::size_t i = 0; i < requests_.size(); ++i) (*exchanges_)[i]->start(communicator_, requests_[i]);
    return {begin, now()};
}

bool Subject::test() {
    bool complete = true;
    for (MPI_Request& request : requests_) {
        int done = 0;
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        complete = done != 0 && complete;
    }
    return complete;
}

void Subject::wait() {
    for (MPI_Request& request : requests_) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void Subject::check() {
    for (const auto& exchange : *exchanges_) {
        if (bench_.settings.corrupt) exchange->corrupt();
        exchange->check(bench_.settings.engine);
    }
}

double Subject::run_once() {
    const Moments moments = start();
    wait();
    const double spent = now() - moments.begin;
    check();
    return spent;
}

}  // namespace lapwing::bench
