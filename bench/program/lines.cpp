#include "program/lines.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/samples.hpp"
#include "program/clock.hpp"
#include "program/compute.hpp"
#include "program/exchange.hpp"

namespace lapwing::bench {

nlohmann::json Line::json() const {
    nlohmann::json result = describe();
    result["rounds"] = rounds_;
    return result;
}

void SubjectLine::keep(const char* what, std::vector<double> seconds) {
    subject_->bench().slowest(seconds);
    sample_[what] = mean(seconds);
}

void SubjectLine::measure_base() {
    subject_->lead_in();
    sample_["base"] = subject_->base();
}

Block SubjectLine::block_of(double seconds) const {
    const Bench& bench = subject_->bench();
    Block block;
    block.kind = bench.settings.compute;
    block.seconds = seconds;
    block.amount = static_cast<std::uint64_t>(seconds * bench.operations_per_second) + 1;
    return block;
}

nlohmann::json SubjectLine::describe() const {
    return {{"iterations", subject_->iterations()}};
}

nlohmann::json head(Collective collective, std::uint64_t bytes, const std::string& method) {
    return {{"collective", mpi_name(collective)}, {"bytes", bytes}, {"method", method}};
}

nlohmann::json parameter(const char* name, double value) {
    return {{"name", name}, {"value", value}};
}

std::string variant_of_tests(int tests) {
    return tests == 0 ? "no tests" : tests == 1 ? "1 test" : std::to_string(tests) + " tests";
}

std::vector<std::uint64_t> sizes_of(const Settings& settings, Collective collective) {
    return collective == Collective::barrier ? std::vector<std::uint64_t>{0} : settings.bytes;
}

std::vector<RowGroup> for_each_case(const Bench& bench,
                                    const std::function<std::vector<Row>(Collective, std::uint64_t)>& rows) {
    std::vector<RowGroup> groups;
    for (const Collective collective : bench.settings.collectives)
        for (const std::uint64_t bytes : sizes_of(bench.settings, collective))
            groups.emplace_back([=] { return rows(collective, bytes); });
    return groups;
}

void measure(const Bench& bench, const std::vector<Row>& rows, nlohmann::json& result) {
    std::vector<std::function<void()>> phases;
    for (const Row& row : rows) {
        const std::string key = fmt::format("{} on {} ranks", row.head.dump(), bench.ranks);
        row.line->warm_up(bench.settings.work.value(key, nlohmann::json()));
        result["work"][key] = row.line->chosen_work();
        for (auto& phase : row.line->phases()) phases.push_back(std::move(phase));
    }
    run_rounds(
        bench, phases,
        [&] {
            for (const Row& row : rows) row.line->begin_round();
        },
        [&] {
            for (const Row& row : rows) row.line->end_round();
        });
    for (const Row& row : rows) {
        nlohmann::json one = row.head;
        one.update(row.line->json());
        result["rows"].push_back(std::move(one));
    }
}

namespace {

constexpr double loop_seconds = 0.01;
// More would fill an MPI with unexpected messages.
constexpr int max_loop_iterations = 5000;
constexpr int lead_in = 3;

}  // namespace

BackToBack::BackToBack(Bench& bench, MPI_Comm communicator, std::shared_ptr<Exchanges> exchange,
                       bool blocking, Prepare prepare)
    : bench_(bench),
      communicator_(communicator),
      exchanges_(std::move(exchange)),
      blocking_(blocking),
      prepare_(std::move(prepare)) {}

void BackToBack::warm_up(const nlohmann::json&) {
    if (prepare_) prepare_(bench_, communicator_);
    for (int i = 0; i < lead_in; ++i) run(1);
    iterations_ = bench_.settings.iterations;
    if (iterations_ == 0) fit_iterations();
}

std::vector<std::function<void()>> BackToBack::phases() {
    return {[this] { sample_["latency"] = run(iterations_) / iterations_; }};
}

nlohmann::json BackToBack::describe() const {
    return {{"iterations", iterations_}};
}

// Seconds that `count` of them take on the slowest rank.
double BackToBack::run(int count) {
    Exchange& exchange = *exchanges_->front();
    exchange.fill(++bench_.exchanges);
    bench_.gather_ranks();
    const double begin = now();
    for (int i = 0; i < count; ++i) {
        if (blocking_) {
            exchange.call(communicator_);
            continue;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        exchange.start(communicator_, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const double spent = now() - begin;
    if (bench_.settings.corrupt) exchange.corrupt();
    exchange.check(bench_.settings.engine);
    return bench_.slowest(spent);
}

// The same on all ranks, as the slowest rank's time is.
void BackToBack::fit_iterations() {
    iterations_ = 1;
    while (iterations_ < max_loop_iterations) {
        const double spent = run(iterations_);
        if (spent >= loop_seconds / 2) break;
        const double factor = std::clamp(loop_seconds / spent, 2.0, 16.0);
        iterations_ = std::min(max_loop_iterations, static_cast<int>(iterations_ * factor));
    }
}

namespace {

// A sleep wakes up so late that a shorter one is not worth it.
constexpr double shortest_sleep = 1e-4;

// Seconds of an iteration for as many quanta again, with nothing in flight.
template <typename Quantum>
double again_alone(const Bench& bench, const std::vector<std::uint64_t>& quanta, Quantum quantum) {
    double seconds = 0;
    for (const std::uint64_t count : quanta) {
        bench.gather_ranks();
        const double begin = now();
        for (std::uint64_t done = 0; done < count; ++done) quantum();
        seconds += now() - begin;
    }
    return seconds / static_cast<double>(quanta.size());
}

}  // namespace

FixedTimeLine::FixedTimeLine(std::shared_ptr<Subject> subject, int tests, bool with_base)
    : SubjectLine(std::move(subject)), tests_(tests), with_base_(with_base) {}

void FixedTimeLine::warm_up(const nlohmann::json&) {
    constexpr double shortest = 1e-7;
    constexpr double longest = 2e-5;
    subject_->warm_up();
    const double distance = subject_->base_seconds() / (tests_ + 1);
    quantum_ =
        block_of(std::clamp(std::min(subject_->base_seconds() / 1000, distance / 4), shortest, longest));
}

std::vector<std::function<void()>> FixedTimeLine::phases() {
    std::vector<std::function<void()>> phases;
    if (with_base_) phases.emplace_back([this] { measure_base(); });
    phases.emplace_back([this] { measure(); });
    return phases;
}

nlohmann::json FixedTimeLine::describe() const {
    nlohmann::json result = SubjectLine::describe();
    result["tests"] = tests_;
    result["compute_seconds"] = subject_->base_seconds();
    result["quantum_seconds"] = quantum_.seconds;
    result["quantum_operations"] = quantum_.kind == Compute::work ? quantum_.amount : 0;
    return result;
}

FixedTimeLine::Computed FixedTimeLine::compute() {
    Computed result;
    const double begin = now();
    const double end = begin + subject_->base_seconds();
    const double distance = subject_->base_seconds() / (tests_ + 1);
    double moment = begin;
    while (moment < end) {
        const double next =
            result.tests < tests_ ? std::min(end, begin + (result.tests + 1) * distance) : end;
        if (quantum_.kind == Compute::work)
            work(quantum_.amount);
        else if (next - moment > shortest_sleep)
            sleep_until(next);
        else
            sched_yield();
        ++result.quanta;
        moment = now();
        if (moment < next || result.tests == tests_) continue;
        subject_->test();
        const double tested = now();
        result.in_tests += tested - moment;
        moment = tested;
        ++result.tests;
    }
    return result;
}

// The shares are summed over ranks and iterations, as each rank's calls belong to its own time.
void FixedTimeLine::measure() {
    const Bench& bench = subject_->bench();
    const int iterations = subject_->iterations();
    const bool works = quantum_.kind == Compute::work;
    std::vector<std::uint64_t> quanta;
    quanta.reserve(static_cast<std::size_t>(iterations));
    double tests_made = 0;
    const Subject::Times times = subject_->beside([&](double) {
        const Computed computed = compute();
        quanta.push_back(computed.quanta);
        tests_made += computed.tests;
        return computed.in_tests;
    });
    const auto quantum = [this] {
        work(quantum_.amount);
        now();  // as beside the collective
    };
    std::vector<double> sums{mean(times.test) + mean(times.wait),
                             works ? again_alone(bench, quanta, quantum) : 0, mean(times.total),
                             tests_made / iterations / bench.ranks};
    bench.sum(sums);
    sample_["calls_of_all"] = sums[0];
    if (works) sample_["work_of_all"] = sums[1];
    sample_["total_of_all"] = sums[2];
    sample_["tests_made"] = sums[3];
    keep("start", times.start);
    keep("test", times.test);
    keep("wait", times.wait);
    keep("total", times.total);
}

void PolledLine::warm_up(const nlohmann::json&) {
    subject_->warm_up();
    const double wanted = subject_->bench().settings.quantum_seconds;
    quantum_ = block_of(wanted > 0 ? wanted : std::clamp(subject_->base_seconds() / 100, 1e-6, 1e-4));
}

std::vector<std::function<void()>> PolledLine::phases() {
    return {[this] { measure_base(); }, [this] { measure(); }};
}

nlohmann::json PolledLine::describe() const {
    nlohmann::json result = SubjectLine::describe();
    quantum_.describe(result);
    return result;
}

// What part of the time was left for work is summed over ranks and iterations: a rank whose part is done
// at once (the root of a broadcast of few bytes) counts with its short time.
void PolledLine::measure() {
    std::vector<double> start;
    std::vector<double> total;
    std::vector<std::uint64_t> quanta;
    subject_->lead_in();
    for (int i = 0; i < subject_->iterations(); ++i) {
        const auto moments = subject_->start();
        std::uint64_t done = 0;
        do {
            quantum_.run();
            ++done;
        } while (!subject_->test());
        total.push_back(now() - moments.begin);
        start.push_back(moments.started - moments.begin);
        quanta.push_back(done);
        subject_->check();
    }
    const Bench& bench = subject_->bench();
    std::vector<double> sums{again_alone(bench, quanta, [this] { quantum_.run(); }), mean(total)};
    bench.sum(sums);
    sample_["work_of_all"] = sums[0];
    sample_["total_of_all"] = sums[1];
    keep("start", start);
    keep("total", total);
}

WorkLine::WorkLine(std::shared_ptr<Subject> subject, Amount amount)
    : SubjectLine(std::move(subject)), amount_(std::move(amount)) {}

// The largest matrices whose product takes a small part of the time; of the slowest rank.
void WorkLine::choose_order(double wanted) {
    constexpr int min_order = 16;
    whole_.amount = 1;
    for (whole_.order = max_order;; whole_.order /= 2) {
        const double taken = slowest_run();
        if (taken > wanted / 4 && whole_.order > min_order) continue;
        whole_.amount = static_cast<std::uint64_t>(wanted / taken) + 1;
        return;
    }
}

double WorkLine::slowest_run() const {
    std::vector<double> taken;
    for (int i = 0; i < 3; ++i) {
        subject_->bench().gather_ranks();
        const double begin = now();
        whole_.run();
        taken.push_back(now() - begin);
    }
    subject_->bench().slowest(taken);
    return median(std::span(taken));
}

void WorkLine::warm_up(const nlohmann::json& work) {
    subject_->warm_up();
    whole_ = block_of(subject_->base_seconds() * amount_.base_times);
    if (amount_.dgemm) whole_.kind = Compute::dgemm;
    if (work.is_null())
        fit();
    else
        whole_.repeat(work);
    part_ = whole_.part(amount_.tests + 1);
}

// The processor may be faster or slower now than when the benchmark began, so the amount is fitted again.
void WorkLine::fit() {
    const double wanted = whole_.seconds;
    const int parts = amount_.tests + 1;
    if (amount_.dgemm) {
        choose_order(wanted / parts);
        whole_.scale(parts, parts);
    }
    for (int tries = 0; tries < 3 && whole_.kind != Compute::sleep; ++tries)
        whole_.scale(std::clamp(wanted / slowest_run(), 0.25, 4.0), parts);
}

nlohmann::json WorkLine::chosen_work() const {
    nlohmann::json described;
    whole_.describe(described);
    return described;
}

// A sleep ends at its moment, so that wake-ups that come late do not add up.
void WorkLine::run_part(double begin, int number) const {
    if (part_.kind == Compute::sleep)
        sleep_until(begin + (number + 1) * part_.seconds);
    else
        part_.run();
}

nlohmann::json WorkLine::beside() {
    const Subject::Times times = subject_->beside([this](double started) {
        double in_tests = 0;
        for (int tests = 0; tests < amount_.tests; ++tests) {
            run_part(started, tests);
            const double before = now();
            subject_->test();
            in_tests += now() - before;
        }
        run_part(started, amount_.tests);
        return in_tests;
    });
    std::vector<double> overhead;
    for (std::size_t i = 0; i < times.total.size(); ++i)
        overhead.push_back(times.start[i] + times.test[i] + times.wait[i]);
    const auto slowest = [this](std::vector<double> seconds) {
        subject_->bench().slowest(seconds);
        return mean(seconds);
    };
    nlohmann::json means = {{"start", slowest(times.start)},
                            {"wait", slowest(times.wait)},
                            {"overhead", slowest(overhead)},
                            {"total", slowest(times.total)}};
    if (amount_.tests > 0) means["test"] = slowest(times.test);
    return means;
}

std::vector<std::function<void()>> WorkLine::phases() {
    return {[this] { measure_base(); }, [this] { sample_["alone"] = alone(); },
            [this] { sample_.update(beside()); }};
}

nlohmann::json WorkLine::describe() const {
    nlohmann::json result = SubjectLine::describe();
    whole_.describe(result);
    return result;
}

}  // namespace lapwing::bench
