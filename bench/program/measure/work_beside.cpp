#include "program/measure/work_beside.hpp"

#include <algorithm>

#include "program/compute/blas.hpp"
#include "program/compute/clock.hpp"

namespace lapwing::bench {

WorkBeside::WorkBeside(std::shared_ptr<Subject> subject, Amount amount)
    : subject_(std::move(subject)), amount_(std::move(amount)) {}

// The largest matrices whose product takes a small part of the time; of the slowest rank.
void WorkBeside::choose_order(double wanted) {
    constexpr int min_order = 16;
    whole_.amount = 1;
    for (whole_.order = Blas::max_order;; whole_.order /= 2) {
        const double taken = slowest_run();
        if (taken > wanted / 4 && whole_.order > min_order) continue;
        whole_.amount = static_cast<std::uint64_t>(wanted / taken) + 1;
        return;
    }
}

double WorkBeside::slowest_run() const {
    std::vector<double> taken;
    for (int i = 0; i < 3; ++i) {
        subject_->bench().gather_ranks();
        const double begin = now();
        whole_.run();
        taken.push_back(now() - begin);
    }
    subject_->bench().slowest(taken);
    return median(taken);
}

double WorkBeside::base_seconds() const {
    double longest = subject_->base_seconds();
    for (const auto& other : amount_.same_for) longest = std::max(longest, other->base_seconds());
    return longest;
}

// The processor may be faster or slower now than when the benchmark began, so the amount is fitted again.
void WorkBeside::fit() {
    subject_->warm_up();
    for (const auto& other : amount_.same_for) other->warm_up();
    const Bench& bench = subject_->bench();
    const double wanted = base_seconds() * amount_.base_times;
    const int parts = amount_.tests + 1;
    whole_.seconds = wanted;
    whole_.kind = amount_.dgemm ? Compute::dgemm : bench.settings.compute;
    if (amount_.dgemm) {
        choose_order(wanted / parts);
        whole_.scale(parts, parts);
    } else {
        whole_.amount = static_cast<std::uint64_t>(wanted * bench.operations_per_second) + 1;
    }
    for (int tries = 0; tries < 3 && whole_.kind != Compute::sleep; ++tries) {
        whole_.scale(std::clamp(wanted / slowest_run(), 0.25, 4.0), parts);
    }
    part_ = whole_.part(parts);
}

double WorkBeside::alone() {
    return subject_->alone(whole_);
}

// A sleep ends at its moment, so that wake-ups that come late do not add up.
void WorkBeside::run_part(double begin, int number) const {
    if (part_.kind == Compute::sleep) {
        sleep_until(begin + (number + 1) * part_.seconds);
    } else {
        part_.run();
    }
}

WorkBeside::Times WorkBeside::beside() {
    std::vector<double> start;
    std::vector<double> test;
    std::vector<double> wait;
    std::vector<double> overhead;
    std::vector<double> total;
    subject_->lead_in();
    for (int i = 0; i < subject_->iterations(); ++i) {
        const auto moments = subject_->start();
        double in_tests = 0;
        for (int tests = 0; tests < amount_.tests; ++tests) {
            run_part(moments.started, tests);
            const double before = now();
            subject_->test();
            in_tests += now() - before;
        }
        run_part(moments.started, amount_.tests);
        const double computed = now();
        subject_->wait();
        const double end = now();
        start.push_back(moments.started - moments.begin);
        test.push_back(in_tests);
        wait.push_back(end - computed);
        overhead.push_back(start.back() + test.back() + wait.back());
        total.push_back(end - moments.begin);
        subject_->check();
    }
    for (std::vector<double>* times : {&start, &test, &wait, &overhead, &total}) {
        subject_->bench().slowest(*times);
    }
    return {mean(start), mean(test), mean(wait), mean(overhead), mean(total)};
}

WorkLine::WorkLine(std::shared_ptr<Subject> subject, Amount amount)
    : SubjectLine(subject), tests_(amount.tests > 0), work_(subject, std::move(amount)) {}

void WorkLine::warm_up() {
    work_.fit();
}

std::vector<std::function<void()>> WorkLine::phases() {
    return {[this] {
                subject_->lead_in();
                sample_["base"] = subject_->base();
            },
            [this] { sample_["alone"] = work_.alone(); },
            [this] {
                const WorkBeside::Times times = work_.beside();
                sample_["start"] = times.start;
                if (tests_) sample_["test"] = times.test;
                sample_["wait"] = times.wait;
                sample_["overhead"] = times.overhead;
                sample_["total"] = times.total;
            }};
}

nlohmann::json WorkLine::describe() const {
    nlohmann::json result = SubjectLine::describe();
    work_.block().describe(result);
    return result;
}

}  // namespace lapwing::bench
