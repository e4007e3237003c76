// A collective beside an amount of work: start, the work with no or some tests in between, wait.
#pragma once

#include <memory>
#include <vector>

#include "program/measure/row.hpp"

namespace lapwing::bench {

// So much work: in base times, in parts with a test after each but the last.
struct Amount {
    double base_times = 1;
    int tests = 0;
    bool dgemm = false;  // matrix products, which only the benchmarks of throughput do
    // Whose base times: the longest of these, so that all of them get the same work. None: the subject's own.
    std::vector<std::shared_ptr<Subject>> same_for = {};
};

// An amount that has been fitted to its subject.
class WorkBeside {
  public:
    WorkBeside(std::shared_ptr<Subject> subject, Amount amount);

    // All ranks together; warms up the subjects.
    void fit();

    // Of a phase of iterations, the means of the slowest rank's times.
    double alone();
    struct Times {
        double start = 0;
        double test = 0;
        double wait = 0;
        double overhead = 0;  // the three together, which may be another rank's
        double total = 0;
    };
    Times beside();

    const Block& block() const { return whole_; }

  private:
    double base_seconds() const;
    void choose_order(double wanted);
    double slowest_run() const;
    void run_part(double begin, int number) const;

    std::shared_ptr<Subject> subject_;
    Amount amount_;
    Block whole_;
    Block part_;
};

// Base time, the work alone, and both together.
class WorkLine : public SubjectLine {
  public:
    WorkLine(std::shared_ptr<Subject> subject, Amount amount);

    void warm_up() override;
    std::vector<std::function<void()>> phases() override;

  protected:
    nlohmann::json describe() const override;

  private:
    bool tests_;
    WorkBeside work_;
};

}  // namespace lapwing::bench
