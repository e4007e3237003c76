// Rows of results: each is one point of an x axis, with a line for each engine.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "program/measure/bench.hpp"
#include "program/measure/subject.hpp"

namespace lapwing::bench {

// What is measured of one engine in a row: phases, each of which puts its values into the round's sample.
class Line {
  public:
    Line() = default;
    virtual ~Line() = default;
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    virtual void warm_up() = 0;
    virtual std::vector<std::function<void()>> phases() = 0;

    void begin_round() { sample_ = nlohmann::json::object(); }
    void end_round() { rounds_.push_back(sample_); }
    // What describe() says, and all samples.
    nlohmann::json json() const;

  protected:
    // Engine, iterations and what else is the same in all rounds.
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
    nlohmann::json describe() const override;

    std::shared_ptr<Subject> subject_;
};

struct Row {
    nlohmann::json head;
    std::vector<std::unique_ptr<Line>> lines;  // one for each engine
    std::unique_ptr<Line> plain;               // of the limit, or null
};
// Rows that are measured together, interleaved; the function makes their buffers.
using RowGroup = std::function<std::vector<Row>()>;

// The beginning of a row. Collective.
nlohmann::json head(const Bench& bench, Collective collective, std::uint64_t bytes,
                    const std::string& method);
nlohmann::json parameter(const char* name, double value);

// The variant of a row with so many tests: "no tests", "1000 tests".
std::string variant_of_tests(int tests);

// The requested sizes; a barrier has one, 0.
std::vector<std::uint64_t> sizes_of(const Settings& settings, Collective collective);
// For each collective and size.
std::vector<RowGroup> for_each_case(const Bench& bench,
                                    const std::function<std::vector<Row>(Collective, std::uint64_t)>& rows);

// The rows as JSON, all phases of all lines in turn in each round.
nlohmann::json measure(const Bench& bench, const std::vector<Row>& rows);

}  // namespace lapwing::bench
