// A collective beside computation for a fixed time, not a fixed amount: until the base time is over by the
// clock, with tests at even intervals (Kandalla et al. 2011, Figure 5).
//
// Processor time taken from the program does not lengthen this computation, so the overlap by this method
// does not show it. The computed work is counted and repeated alone, which does.
#pragma once

#include "program/measure/row.hpp"

namespace lapwing::bench {

class FixedTimeLine : public SubjectLine {
  public:
    // With `tests` calls of MPI_Test at most: one that comes late puts off the others. `with_base`: the base
    // time is measured in each round, too.
    FixedTimeLine(std::shared_ptr<Subject> subject, int tests, bool with_base);

    void warm_up() override;
    std::vector<std::function<void()>> phases() override;

  protected:
    nlohmann::json describe() const override;

  private:
    struct Computed {
        std::uint64_t quanta = 0;
        int tests = 0;
        double in_tests = 0;
    };
    Computed compute();
    void measure();

    int tests_;
    bool with_base_;
    Block quantum_;
};

// A row for each number of tests in the settings, of so many collectives at once.
std::vector<Row> fixed_time_rows(Bench& bench, Collective collective, std::uint64_t bytes, int collectives);

}  // namespace lapwing::bench
