// What is measured in a row, in the ways that benchmarks have.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "program/bench.hpp"
#include "program/exchange.hpp"

namespace lapwing::bench {

// What is measured in a row: phases, each of which puts its values into the round's sample.
class Line {
  public:
    Line() = default;
    virtual ~Line() = default;
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    // `work`: the amount of work that an earlier job has chosen for this row; null: this job chooses.
    virtual void warm_up(const nlohmann::json& work) = 0;
    virtual std::vector<std::function<void()>> phases() = 0;
    // What warm_up() has chosen; null: nothing that a later job could repeat.
    virtual nlohmann::json chosen_work() const { return nullptr; }

    void begin_round() { sample_ = nlohmann::json::object(); }
    void end_round() { rounds_.push_back(sample_); }
    // What describe() says, and all samples.
    nlohmann::json json() const;

  protected:
    // Iterations and what else is the same in all rounds.
    virtual nlohmann::json describe() const = 0;

    nlohmann::json sample_;

  private:
    nlohmann::json rounds_ = nlohmann::json::array();
};

// A line about a subject, which other rows may share.
class SubjectLine : public Line {
  public:
    explicit SubjectLine(std::shared_ptr<Subject> subject) : subject_(std::move(subject)) {}

  protected:
    void keep(const char* what, std::vector<double> seconds);
    void measure_base();
    // What the settings say to compute, for so long.
    Block block_of(double seconds) const;
    nlohmann::json describe() const override;

    std::shared_ptr<Subject> subject_;
};

struct Row {
    nlohmann::json head;
    std::unique_ptr<Line> line;
};
template <typename Kind, typename... Arguments>
Row row_of(nlohmann::json head, const std::shared_ptr<Subject>& subject, const Arguments&... arguments) {
    return {std::move(head), std::make_unique<Kind>(subject, arguments...)};
}
// Rows that are measured together, interleaved; the function makes their buffers.
using RowGroup = std::function<std::vector<Row>()>;

// The beginning of a row.
nlohmann::json head(Collective collective, std::uint64_t bytes, const std::string& method);
nlohmann::json parameter(const char* name, double value);

// The variant of a row with so many tests: "no tests", "1000 tests".
std::string variant_of_tests(int tests);

// The requested sizes; a barrier has one, 0.
std::vector<std::uint64_t> sizes_of(const Settings& settings, Collective collective);
// For each collective and size.
std::vector<RowGroup> for_each_case(const Bench& bench,
                                    const std::function<std::vector<Row>(Collective, std::uint64_t)>& rows);

// Adds the rows to result["rows"], and to result["work"] the amounts of work that they have. All phases of
// all rows come in turn in each round.
void measure(const Bench& bench, const std::vector<Row>& rows, nlohmann::json& result);

// One collective right after the other: what each adds to a program with many in a row.
//
// There is no barrier between two collectives, so the root of a broadcast may be several ahead of the others.
// The time is that of the slowest rank for all, divided by their number.
class BackToBack : public Line {
  public:
    // `prepare`, on all ranks, comes before the first one.
    using Prepare = std::function<void(Bench&, MPI_Comm)>;
    BackToBack(Bench& bench, MPI_Comm communicator, std::shared_ptr<Exchanges> exchange, bool blocking,
               Prepare prepare);

    void warm_up(const nlohmann::json& work) override;
    std::vector<std::function<void()>> phases() override;

  protected:
    nlohmann::json describe() const override;

  private:
    double run(int count);
    void fit_iterations();

    Bench& bench_;
    MPI_Comm communicator_;
    std::shared_ptr<Exchanges> exchanges_;
    bool blocking_;
    Prepare prepare_;
    int iterations_ = 1;
};

// A collective beside computation for a fixed time, not a fixed amount: until the base time is over by the
// clock, with tests at even intervals (Kandalla et al. 2011, Figure 5).
//
// Processor time taken from the program does not lengthen this computation, so the overlap by this method
// does not show it. The computed work is counted and repeated alone, which does.
class FixedTimeLine : public SubjectLine {
  public:
    // With `tests` calls of MPI_Test at most: one that comes late puts off the others. `with_base`: the base
    // time is measured in each round, too.
    FixedTimeLine(std::shared_ptr<Subject> subject, int tests, bool with_base);

    void warm_up(const nlohmann::json& work) override;
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

// Quanta of work with a test after each until the collective is complete; then the same quanta alone.
class PolledLine : public SubjectLine {
  public:
    using SubjectLine::SubjectLine;

    void warm_up(const nlohmann::json& work) override;
    std::vector<std::function<void()>> phases() override;

  protected:
    nlohmann::json describe() const override;

  private:
    void measure();

    Block quantum_;
};

// A collective beside an amount of work: start, the work with no or some tests in between, wait.

// So much work: in base times, in parts with a test after each but the last.
struct Amount {
    double base_times = 1;
    int tests = 0;
    bool dgemm = false;  // matrix products, which only the benchmarks of throughput do
};

// Base time, the work alone, and both together.
class WorkLine : public SubjectLine {
  public:
    WorkLine(std::shared_ptr<Subject> subject, Amount amount);

    // Fits the amount to the subject, or repeats an earlier job's. All ranks together.
    void warm_up(const nlohmann::json& work) override;
    std::vector<std::function<void()>> phases() override;
    nlohmann::json chosen_work() const override;

  protected:
    nlohmann::json describe() const override;

    // Of a phase of iterations, the means of the slowest rank's times.
    double alone() const { return subject_->alone(whole_); }
    // start, test (if there are any), wait, total, and overhead: start, test and wait together, which may be
    // another rank's.
    nlohmann::json beside();

  private:
    void fit();
    void choose_order(double wanted);
    double slowest_run() const;
    void run_part(double begin, int number) const;

    Amount amount_;
    Block whole_;
    Block part_;
};

}  // namespace lapwing::bench
