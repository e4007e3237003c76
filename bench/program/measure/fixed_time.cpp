#include "program/measure/fixed_time.hpp"

#include <sched.h>

#include <algorithm>

#include "program/compute/clock.hpp"

namespace lapwing::bench {
namespace {

// A sleep wakes up so late that a shorter one is not worth it.
constexpr double shortest_sleep = 1e-4;

}  // namespace

FixedTimeLine::FixedTimeLine(std::shared_ptr<Subject> subject, int tests, bool with_base)
    : SubjectLine(std::move(subject)), tests_(tests), with_base_(with_base) {}

void FixedTimeLine::warm_up() {
    constexpr double shortest = 1e-7;
    constexpr double longest = 2e-5;
    subject_->warm_up();
    const Bench& bench = subject_->bench();
    const double distance = subject_->base_seconds() / (tests_ + 1);
    quantum_.kind = bench.settings.compute;
    quantum_.seconds = std::clamp(std::min(subject_->base_seconds() / 1000, distance / 4), shortest, longest);
    quantum_.amount = static_cast<std::uint64_t>(quantum_.seconds * bench.operations_per_second) + 1;
}

std::vector<std::function<void()>> FixedTimeLine::phases() {
    std::vector<std::function<void()>> phases;
    if (with_base_) {
        phases.emplace_back([this] {
            subject_->lead_in();
            sample_["base"] = subject_->base();
        });
    }
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
        if (quantum_.kind == Compute::work) {
            work(quantum_.amount);
        } else if (next - moment > shortest_sleep) {
            sleep_until(next);
        } else {
            sched_yield();
        }
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
    Bench& bench = subject_->bench();
    const int iterations = subject_->iterations();
    std::vector<double> start;
    std::vector<double> test;
    std::vector<double> wait;
    std::vector<double> total;
    std::vector<std::uint64_t> quanta;
    double tests_made = 0;
    subject_->lead_in();
    for (int i = 0; i < iterations; ++i) {
        const auto moments = subject_->start();
        const Computed computed = compute();
        const double before = now();
        subject_->wait();
        const double end = now();
        start.push_back(moments.started - moments.begin);
        test.push_back(computed.in_tests);
        wait.push_back(end - before);
        total.push_back(end - moments.begin);
        quanta.push_back(computed.quanta);
        tests_made += computed.tests;
        subject_->check();
    }
    double alone = 0;
    for (const std::uint64_t count : quanta) {
        if (quantum_.kind != Compute::work) break;
        bench.gather_ranks();
        const double begin = now();
        for (std::uint64_t done = 0; done < count; ++done) {
            work(quantum_.amount);
            now();  // as beside the collective
        }
        alone += now() - begin;
    }
    std::vector<double> sums{(mean(test) + mean(wait)) * iterations, alone, mean(total) * iterations,
                             tests_made / bench.ranks};
    bench.sum(sums);
    for (double& sum : sums) sum /= iterations;
    sample_["calls_of_all"] = sums[0];
    if (quantum_.kind == Compute::work) sample_["work_of_all"] = sums[1];
    sample_["total_of_all"] = sums[2];
    sample_["tests_made"] = sums[3];
    keep("start", start);
    keep("test", test);
    keep("wait", wait);
    keep("total", total);
}

std::vector<Row> fixed_time_rows(Bench& bench, Collective collective, std::uint64_t bytes, int collectives) {
    const auto subjects = make_subjects(bench, make_exchanges(bench, collective, bytes, collectives));
    std::vector<Row> rows;
    for (const int tests : bench.settings.tests) {
        Row& row = rows.emplace_back();
        row.head = head(bench, collective, bytes, name(Method::fixed));
        row.head["variant"] = variant_of_tests(tests);
        for (const auto& subject : subjects) {
            row.lines.push_back(std::make_unique<FixedTimeLine>(subject, tests, true));
        }
    }
    return rows;
}

}  // namespace lapwing::bench
