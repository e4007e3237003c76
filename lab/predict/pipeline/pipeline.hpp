// The pipelines of applications: which collectives a program starts, what it computes beside them, and when
// it waits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulate/program.hpp"
#include "task/problem.hpp"

namespace lapwing::tool {

struct Pipeline {
    struct Operation {
        std::size_t problem = 0;
        // As in simulate::Operation.
        int stride = 1;
        int rotation = 0;
    };
    std::vector<Problem> problems;  // without placement
    std::vector<Operation> operations;
    std::vector<simulate::Action> actions;  // without tests

    // Adds a collective of these ranks; returns its index. Equal ones share their lists.
    int operation(const Problem& problem, int stride = 1, int rotation = 0);
    void add(const simulate::Action& action);
    // Pieces of work that follow each other are one.
    void compute(double seconds, simulate::SomeRanks ranks = {});
};

// What `--pipeline` names.
struct PipelineOptions {
    std::string written;                        // "fft:n=512"
    std::string name;                           // "fft"; or the file
    std::map<std::string, std::string> values;  // of fft and lu: all that they have, also by default
    std::string script;                         // the file's text
};

// Throws Error: invalid_argument, or system for a file.
PipelineOptions read_pipeline(const std::string& written);

// With as many tests in each work beside a collective. `bytes` are those of --bytes, which scripts may name.
// Throws Error (invalid_argument; parse for a script): it does not fit the ranks.
Pipeline make_pipeline(const PipelineOptions& options, int ranks, std::uint64_t bytes);
std::vector<simulate::Action> with_tests(std::vector<simulate::Action> actions, int tests);
// Whether its blocks follow --bytes.
bool follows_bytes(const PipelineOptions& options);

// A whole number from 1 on, or from `least`. Throws Error (invalid_argument).
int whole(const PipelineOptions& options, const char* name, int least = 1);
double number(const PipelineOptions& options, const char* name);

// fft.cpp, lu.cpp, script.cpp
Pipeline make_fft(const PipelineOptions& options, int ranks);
Pipeline make_lu(const PipelineOptions& options, int ranks);
Pipeline make_script(const PipelineOptions& options, int ranks, std::uint64_t bytes);

}  // namespace lapwing::tool
