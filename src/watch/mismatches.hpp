// Calls with the same number that differ between the ranks of a communicator.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "watch/finding.hpp"
#include "watch/job_view.hpp"

namespace lapwing::watch {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

class Mismatches {
  public:
    // `job` must outlive this object.
    explicit Mismatches(const JobView& job);

    // At most one for each communicator.
    std::vector<Finding> findings;
    // The number of the first call of the communicator that does not match; `never` if all match. Later calls
    // say nothing.
    std::uint64_t first(int communicator) const { return first_[static_cast<std::size_t>(communicator)]; }

  private:
    struct Record;
    struct Side;
    void compare(int communicator);
    static std::vector<Side> sides(const std::vector<Record>& records, std::size_t begin, std::size_t end);
    void add(int communicator, std::uint64_t number, const std::vector<Side>& all, std::string sentence);
    void report(int communicator, const std::vector<Record>& records, std::size_t begin, std::size_t end);
    bool compare_counts(int communicator, std::span<const Record> records);
    static std::string order(const std::vector<Record>& records, std::size_t next, const Side& major,
                             const Side& minor);
    void compare_hashes(int communicator);

    const JobView& job_;
    std::vector<std::uint64_t> first_;  // by communicator
};

// Compares the calls at the end of a job, when every rank has made all its calls. Returns one sentence for
// each communicator whose ranks have made different calls.
std::vector<std::string> compare_at_end(std::span<const Answer> answers);

}  // namespace lapwing::watch
