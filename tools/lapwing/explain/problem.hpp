// The problem of `lapwing explain`: its options and its description.
#pragma once

#include <optional>
#include <string>

#include "lapwing/common/values.hpp"
#include "task/sample.hpp"

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

struct ProblemOptions {
    std::string collective;
    std::optional<int> ranks;
    std::string bytes;
    std::string sizes;
    int root = 0;
    bool in_place = false;
    std::string op;
    std::string type;
    bool ordered = false;
    std::string hosts = "several";
    InnerGroups inner;
};

struct AskedProblem {
    Problem problem;
    std::uint64_t bytes = 0;  // of a block
    Sizes sizes;              // of blocks, if the problem has parts
    bool several_hosts = true;

    // "reduce on 4 ranks, root 2, 8 bytes in a block, sum of float64"
    std::string what() const;
    // The lengths of the blocks; empty if all are alike.
    std::string lengths() const;
    // The ranks of each host, if known, with a bar between two NUMA nodes or caches: "2: ranks 0 1 | 2 3;
    // ...".
    std::string hosts() const;
};

void add_problem_options(CommandLine& app, ProblemOptions& options);
// Throws Error (invalid_argument).
AskedProblem read_problem(const ProblemOptions& options);

}  // namespace lapwing::tool
